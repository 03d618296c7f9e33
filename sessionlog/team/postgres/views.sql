-- Made from sessionlog/archive/schema.sql by tools/generate.py. Do not edit.

CREATE VIEW prompts WITH (security_invoker) AS
SELECT
  id,
  session_id,
  at,
  prompt,
  prompt_id,
  permission_mode,
  cwd
FROM events
WHERE
  event = 'UserPromptSubmit';

GRANT SELECT ON prompts TO sessionlog_developer, sessionlog_reader, sessionlog_auditor;

CREATE VIEW bash_commands WITH (security_invoker) AS
SELECT
  id,
  session_id,
  at,
  agent_id,
  command,
  description,
  cwd,
  duration_ms,
  outcome = 'failed' AS failed,
  CASE
    WHEN error ILIKE 'Exit code %'
    THEN leading_integer(SUBSTRING(error FROM 11 FOR 10))
    ELSE NULL
  END AS exit_code,
  CASE
    WHEN json_valid(tool_response)
    THEN json_extract(tool_response, '$.stdout')
    ELSE NULL
  END AS stdout,
  COALESCE(
    CASE
      WHEN json_valid(tool_response)
      THEN json_extract(tool_response, '$.stderr')
      ELSE NULL
    END,
    error
  ) AS stderr,
  tool_use_id
FROM events
WHERE
  event IN ('PostToolUse', 'PostToolUseFailure') AND action = 'run';

GRANT SELECT ON bash_commands TO sessionlog_developer, sessionlog_reader, sessionlog_auditor;

CREATE VIEW file_edits WITH (security_invoker) AS
SELECT
  id,
  session_id,
  at,
  agent_id,
  tool_name,
  COALESCE(
    file_path,
    CASE
      WHEN json_valid(tool_input)
      THEN json_extract(tool_input, '$.notebook_path')
      ELSE NULL
    END
  ) AS file_path,
  old_string,
  COALESCE(
    new_string,
    CASE
      WHEN json_valid(tool_input)
      THEN json_extract(tool_input, '$.new_source')
      ELSE NULL
    END
  ) AS new_string,
  CASE
    WHEN json_valid(tool_input)
    THEN json_extract(tool_input, '$.replace_all')
    ELSE NULL
  END AS replace_all,
  tool_use_id
FROM events
WHERE
  event = 'PostToolUse' AND action = 'edit';

GRANT SELECT ON file_edits TO sessionlog_developer, sessionlog_reader, sessionlog_auditor;

CREATE VIEW file_writes WITH (security_invoker) AS
SELECT
  id,
  session_id,
  at,
  agent_id,
  file_path,
  content,
  CASE
    WHEN json_valid(tool_response)
    THEN json_extract(tool_response, '$.type')
    ELSE NULL
  END AS kind,
  tool_use_id
FROM events
WHERE
  event = 'PostToolUse' AND action = 'write';

GRANT SELECT ON file_writes TO sessionlog_developer, sessionlog_reader, sessionlog_auditor;

CREATE VIEW tool_calls WITH (security_invoker) AS
SELECT
  COALESCE(pre.id, done.id) AS id,
  COALESCE(pre.session_id, done.session_id) AS session_id,
  COALESCE(pre.tool_use_id, done.tool_use_id) AS tool_use_id,
  COALESCE(pre.tool_name, done.tool_name) AS tool_name,
  COALESCE(pre.action, done.action) AS action,
  COALESCE(pre.agent_id, done.agent_id) AS agent_id,
  pre.at AS started_at,
  done.at AS finished_at,
  done.duration_ms,
  COALESCE(done.outcome, 'no result') AS outcome,
  COALESCE(pre.file_path, done.file_path) AS file_path,
  COALESCE(pre.command, done.command) AS command,
  COALESCE(pre.description, done.description) AS description,
  done.error,
  COALESCE(pre.tool_input, done.tool_input) AS tool_input,
  done.tool_response
FROM events AS pre
LEFT JOIN events AS done
  ON done.tool_use_id = pre.tool_use_id
  AND done.session_id = pre.session_id
  AND done.event IN ('PostToolUse', 'PostToolUseFailure')
WHERE
  pre.event = 'PreToolUse'
UNION ALL
SELECT
  done.id,
  done.session_id,
  done.tool_use_id,
  done.tool_name,
  done.action,
  done.agent_id,
  NULL,
  done.at,
  done.duration_ms,
  done.outcome,
  done.file_path,
  done.command,
  done.description,
  done.error,
  done.tool_input,
  done.tool_response
FROM events AS done
WHERE
  done.event IN ('PostToolUse', 'PostToolUseFailure')
  AND NOT EXISTS(
    SELECT
      1
    FROM events AS pre
    WHERE
      pre.tool_use_id = done.tool_use_id
      AND pre.session_id = done.session_id
      AND pre.event = 'PreToolUse'
  );

GRANT SELECT ON tool_calls TO sessionlog_developer, sessionlog_reader, sessionlog_auditor;

CREATE VIEW permission_decisions WITH (security_invoker) AS
WITH step AS (
  SELECT
    id,
    session_id,
    at,
    tool_use_id,
    event = 'PermissionRequest' AS asks,
    FIRST_VALUE(id) OVER same_input AS input,
    SUM(CASE WHEN event = 'PermissionRequest' THEN -1 ELSE 1 END) OVER same_input + CAST((
      event = 'PermissionRequest'
    ) AS INT) AS depth
  FROM events
  WHERE
    event IN ('PreToolUse', 'PermissionRequest')
    AND (
      event = 'PreToolUse' OR tool_use_id IS NULL
    )
    AND session_id IN (
      SELECT
        session_id
      FROM events
      WHERE
        event = 'PermissionRequest'
    )
  WINDOW same_input AS (
    PARTITION BY session_id, agent_id, tool_name, command, file_path, old_string, new_string, content, description, tool_input
    ORDER BY at NULLS FIRST, id NULLS FIRST
  )
), bracket AS (
  SELECT
    *,
    NOT CASE WHEN asks THEN LAG(id) OVER level ELSE LEAD(id) OVER level END IS NULL AS closed
  FROM step
  WINDOW level AS (PARTITION BY session_id, input, depth ORDER BY at NULLS FIRST, id NULLS FIRST)
), numbered AS (
  SELECT
    *,
    ROW_NUMBER() OVER (
      PARTITION BY session_id, input, closed, asks
      ORDER BY at NULLS FIRST, id NULLS FIRST
    ) AS number
  FROM bracket
), question AS (
  SELECT
    id,
    session_id,
    tool_use_id
  FROM (
    SELECT
      id,
      session_id,
      asks,
      CASE
        WHEN closed
        THEN MAX(CASE WHEN asks THEN NULL ELSE tool_use_id END) OVER same_number
        ELSE NULL
      END AS tool_use_id
    FROM numbered
    WINDOW same_number AS (PARTITION BY session_id, input, closed, number)
  ) AS unnamed
  WHERE
    asks
  UNION ALL
  SELECT
    id,
    session_id,
    tool_use_id
  FROM events
  WHERE
    event = 'PermissionDenied'
    OR (
      event = 'PermissionRequest' AND NOT tool_use_id IS NULL
    )
)
SELECT
  asked.id,
  question.session_id,
  asked.at,
  asked.agent_id,
  asked.tool_name,
  asked.command,
  asked.file_path,
  asked.permission_mode,
  CASE
    WHEN asked.outcome = 'denied'
    THEN 'denied'
    WHEN EXISTS(
      SELECT
        1
      FROM events AS done
      WHERE
        done.tool_use_id = question.tool_use_id
        AND done.session_id = question.session_id
        AND done.event IN ('PostToolUse', 'PostToolUseFailure')
        AND done.at >= asked.at
    )
    THEN 'allowed'
    ELSE 'denied or not answered'
  END AS decision,
  CASE
    WHEN json_valid(asked.extra)
    THEN json_extract(asked.extra, '$.reason')
    ELSE NULL
  END AS reason,
  question.tool_use_id
FROM question
JOIN events AS asked
  ON asked.id = question.id;

GRANT SELECT ON permission_decisions TO sessionlog_developer, sessionlog_reader, sessionlog_auditor;

CREATE VIEW subagents WITH (security_invoker) AS
SELECT
  session_id,
  agent_id,
  MAX(agent_type) AS agent_type,
  MIN(at) AS started_at,
  MAX(CASE WHEN event = 'SubagentStop' THEN at ELSE NULL END) AS stopped_at,
  SUM(event IN ('PostToolUse', 'PostToolUseFailure')) AS tool_calls,
  SUM(outcome IS NOT DISTINCT FROM 'failed') AS failures,
  MAX(CASE WHEN event = 'SubagentStop' THEN last_assistant_message ELSE NULL END) AS report
FROM events
WHERE
  NOT agent_id IS NULL
GROUP BY
  session_id,
  agent_id;

GRANT SELECT ON subagents TO sessionlog_developer, sessionlog_reader, sessionlog_auditor;

CREATE VIEW turns WITH (security_invoker) AS
SELECT
  (
    ARRAY_AGG(
      turn.id ORDER BY CASE
        WHEN happened.event IN ('PostToolUse', 'PostToolUseFailure')
        THEN happened.at
        ELSE NULL
      END DESC NULLS LAST
    )
  )[1] AS id,
  happened.session_id,
  (
    ARRAY_AGG(
      turn.prompt_id ORDER BY CASE
        WHEN happened.event IN ('PostToolUse', 'PostToolUseFailure')
        THEN happened.at
        ELSE NULL
      END DESC NULLS LAST
    )
  )[1] AS prompt_id,
  (
    ARRAY_AGG(
      turn.at ORDER BY CASE
        WHEN happened.event IN ('PostToolUse', 'PostToolUseFailure')
        THEN happened.at
        ELSE NULL
      END DESC NULLS LAST
    )
  )[1] AS at,
  (
    ARRAY_AGG(
      turn.prompt ORDER BY CASE
        WHEN happened.event IN ('PostToolUse', 'PostToolUseFailure')
        THEN happened.at
        ELSE NULL
      END DESC NULLS LAST
    )
  )[1] AS prompt,
  SUM(happened.event IN ('PostToolUse', 'PostToolUseFailure')) AS tool_calls,
  SUM(happened.outcome IS NOT DISTINCT FROM 'failed') AS failures,
  MAX(
    CASE
      WHEN happened.event IN ('PostToolUse', 'PostToolUseFailure')
      THEN happened.at
      ELSE NULL
    END
  ) AS last_tool_at
FROM (
  SELECT
    session_id,
    event,
    outcome,
    at,
    MAX(CASE WHEN event = 'UserPromptSubmit' THEN id ELSE NULL END) OVER (PARTITION BY session_id ORDER BY id NULLS FIRST) AS turn_id
  FROM events
  WHERE
    event IN ('UserPromptSubmit', 'PostToolUse', 'PostToolUseFailure', 'StopFailure')
) AS happened
JOIN events AS turn
  ON turn.id = happened.turn_id
GROUP BY
  happened.session_id,
  happened.turn_id;

GRANT SELECT ON turns TO sessionlog_developer, sessionlog_reader, sessionlog_auditor;

CREATE VIEW session_summary WITH (security_invoker) AS
SELECT
  sessions.session_id,
  started_at,
  sessions.last_at,
  ended_at,
  end_reason,
  leading_integer(ROUND((
    julianday(sessions.last_at) - julianday(started_at)
  ) * 86400)) AS seconds,
  COALESCE(
    (
      SELECT
        prompt
      FROM events
      WHERE
        events.session_id = sessions.session_id AND event = 'UserPromptSubmit'
      ORDER BY
        at NULLS FIRST,
        id NULLS FIRST
      LIMIT 1
    ),
    (
      SELECT
        text
      FROM transcript_parts AS part
      WHERE
        part.session_id = sessions.session_id AND kind = 'prompt' AND agent_id IS NULL
      ORDER BY
        at NULLS FIRST,
        id NULLS FIRST
      LIMIT 1
    )
  ) AS first_prompt,
  events,
  CASE
    WHEN (
      events <> 0
    )
    THEN sessions.prompts
    ELSE COALESCE(facts.prompts, 0)
  END AS prompts,
  CASE
    WHEN (
      events <> 0
    )
    THEN sessions.tool_calls
    ELSE COALESCE(facts.tool_calls, 0)
  END AS tool_calls,
  CASE WHEN (
    events <> 0
  ) THEN sessions.edits ELSE COALESCE(facts.edits, 0) END AS edits,
  CASE
    WHEN (
      events <> 0
    )
    THEN sessions.failures
    ELSE COALESCE(facts.failures, 0)
  END AS failures,
  client,
  model,
  start_reason,
  permission_mode,
  cwd,
  transcript_path,
  COALESCE(facts.custom_title, facts.ai_title, facts.summary) AS title,
  COALESCE(facts.messages, 0) AS messages,
  facts.git_branch,
  facts.client_version,
  facts.forked_from,
  facts.compactions
FROM sessions
LEFT JOIN session_facts AS facts
  ON facts.session_id = sessions.session_id;

GRANT SELECT ON session_summary TO sessionlog_developer, sessionlog_reader, sessionlog_auditor;

CREATE VIEW session_usage WITH (security_invoker) AS
SELECT
  usage.session_id,
  usage.model,
  COUNT(*) AS answers,
  SUM(input_tokens) AS input_tokens,
  SUM(output_tokens) AS output_tokens,
  SUM(thinking_tokens) AS thinking_tokens,
  SUM(cache_read_tokens) AS cache_read_tokens,
  SUM(cache_write_5m_tokens + cache_write_1h_tokens) AS cache_write_tokens,
  SUM(web_searches) AS web_searches,
  ROUND(
    SUM(
      input_tokens * price.input + output_tokens * price.output + cache_read_tokens * price.cache_read + cache_write_5m_tokens * price.cache_write_5m + cache_write_1h_tokens * price.cache_write_1h
    ) / NULLIF(1e6, 0),
    6
  ) AS cost_usd,
  MIN(price.priced_on) AS priced_on
FROM model_answers AS usage
LEFT JOIN model_prices AS price
  ON price.model = usage.model
GROUP BY
  usage.session_id,
  usage.model;

GRANT SELECT ON session_usage TO sessionlog_developer, sessionlog_reader, sessionlog_auditor;

CREATE VIEW session_costs WITH (security_invoker) AS
SELECT
  sessions.session_id,
  MIN(sessions.started_at) AS started_at,
  SUM(usage.input_tokens) AS input_tokens,
  SUM(usage.output_tokens) AS output_tokens,
  SUM(usage.cache_read_tokens) AS cache_read_tokens,
  SUM(usage.cache_write_tokens) AS cache_write_tokens,
  SUM(usage.cost_usd) AS cost_usd,
  SUM(NOT usage.model IS NULL AND usage.cost_usd IS NULL) AS models_without_price,
  (
    SELECT
      SUM(leading_integer(json_extract(value, '$.inputTokens')))
    FROM json_each(facts.client_usage)
  ) AS client_input_tokens,
  (
    SELECT
      SUM(leading_integer(json_extract(value, '$.outputTokens')))
    FROM json_each(facts.client_usage)
  ) AS client_output_tokens,
  MIN(facts.client_cost_usd) AS client_cost_usd
FROM sessions
LEFT JOIN session_facts AS facts
  ON facts.session_id = sessions.session_id
LEFT JOIN session_usage AS usage
  ON usage.session_id = sessions.session_id
GROUP BY
  sessions.session_id,
  facts.client_usage;

GRANT SELECT ON session_costs TO sessionlog_developer, sessionlog_reader, sessionlog_auditor;

CREATE VIEW entry_types WITH (security_invoker) AS
SELECT
  MIN(transcripts.session_id) AS session_id,
  MIN(transcripts.agent_id) AS agent_id,
  MIN(transcripts.kind) AS kind,
  entry.key AS type,
  SUM(leading_integer(entry.value)) AS entries
FROM transcript_chunks
JOIN transcripts
  ON transcripts.id = transcript_chunks.transcript_id
JOIN json_each(transcript_chunks.entry_types) AS entry
  ON TRUE
GROUP BY
  transcripts.id,
  entry.key;

GRANT SELECT ON entry_types TO sessionlog_developer, sessionlog_reader, sessionlog_auditor;
