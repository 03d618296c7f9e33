-- Transcripts: their bytes, what was said in them, what it cost.

CREATE TABLE transcripts (
    id INTEGER PRIMARY KEY,
    -- Where the file was seen last; `name` is where it belongs below Claude Code's folder of projects.
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
    -- {"type of entry": how many}, for the types that no other table knows, too.
    entry_types TEXT NOT NULL,
    -- zlib
    data BLOB NOT NULL,
    PRIMARY KEY (transcript_id, sequence)
) STRICT;

CREATE TABLE messages (
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
    -- Last, because they may be long: a query that does not ask for them does not read them.
    text TEXT,
    thinking TEXT
) STRICT;

-- One session in the order of time.
CREATE INDEX messages_session_id_at ON messages (session_id, at);
-- The same line again, in a copy or a later generation of the file, is the same message.
CREATE UNIQUE INDEX messages_uuid ON messages (uuid, session_id, part) WHERE uuid IS NOT NULL;
CREATE UNIQUE INDEX messages_line ON messages (transcript_id, line, part) WHERE uuid IS NULL;
-- A call and its result; where hook events and messages meet.
CREATE INDEX messages_tool_use_id ON messages (tool_use_id) WHERE tool_use_id IS NOT NULL;
-- Likewise for prompts; only what starts a turn has a prompt_id here.
CREATE INDEX messages_prompt_id ON messages (prompt_id) WHERE prompt_id IS NOT NULL;

-- One answer of the API, however many lines, files and forks repeat it. Streaming wrote small numbers first: the
-- greatest of each column is right.
CREATE TABLE api_messages (
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

CREATE INDEX api_messages_session_id ON api_messages (session_id, model);

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
CREATE TABLE agents (
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
FROM api_messages AS usage
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

-- Hook events and messages in the order in which they happened. A tool call is one entry, at its start: the hooks know
-- when it ended and how, the transcript knows it when the hooks were off. So is a prompt.
CREATE VIEW timeline AS
SELECT
    call.session_id, call.at, call.agent_id,
    'tool' AS kind,
    iif(message.id IS NULL, 'hooks', 'both') AS source,
    call.tool_name, call.tool_use_id,
    coalesce(call.command, call.file_path, call.description, call.tool_input) AS text,
    CASE
        WHEN 'PostToolUseFailure' IN (call.event, done.event) THEN 'failed'
        WHEN 'PostToolUse' IN (call.event, done.event) THEN 'ok'
        ELSE 'no result'
    END AS outcome,
    coalesce(done.duration_ms, call.duration_ms) AS duration_ms,
    call.id AS event_id,
    message.id AS message_id
FROM events AS call
LEFT JOIN events AS done
    ON call.event = 'PreToolUse'
    AND done.tool_use_id = call.tool_use_id
    AND done.session_id = call.session_id
    AND done.event IN ('PostToolUse', 'PostToolUseFailure')
LEFT JOIN messages AS message
    ON message.tool_use_id = call.tool_use_id
    AND message.session_id = call.session_id
    AND message.kind = 'tool_use'
WHERE call.event = 'PreToolUse'
    OR (
        call.event IN ('PostToolUse', 'PostToolUseFailure')
        AND NOT EXISTS (
            SELECT 1 FROM events AS pre
            WHERE pre.tool_use_id = call.tool_use_id AND pre.session_id = call.session_id AND pre.event = 'PreToolUse'
        )
    )
UNION ALL
SELECT
    event.session_id, event.at, event.agent_id,
    iif(event.event = 'UserPromptSubmit', 'prompt', event.event),
    iif(message.id IS NULL, 'hooks', 'both'),
    NULL, NULL,
    coalesce(event.prompt, event.message, event.error, event.last_assistant_message, event.file_path),
    NULL, event.duration_ms, event.id, message.id
FROM events AS event
LEFT JOIN messages AS message
    ON event.event = 'UserPromptSubmit'
    AND message.id = (
        SELECT min(twin.id) FROM messages AS twin
        WHERE twin.prompt_id = event.prompt_id AND twin.session_id = event.session_id
    )
WHERE event.event NOT IN ('PreToolUse', 'PostToolUse', 'PostToolUseFailure')
UNION ALL
SELECT
    message.session_id, message.at, message.agent_id,
    iif(message.kind = 'tool_use', 'tool', message.kind),
    'transcript',
    message.tool_name, message.tool_use_id,
    coalesce(message.text, message.thinking),
    CASE
        WHEN message.kind <> 'tool_use' THEN NULL
        WHEN result.id IS NULL THEN 'no result'
        WHEN result.is_error THEN 'failed'
        ELSE 'ok'
    END,
    NULL, NULL, message.id
FROM messages AS message
LEFT JOIN messages AS result
    ON message.kind = 'tool_use'
    AND result.tool_use_id = message.tool_use_id
    AND result.session_id = message.session_id
    AND result.kind = 'tool_result'
WHERE CASE message.kind
    WHEN 'tool_use' THEN NOT EXISTS (
        SELECT 1 FROM events WHERE events.tool_use_id = message.tool_use_id AND events.session_id = message.session_id
    )
    WHEN 'tool_result' THEN NOT EXISTS (
        SELECT 1 FROM messages AS asked
        WHERE asked.tool_use_id = message.tool_use_id AND asked.session_id = message.session_id AND asked.kind = 'tool_use'
    ) AND NOT EXISTS (
        SELECT 1 FROM events WHERE events.tool_use_id = message.tool_use_id AND events.session_id = message.session_id
    )
    -- The history of typed prompts adds the commands that no transcript has.
    WHEN 'history' THEN message.text LIKE '/%'
    ELSE message.prompt_id IS NULL OR NOT EXISTS (
        SELECT 1 FROM events
        WHERE events.session_id = message.session_id
            AND events.event = 'UserPromptSubmit'
            AND events.prompt_id = message.prompt_id
    )
END;

-- A session that no hook saw is counted by its messages.
DROP VIEW session_summary;
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
            SELECT text FROM messages
            WHERE messages.session_id = sessions.session_id AND kind = 'prompt' AND agent_id IS NULL
            ORDER BY at, id LIMIT 1
        )
    ) AS first_prompt,
    events,
    iif(events, sessions.prompts, coalesce(facts.prompts, 0)) AS prompts,
    iif(events, sessions.tool_calls, coalesce(facts.tool_calls, 0)) AS tool_calls,
    iif(events, sessions.edits, coalesce(facts.edits, 0)) AS edits,
    iif(events, sessions.failures, coalesce(facts.failures, 0)) AS failures,
    model, source, permission_mode, cwd, transcript_path,
    coalesce(facts.custom_title, facts.ai_title, facts.summary) AS title,
    coalesce(facts.messages, 0) AS messages,
    facts.git_branch, facts.client_version, facts.forked_from, facts.compactions
FROM sessions
LEFT JOIN session_facts AS facts ON facts.session_id = sessions.session_id;
