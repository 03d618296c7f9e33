"""Which tables of an archive the team archive has, and how they are keyed there.

The columns are those of archive/schema.sql; tools/generate.py writes postgres/tables.sql from both. Only what Citus
accepts: no triggers, and every key holds the session.
"""

from __future__ import annotations

from typing import NamedTuple

# The number of an archive is the upper part of the ids of its rows. So ids are unique, and in the order of the archive,
# and views and audits need not know that there are many.
BITS = 40

# The first columns of each table.
OWNER = ('developer text COLLATE "C" NOT NULL DEFAULT session_user', "archive int NOT NULL")

_OWN_ARCHIVE = "FOREIGN KEY (archive, developer) REFERENCES archives (archive, developer)"
# Nobody can write into a session of somebody else.
_OWN_SESSION = "FOREIGN KEY (session_id, archive) REFERENCES sessions (session_id, archive)"


class Layout(NamedTuple):
    """How a table is keyed, and which columns hold ids that are unique within one archive only."""

    constraints: tuple[str, ...]
    indexes: tuple[str, ...] = ()
    partition_by: str = ""
    ids: tuple[str, ...] = ()


TABLES: dict[str, Layout] = {
    "sessions": Layout(
        ("PRIMARY KEY (session_id)", "UNIQUE (session_id, archive)", _OWN_ARCHIVE),
        ("(started_at)", "(archive, started_at)", "(last_at)"),
        ids=("last_event_id",),
    ),
    # Written by the function store_events(), which checks whose session it is, once for a batch. Each index costs every
    # event: an audit, a list or a search must need it.
    "events": Layout(
        # Rows are looked up by the first column, which grows. The others are there for the partitions and for Citus.
        ("PRIMARY KEY (id, session_id, at)",),
        (
            # The events of a session, and those of a call.
            "(session_id, tool_use_id)",
            # The events of a week. Rows come in the order of time: the first and last time of some pages are enough.
            "USING brin (at) WITH (pages_per_range = 32)",
            # Few different values: PostgreSQL keeps each once, and takes some 7 bytes an event. With the time, 100.
            "(event, action)",
            # The first prompt of each session in a list.
            "(session_id, at NULLS FIRST, id NULLS FIRST) WHERE is_typed",
            "(file_path) WHERE file_path IS NOT NULL",
            "(agent_id) WHERE agent_id IS NOT NULL",
        ),
        partition_by="at",
        ids=("id",),
    ),
    "transcripts": Layout(("PRIMARY KEY (id)", _OWN_ARCHIVE), ("(session_id)", "(archive)"), ids=("id",)),
    "transcript_chunks": Layout(
        ("PRIMARY KEY (transcript_id, sequence)", _OWN_ARCHIVE), ("(archive)",), ids=("transcript_id",)
    ),
    "transcript_parts": Layout(
        ("PRIMARY KEY (session_id, id)", _OWN_SESSION),
        (
            "(session_id, at)",
            "(transcript_id)",
            "(id)",
            "(tool_use_id) WHERE tool_use_id IS NOT NULL",
            "(prompt_id) WHERE prompt_id IS NOT NULL",
        ),
        ids=("id", "transcript_id"),
    ),
    "model_answers": Layout(
        ("PRIMARY KEY (session_id, message_id, request_id)", _OWN_SESSION), ("(archive, message_id)",)
    ),
    "session_facts": Layout(("PRIMARY KEY (session_id)", _OWN_SESSION)),
    "subagent_facts": Layout(("PRIMARY KEY (session_id, agent_id)", _OWN_SESSION)),
    "chain_notes": Layout(("PRIMARY KEY (archive, id)", _OWN_ARCHIVE)),
    "chain_changes": Layout(("PRIMARY KEY (archive, note_id, event_id)", _OWN_ARCHIVE)),
}
