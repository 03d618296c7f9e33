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
  event = 'UserPromptSubmit' AND is_typed
UNION ALL
SELECT
  -id,
  session_id,
  at,
  text,
  prompt_id,
  NULL,
  NULL
FROM transcript_parts
WHERE
  kind = 'prompt'
  AND NOT (session_id, COALESCE(prompt_id, text, '')) IN (
    SELECT
      session_id,
      prompt_id
    FROM events
    WHERE
      event = 'UserPromptSubmit' AND NOT prompt_id IS NULL
    UNION ALL
    SELECT
      session_id,
      prompt
    FROM events
    WHERE
      event = 'UserPromptSubmit' AND NOT prompt IS NULL
  )
  AND NOT (session_id, COALESCE(text, '')) IN (
    SELECT
      session_id,
      prompt
    FROM events
    WHERE
      event = 'UserPromptSubmit' AND prompt_id IS NULL AND NOT prompt IS NULL
  );

GRANT SELECT ON prompts TO sessionlog_developer, sessionlog_reader, sessionlog_auditor;

CREATE VIEW tool_calls WITH (security_invoker) AS
SELECT
  pre.id,
  pre.session_id,
  pre.tool_use_id,
  pre.tool_name,
  pre.action,
  pre.agent_id,
  pre.at AS started_at,
  COALESCE(done.at, part.at) AS finished_at,
  done.duration_ms,
  COALESCE(
    done.outcome,
    part.outcome,
    (
      SELECT
        outcome
      FROM events AS denied
      WHERE
        denied.tool_use_id = pre.tool_use_id
        AND denied.session_id = pre.session_id
        AND denied.event = 'PermissionDenied'
    ),
    'no result'
  ) AS outcome,
  pre.file_path,
  pre.command,
  pre.description,
  pre.old_string,
  pre.new_string,
  pre.content,
  COALESCE(done.error, CASE WHEN part.is_error THEN part.text ELSE NULL END) AS error,
  pre.tool_input,
  COALESCE(done.tool_response, CASE WHEN part.is_error THEN NULL ELSE part.text END) AS tool_response,
  pre.cwd
FROM events AS pre
LEFT JOIN events AS done
  ON done.tool_use_id = pre.tool_use_id
  AND done.session_id = pre.session_id
  AND done.event IN ('PostToolUse', 'PostToolUseFailure')
LEFT JOIN transcript_parts AS part
  ON done.id IS NULL
  AND part.tool_use_id = pre.tool_use_id
  AND part.session_id = pre.session_id
  AND part.kind = 'tool_result'
WHERE
  pre.event = 'PreToolUse'
UNION ALL
SELECT
  id,
  session_id,
  tool_use_id,
  tool_name,
  action,
  agent_id,
  NULL,
  at,
  duration_ms,
  outcome,
  file_path,
  command,
  description,
  old_string,
  new_string,
  content,
  error,
  tool_input,
  tool_response,
  cwd
FROM events AS done
WHERE
  event IN ('PostToolUse', 'PostToolUseFailure')
  AND NOT EXISTS(
    SELECT
      1
    FROM events AS pre
    WHERE
      pre.tool_use_id = done.tool_use_id
      AND pre.session_id = done.session_id
      AND pre.event = 'PreToolUse'
  )
UNION ALL
SELECT
  -call.id,
  call.session_id,
  call.tool_use_id,
  call.tool_name,
  call.action,
  call.agent_id,
  call.at,
  done.at,
  NULL,
  COALESCE(done.outcome, 'no result'),
  call.file_path,
  call.command,
  CASE
    WHEN json_valid(call.text)
    THEN json_extract(call.text, '$.description')
    ELSE NULL
  END,
  CASE
    WHEN json_valid(call.text)
    THEN json_extract(call.text, '$.old_string')
    ELSE NULL
  END,
  CASE
    WHEN json_valid(call.text)
    THEN json_extract(call.text, '$.new_string')
    ELSE NULL
  END,
  CASE
    WHEN json_valid(call.text)
    THEN json_extract(call.text, '$.content')
    ELSE NULL
  END,
  CASE WHEN done.is_error THEN done.text ELSE NULL END,
  call.text,
  CASE WHEN done.is_error THEN NULL ELSE done.text END,
  NULL
FROM transcript_parts AS call
LEFT JOIN transcript_parts AS done
  ON done.tool_use_id = call.tool_use_id
  AND done.session_id = call.session_id
  AND done.kind = 'tool_result'
WHERE
  call.kind = 'tool_use'
  AND NOT EXISTS(
    SELECT
      1
    FROM events
    WHERE
      events.tool_use_id = call.tool_use_id
      AND events.session_id = call.session_id
      AND events.event IN ('PreToolUse', 'PostToolUse', 'PostToolUseFailure')
  );

GRANT SELECT ON tool_calls TO sessionlog_developer, sessionlog_reader, sessionlog_auditor;

CREATE VIEW bash_commands WITH (security_invoker) AS
SELECT
  id,
  session_id,
  finished_at AS at,
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
    ELSE tool_response
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
FROM tool_calls
WHERE
  action = 'run' AND outcome IN ('ok', 'failed');

GRANT SELECT ON bash_commands TO sessionlog_developer, sessionlog_reader, sessionlog_auditor;

CREATE VIEW file_edits WITH (security_invoker) AS
SELECT
  id,
  session_id,
  finished_at AS at,
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
FROM tool_calls
WHERE
  action = 'edit' AND outcome = 'ok';

GRANT SELECT ON file_edits TO sessionlog_developer, sessionlog_reader, sessionlog_auditor;

CREATE VIEW file_writes WITH (security_invoker) AS
SELECT
  id,
  session_id,
  finished_at AS at,
  agent_id,
  file_path,
  content,
  CASE
    WHEN json_valid(tool_response)
    THEN json_extract(tool_response, '$.type')
    ELSE NULL
  END AS kind,
  tool_use_id
FROM tool_calls
WHERE
  action = 'write' AND outcome = 'ok';

GRANT SELECT ON file_writes TO sessionlog_developer, sessionlog_reader, sessionlog_auditor;

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
  UNION ALL
  SELECT
    -id,
    session_id,
    tool_use_id
  FROM transcript_parts
  WHERE
    is_denied
), call AS (
  SELECT
    *,
    MAX(id) OVER (PARTITION BY session_id, tool_use_id) AS asked_id
  FROM question
)
SELECT
  call.id,
  call.session_id,
  COALESCE(asked.at, part.at) AS at,
  COALESCE(asked.agent_id, part.agent_id) AS agent_id,
  COALESCE(asked.tool_name, part.tool_name) AS tool_name,
  COALESCE(asked.command, started.command) AS command,
  COALESCE(asked.file_path, part.file_path) AS file_path,
  asked.permission_mode,
  CASE
    WHEN asked.outcome = 'denied' OR part.outcome = 'denied'
    THEN 'denied'
    WHEN NOT part.id IS NULL
    OR EXISTS(
      SELECT
        1
      FROM events AS done
      WHERE
        done.tool_use_id = call.tool_use_id
        AND done.session_id = call.session_id
        AND done.event IN ('PostToolUse', 'PostToolUseFailure')
        AND done.at >= asked.at
    )
    THEN 'allowed'
    ELSE 'denied or not answered'
  END AS decision,
  COALESCE(
    part.reason,
    CASE
      WHEN json_valid(asked.extra)
      THEN json_extract(asked.extra, '$.reason')
      ELSE NULL
    END
  ) AS reason,
  call.tool_use_id
FROM call
LEFT JOIN events AS asked
  ON asked.id = call.id
LEFT JOIN transcript_parts AS part
  ON part.tool_use_id = call.tool_use_id
  AND part.session_id = call.session_id
  AND part.kind = 'tool_result'
LEFT JOIN transcript_parts AS started
  ON call.id < 0
  AND started.tool_use_id = call.tool_use_id
  AND started.session_id = call.session_id
  AND started.kind = 'tool_use'
WHERE
  call.id > 0 OR call.asked_id < 0;

GRANT SELECT ON permission_decisions TO sessionlog_developer, sessionlog_reader, sessionlog_auditor;

CREATE VIEW subagents WITH (security_invoker) AS
SELECT
  did.session_id,
  did.agent_id,
  COALESCE(MAX(did.agent_type), MIN(facts.agent_type)) AS agent_type,
  MIN(facts.description) AS description,
  MIN(at) AS started_at,
  MAX(stopped_at) AS stopped_at,
  SUM(ended) AS tool_calls,
  SUM(failed) AS failures,
  SUM(edited) AS edits,
  SUM(ran) AS commands,
  COALESCE(
    MAX(report),
    (
      SELECT
        text
      FROM transcript_parts AS part
      WHERE
        part.session_id = did.session_id
        AND part.agent_id = did.agent_id
        AND part.kind = 'text'
      ORDER BY
        at DESC NULLS LAST,
        id DESC NULLS LAST
      LIMIT 1
    )
  ) AS report
FROM (
  SELECT
    session_id,
    agent_id,
    agent_type,
    at,
    CASE WHEN event = 'SubagentStop' THEN at ELSE NULL END AS stopped_at,
    event IN ('PostToolUse', 'PostToolUseFailure') AS ended,
    outcome IS NOT DISTINCT FROM 'failed' AS failed,
    event = 'PostToolUse' AND action IN ('edit', 'write') AS edited,
    event IN ('PostToolUse', 'PostToolUseFailure')
    AND action IS NOT DISTINCT FROM 'run' AS ran,
    CASE WHEN event = 'SubagentStop' THEN last_assistant_message ELSE NULL END AS report
  FROM events
  WHERE
    NOT agent_id IS NULL
  UNION ALL
  SELECT
    session_id,
    agent_id,
    NULL,
    at,
    NULL,
    outcome IN ('ok', 'failed') AND NOT known,
    outcome = 'failed' AND NOT known,
    outcome = 'ok' AND action IN ('edit', 'write') AND NOT known,
    outcome IN ('ok', 'failed') AND action IS NOT DISTINCT FROM 'run' AND NOT known,
    NULL
  FROM (
    SELECT
      session_id,
      agent_id,
      at,
      COALESCE(outcome, '') AS outcome,
      CASE WHEN outcome IS NULL THEN NULL ELSE action END AS action,
      NOT outcome IS NULL
      AND EXISTS(
        SELECT
          1
        FROM events
        WHERE
          events.tool_use_id = part.tool_use_id
          AND events.session_id = part.session_id
          AND events.event IN ('PostToolUse', 'PostToolUseFailure')
      ) AS known
    FROM transcript_parts AS part
    WHERE
      NOT agent_id IS NULL
  ) AS unnamed
) AS did
LEFT JOIN subagent_facts AS facts
  ON facts.session_id = did.session_id AND facts.agent_id = did.agent_id
GROUP BY
  did.session_id,
  did.agent_id;

GRANT SELECT ON subagents TO sessionlog_developer, sessionlog_reader, sessionlog_auditor;

CREATE VIEW turns WITH (security_invoker) AS
SELECT
  MAX(CASE WHEN begins = 1 THEN id ELSE NULL END) AS id,
  session_id,
  MAX(prompt_id) AS prompt_id,
  MIN(CASE WHEN begins = 1 THEN at ELSE NULL END) AS at,
  MAX(prompt) AS prompt,
  SUM(outcome IN ('ok', 'failed')) AS tool_calls,
  SUM(outcome IN ('failed', 'stopped')) AS failures,
  MAX(CASE WHEN outcome IN ('ok', 'failed') THEN at ELSE NULL END) AS last_tool_at
FROM (
  SELECT
    *,
    SUM(begins) OVER (
      PARTITION BY session_id
      ORDER BY CASE WHEN is_mixed THEN at ELSE NULL END NULLS FIRST, CASE WHEN is_mixed THEN 0 ELSE ABS(id) END NULLS FIRST, begins DESC NULLS LAST
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS turn
  FROM (
    SELECT
      *,
      MIN(id) OVER (PARTITION BY session_id) < 0
      AND MAX(id) OVER (PARTITION BY session_id) > 0 AS is_mixed
    FROM (
      SELECT
        id,
        session_id,
        at,
        prompt,
        prompt_id,
        1 AS begins,
        '' AS outcome
      FROM prompts
      UNION ALL
      SELECT
        id,
        session_id,
        finished_at,
        NULL,
        NULL,
        0,
        outcome
      FROM tool_calls
      WHERE
        outcome IN ('ok', 'failed')
      UNION ALL
      SELECT
        id,
        session_id,
        at,
        NULL,
        NULL,
        0,
        'stopped'
      FROM events
      WHERE
        event = 'StopFailure'
    ) AS unnamed
  ) AS unnamed
) AS unnamed
WHERE
  turn > 0
GROUP BY
  session_id,
  turn;

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
        text
      FROM transcript_parts AS part
      WHERE
        part.session_id = sessions.session_id AND kind = 'prompt' AND NOT text IS NULL
      ORDER BY
        id NULLS FIRST
      LIMIT 1
    ),
    (
      SELECT
        prompt
      FROM events
      WHERE
        events.session_id = sessions.session_id AND is_typed
      ORDER BY
        id NULLS FIRST
      LIMIT 1
    )
  ) AS first_prompt,
  events,
  sessions.prompts + COALESCE(facts.prompts, 0) AS prompts,
  sessions.tool_calls + COALESCE(facts.tool_calls, 0) AS tool_calls,
  sessions.edits + COALESCE(facts.edits, 0) AS edits,
  sessions.failures + COALESCE(facts.failures, 0) AS failures,
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
  GREATEST(COALESCE(facts.compactions, 0), COALESCE(seen.compactions, 0)) AS compactions
FROM sessions
LEFT JOIN session_facts AS facts
  ON facts.session_id = sessions.session_id
LEFT JOIN (
  SELECT
    session_id,
    GREATEST(SUM(event = 'PreCompact'), SUM(event = 'PostCompact')) AS compactions
  FROM events
  WHERE
    event IN ('PreCompact', 'PostCompact')
  GROUP BY
    session_id
) AS seen
  ON seen.session_id = sessions.session_id;

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
  ROUND(SUM(cost_usd), 6) AS cost_usd,
  SUM(CASE WHEN cost_usd IS NULL THEN input_tokens + output_tokens ELSE 0 END) AS unpriced_tokens
FROM model_answers AS usage
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
  SUM(usage.unpriced_tokens > 0) AS models_without_price,
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
