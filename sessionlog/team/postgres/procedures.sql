-- The team archive, part 3: its functions. `sessionlog team init` also replaces those of an archive that is there.
--
-- session_user, not current_user: `SET ROLE` must not change whose rows one writes.

-- Publish who is in a team: its role sees the rows of these developers. A list of names in the policy, no subquery: the
-- planner sees it, and Citus takes it. Run by `team add` after each change.
CREATE OR REPLACE FUNCTION publish_team(name text) RETURNS void LANGUAGE plpgsql SET search_path = sessionlog, pg_temp AS $$
DECLARE
    role text := 'sessionlog_team_' || name;
    people text[] := ARRAY(SELECT developer FROM developers WHERE team = name ORDER BY developer);
    owned text;
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role) THEN
        EXECUTE format('CREATE ROLE %I NOLOGIN IN ROLE sessionlog_reader', role);
    END IF;
    FOREACH owned IN ARRAY owned_tables() LOOP
        EXECUTE format('DROP POLICY IF EXISTS %I ON %I', role, owned);
        EXECUTE format('CREATE POLICY %I ON %I FOR SELECT TO %I USING (developer = ANY (%L::text[]))', role, owned, role, people);
    END LOOP;
END $$;
REVOKE ALL ON FUNCTION publish_team FROM PUBLIC;

-- Publish which archives are on legal hold: their owners can add to them, and neither change nor remove what is there. A list
-- of numbers in the policies, as for teams. Run by `team hold` after each change.
CREATE OR REPLACE FUNCTION publish_holds() RETURNS void LANGUAGE plpgsql SET search_path = sessionlog, pg_temp AS $$
DECLARE
    held bigint[] := ARRAY(SELECT archive FROM archives WHERE hold ORDER BY archive);
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY[
        'documents', 'sessions', 'transcripts', 'transcript_chunks', 'transcript_parts', 'model_answers', 'session_facts',
        'subagent_facts'
    ] LOOP
        EXECUTE format('DROP POLICY IF EXISTS keep_held ON %I', name);
        EXECUTE format('CREATE POLICY keep_held ON %I AS RESTRICTIVE FOR DELETE TO sessionlog_developer '
            'USING (archive <> ALL (%L::bigint[]))', name, held);
    END LOOP;
    FOREACH name IN ARRAY ARRAY['transcripts', 'transcript_chunks', 'transcript_parts'] LOOP
        EXECUTE format('DROP POLICY IF EXISTS fix_held ON %I', name);
        EXECUTE format('CREATE POLICY fix_held ON %I AS RESTRICTIVE FOR UPDATE TO sessionlog_developer '
            'USING (archive <> ALL (%L::bigint[]))', name, held);
    END LOOP;
END $$;
REVOKE ALL ON FUNCTION publish_holds FROM PUBLIC;

-- Whose rows the person may read: the same people as by the policies above.
CREATE OR REPLACE FUNCTION readable_developers() RETURNS text[] LANGUAGE sql STABLE SECURITY DEFINER SET search_path = sessionlog, pg_temp AS $$
    SELECT ARRAY(
        SELECT developer FROM developers
        WHERE pg_has_role(session_user, 'sessionlog_auditor', 'usage')
            OR (developer = session_user AND pg_has_role(session_user, 'sessionlog_developer', 'usage'))
            OR EXISTS (SELECT FROM pg_roles WHERE rolname = 'sessionlog_team_' || team AND pg_has_role(session_user, oid, 'usage'))
    ) $$;

-- Search. `@@` is not leakproof, so row-level security would forbid the index: this function asks as the owner and
-- returns only rows of people that the caller may read. MATERIALIZED: else the planner walks all rows by time until it
-- has enough of them, which takes seconds for a rare word.
CREATE OR REPLACE FUNCTION search(question tsquery, since text DEFAULT '', until text DEFAULT '~', people text[] DEFAULT NULL, most int DEFAULT 50)
RETURNS TABLE (id bigint, is_message boolean, session_id text, at text, developer text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = sessionlog, pg_temp AS $$
DECLARE
    readable text[] := readable_developers();
    newest_month text COLLATE "C" := (
        SELECT max(month) FROM (
            SELECT replace(right(relname, 7), '_', '-') COLLATE "C" AS month FROM pg_class WHERE oid IN (
                SELECT inhrelid FROM pg_inherits WHERE inhparent = 'documents'::regclass AND inhrelid <> 'documents_default'::regclass)
        ) AS months WHERE month < until
    );
    missing int := least(most, 10000);
    found int;
    low text COLLATE "C";
    high text COLLATE "C" := until;
BEGIN
    -- A word that is everywhere has enough hits in the newest month: to collect all of them would take seconds.
    FOREACH low IN ARRAY ARRAY[greatest(since, newest_month), since] LOOP
        CONTINUE WHEN low >= high;
        RETURN QUERY
            WITH hit AS MATERIALIZED (
                SELECT d.id, d.is_message, d.session_id, d.at, d.developer
                FROM documents AS d
                WHERE d.words @@ question AND d.at >= low AND d.at < high
                    AND d.developer = ANY (readable) AND (people IS NULL OR d.developer = ANY (people))
            )
            SELECT * FROM hit ORDER BY hit.at DESC, hit.id DESC LIMIT missing;
        GET DIAGNOSTICS found = ROW_COUNT;
        missing := missing - found;
        EXIT WHEN missing <= 0;
        high := low;
    END LOOP;
END $$;

-- Which of these sessions belong to other archives: copies, and `unknown`. The shipper gives them a name of their own.
CREATE OR REPLACE FUNCTION taken(ids text[], mine int) RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = sessionlog, pg_temp AS
    'SELECT session_id FROM sessions WHERE session_id = ANY (ids) AND archive <> mine';

CREATE OR REPLACE FUNCTION check_owner(mine int) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = sessionlog, pg_temp AS $$
BEGIN
    IF NOT pg_has_role(session_user, 'sessionlog_developer', 'usage')
        OR NOT EXISTS (SELECT FROM archives WHERE archive = mine AND developer = session_user) THEN
        RAISE insufficient_privilege USING MESSAGE = 'this archive belongs to somebody else';
    END IF;
END $$;

-- The partitions of a month. Any developer may ask for one, within reason.
CREATE OR REPLACE FUNCTION make_month(month text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = sessionlog, pg_temp AS $$
DECLARE
    first date := to_date(month, 'YYYY-MM');
    name text;
    partition text;
    statistics text;
BEGIN
    IF first < current_date - interval '10 years' OR first > current_date + interval '1 month' THEN
        RETURN;  -- its rows go to the default partition
    END IF;
    FOREACH name IN ARRAY ARRAY['events', 'documents'] LOOP
        partition := name || to_char(first, '_YYYY_MM');
        IF to_regclass(format('sessionlog.%I', partition)) IS NULL THEN
            PERFORM pg_advisory_xact_lock(1936484711, 0);
            EXIT WHEN to_regclass(format('sessionlog.%I', partition)) IS NOT NULL;  -- another shipper made both
            -- Rows are added and hardly ever change. With the usual settings, autovacuum takes half as long as the shipments.
            -- A search needs no statistics: it always uses the index of words, which a vacuum reads as a whole.
            EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%L) TO (%L) '
                'WITH (autovacuum_analyze_scale_factor = %s, autovacuum_vacuum_insert_scale_factor = %s)',
                partition, name, to_char(first, 'YYYY-MM'), to_char(first + interval '1 month', 'YYYY-MM'),
                CASE name WHEN 'documents' THEN 100 ELSE 0.5 END, CASE name WHEN 'documents' THEN 1 ELSE 0.5 END);
            -- No plan asks how often which text occurs, and of the rest a sample of 6,000 rows says enough.
            SELECT string_agg(format('ALTER COLUMN %I SET STATISTICS %s', attname, CASE WHEN attname IN (
                'prompt', 'message', 'error', 'last_assistant_message', 'old_string', 'new_string', 'content', 'description',
                'tool_input', 'tool_response', 'extra', 'envelope', 'hash', 'salt', 'transcript_path', 'words') THEN 0 ELSE 20 END),
                ', ') INTO statistics
            FROM pg_attribute WHERE attrelid = to_regclass(format('sessionlog.%I', partition)) AND attnum > 0;
            EXECUTE format('ALTER TABLE %I %s', partition, statistics);
        END IF;
    END LOOP;
END $$;

-- Remove events that `prune` removed at home. Their numbers cannot be used again: store_events() takes newer ones only.
CREATE OR REPLACE FUNCTION take_out_events(mine int, gone bigint[]) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = sessionlog, pg_temp AS $$
DECLARE
    base bigint := mine::bigint << 40;
    ids bigint[] := ARRAY(SELECT base + number FROM unnest(gone) AS number WHERE number BETWEEN 1 AND (1::bigint << 40) - 1);
    removed bigint[];
BEGIN
    PERFORM check_owner(mine);
    IF EXISTS (SELECT FROM archives WHERE archive = mine AND hold) THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = 'the archive is on legal hold: nothing can be taken out';
    END IF;
    DELETE FROM documents WHERE id = ANY (ids) AND NOT is_message AND archive = mine;
    WITH done AS (DELETE FROM events WHERE id = ANY (ids) AND archive = mine RETURNING id)
    SELECT array_agg(id - base ORDER BY id) INTO removed FROM done;
    IF removed IS NOT NULL THEN
        INSERT INTO take_outs (developer, archive, kind, events) VALUES (session_user, mine, 'removed', removed);
    END IF;
    RETURN coalesce(cardinality(removed), 0);
END $$;

-- Whether a text is the old one with parts taken out: what stands between its markers is in the old one, in that order.
CREATE OR REPLACE FUNCTION is_less(old text, new text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    pieces text[];
    rest text := old;
    found int;
BEGIN
    IF new IS NULL OR new IS NOT DISTINCT FROM old OR (old IS NOT NULL AND new IN ('[pruned]', '"[pruned]"')) THEN
        RETURN true;
    ELSIF old IS NULL THEN
        RETURN false;
    END IF;
    pieces := regexp_split_to_array(new, '\[redacted:[A-Za-z0-9-]{1,40}:[0-9a-f]{4,64}\]');
    IF cardinality(pieces) < 2 OR NOT starts_with(rest, pieces[1]) THEN
        RETURN false;
    END IF;
    rest := substr(rest, length(pieces[1]) + 1);
    FOR number IN 2 .. cardinality(pieces) - 1 LOOP
        found := strpos(rest, pieces[number]);
        IF found = 0 THEN
            RETURN false;
        END IF;
        rest := substr(rest, found + length(pieces[number]));
    END LOOP;
    RETURN right(rest, length(pieces[cardinality(pieces)])) = pieces[cardinality(pieces)];
END $$;

-- Take parts out of an event that `redact` or `prune` took out at home. `changes` has the new text of each column that
-- changed. Its words go too; the shipper adds those that are left.
CREATE OR REPLACE FUNCTION redact_event(mine int, event_id bigint, changes jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = sessionlog, pg_temp AS $$
DECLARE
    wanted bigint := (mine::bigint << 40) + event_id;
    old jsonb;
    name text;
    new text;
BEGIN
    PERFORM check_owner(mine);
    IF EXISTS (SELECT FROM archives WHERE archive = mine AND hold) THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = 'the archive is on legal hold: nothing can be taken out';
    END IF;
    SELECT to_jsonb(events) INTO old FROM events WHERE id = wanted AND archive = mine FOR UPDATE;
    IF old IS NULL THEN
        RETURN;
    END IF;
    FOR name, new IN SELECT key, value FROM jsonb_each_text(changes) LOOP
        IF name = 'salt' AND (new ~ '^[0-9a-f]{32}$' OR new IS NULL) THEN
            NULL;  -- a new one, so that what was taken out cannot be guessed from the hash
        ELSIF name IN ('developer', 'archive', 'id', 'session_id', 'event', 'at', 'via', 'hash', 'salt', 'action', 'outcome')
            OR NOT old ? name OR NOT is_less(old ->> name, new) THEN
            RAISE insufficient_privilege USING MESSAGE = format('%s: parts can be taken out, nothing can be put in', name);
        END IF;
        EXECUTE format('UPDATE events SET %I = $1 WHERE id = $2 AND archive = $3', name) USING new, wanted, mine;
    END LOOP;
    DELETE FROM documents WHERE id = wanted AND NOT is_message AND archive = mine;
    INSERT INTO take_outs (developer, archive, kind, events) VALUES (session_user, mine, 'changed', ARRAY[event_id]);
END $$;

-- Remove what is older than a day, except archives on legal hold. A whole month is dropped at once, unless a held archive
-- has rows in it.
CREATE OR REPLACE FUNCTION retain(before date) RETURNS TABLE (what text, number bigint)
LANGUAGE plpgsql SET search_path = sessionlog, pg_temp AS $$
DECLARE
    first text := to_char(before, 'YYYY-MM-DD');
    partition record;
    old_sessions text[];
    counted bigint;
    total bigint;
    dropped bigint := 0;
BEGIN
    SELECT count(*) INTO total FROM events JOIN archives USING (archive) WHERE NOT hold AND at < first;
    INSERT INTO cut_sessions AS known (developer, archive, session_id, event_id, hash)
    SELECT DISTINCT ON (session_id) events.developer, archive, session_id, events.id & ((1::bigint << 40) - 1), events.hash
    FROM events JOIN archives USING (archive) JOIN sessions USING (session_id, archive)
    WHERE NOT hold AND events.at < first AND sessions.last_at >= first AND events.hash IS NOT NULL
    ORDER BY session_id, events.id DESC
    ON CONFLICT (session_id) DO UPDATE SET event_id = excluded.event_id, hash = excluded.hash
        WHERE known.event_id < excluded.event_id;
    FOR partition IN
        SELECT child.relname::text AS name, parent.relname::text AS parent, right(child.relname::text, 7) AS month
        FROM pg_inherits JOIN pg_class AS child ON child.oid = inhrelid JOIN pg_class AS parent ON parent.oid = inhparent
        WHERE parent.relnamespace = 'sessionlog'::regnamespace AND parent.relname IN ('events', 'documents')
            AND child.relname ~ '_\d{4}_\d{2}$'
        ORDER BY 1
    LOOP
        IF to_date(partition.month, 'YYYY_MM') + interval '1 month' <= before THEN
            EXECUTE format('SELECT count(*) FROM (SELECT FROM %I JOIN archives USING (archive) WHERE hold LIMIT 1) AS held',
                partition.name) INTO counted;
            IF counted = 0 THEN
                EXECUTE format('DROP TABLE %I', partition.name);
                dropped := dropped + 1;
            END IF;
        END IF;
    END LOOP;
    DELETE FROM documents USING archives WHERE archives.archive = documents.archive AND NOT hold AND documents.at < first;
    DELETE FROM events USING archives WHERE archives.archive = events.archive AND NOT hold AND events.at < first;
    old_sessions := ARRAY(
        SELECT session_id FROM sessions JOIN archives USING (archive) WHERE NOT hold AND last_at < first);
    DELETE FROM transcript_parts WHERE session_id = ANY (old_sessions);
    DELETE FROM transcript_chunks WHERE transcript_id IN (SELECT id FROM transcripts WHERE session_id = ANY (old_sessions));
    DELETE FROM transcripts WHERE session_id = ANY (old_sessions);
    DELETE FROM model_answers WHERE session_id = ANY (old_sessions);
    DELETE FROM session_facts WHERE session_id = ANY (old_sessions);
    DELETE FROM subagent_facts WHERE session_id = ANY (old_sessions);
    DELETE FROM cut_sessions WHERE session_id = ANY (old_sessions);
    DELETE FROM session_heads WHERE session_id = ANY (old_sessions);
    DELETE FROM sessions WHERE session_id = ANY (old_sessions);
    INSERT INTO retentions (before, events, sessions) VALUES (first, total, cardinality(old_sessions));
    RETURN QUERY VALUES ('events', total), ('sessions', cardinality(old_sessions)::bigint), ('partitions dropped', dropped);
END $$;

REVOKE ALL ON FUNCTION retain, readable_developers, search, taken, make_month, take_out_events, redact_event, check_owner
    FROM PUBLIC;
GRANT EXECUTE ON FUNCTION readable_developers, search TO sessionlog_developer, sessionlog_reader, sessionlog_auditor;
GRANT EXECUTE ON FUNCTION taken, make_month, take_out_events, redact_event, check_owner TO sessionlog_developer;
