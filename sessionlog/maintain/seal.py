"""`verify --seal`: records the current state of events that are older than the hash chain."""

from __future__ import annotations

from contextlib import closing

from sessionlog.archive import chain
from sessionlog.archive.place import Place
from sessionlog.maintain import batches


def seal(place: Place) -> int:
    """Add the digests of the events without a hash to a note of the chain; returns how many there were."""
    with closing(batches.open_archive(place)) as connection:
        rows = connection.execute("SELECT id FROM events WHERE hash IS NULL AND salt IS NULL ORDER BY id").fetchall()
        (until,) = connection.execute("SELECT ifnull(max(unchained_until), 0) FROM chain_notes").fetchone()
        ids = [event_id for (event_id,) in rows if event_id <= until]
        notebook = chain.Notebook(connection, "verify --seal")
        batches.in_turns(connection, map(notebook.seal, ids), notebook)
    return len(ids)
