"""Words as PostgreSQL's `tsvector` on the wire: ready and in order, so that the server need not cut and sort them."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sessionlog.team.server import Connection

OID = 3614  # of tsvector, in every PostgreSQL
# A word ends with a NUL; then comes the number of its positions, which is 0.
_END = b"\0\0\0"


class Vector:
    """The words of a document, packed."""

    def __init__(self, words: Iterable[str]) -> None:
        found = sorted({word.replace("\0", "").encode("utf-8", "replace") for word in words} - {b""})
        self.data = struct.pack(">i", len(found)) + b"".join(word + _END for word in found)


def register(connection: Connection) -> None:
    """Let a connection send them."""
    from psycopg import adapt, pq

    class VectorDumper(adapt.Dumper):
        oid = OID
        format = pq.Format.BINARY

        def dump(self, obj: Vector) -> bytes:
            return obj.data

    connection.adapters.register_dumper(Vector, VectorDumper)
