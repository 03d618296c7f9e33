"""One shipment of one archive: its connections, the names of its sessions there, and the statements that send rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from sessionlog.agents.claude_code.transcript_lines import TEXTS
from sessionlog.archive import event, rebuild
from sessionlog.ask.search import index
from sessionlog.errors import SessionlogError
from sessionlog.fastlib import encode_json
from sessionlog.redact.rules import Rules
from sessionlog.team import event_rows, server, vector, words
from sessionlog.team.levels import stripped
from sessionlog.team.server import Row
from sessionlog.transcripts.stored_lines import Lines

if TYPE_CHECKING:
    from sessionlog.team.server import Connection


class Names:
    """What sessions of this archive are called in the team archive: a name that another archive has gets a suffix."""

    def __init__(self, connection: Connection, number: int) -> None:
        self._connection = connection
        self._number = number
        rows = connection.execute("SELECT session_id FROM sessions WHERE archive = %s", (number,)).fetchall()
        self.own = {session_id for (session_id,) in rows}
        self._known: dict[str, str] = {}

    def find(self, session_ids: Iterable[str]) -> None:
        """Settle the names of these sessions."""
        new = []
        for session_id in sorted(set(session_ids) - set(self._known)):
            suffixed = f"{session_id}@{self._number}"
            if suffixed in self.own:
                self._known[session_id] = suffixed
            elif session_id in self.own:
                self._known[session_id] = session_id
            else:
                new.append(session_id)
        if new:
            taken = {row[0] for row in self._connection.execute("SELECT taken(%s, %s)", (new, self._number))}
            taken.add(event.UNKNOWN_SESSION)
            for session_id in new:
                self._known[session_id] = f"{session_id}@{self._number}" if session_id in taken else session_id

    def __getitem__(self, session_id: str) -> str:
        self.find([session_id])
        return self._known[session_id]

    def __call__(self, row: Row) -> Row:
        """The row with the session's name in the team archive."""
        name = row["session_id"]
        return row if name is None or self[name] == name else {**row, "session_id": self[name]}


class Shipment:
    """One shipment of one archive."""

    def __init__(
        self,
        connection: Connection,
        archive: sqlite3.Connection,
        number: int,
        content: str,
        rules: Rules,
    ) -> None:
        self.connection = connection
        self.archive = archive
        self.number = number
        self.content = content
        self.names = Names(connection, number)
        vector.register(connection)
        self.type_of_rows = event_rows.type_of_rows(connection)
        # The index of words collects new ones and then sorts them in this much memory: 4 MB are too few.
        connection.execute("SET work_mem = '64MB'")
        # Else PostgreSQL makes the first plans of a connection for their parameters, with copies of all events in them.
        connection.execute("SET plan_cache_mode = force_generic_plan")
        self.held = bool(server.one(connection, "SELECT hold FROM archives WHERE archive = %s", [number]))
        self.rules = rules
        self.lines = Lines(archive)
        self.touched: set[str] = set()  # sessions whose facts are sent again
        self._months: set[str] = set()

    def send_sessions(self, session_ids: Iterable[str]) -> None:
        """Rows of `sessions` as they are here; in one order, so that two shippers do not wait for each other."""
        ids = sorted(session_ids)
        marks = ", ".join("?" * len(ids))
        rows = self.archive.execute(f"SELECT * FROM sessions WHERE session_id IN ({marks}) ORDER BY session_id", ids)
        server.upsert(self.connection, "sessions", ["session_id"], list(map(self.names, rows)), self.number)
        self.names.own.update(self.names[session_id] for session_id in ids)

    def documents_of(self, rows: Iterable[Row]) -> Iterator[tuple[Row, index.Document]]:
        """What can be found of events."""
        for row in rows:
            document = None if row.get("known") else index.document_of_event(stripped(self.content, "events", row))
            if document and any(document.fields.values()):
                yield row, document

    def send_documents(self, documents: Iterable[tuple[Row, index.Document]], is_message: bool) -> None:
        """The words of events or messages."""
        found = [
            (
                self.names[row["session_id"]],
                row["id"] + server.base(self.number),
                row["at"] or "",
                vector.Vector(words.of_document(made)),
            )
            for row, made in documents
        ]
        if found:
            self.connection.execute(
                "INSERT INTO documents (archive, is_message, session_id, id, at, words) "
                "SELECT %s, %s, session_id, id, at, words "
                "FROM unnest(%b::text[], %b::int8[], %b::text[], %b::tsvector[]) AS new (session_id, id, at, words) "
                "ON CONFLICT DO NOTHING",
                [self.number, is_message, *map(list, zip(*found, strict=True))],
            )

    def make_months(self, times: Iterable[str | None]) -> None:
        """Partitions for these times; before the transaction that needs them, because they lock the whole table."""
        for month in sorted({at[:7] for at in times if at} - self._months):
            self._months.add(month)
            if len(month) == 7 and month[4] == "-" and month.replace("-", "").isdigit() and "01" <= month[5:] <= "12":
                self.connection.execute("SELECT make_month(%s)", (month,))

    def check_message(self, row: Row) -> None:
        """Refuse a message with a secret in it."""
        self._check_text("\n".join(row[name] or "" for name in TEXTS), f"message {row['id']}")

    def check_event(self, row: Row) -> None:
        """Refuse an event with a secret in it: one that was recorded before today's rules."""
        data = "\n".join(value for value in row.values() if isinstance(value, str)).encode("utf-8", "replace")
        if not self.rules.suspects(data, of_many=True):
            return
        try:
            before, payload = rebuild.payload(row), rebuild.payload(row)
        except (ValueError, TypeError, KeyError, AttributeError):
            return  # another program wrote the row
        suspects = self.rules.suspects(encode_json(payload).encode("utf-8", "surrogatepass"))
        if self.rules.clean(payload, suspects) != before:
            raise not_redacted(f"event {row['id']}")

    def _check_text(self, text: str, what: str) -> None:
        suspects = self.rules.suspects(text.encode("utf-8", "replace"))
        if suspects and self.rules.clean_text(text, suspects) != text:
            raise not_redacted(what)


def not_redacted(what: str) -> SessionlogError:
    return SessionlogError(
        f"{what} holds what looks like a secret; nothing of it was sent. Run `sessionlog redact` first"
    )
