-- The chain: what was changed, removed or inserted behind the archive's back is found by `sessionlog verify`.

-- A digest of the whole row, chained to the hash of the event before it in its session; sessionlog/archive/append.py says how.
-- NULL in rows that are older than this migration.
ALTER TABLE events ADD COLUMN hash TEXT;
-- Random, and part of the digest: nobody can guess what `redact` or `prune` took out by trying what fits the hash.
ALTER TABLE events ADD COLUMN salt TEXT;

-- The hash of the session's newest event: its end cannot be cut off unseen.
ALTER TABLE sessions ADD COLUMN chain TEXT;

-- The greatest id that an event has had: an id is never given twice, so that every gap is a removed event.
ALTER TABLE archive ADD COLUMN last_event INTEGER NOT NULL DEFAULT 0;
-- The hash of the newest note.
ALTER TABLE archive ADD COLUMN last_note TEXT;
UPDATE archive SET last_event = (SELECT ifnull(max(id), 0) FROM events);

-- What was changed or removed by right: by `prune`, by `redact`. Chained like events.
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
    -- Of the note that this migration leaves in an archive with events: up to this id, they need have no hash.
    unchained_until INTEGER,
    hash TEXT NOT NULL
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

DROP TRIGGER events_keep_sessions;

-- The database keeps `sessions` itself, whoever writes an event.
CREATE TRIGGER events_keep_sessions AFTER INSERT ON events BEGIN
    INSERT INTO sessions (
        session_id, started_at, last_at, ended_at, end_reason, source, model, cwd, transcript_path, permission_mode,
        events, prompts, tool_calls, edits, failures, chain
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
        new.event IN ('PostToolUseFailure', 'StopFailure'),
        new.hash
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
        failures = failures + excluded.failures,
        -- A row that somebody else has written, without a hash, does not break the chain: it is found by itself.
        chain = coalesce(excluded.chain, chain);
    UPDATE archive SET last_event = max(last_event, new.id);
END;

-- The same turns, found in one pass: a join of each prompt with what followed it took 1.6 s for a session of 11,000 events.
DROP VIEW turns;
CREATE VIEW turns AS
SELECT
    turn.id, happened.session_id, turn.prompt_id, turn.at, turn.prompt,
    count(*) - 1 AS tool_calls,
    sum(iif(happened.event = 'UserPromptSubmit', NULL, happened.event = 'PostToolUseFailure')) AS failures,
    max(iif(happened.event = 'UserPromptSubmit', NULL, happened.at)) AS last_tool_at
FROM (
    SELECT
        session_id, event, at,
        max(iif(event = 'UserPromptSubmit', id, NULL)) OVER (PARTITION BY session_id ORDER BY id) AS turn_id
    FROM events
    WHERE +event IN ('UserPromptSubmit', 'PostToolUse', 'PostToolUseFailure')
) AS happened
JOIN events AS turn ON turn.id = happened.turn_id
GROUP BY happened.session_id, happened.turn_id;

-- All events of a kind, newest first: the other index has them in the order of their tools, and a million take seconds
-- to sort.
CREATE INDEX events_event ON events (event);
