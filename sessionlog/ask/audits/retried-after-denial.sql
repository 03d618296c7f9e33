-- title: Denied, then tried again
-- group: Permissions
-- finding: yes
-- parameter since: only what happened at this time or later; empty means everything
--
-- Tool calls that were denied or got no answer, and what ran after them: the same call, or, in the same turn, another
-- call of the same tool.

WITH
    denied AS MATERIALIZED (
        SELECT
            decision.id, decision.session_id, decision.at, decision.agent_id, decision.tool_name, decision.command,
            decision.file_path, decision.decision, decision.reason, asked.prompt_id
        FROM permission_decisions AS decision JOIN events AS asked ON asked.id = decision.id
        WHERE decision.at >= :since AND decision.decision <> 'allowed'
    ),
    retried AS (
        SELECT denied.*, (
            SELECT coalesce(
                min(iif(later.command IS denied.command AND later.file_path IS denied.file_path, later.id, NULL)),
                min(later.id)
            )
            FROM events AS later
            WHERE later.session_id = denied.session_id AND later.at >= denied.at AND later.id > denied.id
                AND later.event IN ('PostToolUse', 'PostToolUseFailure')
                AND later.tool_name = denied.tool_name
                AND later.agent_id IS denied.agent_id
                AND (
                    (later.command IS denied.command AND later.file_path IS denied.file_path)
                    OR later.prompt_id = denied.prompt_id
                )
        ) AS retry_id
        FROM denied
    )
SELECT
    retried.at, retried.session_id, retried.tool_name, coalesce(retried.command, retried.file_path) AS denied,
    retried.decision, retried.reason, later.at AS retried_at,
    coalesce(later.command, later.file_path, later.tool_input) AS ran,
    iif(later.command IS retried.command AND later.file_path IS retried.file_path, 'the same', 'another') AS call,
    iif(later.event = 'PostToolUse', 'ok', 'failed') AS outcome
FROM retried JOIN events AS later ON later.id = retried.retry_id
ORDER BY retried.at DESC
