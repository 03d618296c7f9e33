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
  UNION ALL
  SELECT
    transcript_parts.session_id,
    at,
    tool_name,
    NULL,
    NULL
  FROM sessions
  JOIN transcript_parts
    ON transcript_parts.session_id = sessions.session_id
  WHERE
    sessions.events = 0
    AND kind = 'tool_use'
    AND glob('mcp__*', tool_name)
    AND COALESCE(at, '') >= CAST($1 AS TEXT)
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
