-- Made from sessionlog/ask/audits/slow-tools.sql by tools/generate.py. Do not edit. $1 is :since.

WITH timed AS MATERIALIZED (
  SELECT
    tool_name,
    COUNT(*) AS calls,
    SUM(duration_ms) AS total_ms,
    MAX(duration_ms) AS max_ms,
    (
      ARRAY_AGG(id ORDER BY duration_ms DESC NULLS LAST)
    )[1] AS slowest_id
  FROM events
  WHERE
    event IN ('PostToolUse', 'PostToolUseFailure')
    AND NOT duration_ms IS NULL
    AND at >= CAST($1 AS TEXT)
    AND TRUE
  GROUP BY
    event,
    tool_name
), tools AS MATERIALIZED (
  SELECT
    tool_name,
    SUM(calls) AS calls,
    SUM(total_ms) AS total_ms,
    leading_integer(CAST(SUM(total_ms) AS DOUBLE PRECISION) / SUM(calls)) AS mean_ms,
    MAX(max_ms) AS max_ms,
    (
      ARRAY_AGG(slowest_id ORDER BY max_ms DESC NULLS LAST)
    )[1] AS slowest_id
  FROM timed
  GROUP BY
    tool_name
)
SELECT
  tools.tool_name,
  calls,
  total_ms,
  mean_ms,
  max_ms,
  slowest.session_id AS slowest_session_id,
  COALESCE(slowest.command, slowest.file_path, slowest.description, slowest.tool_input) AS slowest
FROM tools
JOIN events AS slowest
  ON slowest.id = tools.slowest_id
ORDER BY
  total_ms DESC NULLS LAST
