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
    event = 'PostToolUse' AND tool_name = 'NotebookEdit' AND at >= CAST($1 AS TEXT)
  UNION ALL
  SELECT
    transcript_parts.session_id,
    at,
    tool_name,
    action,
    CASE
      WHEN json_valid(text)
      THEN json_extract(text, '$.file_path')
      WHEN (
        instr(text, '"file_path":"') <> 0
      )
      THEN piece(
        SUBSTRING(text FROM POSITION('"file_path":"' IN text) + 13),
        1,
        POSITION('"' IN SUBSTRING(text FROM POSITION('"file_path":"' IN text) + 13) || '"') - 1
      )
    END
  FROM sessions
  JOIN transcript_parts
    ON transcript_parts.session_id = sessions.session_id
  WHERE
    sessions.events = 0
    AND kind = 'tool_use'
    AND action IN ('edit', 'write')
    AND COALESCE(at, '') >= CAST($1 AS TEXT)
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
