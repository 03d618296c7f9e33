-- title: What sub-agents did
-- group: Work
-- finding: no
-- parameter since: only what happened at this time or later; empty means everything
--
-- Each sub-agent with its task, its tool calls and their failures, what it changed and ran, and its report.

SELECT
    started_at AS at, session_id, agent_type, description, tool_calls, failures, edits, commands, report, agent_id
FROM subagents
WHERE coalesce(started_at, '') >= :since
ORDER BY 1 DESC
