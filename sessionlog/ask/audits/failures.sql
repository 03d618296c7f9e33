-- title: Failed tools by kind
-- group: Trouble
-- finding: no
-- parameter since: only what happened at this time or later; empty means everything
--
-- Tool calls that failed, by tool and by the first line of the error (a command's exit code).

WITH failed AS (
    SELECT
        session_id, at, tool_name, substr(coalesce(command, file_path, tool_input), 1, 200) AS target,
        substr(error, 1, 80) AS error
    FROM events
    WHERE event = 'PostToolUseFailure' AND at >= :since
        AND id >= iif(:since = '', 0, (
            SELECT min(id) FROM events
            WHERE session_id IN (SELECT session_id FROM sessions WHERE last_at >= :since) AND at >= :since
        ))
    UNION ALL
    -- Sessions that no hook saw.
    SELECT result.session_id, result.at, asked.tool_name, substr(asked.text, 1, 200), substr(result.text, 1, 80)
    FROM sessions
    CROSS JOIN transcript_parts AS result ON result.session_id = sessions.session_id
    LEFT JOIN transcript_parts AS asked
        ON asked.tool_use_id = result.tool_use_id AND asked.session_id = result.session_id AND asked.kind = 'tool_use'
    WHERE sessions.events = 0 AND result.kind = 'tool_result' AND result.outcome = 'failed' AND coalesce(result.at, '') >= :since
)
SELECT
    tool_name,
    iif(instr(error, char(10)), substr(error, 1, instr(error, char(10)) - 1), error) AS kind,
    count(*) AS times, count(DISTINCT session_id) AS sessions, max(at) AS last_at, target AS last_target
FROM failed
GROUP BY tool_name, kind
ORDER BY times DESC, last_at DESC
