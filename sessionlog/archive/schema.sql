-- The tables and views of a new archive. migrations/ changes the tables of an older one; what it still lacks is then
-- created from this file. SQLite parses the whole schema for each hook, so each object has to earn its place. Comments
-- and line breaks are not stored.
--
-- The comments are also the descriptions in `sessionlog schema` and Datasette (archive/describe.py): the first paragraph
-- above a table or view, and the comment above or behind a column. In a comment above a view, a line `name: text` is
-- about a column. A column without a comment means what the first column of that name in this file means.

-- What this file is, in one row.
--
-- Datasette, backups and `sessionlog --all` read the project's path here.
CREATE TABLE archive (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),  -- Always 1.
    project TEXT NOT NULL,  -- The folder of the project whose sessions are recorded here.
    created_at TEXT NOT NULL,  -- When the archive was created (UTC).
    -- The greatest id of a removed event. Ids are never reused, so every gap is a removed event.
    last_removed_id INTEGER NOT NULL DEFAULT 0,
    last_note TEXT,  -- The hash of the newest row of chain_notes.
    prices TEXT  -- The date and checksum of the table of prices by which costs were computed.
) STRICT;

-- One row per session, with counts that are updated with each event.
--
-- The trigger below updates it, so that listing sessions reads no events.
CREATE TABLE sessions (
    session_id TEXT PRIMARY KEY,  -- The session, by the id that its agent gave it.
    started_at TEXT NOT NULL,  -- When its first event arrived (UTC).
    last_at TEXT NOT NULL,  -- When its latest event arrived (UTC).
    ended_at TEXT,  -- When it ended (UTC); empty while it runs, or if its end was not reported.
    end_reason TEXT,  -- Why it ended, in the agent's words (clear, logout, prompt_input_exit, other, …).
    start_reason TEXT,  -- How it began (startup, resume, clear, compact, fork).
    model TEXT,  -- The model with which it was last started.
    cwd TEXT,  -- The folder in which it was started.
    transcript_path TEXT,  -- Where the agent writes the transcript.
    permission_mode TEXT,  -- What runs without asking (default, plan, acceptEdits, auto, dontAsk, bypassPermissions).
    events INTEGER NOT NULL DEFAULT 0,  -- How many events were recorded.
    prompts INTEGER NOT NULL DEFAULT 0,  -- How many prompts people sent.
    tool_calls INTEGER NOT NULL DEFAULT 0,  -- How many tool calls ended, successful or not.
    edits INTEGER NOT NULL DEFAULT 0,  -- How many changes to files succeeded.
    failures INTEGER NOT NULL DEFAULT 0,  -- How many tool calls and turns failed.
    head_hash TEXT,  -- The hash of its newest event: its end cannot be cut off unnoticed.
    -- The greatest id that one of its events has had; 0 if its events are older than this column.
    last_event_id INTEGER NOT NULL DEFAULT 0,
    -- The agent whose session it is (claude-code, …).
    client TEXT NOT NULL DEFAULT 'claude-code'
) STRICT;

CREATE INDEX sessions_started_at ON sessions (started_at);

-- One row per event, as a hook delivered it. Fields without a column are kept as JSON in tool_input, tool_response and
-- extra.
CREATE TABLE events (
    id INTEGER PRIMARY KEY,  -- The number of the event, in the order of recording.
    session_id TEXT NOT NULL REFERENCES sessions (session_id) DEFERRABLE INITIALLY DEFERRED,
    event TEXT NOT NULL,  -- Which event it is (UserPromptSubmit, PreToolUse, PostToolUse, Stop, …).
    at TEXT NOT NULL,  -- When it arrived (UTC).
    via TEXT NOT NULL,  -- Which handler recorded it.
    prompt_id TEXT,  -- The prompt to which it belongs.
    agent_id TEXT,  -- The sub-agent in which it happened; empty in the session itself.
    agent_type TEXT,  -- The type of that sub-agent.
    permission_mode TEXT,
    cwd TEXT,  -- The working directory at that moment.
    transcript_path TEXT,
    tool_name TEXT,  -- The tool.
    tool_use_id TEXT,  -- The tool call, by the model's id; its start and its end have the same one.
    prompt TEXT,  -- What the user wrote.
    message TEXT,  -- The text of a notification.
    error TEXT,  -- What went wrong.
    last_assistant_message TEXT,  -- What the model said last before it stopped.
    duration_ms INTEGER,  -- How long the tool took, in milliseconds.
    file_path TEXT,  -- The file in the tool's input.
    old_string TEXT,  -- The text that an edit replaced.
    new_string TEXT,  -- The text that an edit put in its place.
    content TEXT,  -- What was written to the file.
    command TEXT,  -- The shell command.
    description TEXT,  -- What the call is for, in the model's words.
    tool_input TEXT,  -- The rest of the tool's input, as JSON.
    tool_response TEXT,  -- The tool's answer, as JSON.
    extra TEXT,  -- The rest of the payload, as JSON.
    envelope TEXT,  -- How the payload was structured, if it was not flat, so that it can be rebuilt as it arrived.
    -- The hash of this row and of the event before it in its session; `sessionlog verify` checks it. Empty in rows that
    -- are older than the chain. docs/archive-format.md has the format.
    hash TEXT,
    -- Random, and part of the hash: nobody can guess a redacted or pruned value by trying what fits the hash.
    salt TEXT,
    -- What the tool does (run, edit, write, read, fetch, agent, ask). Tools of other agents have Claude Code's names here.
    action TEXT GENERATED ALWAYS AS (CASE
        WHEN tool_name IN ('Bash', 'PowerShell') THEN 'run'
        WHEN tool_name IN ('Edit', 'MultiEdit', 'NotebookEdit', 'apply_patch') THEN 'edit'
        WHEN tool_name = 'Write' THEN 'write'
        WHEN tool_name IN ('Read', 'Grep', 'Glob', 'LS') THEN 'read'
        WHEN tool_name IN ('WebFetch', 'WebSearch') THEN 'fetch'
        WHEN tool_name IN ('Agent', 'Task') THEN 'agent'
        WHEN tool_name IN ('AskUserQuestion', 'ExitPlanMode') THEN 'ask'
    END) VIRTUAL,
    -- How a call or a turn ended (ok, failed, denied); empty for an event that ends nothing.
    outcome TEXT GENERATED ALWAYS AS (CASE event
        WHEN 'PostToolUse' THEN 'ok'
        WHEN 'PostToolUseFailure' THEN 'failed'
        WHEN 'StopFailure' THEN 'failed'
        WHEN 'PermissionDenied' THEN 'denied'
    END) VIRTUAL,
    -- 1 if a person, or a program in a person's place, sent this prompt; 0 for other events, and for prompts that the agent
    -- sends itself, such as the news that a background task has ended.
    is_typed INTEGER GENERATED ALWAYS AS (
        event = 'UserPromptSubmit'
        AND coalesce(substr(prompt, 1, 9), '') NOT IN (
            '<task-not', '<teammate', '<command-', '<bash-inp', '<bash-std', '<local-co', '<system-r', '<user-pro'
        )
        AND coalesce(iif(length(extra) < 65536 AND json_valid(extra), json_extract(extra, '$.source'), NULL), 'user') IN ('user', 'sdk')
    ) VIRTUAL
) STRICT;

-- One session in the order of time; also how a second copy of an event is found.
CREATE INDEX events_session_id_at ON events (session_id, at);
-- All prompts, all failures, all commands, all edits: most views start here.
CREATE INDEX events_event_action ON events (event, action);
-- All events of a kind, newest first: the index above has them in the order of their actions.
CREATE INDEX events_event ON events (event);
-- A call's start, end and failure.
CREATE INDEX events_tool_use_id ON events (tool_use_id) WHERE tool_use_id IS NOT NULL;
-- What happened to a file.
CREATE INDEX events_file_path ON events (file_path) WHERE file_path IS NOT NULL;
-- What a sub-agent did.
CREATE INDEX events_agent_id ON events (agent_id) WHERE agent_id IS NOT NULL;

-- Every insert of an event updates its session, no matter which program inserts it.
CREATE TRIGGER events_keep_sessions AFTER INSERT ON events BEGIN
    INSERT INTO sessions (
        session_id, started_at, last_at, ended_at, end_reason, start_reason, model, cwd, transcript_path,
        permission_mode, events, prompts, tool_calls, edits, failures, head_hash, last_event_id, client
    ) VALUES (
        new.session_id, new.at, new.at,
        iif(new.event = 'SessionEnd', new.at, NULL),
        iif(new.event = 'SessionEnd' AND json_valid(new.extra), json_extract(new.extra, '$.reason'), NULL),
        iif(new.event = 'SessionStart' AND json_valid(new.extra), json_extract(new.extra, '$.source'), NULL),
        iif(new.event = 'SessionStart' AND json_valid(new.extra), json_extract(new.extra, '$.model'), NULL),
        new.cwd, new.transcript_path, new.permission_mode,
        1,
        new.is_typed,
        new.event IN ('PostToolUse', 'PostToolUseFailure'),
        ifnull(new.event = 'PostToolUse' AND new.action IN ('edit', 'write'), 0),
        new.outcome IS 'failed',
        new.hash,
        new.id,
        ifnull(iif(json_valid(new.envelope), json_extract(new.envelope, '$.client'), NULL), 'claude-code')
    ) ON CONFLICT (session_id) DO UPDATE SET
        last_at = max(last_at, excluded.last_at),
        -- A session that goes on after its end (--resume) is open again.
        ended_at = iif(new.event = 'SessionStart', NULL, coalesce(excluded.ended_at, ended_at)),
        end_reason = iif(new.event = 'SessionStart', NULL, coalesce(excluded.end_reason, end_reason)),
        start_reason = coalesce(start_reason, excluded.start_reason),
        model = coalesce(excluded.model, model),
        cwd = coalesce(cwd, excluded.cwd),
        transcript_path = coalesce(excluded.transcript_path, transcript_path),
        permission_mode = coalesce(excluded.permission_mode, permission_mode),
        events = events + 1,
        prompts = prompts + excluded.prompts,
        tool_calls = tool_calls + excluded.tool_calls,
        edits = edits + excluded.edits,
        failures = failures + excluded.failures,
        last_event_id = max(last_event_id, excluded.last_event_id),
        -- A row that another program has written, without a hash, does not break the chain: `verify` finds the row.
        head_hash = coalesce(excluded.head_hash, head_hash);
    -- A statement of its own: set above, it would write the index of sessions by start with every event.
    UPDATE sessions SET started_at = new.at WHERE session_id = new.session_id AND started_at > new.at;
END;

CREATE TRIGGER events_keep_last_removed_id AFTER DELETE ON events BEGIN
    UPDATE archive SET last_removed_id = old.id WHERE last_removed_id < old.id;
END;

-- How far each spool file has been moved into the archive.
--
-- Written in one transaction with the events, so that each is stored once.
CREATE TABLE spool_progress (
    spool_id TEXT PRIMARY KEY,  -- The file, by the id in its first line.
    offset INTEGER NOT NULL  -- Up to which byte its events are in the archive.
) STRICT;

-- --- The chain -------------------------------------------------------------------------------------------------------

-- What `prune`, `redact` and upgrades changed or removed, so that `sessionlog verify` can tell it from tampering.
--
-- Chained like events. Removed events are always the oldest of their session.
CREATE TABLE chain_notes (
    id INTEGER PRIMARY KEY,  -- The number of the note.
    at TEXT NOT NULL,  -- When it was written (UTC).
    command TEXT NOT NULL,  -- What changed or removed events.
    user TEXT NOT NULL,  -- Who ran it.
    events INTEGER NOT NULL,  -- How many events it is about.
    session_id TEXT,  -- The session of removed events.
    removed TEXT,  -- The ids of removed events (3-7,9).
    chain TEXT,  -- The hash of the last removed event, from which the rest of the session continues.
    unchained_until INTEGER,  -- In a note of an upgrade: events up to this id may have no hash.
    hash TEXT NOT NULL,  -- The hash of this note and of the note before it.
    -- In a note of an upgrade: events up to this id, and the notes before this one, have hashes of format 1.
    format_1_until INTEGER
) STRICT;

-- The events that a note is about and that still exist.
--
-- The hashes of the chain stay as they were, and so do the heads that people keep elsewhere.
CREATE TABLE chain_changes (
    note_id INTEGER NOT NULL REFERENCES chain_notes (id),  -- The note.
    event_id INTEGER NOT NULL,  -- The event.
    before BLOB,  -- The digest of the row before the change, on which its hash is based; empty if it had no hash.
    after BLOB NOT NULL,  -- The digest of the row after the change.
    PRIMARY KEY (note_id, event_id)
) STRICT, WITHOUT ROWID;

-- --- Transcripts -----------------------------------------------------------------------------------------------------

-- One row per archived transcript file.
CREATE TABLE transcripts (
    id INTEGER PRIMARY KEY,  -- The number of the transcript.
    file TEXT NOT NULL,  -- Where the file was last seen.
    name TEXT NOT NULL,  -- Its place below the agent's folder of projects.
    kind TEXT NOT NULL,  -- What the file is (main, subagent, history, tool-result, …).
    session_id TEXT,
    agent_id TEXT,  -- The sub-agent whose transcript it is.
    -- 1, and one more each time the file was replaced or became shorter; earlier generations are kept.
    generation INTEGER NOT NULL DEFAULT 1,
    bytes INTEGER NOT NULL DEFAULT 0,  -- How many of its bytes are archived.
    lines INTEGER NOT NULL DEFAULT 0,  -- How many of its lines are archived.
    replacements INTEGER NOT NULL DEFAULT 0,  -- How many secrets were replaced in the stored bytes.
    -- Its size when it was last read: a file with the same size and time is not opened again.
    file_size INTEGER NOT NULL DEFAULT 0,
    file_mtime_ns INTEGER NOT NULL DEFAULT 0,  -- Its time when it was last read, in nanoseconds since 1970.
    first_import_at TEXT NOT NULL,  -- When it was first archived (UTC).
    last_import_at TEXT NOT NULL,  -- When something of it was last archived (UTC).
    client TEXT NOT NULL DEFAULT 'claude-code',  -- The agent that wrote it.
    pruned_bytes INTEGER NOT NULL DEFAULT 0  -- So many bytes at its beginning were pruned, or the output in them.
) STRICT;

CREATE UNIQUE INDEX transcripts_file ON transcripts (file, generation);
-- All files of a session: what `restore` writes back.
CREATE INDEX transcripts_session_id ON transcripts (session_id, kind);

-- The sessions that `prune` removed, so that no import and no merge brings them back.
CREATE TABLE pruned_sessions (
    session_id TEXT PRIMARY KEY,
    until TEXT,  -- Everything up to this moment stays out (UTC).
    output_until TEXT,  -- What tools printed up to this moment stays out (UTC).
    pruned_at TEXT NOT NULL  -- When it was pruned (UTC).
) STRICT;

-- The bytes of the transcripts, compressed; `sessionlog restore` puts them together again.
CREATE TABLE transcript_chunks (
    transcript_id INTEGER NOT NULL REFERENCES transcripts (id),  -- The transcript.
    sequence INTEGER NOT NULL,  -- The number of the chunk in it.
    offset INTEGER NOT NULL,  -- At which byte of the file it begins.
    -- How many bytes of the file it is; the stored text is longer or shorter where a secret was replaced.
    length INTEGER NOT NULL,
    hash BLOB NOT NULL,  -- The hash of those bytes, as they were in the file.
    first_line INTEGER NOT NULL,  -- The number of its first line in the file.
    lines INTEGER NOT NULL,  -- How many lines it holds.
    replacements INTEGER NOT NULL,  -- How many secrets were replaced in it.
    -- How many entries of which type it holds, as JSON, including types that no other table knows.
    entry_types TEXT NOT NULL,
    data BLOB NOT NULL,  -- The bytes, with secrets replaced, compressed with zlib.
    PRIMARY KEY (transcript_id, sequence)
) STRICT;

-- One row per part of a transcript line: a prompt, an answer, a thought, a tool call or its result.
--
-- Of tool output, the beginning; the whole is in transcript_chunks. The long columns are last: a query that does not ask
-- for them does not read them.
CREATE TABLE transcript_parts (
    id INTEGER PRIMARY KEY,  -- The number of the part.
    transcript_id INTEGER NOT NULL REFERENCES transcripts (id),  -- The transcript.
    line INTEGER NOT NULL,  -- The line of the transcript.
    part INTEGER NOT NULL,  -- Which part of the line: a line with two tool calls has two parts.
    session_id TEXT NOT NULL,
    agent_id TEXT,
    uuid TEXT,  -- The line, by the agent's id.
    parent_uuid TEXT,  -- The line that it follows.
    type TEXT NOT NULL,  -- The type of the line (user, assistant, system, attachment, …).
    -- What the part is (prompt, text, thinking, tool_use, tool_result, …). A prompt is what a person typed; what a
    -- sub-agent was given is a task, the news of a background task a notification.
    kind TEXT NOT NULL,
    role TEXT,  -- Who speaks (user, assistant).
    at TEXT,  -- When it was written (UTC).
    model TEXT,  -- The model that answered.
    message_id TEXT,  -- The answer, by the API's id; one answer has several lines.
    request_id TEXT,  -- The request, by the API's id.
    prompt_id TEXT,
    tool_name TEXT,
    tool_use_id TEXT,
    is_error INTEGER,  -- 1 if the tool failed, or the call was denied.
    is_sidechain INTEGER NOT NULL,  -- 1 in a sub-agent.
    git_branch TEXT,  -- The git branch at that moment.
    text TEXT,  -- What was said; of tool calls and results, the beginning.
    thinking TEXT,  -- What the model thought, as far as it is shown.
    action TEXT GENERATED ALWAYS AS (CASE
        WHEN tool_name IN ('Bash', 'PowerShell') THEN 'run'
        WHEN tool_name IN ('Edit', 'MultiEdit', 'NotebookEdit', 'apply_patch') THEN 'edit'
        WHEN tool_name = 'Write' THEN 'write'
        WHEN tool_name IN ('Read', 'Grep', 'Glob', 'LS') THEN 'read'
        WHEN tool_name IN ('WebFetch', 'WebSearch') THEN 'fetch'
        WHEN tool_name IN ('Agent', 'Task') THEN 'agent'
        WHEN tool_name IN ('AskUserQuestion', 'ExitPlanMode') THEN 'ask'
    END) VIRTUAL,
    is_denied INTEGER,  -- 1 if the call was denied.
    -- How a tool call or a request to the API ended (ok, failed, denied); empty for other parts.
    outcome TEXT GENERATED ALWAYS AS (CASE
        WHEN kind = 'tool_result' THEN iif(is_error, iif(is_denied, 'denied', 'failed'), 'ok')
        WHEN kind = 'api_error' AND type = 'assistant' THEN 'failed'
    END) VIRTUAL,
    file_path TEXT,  -- Of a tool call and its result, the file in the tool's input.
    command TEXT,  -- Of a tool call, the whole shell command.
    reason TEXT  -- Of a denial, what the person typed with it, or why a rule denied the call.
) STRICT;

-- One session in the order of time.
CREATE INDEX transcript_parts_session_id_at ON transcript_parts (session_id, at);
-- The same line again, in a copy or a later generation of the file, is the same part.
CREATE UNIQUE INDEX transcript_parts_uuid ON transcript_parts (uuid, session_id, part) WHERE uuid IS NOT NULL;
CREATE UNIQUE INDEX transcript_parts_line ON transcript_parts (transcript_id, line, part) WHERE uuid IS NULL;
-- A call and its result; where hook events and transcripts meet.
CREATE INDEX transcript_parts_tool_use_id ON transcript_parts (tool_use_id) WHERE tool_use_id IS NOT NULL;
-- Likewise for prompts; only what starts a turn has a prompt_id here.
CREATE INDEX transcript_parts_prompt_id ON transcript_parts (prompt_id) WHERE prompt_id IS NOT NULL;

-- One row per answer of the API, counted once however many lines, files and forks repeat it.
--
-- Streaming writes small numbers first: the greatest number of each column is right.
CREATE TABLE model_answers (
    message_id TEXT NOT NULL,  -- The answer, by the API's id.
    request_id TEXT NOT NULL DEFAULT '',
    session_id TEXT NOT NULL,
    agent_id TEXT,
    -- 1 as long as only the copy in a fork was seen: the session that made it takes it over.
    is_copy INTEGER NOT NULL DEFAULT 0,
    model TEXT NOT NULL,  -- The model.
    at TEXT,  -- When it was given (UTC).
    input_tokens INTEGER NOT NULL,  -- Tokens read, without those in the cache.
    output_tokens INTEGER NOT NULL,  -- Tokens written.
    thinking_tokens INTEGER NOT NULL,  -- How many of the written tokens were thoughts.
    cache_read_tokens INTEGER NOT NULL,  -- Tokens read from the cache.
    cache_write_5m_tokens INTEGER NOT NULL,  -- Tokens put into the cache for five minutes.
    cache_write_1h_tokens INTEGER NOT NULL,  -- Tokens put into the cache for an hour.
    web_searches INTEGER NOT NULL,  -- How many web searches the API made.
    speed TEXT,  -- The speed of the answer, such as fast, which costs more.
    inference_geo TEXT,  -- The region in which it was computed, if it was to be one.
    cost_usd REAL,  -- What it cost in USD by the table of prices; empty if the price is not known.
    PRIMARY KEY (message_id, request_id)
) STRICT;

CREATE INDEX model_answers_session_id ON model_answers (session_id, model);

-- One row per session, with what its transcript says of it as a whole.
--
-- The latest value of each. `import` counts the last columns when it is done with the session.
CREATE TABLE session_facts (
    session_id TEXT PRIMARY KEY,
    custom_title TEXT,  -- The title that the user gave it.
    ai_title TEXT,  -- The title that a model gave it.
    summary TEXT,  -- What it was about, in the words of an older client.
    tag TEXT,  -- The user's label for it.
    git_branch TEXT,  -- The git branch in which it last worked.
    client_version TEXT,  -- The version of the agent.
    entrypoint TEXT,  -- How it was started (cli, sdk-cli, …).
    session_kind TEXT,  -- The kind of session (bg: in the background).
    forked_from TEXT,  -- The session of which it is a fork.
    forked_at_uuid TEXT,  -- The line at which it was forked.
    -- What it cost, as the agent counted; this includes calls that no transcript shows (compaction).
    client_cost_usd REAL,
    client_usage TEXT,  -- Tokens by model, as the agent counted, as JSON.
    first_at TEXT,  -- The time of its first line (UTC).
    last_at TEXT,  -- The time of its last line (UTC).
    messages INTEGER NOT NULL DEFAULT 0,  -- How many messages its transcripts have.
    prompts INTEGER NOT NULL DEFAULT 0,  -- How many prompts only its transcripts have; `sessions` counts the others.
    tool_calls INTEGER NOT NULL DEFAULT 0,  -- Likewise, how many tool calls ended.
    edits INTEGER NOT NULL DEFAULT 0,  -- Likewise, how many changes to files succeeded.
    failures INTEGER NOT NULL DEFAULT 0,  -- Likewise, how many tool calls and answers of the API failed.
    -- How often its context was compacted, by its transcripts.
    compactions INTEGER NOT NULL DEFAULT 0
) STRICT;

-- One row per sub-agent, with what its .meta.json says of it.
CREATE TABLE subagent_facts (
    session_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,  -- The sub-agent.
    agent_type TEXT,
    description TEXT,  -- Its task in a few words.
    tool_use_id TEXT,  -- The tool call that started it.
    parent_agent_id TEXT,  -- The sub-agent that started it, if one did.
    model TEXT,  -- Its model.
    PRIMARY KEY (session_id, agent_id)
) STRICT;

-- --- Views -----------------------------------------------------------------------------------------------------------
-- They ask json_valid() first: one value nested deeper than SQLite can parse must not break a query over the rest.

-- One row per prompt that a person sent.
-- id: The number of the event; minus the number of the part, where only a transcript has it.
-- prompt_id: The prompt, by the id that the agent gave it.
-- cwd: The working directory at that moment.
CREATE VIEW prompts AS
SELECT id, session_id, at, prompt, prompt_id, permission_mode, cwd
FROM events
WHERE event = 'UserPromptSubmit' AND is_typed
UNION ALL
SELECT -id, session_id, at, text, prompt_id, NULL, NULL
FROM transcript_parts
WHERE kind = 'prompt'
    -- The same prompt has the same id, or the same words where one of the two has no id.
    AND (session_id, coalesce(prompt_id, text, '')) NOT IN (
        SELECT session_id, prompt_id FROM events WHERE event = 'UserPromptSubmit' AND prompt_id IS NOT NULL
        UNION ALL SELECT session_id, prompt FROM events WHERE event = 'UserPromptSubmit' AND prompt IS NOT NULL
    )
    AND (session_id, ifnull(text, '')) NOT IN (
        SELECT session_id, prompt FROM events
        WHERE event = 'UserPromptSubmit' AND prompt_id IS NULL AND prompt IS NOT NULL
    );

-- One row per tool call, its start and its end joined. A call without an end was cancelled or cut off.
-- id: The number of the event that began it; minus the number of the part, where only a transcript has it.
-- started_at: When it began (UTC).
-- finished_at: When it ended (UTC).
-- outcome: ok, failed, denied or no result.
-- tool_input: The rest of the tool's input, as JSON; if only a transcript has the call, its beginning.
-- tool_response: The tool's answer, as JSON; if only a transcript has it, the beginning of its text.
-- cwd: The working directory at that moment.
CREATE VIEW tool_calls AS
SELECT
    pre.id, pre.session_id, pre.tool_use_id, pre.tool_name, pre.action, pre.agent_id,
    pre.at AS started_at, coalesce(done.at, part.at) AS finished_at, done.duration_ms,
    coalesce(done.outcome, part.outcome, (
        SELECT outcome FROM events AS denied
        WHERE denied.tool_use_id = pre.tool_use_id AND denied.session_id = pre.session_id
            AND denied.event = 'PermissionDenied'
    ), 'no result') AS outcome,
    pre.file_path, pre.command, pre.description, pre.old_string, pre.new_string, pre.content,
    coalesce(done.error, iif(part.is_error, part.text, NULL)) AS error, pre.tool_input,
    coalesce(done.tool_response, iif(part.is_error, NULL, part.text)) AS tool_response, pre.cwd
FROM events AS pre
LEFT JOIN events AS done
    ON done.tool_use_id = pre.tool_use_id
    AND done.session_id = pre.session_id
    AND done.event IN ('PostToolUse', 'PostToolUseFailure')
LEFT JOIN transcript_parts AS part
    ON done.id IS NULL AND part.tool_use_id = pre.tool_use_id AND part.session_id = pre.session_id
    AND part.kind = 'tool_result'
WHERE pre.event = 'PreToolUse'
UNION ALL
SELECT
    id, session_id, tool_use_id, tool_name, action, agent_id, NULL, at, duration_ms, outcome, file_path, command,
    description, old_string, new_string, content, error, tool_input, tool_response, cwd
FROM events AS done
WHERE event IN ('PostToolUse', 'PostToolUseFailure')
    AND NOT EXISTS (
        SELECT 1 FROM events AS pre
        WHERE pre.tool_use_id = done.tool_use_id AND pre.session_id = done.session_id AND pre.event = 'PreToolUse'
    )
UNION ALL
SELECT
    -call.id, call.session_id, call.tool_use_id, call.tool_name, call.action, call.agent_id, call.at, done.at, NULL,
    coalesce(done.outcome, 'no result'), call.file_path, call.command,
    iif(json_valid(call.text), json_extract(call.text, '$.description'), NULL),
    iif(json_valid(call.text), json_extract(call.text, '$.old_string'), NULL),
    iif(json_valid(call.text), json_extract(call.text, '$.new_string'), NULL),
    iif(json_valid(call.text), json_extract(call.text, '$.content'), NULL),
    iif(done.is_error, done.text, NULL), call.text, iif(done.is_error, NULL, done.text), NULL
FROM transcript_parts AS call
LEFT JOIN transcript_parts AS done
    ON done.tool_use_id = call.tool_use_id AND done.session_id = call.session_id AND done.kind = 'tool_result'
WHERE call.kind = 'tool_use'
    AND NOT EXISTS (
        SELECT 1 FROM events
        WHERE events.tool_use_id = call.tool_use_id AND events.session_id = call.session_id
            AND events.event IN ('PreToolUse', 'PostToolUse', 'PostToolUseFailure')
    );

-- One row per shell command that ended, with its output.
-- at: When it ended (UTC).
-- cwd: The working directory at that moment.
-- failed: 1 if it failed, else 0.
-- exit_code: The exit code, if it failed.
-- stdout: What it printed; if only a transcript has it, the beginning.
-- stderr: What it printed as errors; all that is known, if it failed.
CREATE VIEW bash_commands AS
SELECT
    id, session_id, finished_at AS at, agent_id, command, description, cwd, duration_ms,
    outcome = 'failed' AS failed,
    -- The exit code of a failing command is only in its error text: "Exit code 3\n…".
    iif(error LIKE 'Exit code %', CAST(substr(error, 11, 10) AS INTEGER), NULL) AS exit_code,
    iif(json_valid(tool_response), json_extract(tool_response, '$.stdout'), tool_response) AS stdout,
    coalesce(iif(json_valid(tool_response), json_extract(tool_response, '$.stderr'), NULL), error) AS stderr,
    tool_use_id
FROM tool_calls
WHERE action = 'run' AND outcome IN ('ok', 'failed');

-- One row per successful edit of a file or notebook.
-- at: When it ended (UTC).
-- file_path: The file that was changed.
-- replace_all: 1 if every occurrence was to be replaced.
CREATE VIEW file_edits AS
SELECT
    id, session_id, finished_at AS at, agent_id, tool_name,
    coalesce(file_path, iif(json_valid(tool_input), json_extract(tool_input, '$.notebook_path'), NULL)) AS file_path,
    old_string,
    coalesce(new_string, iif(json_valid(tool_input), json_extract(tool_input, '$.new_source'), NULL)) AS new_string,
    iif(json_valid(tool_input), json_extract(tool_input, '$.replace_all'), NULL) AS replace_all,
    tool_use_id
FROM tool_calls
WHERE action = 'edit' AND outcome = 'ok';

-- One row per file that was written as a whole.
-- at: When it ended (UTC).
-- file_path: The file that was changed.
-- kind: Whether the file was new (create) or not (update).
CREATE VIEW file_writes AS
SELECT
    id, session_id, finished_at AS at, agent_id, file_path, content,
    iif(json_valid(tool_response), json_extract(tool_response, '$.type'), NULL) AS kind,
    tool_use_id
FROM tool_calls
WHERE action = 'write' AND outcome = 'ok';

-- One row per permission question, with its result.
-- at: When it was asked (UTC).
-- decision: allowed, denied, or denied or not answered.
-- reason: Why it was denied, if a reason was given.
-- tool_use_id: The call that was asked about, if it can be identified.
--
-- PermissionRequest has no tool_use_id. It is about the call of the same tool with the same input that had started by
-- then and was not asked about yet; the latest of them, if there are several. Calls and questions with the same input are
-- like brackets: `depth` says which question closes which call. Those that match are paired in the order of time.
CREATE VIEW permission_decisions AS
WITH
    step AS (
        SELECT
            id, session_id, at, tool_use_id, event = 'PermissionRequest' AS asks,
            first_value(id) OVER same_input AS input,
            sum(iif(event = 'PermissionRequest', -1, 1)) OVER same_input + (event = 'PermissionRequest') AS depth
        FROM events
        WHERE event IN ('PreToolUse', 'PermissionRequest') AND (event = 'PreToolUse' OR tool_use_id IS NULL)
            AND session_id IN (SELECT session_id FROM events WHERE event = 'PermissionRequest')
        WINDOW same_input AS (
            PARTITION BY
                session_id, agent_id, tool_name, command, file_path, old_string, new_string, content, description,
                tool_input
            ORDER BY at, id
        )
    ),
    bracket AS (
        SELECT *, iif(asks, lag(id) OVER level, lead(id) OVER level) IS NOT NULL AS closed
        FROM step WINDOW level AS (PARTITION BY session_id, input, depth ORDER BY at, id)
    ),
    numbered AS (
        SELECT *, row_number() OVER (PARTITION BY session_id, input, closed, asks ORDER BY at, id) AS number FROM bracket
    ),
    question AS (
        SELECT id, session_id, tool_use_id FROM (
            SELECT
                id, session_id, asks,
                iif(closed, max(iif(asks, NULL, tool_use_id)) OVER same_number, NULL) AS tool_use_id
            FROM numbered WINDOW same_number AS (PARTITION BY session_id, input, closed, number)
        ) WHERE asks
        UNION ALL
        SELECT id, session_id, tool_use_id FROM events
        WHERE event = 'PermissionDenied' OR (event = 'PermissionRequest' AND tool_use_id IS NOT NULL)
        UNION ALL
        SELECT -id, session_id, tool_use_id FROM transcript_parts WHERE is_denied
    ),
    call AS (
        SELECT *, max(id) OVER (PARTITION BY session_id, tool_use_id) AS asked_id FROM question
    )
SELECT
    call.id, call.session_id, coalesce(asked.at, part.at) AS at, coalesce(asked.agent_id, part.agent_id) AS agent_id,
    coalesce(asked.tool_name, part.tool_name) AS tool_name, coalesce(asked.command, started.command) AS command,
    coalesce(asked.file_path, part.file_path) AS file_path, asked.permission_mode,
    CASE
        WHEN asked.outcome = 'denied' OR part.outcome = 'denied' THEN 'denied'
        WHEN part.id IS NOT NULL OR EXISTS (
            SELECT 1 FROM events AS done
            WHERE done.tool_use_id = call.tool_use_id
                AND done.session_id = call.session_id
                AND done.event IN ('PostToolUse', 'PostToolUseFailure')
                AND done.at >= asked.at
        ) THEN 'allowed'
        ELSE 'denied or not answered'
    END AS decision,
    coalesce(part.reason, iif(json_valid(asked.extra), json_extract(asked.extra, '$.reason'), NULL)) AS reason,
    call.tool_use_id
FROM call
LEFT JOIN events AS asked ON asked.id = call.id
LEFT JOIN transcript_parts AS part
    ON part.tool_use_id = call.tool_use_id AND part.session_id = call.session_id AND part.kind = 'tool_result'
LEFT JOIN transcript_parts AS started
    ON call.id < 0 AND started.tool_use_id = call.tool_use_id AND started.session_id = call.session_id
    AND started.kind = 'tool_use'
-- What only the transcript knows of, where no question was recorded.
WHERE call.id > 0 OR call.asked_id < 0;

-- One row per sub-agent.
-- agent_id: The sub-agent.
-- started_at: When it began (UTC).
-- stopped_at: When it stopped (UTC).
-- failures: How many of them failed.
-- description: Its task in a few words.
-- commands: How many shell commands it ran.
-- report: What it said at its end.
CREATE VIEW subagents AS
SELECT
    did.session_id, did.agent_id, coalesce(max(did.agent_type), facts.agent_type) AS agent_type, facts.description,
    min(at) AS started_at, max(stopped_at) AS stopped_at, sum(ended) AS tool_calls, sum(failed) AS failures,
    sum(edited) AS edits, sum(ran) AS commands,
    coalesce(max(report), (
        SELECT text FROM transcript_parts AS part
        WHERE part.session_id = did.session_id AND part.agent_id = did.agent_id AND part.kind = 'text'
        ORDER BY at DESC, id DESC LIMIT 1
    )) AS report
FROM (
    SELECT
        session_id, agent_id, agent_type, at, iif(event = 'SubagentStop', at, NULL) AS stopped_at,
        event IN ('PostToolUse', 'PostToolUseFailure') AS ended, outcome IS 'failed' AS failed,
        event = 'PostToolUse' AND action IN ('edit', 'write') AS edited,
        event IN ('PostToolUse', 'PostToolUseFailure') AND action IS 'run' AS ran,
        iif(event = 'SubagentStop', last_assistant_message, NULL) AS report
    FROM events
    WHERE agent_id IS NOT NULL
    UNION ALL
    SELECT
        session_id, agent_id, NULL, at, NULL, outcome IN ('ok', 'failed') AND NOT known, outcome = 'failed' AND NOT known,
        outcome = 'ok' AND action IN ('edit', 'write') AND NOT known,
        outcome IN ('ok', 'failed') AND action IS 'run' AND NOT known, NULL
    FROM (
        SELECT session_id, agent_id, at, ifnull(outcome, '') AS outcome, iif(outcome IS NULL, NULL, action) AS action,
            outcome IS NOT NULL AND EXISTS (
                SELECT 1 FROM events
                WHERE events.tool_use_id = part.tool_use_id AND events.session_id = part.session_id
                    AND events.event IN ('PostToolUse', 'PostToolUseFailure')
            ) AS known
        FROM transcript_parts AS part
        WHERE agent_id IS NOT NULL
    )
) AS did
LEFT JOIN subagent_facts AS facts ON facts.session_id = did.session_id AND facts.agent_id = did.agent_id
GROUP BY did.session_id, did.agent_id;

-- One row per turn: a prompt and what followed until the next prompt of its session.
-- at: When the prompt was sent (UTC).
-- failures: How many of them failed.
-- last_tool_at: When the last of them ended (UTC).
--
-- What followed is what was recorded later: a clock may be set back. Only where a session is known from hooks in part and
-- from its transcript in part, their times decide.
CREATE VIEW turns AS
SELECT
    max(iif(begins = 1, id, NULL)) AS id, session_id, max(prompt_id) AS prompt_id, min(iif(begins = 1, at, NULL)) AS at,
    max(prompt) AS prompt,
    sum(outcome IN ('ok', 'failed')) AS tool_calls, sum(outcome IN ('failed', 'stopped')) AS failures,
    max(iif(outcome IN ('ok', 'failed'), at, NULL)) AS last_tool_at
FROM (
    SELECT
        *, sum(begins) OVER (
            PARTITION BY session_id ORDER BY iif(is_mixed, at, NULL), iif(is_mixed, 0, abs(id)), begins DESC
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS turn
    FROM (
        SELECT
            *, min(id) OVER (PARTITION BY session_id) < 0 AND max(id) OVER (PARTITION BY session_id) > 0 AS is_mixed
        FROM (
            SELECT id, session_id, at, prompt, prompt_id, 1 AS begins, '' AS outcome FROM prompts
            UNION ALL
            SELECT id, session_id, finished_at, NULL, NULL, 0, outcome FROM tool_calls
            WHERE outcome IN ('ok', 'failed')
            UNION ALL
            SELECT id, session_id, at, NULL, NULL, 0, 'stopped' FROM events WHERE event = 'StopFailure'
        )
    )
)
WHERE turn > 0
GROUP BY session_id, turn;

-- One row per session, as people list them. What hooks and transcript both saw is counted once.
-- seconds: How long it lasted, from its first event to its last.
-- first_prompt: What the user wrote first.
-- compactions: How often its context was compacted.
-- git_branch: The git branch in which it last worked.
-- title: Its title, from the user, a model or an older client.
CREATE VIEW session_summary AS
SELECT
    sessions.session_id, started_at, sessions.last_at, ended_at, end_reason,
    CAST(round((julianday(sessions.last_at) - julianday(started_at)) * 86400) AS INTEGER) AS seconds,
    coalesce(
        (
            SELECT text FROM transcript_parts AS part
            WHERE part.session_id = sessions.session_id AND kind = 'prompt' AND text IS NOT NULL
            ORDER BY id LIMIT 1
        ),
        (
            SELECT prompt FROM events
            WHERE events.session_id = sessions.session_id AND is_typed
            ORDER BY id LIMIT 1
        )
    ) AS first_prompt,
    events,
    sessions.prompts + ifnull(facts.prompts, 0) AS prompts,
    sessions.tool_calls + ifnull(facts.tool_calls, 0) AS tool_calls,
    sessions.edits + ifnull(facts.edits, 0) AS edits,
    sessions.failures + ifnull(facts.failures, 0) AS failures,
    client, model, start_reason, permission_mode, cwd, transcript_path,
    coalesce(facts.custom_title, facts.ai_title, facts.summary) AS title,
    coalesce(facts.messages, 0) AS messages,
    facts.git_branch, facts.client_version, facts.forked_from,
    max(ifnull(facts.compactions, 0), ifnull(seen.compactions, 0)) AS compactions
FROM sessions
LEFT JOIN session_facts AS facts ON facts.session_id = sessions.session_id
LEFT JOIN (
    -- Some agents report that it begins, some that it has ended, some both.
    SELECT session_id, max(sum(event = 'PreCompact'), sum(event = 'PostCompact')) AS compactions
    FROM events WHERE event IN ('PreCompact', 'PostCompact') GROUP BY session_id
) AS seen ON seen.session_id = sessions.session_id;

-- One row per session and model, with tokens and cost.
-- model: The model.
-- answers: How many answers it gave.
-- cache_write_tokens: Tokens put into the cache.
-- cost_usd: The cost in USD of the answers whose price is known; empty if there is none.
-- unpriced_tokens: Tokens read and written in answers whose price is not known.
CREATE VIEW session_usage AS
SELECT
    usage.session_id,
    usage.model,
    count(*) AS answers,
    sum(input_tokens) AS input_tokens,
    sum(output_tokens) AS output_tokens,
    sum(thinking_tokens) AS thinking_tokens,
    sum(cache_read_tokens) AS cache_read_tokens,
    sum(cache_write_5m_tokens + cache_write_1h_tokens) AS cache_write_tokens,
    sum(web_searches) AS web_searches,
    round(sum(cost_usd), 6) AS cost_usd,
    sum(iif(cost_usd IS NULL, input_tokens + output_tokens, 0)) AS unpriced_tokens
FROM model_answers AS usage
GROUP BY usage.session_id, usage.model;

-- One row per session, with tokens and cost from its transcripts beside what the agent counted.
-- cost_usd: The cost in USD; empty if no model has a known price.
-- models_without_price: How many models have tokens here and no known price.
-- client_input_tokens: Tokens read, as the agent counted.
-- client_output_tokens: Tokens written, as the agent counted.
CREATE VIEW session_costs AS
SELECT
    sessions.session_id, sessions.started_at,
    sum(usage.input_tokens) AS input_tokens,
    sum(usage.output_tokens) AS output_tokens,
    sum(usage.cache_read_tokens) AS cache_read_tokens,
    sum(usage.cache_write_tokens) AS cache_write_tokens,
    sum(usage.cost_usd) AS cost_usd,
    sum(usage.unpriced_tokens > 0) AS models_without_price,
    (SELECT sum(json_extract(value, '$.inputTokens')) FROM json_each(facts.client_usage)) AS client_input_tokens,
    (SELECT sum(json_extract(value, '$.outputTokens')) FROM json_each(facts.client_usage)) AS client_output_tokens,
    facts.client_cost_usd
FROM sessions
LEFT JOIN session_facts AS facts ON facts.session_id = sessions.session_id
LEFT JOIN session_usage AS usage ON usage.session_id = sessions.session_id
GROUP BY sessions.session_id;

-- How many lines of which type each transcript has, including types that no other table knows.
-- agent_id: The sub-agent whose transcript it is.
-- kind: What the file is (main, subagent, history, tool-result, …).
-- type: The type of the line.
-- entries: How many there are.
CREATE VIEW entry_types AS
SELECT
    transcripts.session_id, transcripts.agent_id, transcripts.kind, entry.key AS type, sum(entry.value) AS entries
FROM transcript_chunks
JOIN transcripts ON transcripts.id = transcript_chunks.transcript_id
JOIN json_each(transcript_chunks.entry_types) AS entry
GROUP BY transcripts.id, entry.key;
