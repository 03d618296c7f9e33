-- Made from sessionlog/ask/audits/bypassed.sql by tools/generate.py. Do not edit. $1 is :since.

WITH bypassed AS (
  SELECT
    session_id,
    COUNT(*) AS prompts
  FROM events
  WHERE
    event = 'UserPromptSubmit'
    AND is_typed
    AND permission_mode = 'bypassPermissions'
    AND at >= CAST($1 AS TEXT)
    AND TRUE
  GROUP BY
    session_id
  UNION ALL
  SELECT
    session_id,
    0
  FROM sessions
  WHERE
    permission_mode = 'bypassPermissions' AND last_at >= CAST($1 AS TEXT)
)
SELECT
  MIN(summary.started_at) AS at,
  summary.session_id,
  SUM(bypassed.prompts) AS prompts_bypassed,
  MIN(summary.prompts) AS prompts,
  MIN(summary.tool_calls) AS tool_calls,
  MIN(summary.edits) AS edits,
  MIN(summary.failures) AS failures,
  MIN(summary.cwd) AS cwd,
  MIN(summary.first_prompt) AS first_prompt
FROM bypassed
JOIN session_summary AS summary
  ON summary.session_id = bypassed.session_id
GROUP BY
  summary.session_id
ORDER BY
  at DESC NULLS LAST
