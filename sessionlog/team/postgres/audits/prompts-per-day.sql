-- Made from sessionlog/ask/audits/prompts-per-day.sql by tools/generate.py. Do not edit. $1 is :since.

WITH typed AS (
  SELECT
    session_id,
    at
  FROM events
  WHERE
    event = 'UserPromptSubmit' AND at >= CAST($1 AS TEXT) AND TRUE
  UNION ALL
  SELECT
    transcript_parts.session_id,
    at
  FROM sessions
  JOIN transcript_parts
    ON transcript_parts.session_id = sessions.session_id
  WHERE
    sessions.events = 0
    AND kind = 'prompt'
    AND agent_id IS NULL
    AND COALESCE(at, '') >= CAST($1 AS TEXT)
)
SELECT
  date(at, 'localtime') AS day,
  COUNT(*) AS prompts,
  COUNT(DISTINCT session_id) AS sessions
FROM typed
GROUP BY
  day
ORDER BY
  day DESC NULLS LAST
