-- Made from sessionlog/ask/audits/outside-project.sql by tools/generate.py. Do not edit. $1 is :since.

WITH paths AS MATERIALIZED (
  SELECT DISTINCT
    file_path
  FROM events
  JOIN session_projects AS archive
    ON archive.session_id = events.session_id
  WHERE
    CAST($1 AS TEXT) = ''
    AND glob('/*', file_path)
    AND (
      piece(file_path, 1, (
        LENGTH(archive.project) + 1
      )) <> (
        archive.project || '/'
      )
      OR (
        instr(file_path, '/../') <> 0
      )
    )
  UNION
  SELECT
    file_path
  FROM events
  JOIN session_projects AS archive
    ON archive.session_id = events.session_id
  WHERE
    CAST($1 AS TEXT) <> ''
    AND event = 'PostToolUse'
    AND glob('/*', file_path)
    AND TRUE
    AND (
      piece(file_path, 1, (
        LENGTH(archive.project) + 1
      )) <> (
        archive.project || '/'
      )
      OR (
        instr(file_path, '/../') <> 0
      )
    )
), touched AS (
  SELECT
    session_id,
    at,
    tool_name,
    action,
    events.file_path
  FROM paths
  JOIN events
    ON events.file_path = paths.file_path
  WHERE
    event = 'PostToolUse' AND TRUE
  UNION ALL
  SELECT
    session_id,
    at,
    tool_name,
    action,
    CASE
      WHEN json_valid(tool_input)
      THEN COALESCE(json_extract(tool_input, '$.notebook_path'), json_extract(tool_input, '$.path'))
      ELSE NULL
    END
  FROM events
  WHERE
    event = 'PostToolUse'
    AND (
      action = 'read' OR tool_name = 'NotebookEdit'
    )
    AND TRUE
  UNION ALL
  SELECT
    session_id,
    at,
    tool_name,
    action,
    file_path
  FROM transcript_parts AS part
  WHERE
    kind = 'tool_result'
    AND outcome = 'ok'
    AND glob('/*', file_path)
    AND TRUE
    AND NOT EXISTS(
      SELECT
        1
      FROM events
      WHERE
        events.tool_use_id = part.tool_use_id
        AND events.session_id = part.session_id
        AND events.event IN ('PostToolUse', 'PostToolUseFailure')
    )
)
SELECT
  MAX(at) AS at,
  touched.session_id,
  file_path,
  CASE WHEN MAX(action IN ('edit', 'write')) THEN 'changed' ELSE 'read' END AS how,
  STRING_AGG(DISTINCT tool_name, ',') AS tools,
  COUNT(*) AS times
FROM touched
LEFT JOIN sessions
  ON sessions.session_id = touched.session_id
JOIN session_projects AS archive
  ON archive.session_id = touched.session_id
WHERE
  (
    at >= CAST($1 AS TEXT) OR (
      at IS NULL AND CAST($1 AS TEXT) = ''
    )
  )
  AND glob('/*', file_path)
  AND (
    (
      instr(file_path, '/../') <> 0
    )
    OR (
      file_path <> (
        archive.project
      )
      AND piece(file_path, 1, (
        LENGTH(archive.project) + 1
      )) <> (
        archive.project || '/'
      )
      AND file_path <> COALESCE(sessions.cwd, '')
      AND piece(file_path, 1, LENGTH(sessions.cwd) + 1) IS DISTINCT FROM sessions.cwd || '/'
    )
  )
GROUP BY
  touched.session_id,
  file_path
ORDER BY
  at DESC NULLS LAST
