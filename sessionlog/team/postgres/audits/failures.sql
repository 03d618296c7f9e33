-- Made from sessionlog/ask/audits/failures.sql by tools/generate.py. Do not edit. $1 is :since.

WITH failed AS (
  SELECT
    session_id,
    at,
    tool_name,
    piece(COALESCE(command, file_path, tool_input), 1, 200) AS target,
    REPLACE(REPLACE(piece(error, 1, 200), '<tool_use_error>', ''), '</tool_use_error>', '') AS error
  FROM events
  WHERE
    event = 'PostToolUseFailure' AND at >= CAST($1 AS TEXT) AND TRUE
  UNION ALL
  SELECT
    part.session_id,
    part.at,
    part.tool_name,
    piece(COALESCE(asked.command, part.file_path, asked.text), 1, 200),
    REPLACE(REPLACE(piece(part.text, 1, 200), '<tool_use_error>', ''), '</tool_use_error>', '')
  FROM transcript_parts AS part
  LEFT JOIN transcript_parts AS asked
    ON asked.tool_use_id = part.tool_use_id
    AND asked.session_id = part.session_id
    AND asked.kind = 'tool_use'
  WHERE
    part.kind = 'tool_result'
    AND part.outcome = 'failed'
    AND (
      part.at >= CAST($1 AS TEXT) OR (
        part.at IS NULL AND CAST($1 AS TEXT) = ''
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
  tool_name,
  CASE
    WHEN (
      instr(error, CHR(  10)) <> 0
    )
    THEN piece(error, 1, POSITION(CHR(  10) IN error) - 1)
    ELSE error
  END AS kind,
  COUNT(*) AS times,
  COUNT(DISTINCT session_id) AS sessions,
  MAX(at) AS last_at,
  (
    ARRAY_AGG(target ORDER BY at DESC NULLS LAST)
  )[1] AS last_target
FROM failed
GROUP BY
  tool_name,
  kind
ORDER BY
  times DESC NULLS LAST,
  last_at DESC NULLS LAST
