-- The team archive, part 2: who may do what.
--
-- A developer adds and reads own rows. Members of the role of a team (sessionlog_team_NAME) read the rows of its people.
-- Members of sessionlog_auditor read all. Nobody but the owner of the schema changes or removes an event, except through
-- take_out_events() and redact_event().
--
-- session_user, not current_user: `SET ROLE` must not change whose rows one writes.

CREATE VIEW session_projects WITH (security_invoker) AS
SELECT sessions.session_id, archives.project, archives.developer, archives.host
FROM sessions JOIN archives ON archives.archive = sessions.archive;

-- The tables whose rows belong to a developer.
CREATE FUNCTION owned_tables() RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
    SELECT ARRAY[
        'developers', 'archives', 'shipments', 'session_heads', 'take_outs', 'cut_sessions', 'documents', 'sessions', 'events',
        'transcripts', 'transcript_chunks', 'transcript_parts', 'model_answers', 'session_facts', 'subagent_facts',
        'chain_notes', 'chain_changes'
    ] $$;

DO $$
DECLARE
    name text;
BEGIN
    EXECUTE 'GRANT USAGE ON SCHEMA sessionlog TO sessionlog_developer, sessionlog_reader, sessionlog_auditor';
    FOREACH name IN ARRAY owned_tables() LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('GRANT SELECT ON %I TO sessionlog_developer, sessionlog_reader, sessionlog_auditor', name);
        EXECUTE format('CREATE POLICY own_rows ON %I FOR SELECT TO sessionlog_developer USING (developer = session_user)', name);
        EXECUTE format('CREATE POLICY all_rows ON %I FOR SELECT TO sessionlog_auditor USING (true)', name);
    END LOOP;
    FOREACH name IN ARRAY ARRAY['version', 'retentions', 'session_projects'] LOOP
        EXECUTE format('GRANT SELECT ON %I TO sessionlog_developer, sessionlog_reader, sessionlog_auditor', name);
    END LOOP;
    -- What a developer adds. Events come through store_events().
    FOREACH name IN ARRAY ARRAY['documents', 'chain_notes', 'chain_changes'] LOOP
        EXECUTE format('GRANT INSERT ON %I TO sessionlog_developer', name);
        EXECUTE format('CREATE POLICY add_own ON %I FOR INSERT TO sessionlog_developer WITH CHECK (developer = session_user)', name);
    END LOOP;
    -- What is made from transcripts, and counts: kept as it is at home.
    FOREACH name IN ARRAY ARRAY[
        'sessions', 'transcripts', 'transcript_chunks', 'transcript_parts', 'model_answers', 'session_facts', 'subagent_facts'
    ] LOOP
        EXECUTE format('GRANT INSERT, UPDATE, DELETE ON %I TO sessionlog_developer', name);
        EXECUTE format('CREATE POLICY add_own ON %I FOR INSERT TO sessionlog_developer WITH CHECK (developer = session_user)', name);
        EXECUTE format('CREATE POLICY change_own ON %I FOR UPDATE TO sessionlog_developer '
            'USING (developer = session_user) WITH CHECK (developer = session_user)', name);
        EXECUTE format('CREATE POLICY remove_own ON %I FOR DELETE TO sessionlog_developer USING (developer = session_user)', name);
    END LOOP;
END $$;

-- Words of a row that was taken out.
GRANT DELETE ON documents TO sessionlog_developer;
CREATE POLICY remove_own ON documents FOR DELETE TO sessionlog_developer USING (developer = session_user);

GRANT INSERT (uuid, host, project, created_at, content), UPDATE (project, content, state) ON archives TO sessionlog_developer;
CREATE POLICY add_own ON archives FOR INSERT TO sessionlog_developer WITH CHECK (developer = session_user AND NOT hold);
CREATE POLICY change_own ON archives FOR UPDATE TO sessionlog_developer
    USING (developer = session_user) WITH CHECK (developer = session_user);
