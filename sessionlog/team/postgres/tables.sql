-- Made from sessionlog/archive/schema.sql by tools/generate.py. Do not edit.

CREATE TABLE sessions (
    developer text COLLATE "C" NOT NULL DEFAULT session_user,
    archive int NOT NULL,
    "session_id" text COLLATE "C" NOT NULL,
    "started_at" text COLLATE "C" NOT NULL,
    "last_at" text COLLATE "C" NOT NULL,
    "ended_at" text COLLATE "C",
    "end_reason" text COLLATE "C",
    "start_reason" text COLLATE "C",
    "model" text COLLATE "C",
    "cwd" text COLLATE "C",
    "transcript_path" text COLLATE "C",
    "permission_mode" text COLLATE "C",
    "events" bigint NOT NULL DEFAULT 0,
    "prompts" bigint NOT NULL DEFAULT 0,
    "tool_calls" bigint NOT NULL DEFAULT 0,
    "edits" bigint NOT NULL DEFAULT 0,
    "failures" bigint NOT NULL DEFAULT 0,
    "head_hash" text COLLATE "C",
    "last_event_id" bigint NOT NULL DEFAULT 0,
    "client" text COLLATE "C" NOT NULL DEFAULT 'claude-code',
    PRIMARY KEY (session_id),
    UNIQUE (session_id, archive),
    FOREIGN KEY (archive, developer) REFERENCES archives (archive, developer)
);
CREATE INDEX ON sessions (started_at);
CREATE INDEX ON sessions (archive, started_at);
CREATE INDEX ON sessions (last_at);

CREATE TABLE events (
    developer text COLLATE "C" NOT NULL DEFAULT session_user,
    archive int NOT NULL,
    "id" bigint NOT NULL,
    "session_id" text COLLATE "C" NOT NULL,
    "event" text COLLATE "C" NOT NULL,
    "at" text COLLATE "C" NOT NULL,
    "via" text COLLATE "C" NOT NULL,
    "prompt_id" text COLLATE "C",
    "agent_id" text COLLATE "C",
    "agent_type" text COLLATE "C",
    "permission_mode" text COLLATE "C",
    "cwd" text COLLATE "C",
    "transcript_path" text COLLATE "C",
    "tool_name" text COLLATE "C",
    "tool_use_id" text COLLATE "C",
    "prompt" text COLLATE "C",
    "message" text COLLATE "C",
    "error" text COLLATE "C",
    "last_assistant_message" text COLLATE "C",
    "duration_ms" bigint,
    "file_path" text COLLATE "C",
    "old_string" text COLLATE "C",
    "new_string" text COLLATE "C",
    "content" text COLLATE "C",
    "command" text COLLATE "C",
    "description" text COLLATE "C",
    "tool_input" text COLLATE "C",
    "tool_response" text COLLATE "C",
    "extra" text COLLATE "C",
    "envelope" text COLLATE "C",
    "hash" text COLLATE "C",
    "salt" text COLLATE "C",
    "action" text COLLATE "C" GENERATED ALWAYS AS (CASE WHEN tool_name IN ('Bash', 'PowerShell') THEN 'run' WHEN tool_name IN ('Edit', 'MultiEdit', 'NotebookEdit', 'apply_patch') THEN 'edit' WHEN tool_name = 'Write' THEN 'write' WHEN tool_name IN ('Read', 'Grep', 'Glob', 'LS') THEN 'read' WHEN tool_name IN ('WebFetch', 'WebSearch') THEN 'fetch' WHEN tool_name IN ('Agent', 'Task') THEN 'agent' WHEN tool_name IN ('AskUserQuestion', 'ExitPlanMode') THEN 'ask' END) STORED,
    "outcome" text COLLATE "C" GENERATED ALWAYS AS (CASE event WHEN 'PostToolUse' THEN 'ok' WHEN 'PostToolUseFailure' THEN 'failed' WHEN 'StopFailure' THEN 'failed' WHEN 'PermissionDenied' THEN 'denied' END) STORED,
    "is_typed" boolean GENERATED ALWAYS AS (event = 'UserPromptSubmit' AND NOT COALESCE(PIECE(prompt, 1, 9), '') IN ('<task-not', '<teammate', '<command-', '<bash-inp', '<bash-std', '<local-co', '<system-r', '<user-pro') AND COALESCE(CASE WHEN LENGTH(extra) < 65536 AND JSON_VALID(extra) THEN JSON_EXTRACT(extra, '$.source') ELSE NULL END, 'user') IN ('user', 'sdk')) STORED,
    PRIMARY KEY (id, session_id, at)
) PARTITION BY RANGE (at);
CREATE TABLE events_default PARTITION OF events DEFAULT;
CREATE INDEX ON events (session_id, tool_use_id);
CREATE INDEX ON events USING brin (at) WITH (pages_per_range = 32);
CREATE INDEX ON events (event, action);
CREATE INDEX ON events (session_id, at NULLS FIRST, id NULLS FIRST) WHERE is_typed;
CREATE INDEX ON events (file_path) WHERE file_path IS NOT NULL;
CREATE INDEX ON events (agent_id) WHERE agent_id IS NOT NULL;

CREATE TABLE transcripts (
    developer text COLLATE "C" NOT NULL DEFAULT session_user,
    archive int NOT NULL,
    "id" bigint NOT NULL,
    "file" text COLLATE "C" NOT NULL,
    "name" text COLLATE "C" NOT NULL,
    "kind" text COLLATE "C" NOT NULL,
    "session_id" text COLLATE "C",
    "agent_id" text COLLATE "C",
    "generation" bigint NOT NULL DEFAULT 1,
    "bytes" bigint NOT NULL DEFAULT 0,
    "lines" bigint NOT NULL DEFAULT 0,
    "replacements" bigint NOT NULL DEFAULT 0,
    "file_size" bigint NOT NULL DEFAULT 0,
    "file_mtime_ns" bigint NOT NULL DEFAULT 0,
    "first_import_at" text COLLATE "C" NOT NULL,
    "last_import_at" text COLLATE "C" NOT NULL,
    "client" text COLLATE "C" NOT NULL DEFAULT 'claude-code',
    "pruned_bytes" bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (id),
    FOREIGN KEY (archive, developer) REFERENCES archives (archive, developer)
);
CREATE INDEX ON transcripts (session_id);
CREATE INDEX ON transcripts (archive);

CREATE TABLE transcript_chunks (
    developer text COLLATE "C" NOT NULL DEFAULT session_user,
    archive int NOT NULL,
    "transcript_id" bigint NOT NULL,
    "sequence" bigint NOT NULL,
    "offset" bigint NOT NULL,
    "length" bigint NOT NULL,
    "hash" bytea NOT NULL,
    "first_line" bigint NOT NULL,
    "lines" bigint NOT NULL,
    "replacements" bigint NOT NULL,
    "entry_types" text COLLATE "C" NOT NULL,
    "data" bytea,
    PRIMARY KEY (transcript_id, sequence),
    FOREIGN KEY (archive, developer) REFERENCES archives (archive, developer)
);
CREATE INDEX ON transcript_chunks (archive);

CREATE TABLE transcript_parts (
    developer text COLLATE "C" NOT NULL DEFAULT session_user,
    archive int NOT NULL,
    "id" bigint NOT NULL,
    "transcript_id" bigint NOT NULL,
    "line" bigint NOT NULL,
    "part" bigint NOT NULL,
    "session_id" text COLLATE "C" NOT NULL,
    "agent_id" text COLLATE "C",
    "uuid" text COLLATE "C",
    "parent_uuid" text COLLATE "C",
    "type" text COLLATE "C" NOT NULL,
    "kind" text COLLATE "C" NOT NULL,
    "role" text COLLATE "C",
    "at" text COLLATE "C",
    "model" text COLLATE "C",
    "message_id" text COLLATE "C",
    "request_id" text COLLATE "C",
    "prompt_id" text COLLATE "C",
    "tool_name" text COLLATE "C",
    "tool_use_id" text COLLATE "C",
    "is_error" boolean,
    "is_sidechain" boolean NOT NULL,
    "git_branch" text COLLATE "C",
    "text" text COLLATE "C",
    "thinking" text COLLATE "C",
    "action" text COLLATE "C" GENERATED ALWAYS AS (CASE WHEN tool_name IN ('Bash', 'PowerShell') THEN 'run' WHEN tool_name IN ('Edit', 'MultiEdit', 'NotebookEdit', 'apply_patch') THEN 'edit' WHEN tool_name = 'Write' THEN 'write' WHEN tool_name IN ('Read', 'Grep', 'Glob', 'LS') THEN 'read' WHEN tool_name IN ('WebFetch', 'WebSearch') THEN 'fetch' WHEN tool_name IN ('Agent', 'Task') THEN 'agent' WHEN tool_name IN ('AskUserQuestion', 'ExitPlanMode') THEN 'ask' END) STORED,
    "is_denied" boolean,
    "outcome" text COLLATE "C" GENERATED ALWAYS AS (CASE WHEN kind = 'tool_result' THEN CASE WHEN is_error THEN CASE WHEN is_denied THEN 'denied' ELSE 'failed' END ELSE 'ok' END WHEN kind = 'api_error' AND type = 'assistant' THEN 'failed' END) STORED,
    "file_path" text COLLATE "C",
    "command" text COLLATE "C",
    "reason" text COLLATE "C",
    PRIMARY KEY (session_id, id),
    FOREIGN KEY (session_id, archive) REFERENCES sessions (session_id, archive)
);
CREATE INDEX ON transcript_parts (session_id, at);
CREATE INDEX ON transcript_parts (transcript_id);
CREATE INDEX ON transcript_parts (id);
CREATE INDEX ON transcript_parts (tool_use_id) WHERE tool_use_id IS NOT NULL;
CREATE INDEX ON transcript_parts (prompt_id) WHERE prompt_id IS NOT NULL;

CREATE TABLE model_answers (
    developer text COLLATE "C" NOT NULL DEFAULT session_user,
    archive int NOT NULL,
    "message_id" text COLLATE "C" NOT NULL,
    "request_id" text COLLATE "C" NOT NULL DEFAULT '',
    "session_id" text COLLATE "C" NOT NULL,
    "agent_id" text COLLATE "C",
    "is_copy" boolean NOT NULL DEFAULT false,
    "model" text COLLATE "C" NOT NULL,
    "at" text COLLATE "C",
    "input_tokens" bigint NOT NULL,
    "output_tokens" bigint NOT NULL,
    "thinking_tokens" bigint NOT NULL,
    "cache_read_tokens" bigint NOT NULL,
    "cache_write_5m_tokens" bigint NOT NULL,
    "cache_write_1h_tokens" bigint NOT NULL,
    "web_searches" bigint NOT NULL,
    "speed" text COLLATE "C",
    "inference_geo" text COLLATE "C",
    "cost_usd" double precision,
    PRIMARY KEY (session_id, message_id, request_id),
    FOREIGN KEY (session_id, archive) REFERENCES sessions (session_id, archive)
);
CREATE INDEX ON model_answers (archive, message_id);

CREATE TABLE session_facts (
    developer text COLLATE "C" NOT NULL DEFAULT session_user,
    archive int NOT NULL,
    "session_id" text COLLATE "C" NOT NULL,
    "custom_title" text COLLATE "C",
    "ai_title" text COLLATE "C",
    "summary" text COLLATE "C",
    "tag" text COLLATE "C",
    "git_branch" text COLLATE "C",
    "client_version" text COLLATE "C",
    "entrypoint" text COLLATE "C",
    "session_kind" text COLLATE "C",
    "forked_from" text COLLATE "C",
    "forked_at_uuid" text COLLATE "C",
    "client_cost_usd" double precision,
    "client_usage" text COLLATE "C",
    "first_at" text COLLATE "C",
    "last_at" text COLLATE "C",
    "messages" bigint NOT NULL DEFAULT 0,
    "prompts" bigint NOT NULL DEFAULT 0,
    "tool_calls" bigint NOT NULL DEFAULT 0,
    "edits" bigint NOT NULL DEFAULT 0,
    "failures" bigint NOT NULL DEFAULT 0,
    "compactions" bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (session_id),
    FOREIGN KEY (session_id, archive) REFERENCES sessions (session_id, archive)
);

CREATE TABLE subagent_facts (
    developer text COLLATE "C" NOT NULL DEFAULT session_user,
    archive int NOT NULL,
    "session_id" text COLLATE "C" NOT NULL,
    "agent_id" text COLLATE "C" NOT NULL,
    "agent_type" text COLLATE "C",
    "description" text COLLATE "C",
    "tool_use_id" text COLLATE "C",
    "parent_agent_id" text COLLATE "C",
    "model" text COLLATE "C",
    PRIMARY KEY (session_id, agent_id),
    FOREIGN KEY (session_id, archive) REFERENCES sessions (session_id, archive)
);

CREATE TABLE chain_notes (
    developer text COLLATE "C" NOT NULL DEFAULT session_user,
    archive int NOT NULL,
    "id" bigint NOT NULL,
    "at" text COLLATE "C" NOT NULL,
    "command" text COLLATE "C" NOT NULL,
    "user" text COLLATE "C" NOT NULL,
    "events" bigint NOT NULL,
    "session_id" text COLLATE "C",
    "removed" text COLLATE "C",
    "chain" text COLLATE "C",
    "unchained_until" bigint,
    "hash" text COLLATE "C" NOT NULL,
    "format_1_until" bigint,
    PRIMARY KEY (archive, id),
    FOREIGN KEY (archive, developer) REFERENCES archives (archive, developer)
);

CREATE TABLE chain_changes (
    developer text COLLATE "C" NOT NULL DEFAULT session_user,
    archive int NOT NULL,
    "note_id" bigint NOT NULL,
    "event_id" bigint NOT NULL,
    "before" bytea,
    "after" bytea NOT NULL,
    PRIMARY KEY (archive, note_id, event_id),
    FOREIGN KEY (archive, developer) REFERENCES archives (archive, developer)
);
