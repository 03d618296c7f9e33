-- Made from sessionlog/ask/audits/prompts-per-day.sql by tools/generate.py. Do not edit. $1 is :since.

SELECT
  date(at, 'localtime') AS day,
  COUNT(*) AS prompts,
  COUNT(DISTINCT session_id) AS sessions
FROM prompts
WHERE
  (
    at >= CAST($1 AS TEXT) OR (
      at IS NULL AND CAST($1 AS TEXT) = ''
    )
  )
GROUP BY
  day
ORDER BY
  day DESC NULLS LAST
