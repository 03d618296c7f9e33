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
-- Sessions that no hook saw.
SELECT at, transcript_parts.session_id, 'api_error', NULL, text, agent_id
FROM sessions CROSS JOIN transcript_parts ON transcript_parts.session_id = sessions.session_id
WHERE sessions.events = 0 AND kind = 'api_error' AND coalesce(at, '') >= :since
ORDER BY at DESC
