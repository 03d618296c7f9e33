"""Events as PostgreSQL takes them on the wire: one array of rows of the type `new_event`.

An array for each column takes the server more instructions, because it puts them together again row by row.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sessionlog.errors import SessionlogError
from sessionlog.team import server

if TYPE_CHECKING:
    from sessionlog.team.server import Connection, Row

# The types of columns, by their numbers in every PostgreSQL.
_OIDS = {"text": 25, "int8": 20}
_int4 = struct.Struct(">i").pack
_int8 = struct.Struct(">Iiq").pack
_head = struct.Struct(">Ii").pack


class EventRows:
    """Events, packed; `of_type` is the number of the type `new_event`."""

    def __init__(self, rows: Sequence[Row], of_type: int) -> None:
        columns = [(name, _OIDS[type_]) for name, type_ in server.columns("events").items()]
        count = _int4(len(columns))
        nothing = {oid: _head(oid, -1) for oid in _OIDS.values()}
        # Dimensions, whether elements are NULL, their type; then the length and the first index of the only dimension.
        parts = [struct.pack(">iiIii", 1, 0, of_type, len(rows), 1) if rows else struct.pack(">iiI", 0, 0, of_type)]
        for row in rows:
            fields = [count]
            for name, oid in columns:
                value = row[name]
                if value is None:
                    fields.append(nothing[oid])
                elif oid == _OIDS["int8"]:
                    fields.append(_int8(oid, 8, value))
                else:
                    data = server.without_nul(value).encode()
                    fields += (_head(oid, len(data)), data)
            packed = b"".join(fields)
            parts += (_int4(len(packed)), packed)
        self.data = b"".join(parts)


def type_of_rows(connection: Connection) -> int:
    """The number of the type `new_event` in this database. The connection can send events from now on."""
    from psycopg import adapt, pq

    class EventRowsDumper(adapt.Dumper):
        format = pq.Format.BINARY

        def dump(self, obj: EventRows) -> bytes:
            return obj.data

    connection.adapters.register_dumper(EventRows, EventRowsDumper)
    found: int | None = server.one(connection, "SELECT to_regtype('new_event')::oid")
    if found is None:
        raise SessionlogError(
            "an older sessionlog made the team archive; its owner brings it up to date with `sessionlog team init`"
        )
    return found


def store(connection: Connection, archive: int, rows: Sequence[Row], of_type: int) -> int:
    """Add events to an archive of one's own; returns how many of them were new."""
    stored: int = server.one(
        connection, "SELECT store_events(%s, %b::new_event[])", [archive, EventRows(rows, of_type)]
    )
    return stored
