-- Made from sessionlog/ask/audits/edited-files.sql by tools/generate.py. Do not edit. $1 is :since.

WITH changed AS (
  SELECT
    session_id,
    at,
    tool_name,
    action,
    file_path
  FROM events
  WHERE
    event = 'PostToolUse'
    AND action IN ('edit', 'write')
    AND tool_name <> 'NotebookEdit'
    AND at >= CAST($1 AS TEXT)
    AND TRUE
  UNION ALL
  SELECT
    session_id,
    at,
    tool_name,
    action,
    CASE
      WHEN json_valid(tool_input)
      THEN json_extract(tool_input, '$.notebook_path')
      ELSE NULL
    END
  FROM events
  WHERE
    event = 'PostToolUse'
    AND action = 'edit'
    AND tool_name = 'NotebookEdit'
    AND at >= CAST($1 AS TEXT)
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
    AND action IN ('edit', 'write')
    AND (
      at >= CAST($1 AS TEXT) OR (
        at IS NULL AND CAST($1 AS TEXT) = ''
      )
    )
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
  file_path,
  COUNT(*) AS changes,
  SUM(action = 'write') AS writes,
  COUNT(DISTINCT session_id) AS sessions,
  MIN(at) AS first_at,
  MAX(at) AS last_at
FROM changed
WHERE
  NOT file_path IS NULL
GROUP BY
  file_path
ORDER BY
  changes DESC NULLS LAST,
  last_at DESC NULLS LAST
LIMIT 200
