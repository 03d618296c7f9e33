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
        AND id >= iif(:since = '', 0, (
            SELECT min(id) FROM events
            WHERE session_id IN (SELECT session_id FROM sessions WHERE last_at >= :since) AND at >= :since
        ))
    UNION ALL
    -- What no hook saw.
    SELECT session_id, at, tool_name, outcome = 'failed', NULL
    FROM transcript_parts AS part
    WHERE kind = 'tool_result' AND outcome IN ('ok', 'failed') AND tool_name GLOB 'mcp__*' AND coalesce(at, '') >= :since
        AND part.id >= iif(:since = '', 0, (
            SELECT min(id) FROM transcript_parts
            WHERE session_id IN (SELECT session_id FROM sessions WHERE last_at >= :since) AND at >= :since
        ))
        AND NOT EXISTS (
            SELECT 1 FROM events
            WHERE events.tool_use_id = part.tool_use_id AND events.session_id = part.session_id
                AND events.event IN ('PostToolUse', 'PostToolUseFailure')
        )
)
SELECT
    substr(tool_name, 6, instr(substr(tool_name, 6) || '__', '__') - 1) AS server,
    substr(tool_name, 6 + instr(substr(tool_name, 6) || '__', '__') + 1) AS tool,
    count(*) AS calls, sum(failed) AS failures, count(DISTINCT session_id) AS sessions,
    CAST(avg(duration_ms) AS INTEGER) AS mean_ms, max(at) AS last_at
FROM used
GROUP BY tool_name
ORDER BY calls DESC
