-- title: Files touched outside the project
-- group: Risks
-- finding: yes
-- parameter since: only what happened at this time or later; empty means everything
--
-- Files that tools read or changed although they lie neither below the project nor below the folder in which the
-- session was started; what shell commands touch is in the commands.

WITH
    -- Few paths, named by many events: an index gives them without reading one event.
    paths AS MATERIALIZED (
        SELECT DISTINCT file_path
        FROM events
        WHERE :since = '' AND file_path GLOB '/*'
            AND (
                substr(file_path, 1, (SELECT length(project) + 1 FROM archive)) <> (SELECT project || '/' FROM archive)
                OR instr(file_path, '/../')
            )
        UNION
        SELECT file_path
        FROM events
        WHERE :since <> '' AND event = 'PostToolUse' AND +file_path GLOB '/*'
            AND id >= iif(:since = '', 0, (
                SELECT min(id) FROM events
                WHERE session_id IN (SELECT session_id FROM sessions WHERE last_at >= :since) AND at >= :since
            ))
            AND (
                substr(file_path, 1, (SELECT length(project) + 1 FROM archive)) <> (SELECT project || '/' FROM archive)
                OR instr(file_path, '/../')
            )
    ),
    touched AS (
        SELECT session_id, at, tool_name, action, events.file_path
        FROM paths CROSS JOIN events ON events.file_path = paths.file_path
        WHERE event = 'PostToolUse'
            AND events.id >= iif(:since = '', 0, (
                SELECT min(id) FROM events
                WHERE session_id IN (SELECT session_id FROM sessions WHERE last_at >= :since) AND at >= :since
            ))
        UNION ALL
        SELECT session_id, at, tool_name, action,
            iif(json_valid(tool_input),
                coalesce(json_extract(tool_input, '$.notebook_path'), json_extract(tool_input, '$.path')), NULL)
        FROM events
        WHERE event = 'PostToolUse' AND (action = 'read' OR tool_name = 'NotebookEdit')
            AND id >= iif(:since = '', 0, (
                SELECT min(id) FROM events
                WHERE session_id IN (SELECT session_id FROM sessions WHERE last_at >= :since) AND at >= :since
            ))
        UNION ALL
        SELECT session_id, at, tool_name, action, file_path
        FROM transcript_parts AS part
        WHERE kind = 'tool_result' AND outcome = 'ok' AND file_path GLOB '/*'
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
    max(at) AS at, touched.session_id, file_path,
    iif(max(action IN ('edit', 'write')), 'changed', 'read') AS how,
    group_concat(DISTINCT tool_name) AS tools, count(*) AS times
FROM touched
LEFT JOIN sessions ON sessions.session_id = touched.session_id
WHERE coalesce(at, '') >= :since AND file_path GLOB '/*' AND (
    instr(file_path, '/../') OR (
        file_path <> (SELECT project FROM archive)
        AND substr(file_path, 1, (SELECT length(project) + 1 FROM archive)) <> (SELECT project || '/' FROM archive)
        AND file_path <> coalesce(sessions.cwd, '')
        AND substr(file_path, 1, length(sessions.cwd) + 1) IS NOT sessions.cwd || '/'
    )
)
GROUP BY touched.session_id, file_path
ORDER BY at DESC
