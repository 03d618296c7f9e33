-- title: Prompts per day
-- group: Work
-- finding: no
-- parameter since: only what happened at this time or later; empty means everything
--
-- How many prompts were typed in how many sessions on each day, by this machine's clock.

SELECT date(at, 'localtime') AS day, count(*) AS prompts, count(DISTINCT session_id) AS sessions
FROM prompts
WHERE coalesce(at, '') >= :since
GROUP BY day
ORDER BY day DESC
