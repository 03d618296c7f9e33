-- The tables and views of an archive, as a new one is made. An older archive gets here by migrations/: they change its
-- tables, and whatever of this file is missing afterwards is created from here. The hook reads all of it at every
-- event, so each object has to earn its place. Comments and line breaks are left out of the file that is made.

-- One row: what this file is. Datasette, backups and `sessionlog --all` see the project by its path here.
CREATE TABLE archive (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    project TEXT NOT NULL,
    created_at TEXT NOT NULL,
    -- The greatest id of a removed event: no id is given twice, so that every gap is a removed event.
    last_removed_id INTEGER NOT NULL DEFAULT 0,
    -- The hash of the newest note in chain_notes.
    last_note TEXT
) STRICT;

-- One row a session, kept by the trigger below as events come in, so that a list of sessions reads no event.
CREATE TABLE sessions (
    session_id TEXT PRIMARY KEY,
    started_at TEXT NOT NULL,
    last_at TEXT NOT NULL,
    ended_at TEXT,
    end_reason TEXT,
    start_reason TEXT,
    model TEXT,
    cwd TEXT,
    transcript_path TEXT,
    permission_mode TEXT,
    events INTEGER NOT NULL DEFAULT 0,
    prompts INTEGER NOT NULL DEFAULT 0,
    tool_calls INTEGER NOT NULL DEFAULT 0,
    edits INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0,
    -- The hash of the session's newest event: its end cannot be cut off unnoticed.
    head_hash TEXT,
    -- The greatest id that an event of this session has had.
    last_event_id INTEGER NOT NULL DEFAULT 0,
    -- The agent whose session this is.
    client TEXT NOT NULL DEFAULT 'claude-code'
) STRICT;

CREATE INDEX sessions_started_at ON sessions (started_at);

-- One row an event: what the payload says in columns, the rest as JSON in tool_input, tool_response and extra.
CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES sessions (session_id) DEFERRABLE INITIALLY DEFERRED,
    event TEXT NOT NULL,
    at TEXT NOT NULL,
    via TEXT NOT NULL,
    prompt_id TEXT,
    agent_id TEXT,
    agent_type TEXT,
    permission_mode TEXT,
    cwd TEXT,
    transcript_path TEXT,
    tool_name TEXT,
    tool_use_id TEXT,
    prompt TEXT,
    message TEXT,
    error TEXT,
    last_assistant_message TEXT,
    duration_ms INTEGER,
    file_path TEXT,
    old_string TEXT,
    new_string TEXT,
    content TEXT,
    command TEXT,
    description TEXT,
    tool_input TEXT,
    tool_response TEXT,
    extra TEXT,
    envelope TEXT,
    -- The hash of this row and of the event before it in its session; docs/archive-format.md says how. NULL in rows that
    -- are older than the chain.
    hash TEXT,
    -- Random, and part of the hash: what `redact` or `prune` took out cannot be guessed by trying what fits the hash.
    salt TEXT,
    -- What the tool does: the one answer to "which tools edit?". Tools of other agents are stored by Claude Code's names.
    action TEXT GENERATED ALWAYS AS (CASE
        WHEN tool_name IN ('Bash', 'PowerShell') THEN 'run'
        WHEN tool_name IN ('Edit', 'MultiEdit', 'NotebookEdit', 'apply_patch') THEN 'edit'
        WHEN tool_name = 'Write' THEN 'write'
        WHEN tool_name IN ('Read', 'Grep', 'Glob', 'LS') THEN 'read'
        WHEN tool_name IN ('WebFetch', 'WebSearch') THEN 'fetch'
        WHEN tool_name IN ('Agent', 'Task') THEN 'agent'
        WHEN tool_name IN ('AskUserQuestion', 'ExitPlanMode') THEN 'ask'
    END) VIRTUAL,
    -- How it ended: the one answer to "did it fail?". NULL for an event that is no end of anything.
    outcome TEXT GENERATED ALWAYS AS (CASE event
        WHEN 'PostToolUse' THEN 'ok'
        WHEN 'PostToolUseFailure' THEN 'failed'
        WHEN 'StopFailure' THEN 'failed'
        WHEN 'PermissionDenied' THEN 'denied'
    END) VIRTUAL
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
        new.event = 'UserPromptSubmit',
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

-- How far a spool file was read: written together with its events, so that each is stored once.
CREATE TABLE spool_progress (
    spool_id TEXT PRIMARY KEY,
    offset INTEGER NOT NULL
) STRICT;

-- --- The chain -------------------------------------------------------------------------------------------------------

-- What `prune`, `redact` and upgrades changed or removed, so that `verify` can tell it from tampering. Chained like events.
CREATE TABLE chain_notes (
    id INTEGER PRIMARY KEY,
    at TEXT NOT NULL,
    command TEXT NOT NULL,
    user TEXT NOT NULL,
    -- How many events it is about.
    events INTEGER NOT NULL,
    -- Of a note about removed events: whose they were, their ids (3-7,9), and the hash of the last one, on which what
    -- is left of the session goes on. They are always the oldest of the session.
    session_id TEXT,
    removed TEXT,
    chain TEXT,
    -- Of the note that an upgrade left: events up to this id may have no hash.
    unchained_until INTEGER,
    hash TEXT NOT NULL,
    -- Of the note that an upgrade left: events up to this id, and the notes before this one, have hashes of format 1.
    format_1_until INTEGER
) STRICT;

-- The events that a note is about and that are still there: the digest of the row before, on which its hash stands, and
-- after. So the chain stays as it was, and so do the heads that people keep elsewhere.
CREATE TABLE chain_changes (
    note_id INTEGER NOT NULL REFERENCES chain_notes (id),
    event_id INTEGER NOT NULL,
    -- NULL for an event that had no hash.
    before BLOB,
    after BLOB NOT NULL,
    PRIMARY KEY (note_id, event_id)
) STRICT, WITHOUT ROWID;

-- --- Transcripts -----------------------------------------------------------------------------------------------------

-- One row a file of the agent's.
CREATE TABLE transcripts (
    id INTEGER PRIMARY KEY,
    -- Where the file was seen last; `name` is where it belongs below the agent's folder of projects.
    file TEXT NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    session_id TEXT,
    agent_id TEXT,
    -- A file that shrank or was replaced starts again as the next generation; the one before it stays as it was.
    generation INTEGER NOT NULL DEFAULT 1,
    bytes INTEGER NOT NULL DEFAULT 0,
    lines INTEGER NOT NULL DEFAULT 0,
    -- Secrets replaced in the stored bytes.
    replacements INTEGER NOT NULL DEFAULT 0,
    -- The file's own size and time when it was read: as long as they stay the same, it need not be opened.
    file_size INTEGER NOT NULL DEFAULT 0,
    file_mtime_ns INTEGER NOT NULL DEFAULT 0,
    first_import_at TEXT NOT NULL,
    last_import_at TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX transcripts_file ON transcripts (file, generation);
-- All files of a session: what `restore` writes back.
CREATE INDEX transcripts_session_id ON transcripts (session_id, kind);

-- The bytes of a file.
CREATE TABLE transcript_chunks (
    transcript_id INTEGER NOT NULL REFERENCES transcripts (id),
    sequence INTEGER NOT NULL,
    -- Which bytes of the file these are, and their hash as they were in the file. The stored ones are longer or shorter
    -- where a secret was replaced.
    offset INTEGER NOT NULL,
    length INTEGER NOT NULL,
    hash BLOB NOT NULL,
    first_line INTEGER NOT NULL,
    lines INTEGER NOT NULL,
    replacements INTEGER NOT NULL,
    -- {"type of entry": how many}, also for the types that no other table knows.
    entry_types TEXT NOT NULL,
    -- zlib
    data BLOB NOT NULL,
    PRIMARY KEY (transcript_id, sequence)
) STRICT;

-- What the lines of transcripts say: a prompt, an answer, a thought, a tool call or its result. Of tool output the
-- beginning; the whole is in transcript_chunks.
CREATE TABLE transcript_parts (
    id INTEGER PRIMARY KEY,
    -- The line of the transcript that this is, and which part of it: a line with two tool calls has a part for each.
    transcript_id INTEGER NOT NULL REFERENCES transcripts (id),
    line INTEGER NOT NULL,
    part INTEGER NOT NULL,
    session_id TEXT NOT NULL,
    agent_id TEXT,
    uuid TEXT,
    parent_uuid TEXT,
    type TEXT NOT NULL,
    -- prompt, text, tool_use, tool_result, compact_boundary, …: what the part is
    kind TEXT NOT NULL,
    role TEXT,
    at TEXT,
    model TEXT,
    message_id TEXT,
    request_id TEXT,
    prompt_id TEXT,
    tool_name TEXT,
    tool_use_id TEXT,
    is_error INTEGER,
    is_sidechain INTEGER NOT NULL,
    git_branch TEXT,
    -- Behind the others, because they may be long: a query that does not ask for them does not read them.
    text TEXT,
    thinking TEXT,
    -- As in events.
    action TEXT GENERATED ALWAYS AS (CASE
        WHEN tool_name IN ('Bash', 'PowerShell') THEN 'run'
        WHEN tool_name IN ('Edit', 'MultiEdit', 'NotebookEdit', 'apply_patch') THEN 'edit'
        WHEN tool_name = 'Write' THEN 'write'
        WHEN tool_name IN ('Read', 'Grep', 'Glob', 'LS') THEN 'read'
        WHEN tool_name IN ('WebFetch', 'WebSearch') THEN 'fetch'
        WHEN tool_name IN ('Agent', 'Task') THEN 'agent'
        WHEN tool_name IN ('AskUserQuestion', 'ExitPlanMode') THEN 'ask'
    END) VIRTUAL,
    outcome TEXT GENERATED ALWAYS AS (CASE
        WHEN kind = 'tool_result' THEN iif(is_error, 'failed', 'ok')
        WHEN kind = 'api_error' AND type = 'assistant' THEN 'failed'
    END) VIRTUAL
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

-- One answer of the model, however many lines, files and forks repeat it. Streaming wrote small numbers first: the
-- greatest of each column is right.
CREATE TABLE model_answers (
    message_id TEXT NOT NULL,
    request_id TEXT NOT NULL DEFAULT '',
    session_id TEXT NOT NULL,
    agent_id TEXT,
    -- 1 as long as only the copy in a fork was seen: the session that made it takes it over.
    is_copy INTEGER NOT NULL DEFAULT 0,
    model TEXT NOT NULL,
    at TEXT,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    thinking_tokens INTEGER NOT NULL,
    cache_read_tokens INTEGER NOT NULL,
    cache_write_5m_tokens INTEGER NOT NULL,
    cache_write_1h_tokens INTEGER NOT NULL,
    web_searches INTEGER NOT NULL,
    PRIMARY KEY (message_id, request_id)
) STRICT;

CREATE INDEX model_answers_session_id ON model_answers (session_id, model);

-- What a transcript says of its session as a whole; the latest value of each.
CREATE TABLE session_facts (
    session_id TEXT PRIMARY KEY,
    custom_title TEXT,
    ai_title TEXT,
    summary TEXT,
    tag TEXT,
    git_branch TEXT,
    client_version TEXT,
    entrypoint TEXT,
    session_kind TEXT,
    forked_from TEXT,
    forked_at_uuid TEXT,
    -- What the client itself counted, by its `cost-state`; it knows of calls that no transcript shows (compaction).
    client_cost_usd REAL,
    client_usage TEXT,
    -- Counted by `import` when it is done with the session.
    first_at TEXT,
    last_at TEXT,
    messages INTEGER NOT NULL DEFAULT 0,
    prompts INTEGER NOT NULL DEFAULT 0,
    tool_calls INTEGER NOT NULL DEFAULT 0,
    edits INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0,
    compactions INTEGER NOT NULL DEFAULT 0
) STRICT;

-- What a sub-agent's .meta.json says: which call of which agent started it.
CREATE TABLE subagent_facts (
    session_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    agent_type TEXT,
    description TEXT,
    tool_use_id TEXT,
    parent_agent_id TEXT,
    model TEXT,
    PRIMARY KEY (session_id, agent_id)
) STRICT;

-- USD for a million tokens, for the models that occur here. Kept by `import` from the table of prices; a model that it
-- does not know has no row, and no cost.
CREATE TABLE model_prices (
    model TEXT PRIMARY KEY,
    input REAL NOT NULL,
    output REAL NOT NULL,
    cache_read REAL NOT NULL,
    cache_write_5m REAL NOT NULL,
    cache_write_1h REAL NOT NULL,
    priced_on TEXT NOT NULL
) STRICT;

-- --- Views -----------------------------------------------------------------------------------------------------------
-- They ask json_valid() first: JSON nested deeper than SQLite follows is kept, and must not break a query over the rest.

CREATE VIEW prompts AS
SELECT id, session_id, at, prompt, prompt_id, permission_mode, cwd
FROM events
WHERE event = 'UserPromptSubmit';

CREATE VIEW bash_commands AS
SELECT
    id, session_id, at, agent_id, command, description, cwd, duration_ms,
    outcome = 'failed' AS failed,
    -- The exit code of a failing command is only in its error text: "Exit code 3\n…".
    iif(error LIKE 'Exit code %', CAST(substr(error, 11, 10) AS INTEGER), NULL) AS exit_code,
    iif(json_valid(tool_response), json_extract(tool_response, '$.stdout'), NULL) AS stdout,
    coalesce(iif(json_valid(tool_response), json_extract(tool_response, '$.stderr'), NULL), error) AS stderr,
    tool_use_id
FROM events
WHERE event IN ('PostToolUse', 'PostToolUseFailure') AND action = 'run';

CREATE VIEW file_edits AS
SELECT
    id, session_id, at, agent_id, tool_name,
    coalesce(file_path, iif(json_valid(tool_input), json_extract(tool_input, '$.notebook_path'), NULL)) AS file_path,
    old_string,
    coalesce(new_string, iif(json_valid(tool_input), json_extract(tool_input, '$.new_source'), NULL)) AS new_string,
    iif(json_valid(tool_input), json_extract(tool_input, '$.replace_all'), NULL) AS replace_all,
    tool_use_id
FROM events
WHERE event = 'PostToolUse' AND action = 'edit';

CREATE VIEW file_writes AS
SELECT
    id, session_id, at, agent_id, file_path, content,
    iif(json_valid(tool_response), json_extract(tool_response, '$.type'), NULL) AS kind,
    tool_use_id
FROM events
WHERE event = 'PostToolUse' AND action = 'write';

-- One row a tool call: its start, and its end if there was one. A call without an end was denied, cancelled or cut off.
CREATE VIEW tool_calls AS
SELECT
    coalesce(pre.id, done.id) AS id,
    coalesce(pre.session_id, done.session_id) AS session_id,
    coalesce(pre.tool_use_id, done.tool_use_id) AS tool_use_id,
    coalesce(pre.tool_name, done.tool_name) AS tool_name,
    coalesce(pre.action, done.action) AS action,
    coalesce(pre.agent_id, done.agent_id) AS agent_id,
    pre.at AS started_at,
    done.at AS finished_at,
    done.duration_ms,
    ifnull(done.outcome, 'no result') AS outcome,
    coalesce(pre.file_path, done.file_path) AS file_path,
    coalesce(pre.command, done.command) AS command,
    coalesce(pre.description, done.description) AS description,
    done.error,
    coalesce(pre.tool_input, done.tool_input) AS tool_input,
    done.tool_response
FROM events AS pre
LEFT JOIN events AS done
    ON done.tool_use_id = pre.tool_use_id
    AND done.session_id = pre.session_id
    AND done.event IN ('PostToolUse', 'PostToolUseFailure')
WHERE pre.event = 'PreToolUse'
UNION ALL
SELECT
    done.id, done.session_id, done.tool_use_id, done.tool_name, done.action, done.agent_id, NULL, done.at,
    done.duration_ms, done.outcome, done.file_path, done.command, done.description, done.error, done.tool_input,
    done.tool_response
FROM events AS done
WHERE done.event IN ('PostToolUse', 'PostToolUseFailure')
    AND NOT EXISTS (
        SELECT 1 FROM events AS pre
        WHERE pre.tool_use_id = done.tool_use_id AND pre.session_id = done.session_id AND pre.event = 'PreToolUse'
    );

-- What was asked for, and what became of it. PermissionRequest has no tool_use_id: it is about the call of the same tool
-- with the same input that had started by then and was not asked about yet, the latest of them if only some were.
-- Calls and questions with one input are like brackets: `depth` tells which close which. Those that do are paired in
-- the order of time.
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
    )
SELECT
    asked.id, question.session_id, asked.at, asked.agent_id, asked.tool_name, asked.command, asked.file_path,
    asked.permission_mode,
    CASE
        WHEN asked.outcome = 'denied' THEN 'denied'
        WHEN EXISTS (
            SELECT 1 FROM events AS done
            WHERE done.tool_use_id = question.tool_use_id
                AND done.session_id = question.session_id
                AND done.event IN ('PostToolUse', 'PostToolUseFailure')
                AND done.at >= asked.at
        ) THEN 'allowed'
        ELSE 'denied or not answered'
    END AS decision,
    iif(json_valid(asked.extra), json_extract(asked.extra, '$.reason'), NULL) AS reason,
    question.tool_use_id
FROM question JOIN events AS asked ON asked.id = question.id;

CREATE VIEW subagents AS
SELECT
    session_id,
    agent_id,
    max(agent_type) AS agent_type,
    min(at) AS started_at,
    max(iif(event = 'SubagentStop', at, NULL)) AS stopped_at,
    sum(event IN ('PostToolUse', 'PostToolUseFailure')) AS tool_calls,
    sum(outcome IS 'failed') AS failures,
    max(iif(event = 'SubagentStop', last_assistant_message, NULL)) AS report
FROM events
WHERE agent_id IS NOT NULL
GROUP BY session_id, agent_id;

-- A turn is a prompt and all that followed until the next one of the same session.
CREATE VIEW turns AS
SELECT
    turn.id, happened.session_id, turn.prompt_id, turn.at, turn.prompt,
    sum(happened.event IN ('PostToolUse', 'PostToolUseFailure')) AS tool_calls,
    sum(happened.outcome IS 'failed') AS failures,
    max(iif(happened.event IN ('PostToolUse', 'PostToolUseFailure'), happened.at, NULL)) AS last_tool_at
FROM (
    SELECT
        session_id, event, outcome, at,
        max(iif(event = 'UserPromptSubmit', id, NULL)) OVER (PARTITION BY session_id ORDER BY id) AS turn_id
    FROM events
    WHERE +event IN ('UserPromptSubmit', 'PostToolUse', 'PostToolUseFailure', 'StopFailure')
) AS happened
JOIN events AS turn ON turn.id = happened.turn_id
GROUP BY happened.session_id, happened.turn_id;

-- A session that no hook saw is counted by its transcript.
CREATE VIEW session_summary AS
SELECT
    sessions.session_id, started_at, sessions.last_at, ended_at, end_reason,
    CAST(round((julianday(sessions.last_at) - julianday(started_at)) * 86400) AS INTEGER) AS seconds,
    coalesce(
        (
            SELECT prompt FROM events
            WHERE events.session_id = sessions.session_id AND event = 'UserPromptSubmit'
            ORDER BY at, id LIMIT 1
        ),
        (
            SELECT text FROM transcript_parts AS part
            WHERE part.session_id = sessions.session_id AND kind = 'prompt' AND agent_id IS NULL
            ORDER BY at, id LIMIT 1
        )
    ) AS first_prompt,
    events,
    iif(events, sessions.prompts, coalesce(facts.prompts, 0)) AS prompts,
    iif(events, sessions.tool_calls, coalesce(facts.tool_calls, 0)) AS tool_calls,
    iif(events, sessions.edits, coalesce(facts.edits, 0)) AS edits,
    iif(events, sessions.failures, coalesce(facts.failures, 0)) AS failures,
    client, model, start_reason, permission_mode, cwd, transcript_path,
    coalesce(facts.custom_title, facts.ai_title, facts.summary) AS title,
    coalesce(facts.messages, 0) AS messages,
    facts.git_branch, facts.client_version, facts.forked_from, facts.compactions
FROM sessions
LEFT JOIN session_facts AS facts ON facts.session_id = sessions.session_id;

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
    -- NULL for a model without a price: tokens, and never a guess.
    round(sum(
        input_tokens * price.input + output_tokens * price.output + cache_read_tokens * price.cache_read
        + cache_write_5m_tokens * price.cache_write_5m + cache_write_1h_tokens * price.cache_write_1h
    ) / 1e6, 6) AS cost_usd,
    price.priced_on
FROM model_answers AS usage
LEFT JOIN model_prices AS price ON price.model = usage.model
GROUP BY usage.session_id, usage.model;

-- Beside what the transcripts show, what the client counted: it also pays for calls that leave no answer in them.
CREATE VIEW session_costs AS
SELECT
    sessions.session_id, sessions.started_at,
    sum(usage.input_tokens) AS input_tokens,
    sum(usage.output_tokens) AS output_tokens,
    sum(usage.cache_read_tokens) AS cache_read_tokens,
    sum(usage.cache_write_tokens) AS cache_write_tokens,
    sum(usage.cost_usd) AS cost_usd,
    -- How many models have tokens here and no price.
    sum(usage.model IS NOT NULL AND usage.cost_usd IS NULL) AS models_without_price,
    (SELECT sum(json_extract(value, '$.inputTokens')) FROM json_each(facts.client_usage)) AS client_input_tokens,
    (SELECT sum(json_extract(value, '$.outputTokens')) FROM json_each(facts.client_usage)) AS client_output_tokens,
    facts.client_cost_usd
FROM sessions
LEFT JOIN session_facts AS facts ON facts.session_id = sessions.session_id
LEFT JOIN session_usage AS usage ON usage.session_id = sessions.session_id
GROUP BY sessions.session_id;

CREATE VIEW entry_types AS
SELECT
    transcripts.session_id, transcripts.agent_id, transcripts.kind, entry.key AS type, sum(entry.value) AS entries
FROM transcript_chunks
JOIN transcripts ON transcripts.id = transcript_chunks.transcript_id
JOIN json_each(transcript_chunks.entry_types) AS entry
GROUP BY transcripts.id, entry.key;
