-- Sessions and their events.

CREATE TABLE archive (
    -- One row: what this file is. Datasette, backups and `sessionlog --all` see the project by its path here.
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    project TEXT NOT NULL,
    created_at TEXT NOT NULL
) STRICT;

CREATE TABLE sessions (
    session_id TEXT PRIMARY KEY,
    started_at TEXT NOT NULL,
    last_at TEXT NOT NULL,
    ended_at TEXT,
    end_reason TEXT,
    source TEXT,
    model TEXT,
    cwd TEXT,
    transcript_path TEXT,
    permission_mode TEXT,
    -- Counted as events come in, so that a list of sessions reads no event.
    events INTEGER NOT NULL DEFAULT 0,
    prompts INTEGER NOT NULL DEFAULT 0,
    tool_calls INTEGER NOT NULL DEFAULT 0,
    edits INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX sessions_started_at ON sessions (started_at);

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
    envelope TEXT
) STRICT;

-- One session in the order of time; also how a second copy of an event is found.
CREATE INDEX events_session_id_at ON events (session_id, at);
-- All prompts, all failures, all calls of a tool: every view below starts here.
CREATE INDEX events_event_tool_name ON events (event, tool_name);
-- A call's start, end and failure.
CREATE INDEX events_tool_use_id ON events (tool_use_id) WHERE tool_use_id IS NOT NULL;
-- What happened to a file.
CREATE INDEX events_file_path ON events (file_path) WHERE file_path IS NOT NULL;
-- What a sub-agent did.
CREATE INDEX events_agent_id ON events (agent_id) WHERE agent_id IS NOT NULL;

-- The database keeps `sessions` itself, whoever writes an event.
CREATE TRIGGER events_keep_sessions AFTER INSERT ON events BEGIN
    INSERT INTO sessions (
        session_id, started_at, last_at, ended_at, end_reason, source, model, cwd, transcript_path, permission_mode,
        events, prompts, tool_calls, edits, failures
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
        ifnull(new.event = 'PostToolUse' AND new.tool_name IN ('Edit', 'MultiEdit', 'NotebookEdit', 'Write'), 0),
        new.event IN ('PostToolUseFailure', 'StopFailure')
    ) ON CONFLICT (session_id) DO UPDATE SET
        started_at = min(started_at, excluded.started_at),
        last_at = max(last_at, excluded.last_at),
        -- A session that goes on after its end (--resume) is open again.
        ended_at = iif(new.event = 'SessionStart', NULL, coalesce(excluded.ended_at, ended_at)),
        end_reason = iif(new.event = 'SessionStart', NULL, coalesce(excluded.end_reason, end_reason)),
        source = coalesce(source, excluded.source),
        model = coalesce(excluded.model, model),
        cwd = coalesce(cwd, excluded.cwd),
        transcript_path = coalesce(excluded.transcript_path, transcript_path),
        permission_mode = coalesce(excluded.permission_mode, permission_mode),
        events = events + 1,
        prompts = prompts + excluded.prompts,
        tool_calls = tool_calls + excluded.tool_calls,
        edits = edits + excluded.edits,
        failures = failures + excluded.failures;
END;

-- How far a spool file has come home: written together with its events, so that each comes home once.
CREATE TABLE spool_progress (
    spool_id TEXT PRIMARY KEY,
    offset INTEGER NOT NULL
) STRICT;

-- Views ask json_valid() first: JSON nested deeper than SQLite follows is kept, and must not break a query over the rest.
CREATE VIEW prompts AS
SELECT id, session_id, at, prompt, prompt_id, permission_mode, cwd
FROM events
WHERE event = 'UserPromptSubmit';

CREATE VIEW bash_commands AS
SELECT
    id, session_id, at, agent_id, command, description, cwd, duration_ms,
    event = 'PostToolUseFailure' AS failed,
    -- A failing command is told only by its error text: "Exit code 3\n…".
    iif(error LIKE 'Exit code %', CAST(substr(error, 11, 10) AS INTEGER), NULL) AS exit_code,
    iif(json_valid(tool_response), json_extract(tool_response, '$.stdout'), NULL) AS stdout,
    coalesce(iif(json_valid(tool_response), json_extract(tool_response, '$.stderr'), NULL), error) AS stderr,
    tool_use_id
FROM events
WHERE event IN ('PostToolUse', 'PostToolUseFailure') AND tool_name IN ('Bash', 'PowerShell');

CREATE VIEW file_edits AS
SELECT
    id, session_id, at, agent_id, tool_name,
    coalesce(file_path, iif(json_valid(tool_input), json_extract(tool_input, '$.notebook_path'), NULL)) AS file_path,
    old_string,
    coalesce(new_string, iif(json_valid(tool_input), json_extract(tool_input, '$.new_source'), NULL)) AS new_string,
    iif(json_valid(tool_input), json_extract(tool_input, '$.replace_all'), NULL) AS replace_all,
    tool_use_id
FROM events
WHERE event = 'PostToolUse' AND tool_name IN ('Edit', 'MultiEdit', 'NotebookEdit');

CREATE VIEW file_writes AS
SELECT
    id, session_id, at, agent_id, file_path, content,
    iif(json_valid(tool_response), json_extract(tool_response, '$.type'), NULL) AS kind,
    tool_use_id
FROM events
WHERE event = 'PostToolUse' AND tool_name = 'Write';

-- One row a tool call: its start, and its end if there was one. A call without an end was denied, cancelled or cut off.
CREATE VIEW tool_calls AS
SELECT
    coalesce(pre.id, done.id) AS id,
    coalesce(pre.session_id, done.session_id) AS session_id,
    coalesce(pre.tool_use_id, done.tool_use_id) AS tool_use_id,
    coalesce(pre.tool_name, done.tool_name) AS tool_name,
    coalesce(pre.agent_id, done.agent_id) AS agent_id,
    pre.at AS started_at,
    done.at AS finished_at,
    done.duration_ms,
    CASE done.event WHEN 'PostToolUse' THEN 'ok' WHEN 'PostToolUseFailure' THEN 'failed' ELSE 'no result' END AS outcome,
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
    done.id, done.session_id, done.tool_use_id, done.tool_name, done.agent_id, NULL, done.at, done.duration_ms,
    iif(done.event = 'PostToolUse', 'ok', 'failed'),
    done.file_path, done.command, done.description, done.error, done.tool_input, done.tool_response
FROM events AS done
WHERE done.event IN ('PostToolUse', 'PostToolUseFailure')
    AND NOT EXISTS (
        SELECT 1 FROM events AS pre
        WHERE pre.tool_use_id = done.tool_use_id AND pre.session_id = done.session_id AND pre.event = 'PreToolUse'
    );

-- What was asked for, and what became of it. PermissionRequest has no tool_use_id: the call is the last one of this
-- tool that had started when the question came.
CREATE VIEW permission_decisions AS
SELECT
    asked.id, asked.session_id, asked.at, asked.agent_id, asked.tool_name, asked.command, asked.file_path,
    asked.permission_mode,
    CASE
        WHEN asked.event = 'PermissionDenied' THEN 'denied'
        WHEN call.outcome IN ('ok', 'failed') THEN 'allowed'
        ELSE 'denied or not answered'
    END AS decision,
    iif(json_valid(asked.extra), json_extract(asked.extra, '$.reason'), NULL) AS reason,
    call.tool_use_id
FROM events AS asked
LEFT JOIN tool_calls AS call ON call.id = (
    SELECT max(pre.id)
    FROM events AS pre
    WHERE pre.session_id = asked.session_id
        AND pre.event = 'PreToolUse'
        AND pre.tool_name = asked.tool_name
        AND pre.agent_id IS asked.agent_id
        AND pre.command IS asked.command
        AND pre.file_path IS asked.file_path
        AND pre.at <= asked.at
)
WHERE asked.event IN ('PermissionRequest', 'PermissionDenied');

CREATE VIEW subagents AS
SELECT
    session_id,
    agent_id,
    max(agent_type) AS agent_type,
    min(at) AS started_at,
    max(iif(event = 'SubagentStop', at, NULL)) AS stopped_at,
    sum(event IN ('PostToolUse', 'PostToolUseFailure')) AS tool_calls,
    sum(event = 'PostToolUseFailure') AS failures,
    max(iif(event = 'SubagentStop', last_assistant_message, NULL)) AS report
FROM events
WHERE agent_id IS NOT NULL
GROUP BY session_id, agent_id;

CREATE VIEW session_summary AS
SELECT
    session_id, started_at, last_at, ended_at, end_reason,
    CAST(round((julianday(last_at) - julianday(started_at)) * 86400) AS INTEGER) AS seconds,
    (
        SELECT prompt FROM events
        WHERE events.session_id = sessions.session_id AND event = 'UserPromptSubmit'
        ORDER BY at, id LIMIT 1
    ) AS first_prompt,
    events, prompts, tool_calls, edits, failures, model, source, permission_mode, cwd, transcript_path
FROM sessions;

-- A turn is a prompt and all that followed until the next one of the same session.
CREATE VIEW turns AS
SELECT
    turn.id, turn.session_id, turn.prompt_id, turn.at, turn.prompt,
    count(done.id) AS tool_calls,
    sum(done.event = 'PostToolUseFailure') AS failures,
    max(done.at) AS last_tool_at
FROM (
    SELECT *, lead(id) OVER (PARTITION BY session_id ORDER BY id) AS next_id
    FROM events
    WHERE event = 'UserPromptSubmit'
) AS turn
LEFT JOIN events AS done
    ON done.session_id = turn.session_id
    AND done.id > turn.id
    AND (turn.next_id IS NULL OR done.id < turn.next_id)
    AND done.event IN ('PostToolUse', 'PostToolUseFailure')
GROUP BY turn.id;
