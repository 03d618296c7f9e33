-- title: Failed tools by kind
-- group: Trouble
-- finding: no
-- parameter since: only what happened at this time or later; empty means everything
--
-- Tool calls that failed, by tool and by the first line of the error (a command's exit code).

WITH failed AS (
    SELECT
        session_id, at, tool_name, substr(coalesce(command, file_path, tool_input), 1, 200) AS target,
        replace(replace(substr(error, 1, 200), '<tool_use_error>', ''), '</tool_use_error>', '') AS error
    FROM events
    WHERE event = 'PostToolUseFailure' AND at >= :since
        AND id >= iif(:since = '', 0, (
            SELECT min(id) FROM events
            WHERE session_id IN (SELECT session_id FROM sessions WHERE last_at >= :since) AND at >= :since
        ))
    UNION ALL
    -- What no hook saw.
    SELECT
        part.session_id, part.at, part.tool_name,
        substr(coalesce(asked.command, part.file_path, asked.text), 1, 200),
        replace(replace(substr(part.text, 1, 200), '<tool_use_error>', ''), '</tool_use_error>', '')
    FROM transcript_parts AS part
    LEFT JOIN transcript_parts AS asked
        ON asked.tool_use_id = part.tool_use_id AND asked.session_id = part.session_id AND asked.kind = 'tool_use'
    WHERE part.kind = 'tool_result' AND part.outcome = 'failed' AND coalesce(part.at, '') >= :since
        AND part.id >= iif(:since = '', 0, (
            SELECT min(id) FROM transcript_parts
            WHERE session_id IN (SELECT session_id FROM sessions WHERE last_at >= :since) AND at >= :since
        ))
        AND NOT EXISTS (
            SELECT 1 FROM events
            WHERE events.tool_use_id = part.tool_use_id AND events.session_id = part.session_id
                AND events.event IN ('PostToolUse', 'PostToolUseFailure')
        )
)
SELECT
    tool_name,
    iif(instr(error, char(10)), substr(error, 1, instr(error, char(10)) - 1), error) AS kind,
    count(*) AS times, count(DISTINCT session_id) AS sessions, max(at) AS last_at, target AS last_target
FROM failed
GROUP BY tool_name, kind
ORDER BY times DESC, last_at DESC
