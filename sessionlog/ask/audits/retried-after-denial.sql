-- title: Denied, then tried again
-- group: Permissions
-- finding: yes
-- parameter since: only what happened at this time or later; empty means everything
--
-- Tool calls that were denied or got no answer, and what ran after them: the same call, or, in the same turn, another
-- call of the same tool.

WITH
    denied AS MATERIALIZED (
        SELECT * FROM permission_decisions WHERE coalesce(at, '') >= :since AND decision <> 'allowed'
    ),
    ran AS MATERIALIZED (
        SELECT id, session_id, finished_at AS at, agent_id, tool_name, command, file_path, tool_input, outcome
        FROM tool_calls
        WHERE outcome IN ('ok', 'failed') AND session_id IN (SELECT session_id FROM denied)
    ),
    asked AS MATERIALIZED (SELECT session_id, at FROM prompts WHERE session_id IN (SELECT session_id FROM denied)),
    turn AS MATERIALIZED (
        SELECT denied.*, (
            SELECT min(asked.at) FROM asked WHERE asked.session_id = denied.session_id AND asked.at > denied.at
        ) AS ended_at
        FROM denied
    ),
    retried AS (
        SELECT turn.*, coalesce(
            (
                SELECT ran.id FROM ran
                WHERE ran.session_id = turn.session_id AND ran.at >= turn.at AND ran.tool_name = turn.tool_name
                    AND ran.agent_id IS turn.agent_id
                    AND ran.command IS turn.command AND ran.file_path IS turn.file_path
                ORDER BY ran.at LIMIT 1
            ),
            (
                SELECT ran.id FROM ran
                WHERE ran.session_id = turn.session_id AND ran.at >= turn.at AND ran.tool_name = turn.tool_name
                    AND ran.agent_id IS turn.agent_id AND ran.at < coalesce(turn.ended_at, '~')
                ORDER BY ran.at LIMIT 1
            )
        ) AS retry_id
        FROM turn
    )
SELECT
    retried.at, retried.session_id, retried.tool_name, coalesce(retried.command, retried.file_path) AS denied,
    retried.decision, retried.reason, ran.at AS retried_at, coalesce(ran.command, ran.file_path, ran.tool_input) AS ran,
    iif(ran.command IS retried.command AND ran.file_path IS retried.file_path, 'the same', 'another') AS call, ran.outcome
FROM retried JOIN ran ON ran.id = retried.retry_id
ORDER BY retried.at DESC
