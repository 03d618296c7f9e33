"""A process that makes entries of the search index out of slices of an archive."""

from __future__ import annotations

import gc
import sqlite3
from collections.abc import Callable
from typing import Any

from sessionlog.archive import readonly
from sessionlog.ask.search import slices
from sessionlog.ask.search.waiting import Span
from sessionlog.system import workers
from sessionlog.transcripts.packed import load_orjson


def main() -> None:
    gc.disable()  # rows and entries have no cycles
    workers.serve(_reader)


def _reader(db: str) -> Callable[[Span], slices.Slice]:
    load_orjson()
    archive = sqlite3.connect(readonly.uri(db), uri=True)
    archive.row_factory = _as_dict

    def read(span: Span) -> slices.Slice:
        archive.text_factory = str
        try:
            return slices.Reader(archive).read(span)
        except (sqlite3.OperationalError, UnicodeError):  # half a surrogate pair, which `str` refuses
            archive.text_factory = lambda data: data.decode("utf-8", "replace")
            return slices.Reader(archive).read(span)

    return read


def _as_dict(cursor: sqlite3.Cursor, row: tuple[Any, ...]) -> dict[str, Any]:
    return {column[0]: value for column, value in zip(cursor.description, row, strict=True)}
