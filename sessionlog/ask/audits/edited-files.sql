-- title: Most edited files
-- group: Work
-- finding: no
-- parameter since: only what happened at this time or later; empty means everything
--
-- Files by how often tools changed them; a file that is edited again and again is where things go wrong.

WITH changed AS (
    SELECT session_id, at, tool_name, action, file_path
    FROM events
    WHERE event = 'PostToolUse' AND action IN ('edit', 'write') AND tool_name <> 'NotebookEdit' AND at >= :since
        AND id >= iif(:since = '', 0, (
            SELECT min(id) FROM events
            WHERE session_id IN (SELECT session_id FROM sessions WHERE last_at >= :since) AND at >= :since
        ))
    UNION ALL
    SELECT session_id, at, tool_name, action, iif(json_valid(tool_input), json_extract(tool_input, '$.notebook_path'), NULL)
    FROM events
    WHERE event = 'PostToolUse' AND action = 'edit' AND tool_name = 'NotebookEdit' AND at >= :since
        AND id >= iif(:since = '', 0, (
            SELECT min(id) FROM events
            WHERE session_id IN (SELECT session_id FROM sessions WHERE last_at >= :since) AND at >= :since
        ))
    UNION ALL
    -- What no hook saw.
    SELECT session_id, at, tool_name, action, file_path
    FROM transcript_parts AS part
    WHERE kind = 'tool_result' AND outcome = 'ok' AND action IN ('edit', 'write') AND coalesce(at, '') >= :since
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
    file_path, count(*) AS changes, sum(action = 'write') AS writes, count(DISTINCT session_id) AS sessions,
    min(at) AS first_at, max(at) AS last_at
FROM changed
WHERE file_path IS NOT NULL
GROUP BY file_path
ORDER BY changes DESC, last_at DESC
LIMIT 200
