-- title: Slowest tools
-- group: Trouble
-- finding: no
-- parameter since: only what happened at this time or later; empty means everything
--
-- How long the calls of each tool took, all together, on average and at most, and which one took longest.

-- First in the order of the index: sorting would carry along what each call was given.
WITH timed AS MATERIALIZED (
    SELECT tool_name, count(*) AS calls, sum(duration_ms) AS total_ms, max(duration_ms) AS max_ms, id AS slowest_id
    FROM events
    WHERE event IN ('PostToolUse', 'PostToolUseFailure') AND duration_ms IS NOT NULL AND at >= :since
        AND id >= iif(:since = '', 0, (
            SELECT min(id) FROM events
            WHERE session_id IN (SELECT session_id FROM sessions WHERE last_at >= :since) AND at >= :since
        ))
    GROUP BY event, tool_name
),
tools AS MATERIALIZED (
    SELECT
        tool_name, sum(calls) AS calls, sum(total_ms) AS total_ms, sum(total_ms) / sum(calls) AS mean_ms,
        max(max_ms) AS max_ms, slowest_id
    FROM timed
    GROUP BY tool_name
)
SELECT
    tools.tool_name, calls, total_ms, mean_ms, max_ms, slowest.session_id AS slowest_session_id,
    coalesce(slowest.command, slowest.file_path, slowest.description, slowest.tool_input) AS slowest
FROM tools JOIN events AS slowest ON slowest.id = tools.slowest_id
ORDER BY total_ms DESC
