-- title: Prompts per day
-- group: Work
-- finding: no
-- parameter since: only what happened at this time or later; empty means everything
--
-- How many prompts were typed in how many sessions on each day, by this machine's clock.

WITH typed AS (
    SELECT session_id, at
    FROM events
    WHERE event = 'UserPromptSubmit' AND at >= :since
        AND id >= iif(:since = '', 0, (
            SELECT min(id) FROM events
            WHERE session_id IN (SELECT session_id FROM sessions WHERE last_at >= :since) AND at >= :since
        ))
    UNION ALL
    -- Sessions that no hook saw.
    SELECT transcript_parts.session_id, at
    FROM sessions CROSS JOIN transcript_parts ON transcript_parts.session_id = sessions.session_id
    WHERE sessions.events = 0 AND kind = 'prompt' AND agent_id IS NULL AND coalesce(at, '') >= :since
)
SELECT date(at, 'localtime') AS day, count(*) AS prompts, count(DISTINCT session_id) AS sessions
FROM typed
GROUP BY day
ORDER BY day DESC
