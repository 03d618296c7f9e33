-- Made from sessionlog/ask/audits/api-errors.sql by tools/generate.py. Do not edit. $1 is :since.

SELECT
  at,
  session_id,
  error,
  CASE
    WHEN json_valid(extra)
    THEN json_extract(extra, '$.error_details')
    ELSE NULL
  END AS details,
  last_assistant_message AS shown,
  agent_id
FROM events
WHERE
  event = 'StopFailure' AND at >= CAST($1 AS TEXT)
UNION ALL
SELECT
  at,
  session_id,
  'api_error',
  NULL,
  text,
  agent_id
FROM transcript_parts AS part
WHERE
  kind = 'api_error'
  AND outcome = 'failed'
  AND (
    at >= CAST($1 AS TEXT) OR (
      at IS NULL AND CAST($1 AS TEXT) = ''
    )
  )
  AND TRUE
  AND NOT (session_id, COALESCE(text, '')) IN (
    SELECT
      session_id,
      last_assistant_message
    FROM events
    WHERE
      event = 'StopFailure' AND NOT last_assistant_message IS NULL
  )
ORDER BY
  at DESC NULLS LAST
