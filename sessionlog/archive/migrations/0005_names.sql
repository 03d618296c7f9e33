-- From here on, archive/schema.sql is the schema: this brings the tables to it. Views, triggers and indexes that are
-- missing afterwards are created from that file.

DROP VIEW IF EXISTS prompts;
DROP VIEW IF EXISTS bash_commands;
DROP VIEW IF EXISTS file_edits;
DROP VIEW IF EXISTS file_writes;
DROP VIEW IF EXISTS permission_decisions;
DROP VIEW IF EXISTS tool_calls;
DROP VIEW IF EXISTS subagents;
DROP VIEW IF EXISTS session_summary;
DROP VIEW IF EXISTS turns;
DROP VIEW IF EXISTS session_costs;
DROP VIEW IF EXISTS session_usage;
DROP VIEW IF EXISTS entry_types;
-- No command used it, and it cost every hook more than any other view: `sessionlog show --json` tells the same.
DROP VIEW IF EXISTS timeline;
DROP TRIGGER IF EXISTS events_keep_sessions;
DROP TRIGGER IF EXISTS events_keep_last_event;
DROP INDEX IF EXISTS events_event_tool_name;
DROP INDEX IF EXISTS messages_session_id_at;
DROP INDEX IF EXISTS messages_uuid;
DROP INDEX IF EXISTS messages_line;
DROP INDEX IF EXISTS messages_tool_use_id;
DROP INDEX IF EXISTS messages_prompt_id;
DROP INDEX IF EXISTS api_messages_session_id;

ALTER TABLE archive RENAME COLUMN last_event TO last_removed_id;
ALTER TABLE sessions RENAME COLUMN source TO start_reason;
ALTER TABLE sessions RENAME COLUMN chain TO head_hash;
ALTER TABLE sessions RENAME COLUMN last_event TO last_event_id;
ALTER TABLE sessions ADD COLUMN client TEXT NOT NULL DEFAULT 'claude-code';
ALTER TABLE transcripts ADD COLUMN client TEXT NOT NULL DEFAULT 'claude-code';
ALTER TABLE chain_notes ADD COLUMN format_1_until INTEGER;

ALTER TABLE transcripts ADD COLUMN pruned_bytes INTEGER NOT NULL DEFAULT 0;

ALTER TABLE messages RENAME TO transcript_parts;
ALTER TABLE api_messages RENAME TO model_answers;
ALTER TABLE agents RENAME TO subagent_facts;
ALTER TABLE model_answers ADD COLUMN speed TEXT;
ALTER TABLE model_answers ADD COLUMN inference_geo TEXT;
ALTER TABLE model_answers ADD COLUMN cost_usd REAL;
ALTER TABLE archive ADD COLUMN prices TEXT;
-- As a start, by the prices that were known; the next import computes all of them anew.
UPDATE model_answers SET cost_usd = (
    SELECT (
        input_tokens * price.input + output_tokens * price.output + cache_read_tokens * price.cache_read
        + cache_write_5m_tokens * price.cache_write_5m + cache_write_1h_tokens * price.cache_write_1h
    ) / 1e6
    FROM model_prices AS price WHERE price.model = model_answers.model
);
DROP TABLE model_prices;
DELETE FROM sqlite_stat1 WHERE tbl = 'model_prices';
DELETE FROM sqlite_stat1 WHERE tbl IN ('messages', 'api_messages', 'agents');

ALTER TABLE events ADD COLUMN action TEXT GENERATED ALWAYS AS (CASE
        WHEN tool_name IN ('Bash', 'PowerShell') THEN 'run'
        WHEN tool_name IN ('Edit', 'MultiEdit', 'NotebookEdit', 'apply_patch') THEN 'edit'
        WHEN tool_name = 'Write' THEN 'write'
        WHEN tool_name IN ('Read', 'Grep', 'Glob', 'LS') THEN 'read'
        WHEN tool_name IN ('WebFetch', 'WebSearch') THEN 'fetch'
        WHEN tool_name IN ('Agent', 'Task') THEN 'agent'
        WHEN tool_name IN ('AskUserQuestion', 'ExitPlanMode') THEN 'ask'
    END) VIRTUAL;
ALTER TABLE events ADD COLUMN outcome TEXT GENERATED ALWAYS AS (CASE event
        WHEN 'PostToolUse' THEN 'ok'
        WHEN 'PostToolUseFailure' THEN 'failed'
        WHEN 'StopFailure' THEN 'failed'
        WHEN 'PermissionDenied' THEN 'denied'
    END) VIRTUAL;
ALTER TABLE events ADD COLUMN is_typed INTEGER GENERATED ALWAYS AS (
        event = 'UserPromptSubmit'
        AND coalesce(substr(prompt, 1, 9), '') NOT IN (
            '<task-not', '<teammate', '<command-', '<bash-inp', '<bash-std', '<local-co', '<system-r', '<user-pro'
        )
        AND coalesce(iif(length(extra) < 65536 AND json_valid(extra), json_extract(extra, '$.source'), NULL), 'user') IN ('user', 'sdk')
    ) VIRTUAL;
ALTER TABLE transcript_parts ADD COLUMN action TEXT GENERATED ALWAYS AS (CASE
        WHEN tool_name IN ('Bash', 'PowerShell') THEN 'run'
        WHEN tool_name IN ('Edit', 'MultiEdit', 'NotebookEdit', 'apply_patch') THEN 'edit'
        WHEN tool_name = 'Write' THEN 'write'
        WHEN tool_name IN ('Read', 'Grep', 'Glob', 'LS') THEN 'read'
        WHEN tool_name IN ('WebFetch', 'WebSearch') THEN 'fetch'
        WHEN tool_name IN ('Agent', 'Task') THEN 'agent'
        WHEN tool_name IN ('AskUserQuestion', 'ExitPlanMode') THEN 'ask'
    END) VIRTUAL;
ALTER TABLE transcript_parts ADD COLUMN is_denied INTEGER;
ALTER TABLE transcript_parts ADD COLUMN outcome TEXT GENERATED ALWAYS AS (CASE
        WHEN kind = 'tool_result' THEN iif(is_error, iif(is_denied, 'denied', 'failed'), 'ok')
        WHEN kind = 'api_error' AND type = 'assistant' THEN 'failed'
    END) VIRTUAL;
ALTER TABLE transcript_parts ADD COLUMN file_path TEXT;
ALTER TABLE transcript_parts ADD COLUMN command TEXT;
ALTER TABLE transcript_parts ADD COLUMN reason TEXT;

-- What older versions took for prompts and failures, as far as the rows tell. The rest is right after the next import.
UPDATE transcript_parts SET kind = 'task' WHERE kind = 'prompt' AND (agent_id IS NOT NULL OR is_sidechain);
UPDATE transcript_parts SET kind = iif(text GLOB '<bash-input>*', 'bash_input', 'bash_output')
WHERE kind = 'prompt' AND (text GLOB '<bash-input>*' OR text GLOB '<bash-std*');
UPDATE transcript_parts SET is_denied = 1, reason = iif(
    instr(text, 'the user said:'), trim(substr(text, instr(text, 'the user said:') + 14), char(10) || ' '), NULL
)
WHERE kind = 'tool_result' AND is_error AND text GLOB 'The user doesn''t want to proceed with this tool use.*';
UPDATE transcript_parts SET
    file_path = coalesce(json_extract(text, '$.file_path'), json_extract(text, '$.notebook_path')),
    command = json_extract(text, '$.command')
WHERE kind = 'tool_use' AND json_valid(text);
UPDATE transcript_parts SET (tool_name, file_path) = (
    SELECT call.tool_name, call.file_path FROM transcript_parts AS call
    WHERE call.tool_use_id = transcript_parts.tool_use_id AND call.session_id = transcript_parts.session_id
        AND call.kind = 'tool_use'
)
WHERE kind = 'tool_result' AND tool_name IS NULL;
UPDATE sessions SET prompts = (
    SELECT count(*) FROM events WHERE events.session_id = sessions.session_id AND is_typed
)
WHERE session_id IN (SELECT session_id FROM events WHERE event = 'UserPromptSubmit' AND NOT is_typed);

-- `action` also knows apply_patch. Count its edits, as the trigger now does.
UPDATE sessions SET edits = sessions.edits + other.edits
FROM (
    SELECT session_id, count(*) AS edits
    FROM events
    WHERE event = 'PostToolUse' AND action IN ('edit', 'write')
        AND tool_name = 'apply_patch'
    GROUP BY session_id
) AS other
WHERE other.session_id = sessions.session_id;

-- session_facts now counts what only the transcripts have of a session; `sessions` counts what hooks saw.
UPDATE session_facts SET (prompts, tool_calls, edits, failures) = (
    SELECT
        ifnull(sum(kind = 'prompt'), 0), count(DISTINCT iif(outcome IN ('ok', 'failed'), tool_use_id, NULL)),
        count(DISTINCT iif(outcome = 'ok' AND action IN ('edit', 'write'), tool_use_id, NULL)),
        count(DISTINCT iif(outcome = 'failed', tool_use_id, NULL)) + ifnull(sum(kind = 'api_error' AND outcome = 'failed'), 0)
    FROM transcript_parts AS part
    WHERE part.session_id = session_facts.session_id AND NOT CASE
        WHEN kind = 'prompt' THEN EXISTS (
            SELECT 1 FROM events
            WHERE events.session_id = part.session_id AND event = 'UserPromptSubmit'
                AND (events.prompt_id = part.prompt_id OR events.prompt = part.text)
        )
        WHEN kind = 'api_error' THEN EXISTS (
            SELECT 1 FROM events
            WHERE events.session_id = part.session_id AND event = 'StopFailure' AND last_assistant_message = part.text
        )
        ELSE EXISTS (
            SELECT 1 FROM events
            WHERE events.tool_use_id = part.tool_use_id AND events.session_id = part.session_id
                AND event IN ('PostToolUse', 'PostToolUseFailure')
        )
    END
);

-- Every transcript belongs to a session that can be named: one whose lines are all of another session, or that has none.
INSERT OR IGNORE INTO sessions (session_id, started_at, last_at)
SELECT session_id, min(first_import_at), max(last_import_at)
FROM transcripts
WHERE session_id IS NOT NULL AND kind IN ('main', 'subagent', 'workflow', 'workflow-journal')
    AND id IN (SELECT transcript_id FROM transcript_chunks)
GROUP BY session_id;
