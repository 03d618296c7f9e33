"""Which lines of an export an archive would write itself: those are there already, and need not even be parsed."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable

from sessionlog.archive import readonly
from sessionlog.export import jsonl

_BEGINNING = re.compile(
    rb'\{"sessionlog":\{"version":%d,"project":"([^"\\]*)","at":"([^"\\]*)".*?\},"session_id":"([^"\\]+)"'
    % jsonl.VERSION,
    re.DOTALL,
)
_LONGEST_BEGINNING = 5000


def project_of(line: bytes) -> str | None:
    """The project of a line, if that can be told without parsing it."""
    found = _BEGINNING.match(line, 0, _LONGEST_BEGINNING)
    try:
        return found[1].decode() if found else None
    except UnicodeDecodeError:
        return None


# The archive of a project, and the newest event in it from before the import. Only rows up to that one count: two
# events that are the same in every respect are two lines, and two events.
Archive = tuple[str, int]
# Of a session: its project and its id.
Session = tuple[str, str]


class _Span:
    """Lines of one session, and their times."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.times: set[bytes] = set()


class Known:
    """Finds known lines, some hundred at a time, with a connection to each archive that only reads."""

    def __init__(self) -> None:
        self._connections: dict[str, sqlite3.Connection] = {}

    def among(self, lines: Iterable[bytes], archives: dict[str, Archive]) -> tuple[set[bytes], list[Session]]:
        """Those of the lines, with their ends, that these archives of projects have, and their sessions."""
        if not archives:
            return set(), []
        spans: dict[tuple[bytes, bytes], _Span] = {}
        for line in lines:
            found = _BEGINNING.match(line, 0, _LONGEST_BEGINNING)
            if found is not None:
                project, at, session_id = found.groups()
                span = spans.setdefault((project, session_id), _Span())
                span.lines.append(line)
                span.times.add(at)
        known: set[bytes] = set()
        sessions: list[Session] = []
        for names, span in spans.items():
            try:
                project, session_id, first, last = [
                    text.decode() for text in (*names, min(span.times), max(span.times))
                ]
            except UnicodeDecodeError:
                continue
            if project not in archives:
                continue
            db, newest = archives[project]
            stored = jsonl.lines_between(self._connection(db), project, session_id, first, last, newest)
            there = set(span.lines).intersection(stored)
            if there:
                known |= there
                sessions.append((project, session_id))
        return known, sessions

    def _connection(self, db: str) -> sqlite3.Connection:
        if db not in self._connections:
            self._connections[db] = sqlite3.connect(readonly.uri(db), uri=True, isolation_level=None)
        return self._connections[db]

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
