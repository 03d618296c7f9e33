-- title: Costliest sessions
-- group: Work
-- finding: no
-- parameter since: only what happened at this time or later; empty means everything
--
-- Sessions by what their tokens cost; a model without a known price counts its tokens and no money.

SELECT
    summary.started_at AS at, summary.session_id, round(sum(usage.cost_usd), 2) AS cost_usd,
    sum(usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens) AS tokens_in,
    sum(usage.output_tokens) AS tokens_out, group_concat(usage.model) AS models, summary.prompts,
    coalesce(summary.title, summary.first_prompt) AS about
FROM session_usage AS usage
JOIN session_summary AS summary ON summary.session_id = usage.session_id
WHERE summary.last_at >= :since
GROUP BY usage.session_id
ORDER BY cost_usd DESC, tokens_out DESC
LIMIT 100
