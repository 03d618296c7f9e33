-- title: Prompts per day
-- group: Work
-- finding: no
-- parameter since: only what happened at this time or later; empty means everything
--
-- How many prompts were typed in how many sessions on each day, by this machine's clock.

WITH
    -- What hooks saw in the sessions that were still alive at :since.
    said AS (
        SELECT session_id, prompt_id, prompt
        FROM events
        WHERE event = 'UserPromptSubmit'
            AND id >= iif(:since = '', 0, (
                SELECT min(id) FROM events
                WHERE session_id IN (SELECT session_id FROM sessions WHERE last_at >= :since)
            ))
    ),
    -- As the view `prompts`, of this time.
    sent AS (
        SELECT session_id, at
        FROM events
        WHERE event = 'UserPromptSubmit' AND is_typed AND at >= :since
            AND id >= iif(:since = '', 0, (
                SELECT min(id) FROM events
                WHERE session_id IN (SELECT session_id FROM sessions WHERE last_at >= :since) AND at >= :since
            ))
        UNION ALL
        SELECT session_id, at
        FROM transcript_parts
        WHERE kind = 'prompt' AND coalesce(at, '') >= :since
            AND id >= iif(:since = '', 0, (
                SELECT min(id) FROM transcript_parts
                WHERE session_id IN (SELECT session_id FROM sessions WHERE last_at >= :since) AND at >= :since
            ))
            AND (session_id, coalesce(prompt_id, text, '')) NOT IN (
                SELECT session_id, prompt_id FROM said WHERE prompt_id IS NOT NULL
                UNION ALL SELECT session_id, prompt FROM said WHERE prompt IS NOT NULL
            )
            AND (session_id, ifnull(text, '')) NOT IN (
                SELECT session_id, prompt FROM said WHERE prompt_id IS NULL AND prompt IS NOT NULL
            )
    )
SELECT date(at, 'localtime') AS day, count(*) AS prompts, count(DISTINCT session_id) AS sessions
FROM sent
GROUP BY day
ORDER BY day DESC
