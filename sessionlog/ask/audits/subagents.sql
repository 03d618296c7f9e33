-- title: What sub-agents did
-- group: Work
-- finding: no
-- parameter since: only what happened at this time or later; empty means everything
--
-- Each sub-agent with its task, its tool calls and their failures, what it changed and ran, and its report.

-- Like the view `subagents`, in the order of the index on agents.
WITH seen AS (
    SELECT
        min(at) AS at, session_id, max(agent_type) AS agent_type,
        sum(event IN ('PostToolUse', 'PostToolUseFailure')) AS tool_calls,
        sum(outcome IS 'failed') AS failures,
        sum(event = 'PostToolUse' AND action IN ('edit', 'write')) AS edits,
        sum(event IN ('PostToolUse', 'PostToolUseFailure') AND action = 'run') AS commands,
        max(iif(event = 'SubagentStop', last_assistant_message, NULL)) AS report, agent_id
    FROM events
    WHERE agent_id > ''
    GROUP BY agent_id, session_id
)
SELECT
    seen.at, seen.session_id, coalesce(seen.agent_type, subagent_facts.agent_type) AS agent_type, subagent_facts.description,
    seen.tool_calls, seen.failures, seen.edits, seen.commands, seen.report, seen.agent_id
FROM seen
LEFT JOIN subagent_facts ON subagent_facts.session_id = seen.session_id AND subagent_facts.agent_id = seen.agent_id
WHERE seen.at >= :since
UNION ALL
-- Those that no hook saw.
SELECT
    min(transcript_parts.at), subagent_facts.session_id, subagent_facts.agent_type, subagent_facts.description,
    sum(transcript_parts.kind = 'tool_use'), sum(transcript_parts.outcome IS 'failed'),
    sum(transcript_parts.kind = 'tool_use' AND transcript_parts.action IN ('edit', 'write')),
    sum(transcript_parts.kind = 'tool_use' AND transcript_parts.action = 'run'),
    NULL, subagent_facts.agent_id
FROM subagent_facts
JOIN transcript_parts ON transcript_parts.session_id = subagent_facts.session_id AND transcript_parts.agent_id = subagent_facts.agent_id
WHERE NOT EXISTS (
    SELECT 1 FROM events WHERE events.agent_id = subagent_facts.agent_id AND events.session_id = subagent_facts.session_id
)
GROUP BY subagent_facts.session_id, subagent_facts.agent_id
HAVING coalesce(min(transcript_parts.at), '') >= :since
ORDER BY 1 DESC
