-- The team archive in PostgreSQL >= 15, part 1: roles, people and archives. `sessionlog team init` runs, as the owner of
-- the database and in one transaction: team.sql, functions.sql, tables.sql, rights.sql,
-- procedures.sql, store_events.sql, views.sql. An archive of an older version gets upgrade_N.sql and the functions again.
--
-- Only what Citus accepts: no triggers, and no subqueries in policies. citus.sql distributes the tables by session.

CREATE SCHEMA sessionlog;
SET LOCAL search_path = sessionlog;

-- Roles that people's own login roles become members of. Roles belong to the whole server.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['sessionlog_developer', 'sessionlog_reader', 'sessionlog_auditor'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', name);
        END IF;
    END LOOP;
END $$;

-- Which versions of these files made the schema, and brought it up to date.
CREATE TABLE version (number int NOT NULL, made_at timestamptz NOT NULL DEFAULT now());
INSERT INTO version VALUES (2);

-- Who ships, and which team the person is in. Kept by `team add`.
CREATE TABLE developers (
    developer text COLLATE "C" PRIMARY KEY,
    team text COLLATE "C" NOT NULL CHECK (team ~ '^[a-z0-9][a-z0-9_-]{0,39}$')
);

-- One row an archive of a person on a machine. A copy on another machine, or of another person, is another archive.
CREATE TABLE archives (
    -- bigint, because Citus wants identities to be; no greater than the upper part of an id can hold.
    archive bigint GENERATED ALWAYS AS IDENTITY (MAXVALUE 4194303) PRIMARY KEY,
    developer text COLLATE "C" NOT NULL DEFAULT session_user,
    uuid uuid NOT NULL,
    host text COLLATE "C" NOT NULL,
    project text COLLATE "C" NOT NULL,
    created_at text COLLATE "C" NOT NULL,
    -- What leaves the machine: all, no-outputs or metadata.
    content text NOT NULL CHECK (content IN ('all', 'no-outputs', 'metadata')),
    -- Legal hold: `team retain` and take-outs leave it alone.
    hold boolean NOT NULL DEFAULT false,
    registered_at timestamptz NOT NULL DEFAULT now(),
    -- What was shipped of the transcripts, in short: as long as it is the same at home, there is nothing to compare.
    state text NOT NULL DEFAULT '',
    UNIQUE (archive, developer),
    UNIQUE (developer, uuid, host)
);

-- What came when, and the hash of the last event then. Written by store_events() only: nobody can take a row back.
CREATE TABLE shipments (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    developer text COLLATE "C" NOT NULL,
    archive int NOT NULL REFERENCES archives,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The number of the last event in its own archive.
    last_event bigint NOT NULL,
    events int NOT NULL,
    head text
);
CREATE INDEX ON shipments (archive, last_event);

-- The newest event of each session in each shipment: a history that was rewritten at home does not match.
CREATE TABLE session_heads (
    developer text COLLATE "C" NOT NULL,
    archive int NOT NULL REFERENCES archives,
    session_id text COLLATE "C" NOT NULL,
    event_id bigint NOT NULL,
    hash text NOT NULL,
    PRIMARY KEY (session_id, event_id)
);
CREATE INDEX ON session_heads (archive);

-- What owners took out of the team archive after shipping it, because `redact` or `prune` did so at home.
CREATE TABLE take_outs (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    developer text COLLATE "C" NOT NULL,
    archive int NOT NULL REFERENCES archives,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    kind text NOT NULL CHECK (kind IN ('changed', 'removed')),
    events bigint[] NOT NULL
);
CREATE INDEX ON take_outs (archive);

-- Sessions whose beginning `team retain` removed: the last event that went, from which the rest continues.
CREATE TABLE cut_sessions (
    developer text COLLATE "C" NOT NULL,
    archive int NOT NULL REFERENCES archives,
    session_id text COLLATE "C" PRIMARY KEY,
    event_id bigint NOT NULL,
    hash text NOT NULL
);

-- What `team retain` removed.
CREATE TABLE retentions (at timestamptz NOT NULL DEFAULT now(), before text NOT NULL, events bigint NOT NULL, sessions bigint NOT NULL);

-- What can be found. The shipper cuts texts into words (sessionlog/team/words.py), so that Chinese, Japanese and Korean
-- need no extension.
CREATE TABLE documents (
    developer text COLLATE "C" NOT NULL DEFAULT session_user,
    archive int NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    id bigint NOT NULL,
    -- A row of transcript_parts, else of events.
    is_message boolean NOT NULL,
    at text COLLATE "C" NOT NULL,
    words tsvector NOT NULL,
    PRIMARY KEY (id, is_message, session_id, at)
) PARTITION BY RANGE (at);
CREATE TABLE documents_default PARTITION OF documents DEFAULT;
-- Without fastupdate, an event costs 31 KB of write-ahead log; with a longer list of pending words, searches wait.
CREATE INDEX ON documents USING gin (words) WITH (fastupdate = on, gin_pending_list_limit = 16384);
