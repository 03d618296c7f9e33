-- Made from sessionlog/ask/audits/prompts-per-day.sql by tools/generate.py. Do not edit. $1 is :since.

WITH said AS (
  SELECT
    session_id,
    prompt_id,
    prompt
  FROM events
  WHERE
    event = 'UserPromptSubmit' AND TRUE
), sent AS (
  SELECT
    session_id,
    at
  FROM events
  WHERE
    event = 'UserPromptSubmit' AND is_typed AND at >= CAST($1 AS TEXT) AND TRUE
  UNION ALL
  SELECT
    session_id,
    at
  FROM transcript_parts
  WHERE
    kind = 'prompt'
    AND (
      at >= CAST($1 AS TEXT) OR (
        at IS NULL AND CAST($1 AS TEXT) = ''
      )
    )
    AND TRUE
    AND NOT (session_id, COALESCE(prompt_id, text, '')) IN (
      SELECT
        session_id,
        prompt_id
      FROM said
      WHERE
        NOT prompt_id IS NULL
      UNION ALL
      SELECT
        session_id,
        prompt
      FROM said
      WHERE
        NOT prompt IS NULL
    )
    AND NOT (session_id, COALESCE(text, '')) IN (
      SELECT
        session_id,
        prompt
      FROM said
      WHERE
        prompt_id IS NULL AND NOT prompt IS NULL
    )
)
SELECT
  date(at, 'localtime') AS day,
  COUNT(*) AS prompts,
  COUNT(DISTINCT session_id) AS sessions
FROM sent
GROUP BY
  day
ORDER BY
  day DESC NULLS LAST
