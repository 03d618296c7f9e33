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
ALTER TABLE transcript_parts ADD COLUMN action TEXT GENERATED ALWAYS AS (CASE
        WHEN tool_name IN ('Bash', 'PowerShell') THEN 'run'
        WHEN tool_name IN ('Edit', 'MultiEdit', 'NotebookEdit', 'apply_patch') THEN 'edit'
        WHEN tool_name = 'Write' THEN 'write'
        WHEN tool_name IN ('Read', 'Grep', 'Glob', 'LS') THEN 'read'
        WHEN tool_name IN ('WebFetch', 'WebSearch') THEN 'fetch'
        WHEN tool_name IN ('Agent', 'Task') THEN 'agent'
        WHEN tool_name IN ('AskUserQuestion', 'ExitPlanMode') THEN 'ask'
    END) VIRTUAL;
ALTER TABLE transcript_parts ADD COLUMN outcome TEXT GENERATED ALWAYS AS (CASE
        WHEN kind = 'tool_result' THEN iif(is_error, 'failed', 'ok')
        WHEN kind = 'api_error' AND type = 'assistant' THEN 'failed'
    END) VIRTUAL;

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
