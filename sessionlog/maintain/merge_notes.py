"""The pins, tags and notes of another archive: its moments have other numbers here."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from sessionlog.archive import event, notes
from sessionlog.archive.notes import Annotation
from sessionlog.archive.place import Place
from sessionlog.maintain import redact

_SAME_EVENT = " AND ".join(f"+ours.{column} IS theirs.{column}" for column in event.COLUMNS if column != "via")
# The first of equal ones: two equal events of one millisecond look alike.
_EVENT = f"""
SELECT min(ours.id) FROM other.events AS theirs
JOIN main.events AS ours ON ours.session_id = theirs.session_id AND ours.at = theirs.at AND {_SAME_EVENT}
WHERE theirs.id = ? AND theirs.session_id = ?
"""
_PART = """
SELECT min(ours.id) FROM other.transcript_parts AS theirs
JOIN main.transcript_parts AS ours ON ours.session_id = theirs.session_id AND ours.at IS theirs.at
    AND ours.uuid IS theirs.uuid AND ours.part = theirs.part AND (theirs.uuid IS NOT NULL OR ours.line = theirs.line)
WHERE theirs.id = ? AND theirs.session_id = ?
"""


def load(source: str, rules: redact.GivenRules) -> list[Annotation]:
    """Those beside an archive, without what the rules of this machine take out."""
    return [
        one._replace(note=rules.cleaned(one.note), tags=tuple(map(rules.cleaned, one.tags)))
        for one in notes.load(Place("", "", source)).values()
    ]


def add(place: Place, connection: sqlite3.Connection, found: list[Annotation]) -> int:
    """Take them over, when what they are on is here; `other` is the archive that they are from."""
    return notes.add(place, _translated(connection, found)) if found else 0


def _translated(connection: sqlite3.Connection, found: list[Annotation]) -> Iterator[Annotation]:
    for one in found:
        if not one.moment:
            if connection.execute("SELECT 1 FROM main.sessions WHERE session_id = ?", (one.session,)).fetchone():
                yield one
            continue
        if not one.moment[1:].isdecimal() or len(one.moment) > 19:
            continue  # written by hand
        query = _EVENT if one.moment.startswith("e") else _PART
        row = connection.execute(query, (int(one.moment[1:]), one.session)).fetchone()
        if row[0] is not None:
            yield one._replace(moment=f"{one.moment[0]}{row[0]}")
