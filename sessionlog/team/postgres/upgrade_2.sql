-- From version 1 to 2: events come as one array of rows, and what an index costs each event was weighed.

SET LOCAL search_path = sessionlog;

DROP FUNCTION store_events;

ALTER TABLE events DROP CONSTRAINT events_pkey, ADD PRIMARY KEY (id, session_id, at);
DROP INDEX events_id_idx, events_event_action_at_idx, events_at_idx, events_tool_use_id_idx;
CREATE INDEX ON events (session_id, tool_use_id);
CREATE INDEX ON events USING brin (at) WITH (pages_per_range = 32);
CREATE INDEX ON events (event, action);

ALTER TABLE documents DROP CONSTRAINT documents_pkey, ADD PRIMARY KEY (id, is_message, session_id, at);
DROP INDEX documents_id_idx;

INSERT INTO version VALUES (2);
