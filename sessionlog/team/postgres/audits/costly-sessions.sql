-- Made from sessionlog/ask/audits/costly-sessions.sql by tools/generate.py. Do not edit. $1 is :since.

SELECT
  MIN(summary.started_at) AS at,
  MIN(summary.session_id) AS session_id,
  ROUND(SUM(usage.cost_usd), 2) AS cost_usd,
  SUM(usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens) AS tokens_in,
  SUM(usage.output_tokens) AS tokens_out,
  STRING_AGG(usage.model, ',') AS models,
  MIN(summary.prompts) AS prompts,
  COALESCE(MIN(summary.title), MIN(summary.first_prompt)) AS about
FROM session_usage AS usage
JOIN session_summary AS summary
  ON summary.session_id = usage.session_id
WHERE
  summary.last_at >= CAST($1 AS TEXT)
GROUP BY
  usage.session_id
ORDER BY
  cost_usd DESC NULLS LAST,
  tokens_out DESC NULLS LAST
LIMIT 100
