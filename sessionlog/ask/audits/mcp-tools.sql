-- title: MCP tools used
-- group: Work
-- finding: no
-- parameter since: only what happened at this time or later; empty means everything
--
-- Calls of tools that MCP servers offer, by server and tool.

WITH used AS (
    SELECT session_id, at, tool_name, outcome = 'failed' AS failed, duration_ms
    FROM events
    WHERE event IN ('PostToolUse', 'PostToolUseFailure') AND tool_name GLOB 'mcp__*' AND at >= :since
    UNION ALL
    -- Sessions that no hook saw.
    SELECT transcript_parts.session_id, at, tool_name, NULL, NULL
    FROM sessions CROSS JOIN transcript_parts ON transcript_parts.session_id = sessions.session_id
    WHERE sessions.events = 0 AND kind = 'tool_use' AND tool_name GLOB 'mcp__*' AND coalesce(at, '') >= :since
)
SELECT
    substr(tool_name, 6, instr(substr(tool_name, 6) || '__', '__') - 1) AS server,
    substr(tool_name, 6 + instr(substr(tool_name, 6) || '__', '__') + 1) AS tool,
    count(*) AS calls, sum(failed) AS failures, count(DISTINCT session_id) AS sessions,
    CAST(avg(duration_ms) AS INTEGER) AS mean_ms, max(at) AS last_at
FROM used
GROUP BY tool_name
ORDER BY calls DESC
