-- title: API errors
-- group: Trouble
-- finding: yes
-- parameter since: only what happened at this time or later; empty means everything
--
-- Turns that ended in an error of the API (overloaded, rate limit, authentication, …).

SELECT
    at, session_id, error,
    iif(json_valid(extra), json_extract(extra, '$.error_details'), NULL) AS details,
    last_assistant_message AS shown, agent_id
FROM events
WHERE event = 'StopFailure' AND at >= :since
UNION ALL
-- What no hook saw.
SELECT at, session_id, 'api_error', NULL, text, agent_id
FROM transcript_parts AS part
WHERE kind = 'api_error' AND outcome = 'failed' AND coalesce(at, '') >= :since
    AND part.id >= iif(:since = '', 0, (
        SELECT min(id) FROM transcript_parts
        WHERE session_id IN (SELECT session_id FROM sessions WHERE last_at >= :since) AND at >= :since
    ))
    AND (session_id, ifnull(text, '')) NOT IN (
        SELECT session_id, last_assistant_message FROM events
        WHERE event = 'StopFailure' AND last_assistant_message IS NOT NULL
    )
ORDER BY at DESC
