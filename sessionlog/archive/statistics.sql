-- What is rare and what is common, for SQLite to choose its indexes by: an archive of a middling size. Without it, a call
-- is looked for among all events of its kind and not by its id. What ANALYZE has counted in this file stays.
ANALYZE archive;
INSERT INTO sqlite_stat1 (tbl, idx, stat)
SELECT * FROM (
    VALUES
        ('events', 'events_session_id_at', '200000 400 1 noskipscan'),
        ('events', 'events_event_action', '200000 20000 5000'),
        ('events', 'events_event', '200000 19000'),
        ('events', 'events_tool_use_id', '180000 2'),
        ('events', 'events_file_path', '80000 20'),
        ('events', 'events_agent_id', '40000 100'),
        ('sessions', 'sqlite_autoindex_sessions_1', '500 1'),
        ('sessions', 'sessions_started_at', '500 1'),
        ('session_facts', 'sqlite_autoindex_session_facts_1', '500 1'),
        ('subagent_facts', 'sqlite_autoindex_subagent_facts_1', '400 3 1'),
        ('transcripts', 'transcripts_session_id', '1000 3 3'),
        ('transcript_parts', 'transcript_parts_session_id_at', '200000 400 1 noskipscan'),
        ('transcript_parts', 'transcript_parts_tool_use_id', '100000 2'),
        ('transcript_parts', 'transcript_parts_prompt_id', '150000 40'),
        ('model_answers', 'model_answers_session_id', '60000 120 80')
)
WHERE column2 NOT IN (SELECT idx FROM sqlite_stat1 WHERE idx IS NOT NULL);
