-- Made from sessionlog/ask/audits/permissions.sql by tools/generate.py. Do not edit. $1 is :since.

SELECT
  at,
  session_id,
  decision,
  tool_name,
  COALESCE(command, file_path) AS target,
  permission_mode,
  reason,
  agent_id
FROM permission_decisions
WHERE
  at >= CAST($1 AS TEXT)
ORDER BY
  at DESC NULLS LAST
