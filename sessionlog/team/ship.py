"""Sends what is new in an archive to the team archive, exactly once.

The archive is the queue, and the server knows how far it came: a batch and its place in the archive are one
transaction. A process that is killed, a lost connection or a second shipper leave nothing half there.
"""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

from sessionlog import config
from sessionlog.archive import read
from sessionlog.archive.place import Place
from sessionlog.ask.search import index
from sessionlog.errors import SessionlogError
from sessionlog.redact.rules import Rules
from sessionlog.team import event_rows, server, take_out, transcripts
from sessionlog.team.choices import Choice
from sessionlog.team.levels import stripped
from sessionlog.team.server import Row
from sessionlog.team.shipment import Shipment

if TYPE_CHECKING:
    from sessionlog.team.server import Connection

BATCH = 2000
_NAMESPACE = uuid.UUID("5e5510b0-6c6f-4a8e-9d0e-7465616d0001")

Progress = Callable[[int, int], None]


class Rewritten(SessionlogError):
    """An event that was shipped is another one here, or gone without a note."""


class Shipped(NamedTuple):
    """What a shipment sent."""

    archive: int
    events: int
    messages: int
    taken_out: int
    notices: list[str]


class Status(NamedTuple):
    """How far the team archive is behind an archive."""

    archive: int | None
    shipped: int
    waiting: int
    messages_waiting: int
    last_at: Any
    hold: bool


def ship(
    connection: Connection,
    place: Place,
    choice: Choice,
    host: str,
    progress: Progress = lambda done, total: None,
    batch: int = BATCH,
) -> Shipped:
    """Send what is new, and take out there what was redacted or pruned here."""
    rules = _rules(place, choice)
    with closing(read.connect(place)) as archive:
        number = register(connection, archive, choice, host)
        check(connection, archive, number)
        shipment = Shipment(connection, archive, number, choice.content, rules)
        gone, notices = take_out.run(shipment)
        events = _ship_events(shipment, progress, batch)
        messages = transcripts.sync(shipment, batch)
    return Shipped(number, events, messages, gone, notices)


def status(connection: Connection, place: Place, choice: Choice, host: str) -> Status:
    """How far it came, without sending anything."""
    with closing(read.connect(place)) as archive:
        number = _number(connection, archive, choice, host)
        hold = bool(server.one(connection, "SELECT hold FROM archives WHERE archive = %s", [number]))
        last, at = _cursor(connection, number) if number is not None else (0, None)
        last_message = transcripts.last_message(connection, number) if number is not None else 0
        waiting, messages = _count(archive, last, last_message)
        total, _ = _count(archive)
    return Status(number, total - waiting, waiting, messages, at, hold)


def register(connection: Connection, archive: sqlite3.Connection, choice: Choice, host: str) -> int:
    """The number of this archive; it gets one with its first shipment."""
    number = _number(connection, archive, choice, host)
    if number is None:
        project, created_at = archive.execute("SELECT project, created_at FROM archive").fetchone().values()
        connection.execute(
            "INSERT INTO archives (uuid, host, project, created_at, content) VALUES (%s, %s, %s, %s, %s) "
            "ON CONFLICT DO NOTHING",  # another shipper, at the same moment
            (_identity(archive, choice), host, project, created_at, choice.content),
        )
        number = _number(connection, archive, choice, host)
    assert number is not None  # noqa: S101 (it is there now)
    connection.execute("UPDATE archives SET content = %s WHERE archive = %s", (choice.content, number))
    return number


def check(connection: Connection, archive: sqlite3.Connection, number: int) -> None:
    """The newest shipped event of each session is still here, with the same hash; or `prune` removed it."""
    heads = connection.execute(
        "SELECT DISTINCT ON (session_id) session_id, event_id, hash FROM session_heads WHERE archive = %s "
        "ORDER BY session_id, event_id DESC",
        (number,),
    ).fetchall()
    pruned = take_out.removed_ranges(archive)
    for session_id, event_id, shipped in heads:
        row = archive.execute("SELECT hash FROM events WHERE id = ?", (event_id,)).fetchone()
        if row is None and any(first <= event_id <= last for first, last in pruned):
            continue
        if row is None or row["hash"] != shipped:
            now = f"has the hash {row['hash']}" if row else "is gone without a note"
            raise Rewritten(
                f"session {session_id}: event {event_id} was shipped with the hash {shipped}, and here it {now}. "
                "This is not the history that was shipped: it was rewritten, or this is another copy of the archive. "
                "`sessionlog team verify` names all differences. `sessionlog ship --as-copy` ships a copy as an "
                "archive of its own"
            )


def differences(connection: Connection, place: Place, choice: Choice, host: str) -> list[str]:
    """Which events of an archive are not those that were shipped."""
    found = []
    with closing(read.connect(place)) as archive:
        number = _number(connection, archive, choice, host)
        if number is None:
            return []
        pruned = take_out.removed_ranges(archive)
        here = {row["id"]: row["hash"] for row in archive.execute("SELECT id, hash FROM events")}
        query = "SELECT id, session_id, hash FROM events WHERE archive = %s ORDER BY id"
        for event_id, session_id, shipped in connection.execute(query, (number,)):
            local = event_id - server.base(number)
            if local not in here:
                if not any(first <= local <= last for first, last in pruned):
                    found.append(f"session {session_id}: event {local} was shipped, and is gone without a note")
            elif here[local] != shipped:
                found.append(f"session {session_id}: event {local} was shipped with another hash")
    return found


def _ship_events(shipment: Shipment, progress: Progress, batch: int) -> int:
    """Send new events, a batch and a transaction at a time."""
    newest = shipment.archive.execute("SELECT ifnull(max(id), 0) AS id FROM events").fetchone()["id"]
    sent = 0
    first = last = _cursor(shipment.connection, shipment.number)[0]
    while last < newest:
        found = shipment.archive.execute(index.NEW_EVENTS, (last, batch))
        rows = index.first_rows(found, index.LONG_IN_EVENTS)
        if not rows:
            break
        sent += _send_events(shipment, rows)
        # Another shipper of this archive may have been faster.
        last = max(rows[-1]["id"], _cursor(shipment.connection, shipment.number)[0])
        progress(last - first, newest - first)
    return sent


def _send_events(shipment: Shipment, rows: list[Row]) -> int:
    sessions = {row["session_id"] for row in rows}
    for row in rows:
        shipment.check_event(row)
    shipment.touched |= sessions
    shipment.names.find(sessions)
    shipment.make_months(row["at"] for row in rows)
    sent = [shipment.names(stripped(shipment.content, "events", row)) for row in rows]
    with shipment.connection.transaction():
        shipment.send_sessions(sessions)
        stored = event_rows.store(shipment.connection, shipment.number, sent, shipment.type_of_rows)
        if stored:
            shipment.send_documents(shipment.documents_of(rows), is_message=False)
    return stored


def _rules(place: Place, choice: Choice) -> Rules:
    rules = Rules(place.home)
    if not rules.enabled:
        raise SessionlogError("redaction is off in config.json; turn it on and run `sessionlog redact` before you ship")
    if choice.content != "metadata" and config.keeps_transcripts_raw(place.home):
        raise SessionlogError(
            "transcripts are archived with their secrets (`raw` in config.json): ship with `--content metadata` only"
        )
    return rules


def _identity(archive: sqlite3.Connection, choice: Choice) -> uuid.UUID:
    """Made of what never changes in an archive. A copy has the same one; the server tells copies apart by the host."""
    project, created_at = archive.execute("SELECT project, created_at FROM archive").fetchone().values()
    return uuid.uuid5(_NAMESPACE, f"{created_at}\n{project}\n{choice.copy}")


def _number(connection: Connection, archive: sqlite3.Connection, choice: Choice, host: str) -> int | None:
    number: int | None = server.one(
        connection,
        "SELECT archive FROM archives WHERE developer = session_user AND uuid = %s AND host = %s",
        (_identity(archive, choice), host),
    )
    return number


def _cursor(connection: Connection, number: int) -> tuple[int, Any]:
    row = connection.execute(
        "SELECT last_event, at FROM shipments WHERE archive = %s ORDER BY last_event DESC LIMIT 1", (number,)
    ).fetchone()
    return row or (0, None)


def count(place: Place) -> tuple[int, int]:
    """How many events and messages an archive has."""
    with closing(read.connect(place)) as archive:
        return _count(archive)


def _count(archive: sqlite3.Connection, last_event: int = 0, last_message: int = 0) -> tuple[int, int]:
    """How many events and messages come after these."""
    row = archive.execute(
        "SELECT (SELECT count(*) FROM events WHERE id > ?) AS events, "
        "(SELECT count(*) FROM transcript_parts WHERE id > ?) AS messages",
        (last_event, last_message),
    ).fetchone()
    return row["events"], row["messages"]
