"""Takes out of the team archive what `redact` and `prune` took out of an archive after it was shipped.

The notes in the archive say which events that were. The server checks that parts are taken out and nothing is put in,
and keeps a note of its own.
"""

from __future__ import annotations

import json
import sqlite3

from sessionlog.archive import chain
from sessionlog.team import server
from sessionlog.team.levels import stripped
from sessionlog.team.shipment import Shipment

AT_ONCE = 5000
HELD = "the archive is on legal hold: what was redacted or pruned here stays in the team archive until it is released"


def removed_ranges(archive: sqlite3.Connection) -> list[tuple[int, int]]:
    """The events that `prune` removed."""
    rows = archive.execute("SELECT removed FROM chain_notes WHERE removed IS NOT NULL").fetchall()
    return [ids for row in rows for ids in chain.from_ranges(row["removed"])]


def run(shipment: Shipment) -> tuple[int, list[str]]:
    """Follow the notes that the team archive does not have yet; returns how many events changed, and notices."""
    connection, archive, number = shipment.connection, shipment.archive, shipment.number
    known = server.one(connection, "SELECT coalesce(max(id), 0) FROM chain_notes WHERE archive = %s", [number])
    notes = archive.execute("SELECT * FROM chain_notes WHERE id > ? ORDER BY id", (known,)).fetchall()
    if notes and shipment.held:
        return 0, [HELD]
    last = server.one(connection, "SELECT coalesce(max(last_event), 0) FROM shipments WHERE archive = %s", [number])
    count = 0
    for note in notes:
        query = "SELECT * FROM chain_changes WHERE note_id = ? ORDER BY event_id"
        changes = archive.execute(query, (note["id"],)).fetchall()
        with connection.transaction():
            for change in changes:
                count += change["event_id"] <= last and _redact(shipment, change["event_id"])
            for first, end in chain.from_ranges(note["removed"]) if note["removed"] else ():
                for start in range(first, min(end, last) + 1, AT_ONCE):
                    ids = list(range(start, min(start + AT_ONCE, end + 1, last + 1)))
                    count += server.one(connection, "SELECT take_out_events(%s, %s)", [number, ids])
            server.insert(connection, "chain_notes", [shipment.names(note)], number)
            server.insert(connection, "chain_changes", changes, number)
    return count, []


def _redact(shipment: Shipment, event_id: int) -> bool:
    import psycopg

    connection, number = shipment.connection, shipment.number
    row = shipment.archive.execute("SELECT * FROM events WHERE id = ?", (event_id,)).fetchone()
    if row is None:  # removed by a later note
        return False
    new = shipment.names(stripped(shipment.content, "events", row))
    columns = [name for name in server.columns("events") if name != "id"]
    there = connection.execute(
        f"SELECT {', '.join(columns)} FROM events WHERE id = %s AND archive = %s",
        (event_id + server.base(number), number),
    ).fetchone()
    old = dict(zip(columns, there or (), strict=bool(there)))
    changes = {name: new[name] for name in old if old[name] != new[name]}
    if not changes:
        return False
    try:
        with connection.transaction():
            connection.execute("SELECT redact_event(%s, %s, %s)", (number, event_id, json.dumps(changes)))
    except psycopg.errors.InsufficientPrivilege:
        # The text was not only cut (another spelling of the same JSON, say): the column goes as a whole.
        gone = {name: value if name == "salt" else None for name, value in changes.items()}
        connection.execute("SELECT redact_event(%s, %s, %s)", (number, event_id, json.dumps(gone)))
    shipment.touched.add(row["session_id"])
    shipment.send_documents(shipment.documents_of([row]), is_message=False)
    return True
