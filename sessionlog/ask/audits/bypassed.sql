-- title: Sessions run with permissions bypassed
-- group: Permissions
-- finding: yes
-- parameter since: only what happened at this time or later; empty means everything
--
-- Sessions in which at least one prompt ran, or the last event came, in the mode bypassPermissions.

WITH bypassed AS (
    SELECT session_id, count(*) AS prompts
    FROM events
    WHERE event = 'UserPromptSubmit' AND is_typed AND permission_mode = 'bypassPermissions' AND at >= :since
        AND id >= iif(:since = '', 0, (
            SELECT min(id) FROM events
            WHERE session_id IN (SELECT session_id FROM sessions WHERE last_at >= :since) AND at >= :since
        ))
    GROUP BY session_id
    UNION ALL
    SELECT session_id, 0 FROM sessions WHERE permission_mode = 'bypassPermissions' AND last_at >= :since
)
SELECT
    summary.started_at AS at, summary.session_id, sum(bypassed.prompts) AS prompts_bypassed, summary.prompts,
    summary.tool_calls, summary.edits, summary.failures, summary.cwd, summary.first_prompt
FROM bypassed JOIN session_summary AS summary ON summary.session_id = bypassed.session_id
GROUP BY summary.session_id
ORDER BY summary.started_at DESC
