-- Made from sessionlog/ask/audits/subagents.sql by tools/generate.py. Do not edit. $1 is :since.

WITH seen AS (
  SELECT
    MIN(at) AS at,
    session_id,
    MAX(agent_type) AS agent_type,
    SUM(event IN ('PostToolUse', 'PostToolUseFailure')) AS tool_calls,
    SUM(outcome IS NOT DISTINCT FROM 'failed') AS failures,
    SUM(event = 'PostToolUse' AND action IN ('edit', 'write')) AS edits,
    SUM(event IN ('PostToolUse', 'PostToolUseFailure') AND action = 'run') AS commands,
    MAX(CASE WHEN event = 'SubagentStop' THEN last_assistant_message ELSE NULL END) AS report,
    agent_id
  FROM events
  WHERE
    agent_id > ''
  GROUP BY
    agent_id,
    session_id
)
SELECT
  seen.at,
  seen.session_id,
  COALESCE(seen.agent_type, subagent_facts.agent_type) AS agent_type,
  subagent_facts.description,
  seen.tool_calls,
  seen.failures,
  seen.edits,
  seen.commands,
  seen.report,
  seen.agent_id
FROM seen
LEFT JOIN subagent_facts
  ON subagent_facts.session_id = seen.session_id
  AND subagent_facts.agent_id = seen.agent_id
WHERE
  seen.at >= CAST($1 AS TEXT)
UNION ALL
SELECT
  MIN(transcript_parts.at),
  subagent_facts.session_id,
  (
    ARRAY_AGG(subagent_facts.agent_type ORDER BY transcript_parts.at ASC)
  )[1] AS agent_type,
  (
    ARRAY_AGG(subagent_facts.description ORDER BY transcript_parts.at ASC)
  )[1] AS description,
  SUM(transcript_parts.kind = 'tool_use'),
  SUM(transcript_parts.outcome IS NOT DISTINCT FROM 'failed'),
  SUM(
    transcript_parts.kind = 'tool_use'
    AND transcript_parts.action IN ('edit', 'write')
  ),
  SUM(transcript_parts.kind = 'tool_use' AND transcript_parts.action = 'run'),
  NULL,
  subagent_facts.agent_id
FROM subagent_facts
JOIN transcript_parts
  ON transcript_parts.session_id = subagent_facts.session_id
  AND transcript_parts.agent_id = subagent_facts.agent_id
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM events
    WHERE
      events.agent_id = subagent_facts.agent_id
      AND events.session_id = subagent_facts.session_id
  )
GROUP BY
  subagent_facts.session_id,
  subagent_facts.agent_id
HAVING
  COALESCE(MIN(transcript_parts.at), '') >= CAST($1 AS TEXT)
ORDER BY
  1 DESC NULLS LAST
