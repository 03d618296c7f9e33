"""A process that writes sessions as Markdown or HTML for an export of many."""

from __future__ import annotations

from collections.abc import Callable

from sessionlog.archive import read
from sessionlog.archive.place import Place
from sessionlog.export import write
from sessionlog.system import workers


def main() -> None:
    workers.serve(_writer)


def _writer(home: str, project: str, db: str) -> Callable[[tuple[str, write.Options]], bytes]:
    place = Place(home, project, db)
    connection = read.connect(place)
    return lambda task: b"".join(write.session(connection, place, *task))
