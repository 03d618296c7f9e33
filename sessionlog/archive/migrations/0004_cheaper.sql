-- What is cheaper to write, and what is cheaper to ask.

-- Two pages less for each event to write, and for the next hook to read again: those of the archive's row and of the
-- index of sessions by their start, where as a rule nothing changes.

-- The greatest id that an event of this session has had; 0 for one that has had none since this migration.
ALTER TABLE sessions ADD COLUMN last_event INTEGER NOT NULL DEFAULT 0;

DROP TRIGGER events_keep_sessions;

-- The database keeps `sessions` itself, whoever writes an event.
CREATE TRIGGER events_keep_sessions AFTER INSERT ON events BEGIN
    INSERT INTO sessions (
        session_id, started_at, last_at, ended_at, end_reason, source, model, cwd, transcript_path, permission_mode,
        events, prompts, tool_calls, edits, failures, chain, last_event
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
        new.hash,
        new.id
    ) ON CONFLICT (session_id) DO UPDATE SET
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
        last_event = max(last_event, excluded.last_event),
        -- A row that somebody else has written, without a hash, does not break the chain: it is found by itself.
        chain = coalesce(excluded.chain, chain);
    -- Set above, it would write its index anew with every event.
    UPDATE sessions SET started_at = new.at WHERE session_id = new.session_id AND started_at > new.at;
END;

-- And `last_event` of the archive is now the greatest id that was removed: none is given twice.
CREATE TRIGGER events_keep_last_event AFTER DELETE ON events BEGIN
    UPDATE archive SET last_event = old.id WHERE last_event < old.id;
END;

-- What is rare and what is common, for SQLite to choose its indexes by: an archive of a middling size. Without it, a call
-- was looked for among all events of its kind and not by its id. What somebody's ANALYZE has counted stays.
ANALYZE archive;
INSERT INTO sqlite_stat1 (tbl, idx, stat)
SELECT * FROM (
    VALUES
        ('events', 'events_session_id_at', '200000 400 1 noskipscan'),
        ('events', 'events_event_tool_name', '200000 20000 5000'),
        ('events', 'events_event', '200000 19000'),
        ('events', 'events_tool_use_id', '180000 2'),
        ('events', 'events_file_path', '80000 20'),
        ('events', 'events_agent_id', '40000 100'),
        ('sessions', 'sqlite_autoindex_sessions_1', '500 1'),
        ('sessions', 'sessions_started_at', '500 1'),
        ('session_facts', 'sqlite_autoindex_session_facts_1', '500 1'),
        ('agents', 'sqlite_autoindex_agents_1', '400 3 1'),
        ('transcripts', 'transcripts_session_id', '1000 3 3'),
        ('messages', 'messages_session_id_at', '200000 400 1 noskipscan'),
        ('messages', 'messages_tool_use_id', '100000 2'),
        ('messages', 'messages_prompt_id', '150000 40'),
        ('api_messages', 'api_messages_session_id', '60000 120 80'),
        ('model_prices', 'sqlite_autoindex_model_prices_1', '20 1')
)
WHERE column2 NOT IN (SELECT idx FROM sqlite_stat1 WHERE idx IS NOT NULL);
