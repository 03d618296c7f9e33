-- Made from sessionlog/ask/audits/subagents.sql by tools/generate.py. Do not edit. $1 is :since.

SELECT
  started_at AS at,
  session_id,
  agent_type,
  description,
  tool_calls,
  failures,
  edits,
  commands,
  report,
  agent_id
FROM subagents
WHERE
  (
    started_at >= CAST($1 AS TEXT)
    OR (
      started_at IS NULL AND CAST($1 AS TEXT) = ''
    )
  )
ORDER BY
  1 DESC NULLS LAST
