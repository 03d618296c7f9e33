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
  transcript_parts.session_id,
  'api_error',
  NULL,
  text,
  agent_id
FROM sessions
JOIN transcript_parts
  ON transcript_parts.session_id = sessions.session_id
WHERE
  sessions.events = 0
  AND kind = 'api_error'
  AND COALESCE(at, '') >= CAST($1 AS TEXT)
ORDER BY
  at DESC NULLS LAST
