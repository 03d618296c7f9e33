-- Made from sessionlog/ask/audits/mcp-tools.sql by tools/generate.py. Do not edit. $1 is :since.

WITH used AS (
  SELECT
    session_id,
    at,
    tool_name,
    outcome = 'failed' AS failed,
    duration_ms
  FROM events
  WHERE
    event IN ('PostToolUse', 'PostToolUseFailure')
    AND glob('mcp__*', tool_name)
    AND at >= CAST($1 AS TEXT)
    AND TRUE
  UNION ALL
  SELECT
    session_id,
    at,
    tool_name,
    outcome = 'failed',
    NULL
  FROM transcript_parts AS part
  WHERE
    kind = 'tool_result'
    AND outcome IN ('ok', 'failed')
    AND glob('mcp__*', tool_name)
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
  piece(tool_name, 6, POSITION('__' IN SUBSTRING(tool_name FROM 6) || '__') - 1) AS server,
  SUBSTRING(tool_name FROM 6 + instr(SUBSTRING(tool_name FROM 6) || '__', '__') + 1) AS tool,
  COUNT(*) AS calls,
  SUM(failed) AS failures,
  COUNT(DISTINCT session_id) AS sessions,
  leading_integer(AVG(duration_ms)) AS mean_ms,
  MAX(at) AS last_at
FROM used
GROUP BY
  tool_name
ORDER BY
  calls DESC NULLS LAST
