-- Made from sessionlog/archive/schema.sql by tools/generate.py. Do not edit.

-- An event as it is sent: one array of these takes less CPU time than an array for each column.
CREATE TYPE new_event AS ("id" bigint, "session_id" text COLLATE "C", "event" text COLLATE "C", "at" text COLLATE "C", "via" text COLLATE "C", "prompt_id" text COLLATE "C", "agent_id" text COLLATE "C", "agent_type" text COLLATE "C", "permission_mode" text COLLATE "C", "cwd" text COLLATE "C", "transcript_path" text COLLATE "C", "tool_name" text COLLATE "C", "tool_use_id" text COLLATE "C", "prompt" text COLLATE "C", "message" text COLLATE "C", "error" text COLLATE "C", "last_assistant_message" text COLLATE "C", "duration_ms" bigint, "file_path" text COLLATE "C", "old_string" text COLLATE "C", "new_string" text COLLATE "C", "content" text COLLATE "C", "command" text COLLATE "C", "description" text COLLATE "C", "tool_input" text COLLATE "C", "tool_response" text COLLATE "C", "extra" text COLLATE "C", "envelope" text COLLATE "C", "hash" text COLLATE "C", "salt" text COLLATE "C");

-- Add events to an archive of one's own: those with greater numbers than all that came before.
CREATE OR REPLACE FUNCTION store_events(mine int, new_events new_event[]) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = sessionlog, pg_temp AS $$
DECLARE
    base bigint := mine::bigint << 40;
    known bigint;
    stored int;
BEGIN
    PERFORM check_owner(mine);
    PERFORM pg_advisory_xact_lock(1936484711, mine);  -- another shipper of the same archive
    SELECT coalesce(max(last_event), 0) INTO known FROM shipments WHERE archive = mine;
    IF EXISTS (
        SELECT FROM (SELECT DISTINCT session_id FROM unnest(new_events)) AS new
        LEFT JOIN sessions USING (session_id)
        WHERE sessions.archive IS DISTINCT FROM mine
    ) THEN
        RAISE insufficient_privilege USING MESSAGE = 'a session belongs to another archive';
    END IF;
    INSERT INTO events (developer, archive, "id", "session_id", "event", "at", "via", "prompt_id", "agent_id", "agent_type", "permission_mode", "cwd", "transcript_path", "tool_name", "tool_use_id", "prompt", "message", "error", "last_assistant_message", "duration_ms", "file_path", "old_string", "new_string", "content", "command", "description", "tool_input", "tool_response", "extra", "envelope", "hash", "salt")
    SELECT session_user, mine, base + new.id, new."session_id", new."event", new."at", new."via", new."prompt_id", new."agent_id", new."agent_type", new."permission_mode", new."cwd", new."transcript_path", new."tool_name", new."tool_use_id", new."prompt", new."message", new."error", new."last_assistant_message", new."duration_ms", new."file_path", new."old_string", new."new_string", new."content", new."command", new."description", new."tool_input", new."tool_response", new."extra", new."envelope", new."hash", new."salt"
    FROM unnest(new_events) AS new
    WHERE new.id > known AND new.id < 1::bigint << 40;
    GET DIAGNOSTICS stored = ROW_COUNT;
    IF stored > 0 THEN
        INSERT INTO session_heads (developer, archive, session_id, event_id, hash)
        SELECT DISTINCT ON (new.session_id) session_user, mine, new.session_id, new.id, new.hash
        FROM unnest(new_events) AS new
        WHERE new.id > known AND new.hash IS NOT NULL
        ORDER BY new.session_id, new.id DESC;
        INSERT INTO shipments (developer, archive, last_event, events, head)
        SELECT session_user, mine, new.id, stored, new.hash
        FROM unnest(new_events) AS new WHERE new.id > known ORDER BY new.id DESC LIMIT 1;
    END IF;
    RETURN stored;
END $$;
REVOKE ALL ON FUNCTION store_events FROM PUBLIC;
GRANT EXECUTE ON FUNCTION store_events TO sessionlog_developer;
