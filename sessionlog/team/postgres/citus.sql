-- Optional: the team archive on Citus, for more than one PostgreSQL can take. Run it once, as the owner, on the coordinator,
-- after `sessionlog team init` and before the first shipment. docs/team.md says when it is worth it.
--
-- The schema uses only what Citus accepts: policies without subqueries, no triggers, and keys that hold the session. Tables
-- of one session lie together. Foreign keys to `archives` need it on every node.

SET search_path = sessionlog;

SELECT create_reference_table('developers');
SELECT create_reference_table('archives');

SELECT create_distributed_table('sessions', 'session_id');
SELECT create_distributed_table('events', 'session_id', colocate_with => 'sessions');
SELECT create_distributed_table('documents', 'session_id', colocate_with => 'sessions');
SELECT create_distributed_table('transcript_parts', 'session_id', colocate_with => 'sessions');
SELECT create_distributed_table('model_answers', 'session_id', colocate_with => 'sessions');
SELECT create_distributed_table('session_facts', 'session_id', colocate_with => 'sessions');
SELECT create_distributed_table('subagent_facts', 'session_id', colocate_with => 'sessions');
SELECT create_distributed_table('session_heads', 'session_id', colocate_with => 'sessions');
SELECT create_distributed_table('cut_sessions', 'session_id', colocate_with => 'sessions');

-- Files of a session, and their bytes: by the file.
SELECT create_distributed_table('transcripts', 'id');
SELECT create_distributed_table('transcript_chunks', 'transcript_id', colocate_with => 'transcripts');
