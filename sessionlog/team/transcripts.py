"""Keeps what the team archive has of an archive's transcripts as it is at home."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from sessionlog.ask.search import index
from sessionlog.team import server
from sessionlog.team.levels import stripped
from sessionlog.team.server import Row
from sessionlog.team.shipment import Shipment, not_redacted
from sessionlog.team.tables import BITS
from sessionlog.transcripts import chunks

# Bytes of transcripts in one statement.
CHUNK_BYTES = 4 << 20
# Parameters of one statement of SQLite.
AT_ONCE = 500

Key = tuple[int, int]


def sync(shipment: Shipment, batch: int) -> int:
    """Send what is new or different, and take out what is gone; returns how many messages were sent."""
    state = _state(shipment)
    if not shipment.touched and state == server.one(
        shipment.connection, "SELECT state FROM archives WHERE archive = %s", [shipment.number]
    ):
        return 0
    if shipment.held:  # what is there stays as it is; new messages are added
        sent = _send_messages(shipment, set(), batch)
        _send_facts(shipment)
        return sent
    changed, gone = _differing_transcripts(shipment)
    rewritten = _sync_chunks(shipment, changed, gone)
    _forget_messages(shipment, {*gone, *rewritten})
    sent = _send_messages(shipment, rewritten, batch)
    _send_facts(shipment)
    _forget_sessions(shipment)
    shipment.connection.execute("UPDATE archives SET state = %s WHERE archive = %s", (state, shipment.number))
    return sent


def _state(shipment: Shipment) -> str:
    row = shipment.archive.execute(
        "SELECT (SELECT max(id) FROM transcript_parts) AS part, (SELECT count(*) FROM sessions) AS sessions, "
        "(SELECT max(id) FROM chain_notes) AS note, count(*) AS files, total(bytes) AS bytes, "
        "total(replacements) AS replaced, max(last_import_at) AS at, "
        "(SELECT total(length(data)) FROM transcript_chunks) AS size FROM transcripts"
    ).fetchone()
    return f"{shipment.content} " + " ".join(map(str, row.values()))


def _differing_transcripts(shipment: Shipment) -> tuple[list[Row], list[int]]:
    """Rows of `transcripts` that the team archive does not have like this, and ids that are gone here."""
    columns = list(server.columns("transcripts"))
    base = server.base(shipment.number)
    there = {
        row[0] - base: row[1:]
        for row in shipment.connection.execute(
            f"SELECT {', '.join(columns)} FROM transcripts WHERE archive = %s", (shipment.number,)
        )
    }
    changed = []
    for row in shipment.archive.execute("SELECT * FROM transcripts").fetchall():
        named = shipment.names(row)
        if there.pop(row["id"], None) != tuple(named[name] for name in columns[1:]):
            changed.append(row)
    return changed, list(there)


def _sync_chunks(shipment: Shipment, changed: list[Row], gone: list[int]) -> set[int]:
    """Send chunks that are new or longer, or were redacted; returns the transcripts of the latter."""
    whole = shipment.content == "all"
    size = "octet_length(data)" if whole else "NULL"
    there = {
        (row[0] & ((1 << BITS) - 1), row[1]): row[2:]
        for row in shipment.connection.execute(
            f"SELECT transcript_id, sequence, length, replacements, {size} FROM transcript_chunks WHERE archive = %s",
            (shipment.number,),
        )
    }
    new: list[Key] = []
    rewritten = set()
    length = "length(data)" if whole else "NULL"
    rows = shipment.archive.execute(
        f"SELECT transcript_id, sequence, length, replacements, {length} AS size FROM transcript_chunks"
    )
    for row in rows.fetchall():
        key = (row["transcript_id"], row["sequence"])
        before = there.pop(key, None)
        if before == (row["length"], row["replacements"], row["size"]):
            continue
        new.append(key)
        if before is not None and before[0] == row["length"]:
            rewritten.add(row["transcript_id"])
    sessions = {row["session_id"] for row in changed if row["session_id"]}
    known = shipment.archive.execute("SELECT session_id FROM sessions").fetchall()
    shipment.touched |= sessions & {row["session_id"] for row in known}
    for number in range(0, len(changed), AT_ONCE):
        named = list(map(shipment.names, changed[number : number + AT_ONCE]))
        server.upsert(shipment.connection, "transcripts", ["id"], named, shipment.number)
    for some in _pieces(shipment, new):
        for row in some:
            _check_chunk(shipment, row)
        sent = [stripped(shipment.content, "transcript_chunks", row) for row in some]
        server.upsert(shipment.connection, "transcript_chunks", ["transcript_id", "sequence"], sent, shipment.number)
    base = server.base(shipment.number)
    if there:
        ids, sequences = zip(*there, strict=True)
        shipment.connection.execute(
            "DELETE FROM transcript_chunks WHERE archive = %s AND (transcript_id, sequence) IN "
            "(SELECT * FROM unnest(%s::int8[], %s::int8[]))",
            (shipment.number, [base + number for number in ids], list(sequences)),
        )
        rewritten |= set(ids) - set(gone)
    if gone:
        shipment.connection.execute(
            "DELETE FROM transcripts WHERE archive = %s AND id = ANY (%s)",
            (shipment.number, [base + number for number in gone]),
        )
    return rewritten


def _pieces(shipment: Shipment, keys: list[Key]) -> Iterator[list[Row]]:
    some: list[Row] = []
    size = 0
    for key in keys:
        row = shipment.archive.execute(
            "SELECT * FROM transcript_chunks WHERE transcript_id = ? AND sequence = ?", key
        ).fetchone()
        if row is None:  # pruned this moment
            continue
        some.append(row)
        size += len(row["data"])
        if size >= CHUNK_BYTES:
            yield some
            some, size = [], 0
    if some:
        yield some


def _check_chunk(shipment: Shipment, row: Row) -> None:
    """Refuse bytes with a secret in them: those that were archived before today's rules."""
    if shipment.content != "all":
        return
    try:
        data = chunks.unpack(row["data"])
    except chunks.Unreadable:
        return
    suspects = shipment.rules.suspects(data, of_many=True)
    if suspects and chunks.clean_lines(data, shipment.rules) != data:
        raise not_redacted(f"transcript {row['transcript_id']}, part {row['sequence']},")


def _forget_messages(shipment: Shipment, transcript_ids: Iterable[int]) -> None:
    base = server.base(shipment.number)
    ids = [base + number for number in transcript_ids]
    if not ids:
        return
    with shipment.connection.transaction():
        shipment.connection.execute(
            "DELETE FROM documents WHERE archive = %s AND is_message AND id IN "
            "(SELECT id FROM transcript_parts WHERE transcript_id = ANY (%s))",
            (shipment.number, ids),
        )
        shipment.connection.execute(
            "DELETE FROM transcript_parts WHERE archive = %s AND transcript_id = ANY (%s)", (shipment.number, ids)
        )


def last_message(connection: server.Connection, number: int) -> int:
    """The newest message that the team archive has of an archive, by its number at home."""
    base = server.base(number)
    found: int = server.one(
        connection,
        "SELECT coalesce(max(id), %s) FROM transcript_parts WHERE id > %s AND id < %s AND archive = %s",
        [base, base, base + (1 << BITS), number],
    )
    return found - base


def _send_messages(shipment: Shipment, rewritten: set[int], batch: int) -> int:
    last = last_message(shipment.connection, shipment.number)
    sent = 0
    if rewritten:
        marks = ", ".join("?" * len(rewritten))
        first = shipment.archive.execute(
            f"SELECT min(id) AS id FROM transcript_parts WHERE transcript_id IN ({marks})", sorted(rewritten)
        ).fetchone()["id"]
        # Those of other transcripts in between are there already, and stay.
        last = min(last, (first or 1) - 1)
    while True:
        found = shipment.archive.execute(index.NEW_MESSAGES, (last, batch))
        rows = index.first_rows(found, index.LONG_IN_MESSAGES)
        if not rows:
            return sent
        last = rows[-1]["id"]
        sent += _send_batch(shipment, rows)


def _send_batch(shipment: Shipment, rows: list[Row]) -> int:
    sessions = {row["session_id"] for row in rows}
    for row in rows:
        shipment.check_message(row)
    shipment.touched |= sessions
    shipment.names.find(sessions)
    shipment.make_months(row["at"] for row in rows)
    with shipment.connection.transaction():
        shipment.send_sessions(sessions)
        stripped_rows = [stripped(shipment.content, "transcript_parts", row) for row in rows]
        server.insert(
            shipment.connection, "transcript_parts", list(map(shipment.names, stripped_rows)), shipment.number
        )
        shipment.send_documents(_documents(shipment, rows), is_message=True)
    return len(rows)


def _documents(shipment: Shipment, rows: list[Row]) -> Iterator[tuple[Row, Any]]:
    for row in rows:
        if not row["known"]:
            whole = index.whole(row, shipment.lines)
            document = index.document_of_message(stripped(shipment.content, "transcript_parts", whole))
            if document and any(document.fields.values()):
                yield row, document


def _send_facts(shipment: Shipment) -> None:
    """What is known of the sessions that changed, as a whole."""
    ids = sorted(shipment.touched)
    for number in range(0, len(ids), AT_ONCE):
        some = ids[number : number + AT_ONCE]
        marks = ", ".join("?" * len(some))

        def rows(table: str, some: list[str] = some, marks: str = marks) -> list[Row]:
            found = shipment.archive.execute(f"SELECT * FROM {table} WHERE session_id IN ({marks})", some)
            return [shipment.names(stripped(shipment.content, table, row)) for row in found]

        with shipment.connection.transaction():
            shipment.send_sessions(some)
            server.upsert(shipment.connection, "session_facts", ["session_id"], rows("session_facts"), shipment.number)
            server.upsert(
                shipment.connection,
                "subagent_facts",
                ["session_id", "agent_id"],
                rows("subagent_facts"),
                shipment.number,
            )
            _send_answers(shipment, rows("model_answers"))


def _send_answers(shipment: Shipment, rows: list[Row]) -> None:
    """A fork's copy of an answer belongs to the session that made it, as soon as that is known."""
    if rows and not shipment.held:
        keys = [[row[name] for row in rows] for name in ("message_id", "request_id", "session_id")]
        shipment.connection.execute(
            "DELETE FROM model_answers AS old USING unnest(%s::text[], %s::text[], %s::text[]) "
            "AS new (message_id, request_id, session_id) WHERE old.archive = %s AND old.message_id = new.message_id "
            "AND old.request_id = new.request_id AND old.session_id <> new.session_id",
            (*keys, shipment.number),
        )
    server.upsert(
        shipment.connection, "model_answers", ["session_id", "message_id", "request_id"], rows, shipment.number
    )


def _forget_sessions(shipment: Shipment) -> None:
    """Sessions that were pruned here, once their events are taken out there."""
    here = {shipment.names[row["session_id"]] for row in shipment.archive.execute("SELECT session_id FROM sessions")}
    gone = sorted(shipment.names.own - here)
    if not gone:
        return
    with shipment.connection.transaction():
        for table in ("transcript_parts", "model_answers", "session_facts", "subagent_facts"):
            shipment.connection.execute(f"DELETE FROM {table} WHERE session_id = ANY (%s)", (gone,))
        first, after = server.base(shipment.number), server.base(shipment.number + 1)  # ids of this archive: an index
        shipment.connection.execute(
            "DELETE FROM documents WHERE session_id = ANY (%s) AND id >= %s AND id < %s", (gone, first, after)
        )
        shipment.connection.execute(
            "DELETE FROM sessions WHERE session_id = ANY (%s) "
            "AND NOT EXISTS (SELECT FROM events WHERE events.session_id = sessions.session_id)",
            (gone,),
        )
