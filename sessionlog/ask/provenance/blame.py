"""Every line of a file with the session, or the commit, that it comes from."""

from __future__ import annotations

import gc
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from sessionlog.ask.provenance import align, history, notes, recorded
from sessionlog.ask.provenance import target as targets
from sessionlog.ask.provenance.align import NEW, Keys
from sessionlog.ask.provenance.history import Commit, Stored, Version
from sessionlog.ask.provenance.notes import Attested
from sessionlog.ask.provenance.recorded import Edit, Ran
from sessionlog.ask.provenance.replay import OUTSIDE, Replay
from sessionlog.ask.provenance.target import Target
from sessionlog.system import files
from sessionlog.system.git import GitError

# The source of a line that nobody knows anything of.
NOT_RECORDED = "not recorded"

# Versions of the file that are looked at where an agent does not tell what it found.
_VERSIONS = 5


class Line(NamedTuple):
    """A line, and where it comes from: a recorded edit, else a commit, else nobody knows."""

    number: int
    text: str
    edit: Edit | None = None
    stored: Stored | None = None  # None while it is not committed
    attested: Attested | None = None  # what a note or a trace of another tool says, of a line that is not recorded here

    @property
    def commit(self) -> Commit | None:
        """The commit that brought the line into the file, whoever wrote it."""
        return self.stored.commit if self.stored else None

    @property
    def source(self) -> str:
        """Where the line comes from: edit, note, commit, or not recorded."""
        return "edit" if self.edit else "note" if self.attested else "commit" if self.stored else NOT_RECORDED


class Blame(NamedTuple):
    """A file, line by line."""

    target: Target
    lines: list[Line]
    edits: list[Edit]  # all that are recorded of this file, oldest first
    commands: list[Ran]  # that may have changed the file besides


class Known(NamedTuple):
    """What git knows of the file."""

    path: str  # what the last commit calls it
    lines: list[Stored | None]  # for each line of the file
    versions: list[Version]


def of_file(connection: sqlite3.Connection, target: Target, *, indexed: bool) -> Blame:
    """Where each line of the file comes from."""
    with _without_garbage():
        return _of_file(connection, target, indexed=indexed)


@contextmanager
def _without_garbage() -> Iterator[None]:
    """Thousands of edits leave no cycles behind; to look for them takes a tenth of the time."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _of_file(connection: sqlite3.Connection, target: Target, *, indexed: bool) -> Blame:
    lines = targets.text_of(target).split("\n")
    if lines[-1] == "":
        lines.pop()
    keys = Keys()
    known = _known(target, lines, keys)
    edits, commands = recorded.find(
        connection, targets.names(connection, target, known.path, known.versions), indexed=indexed
    )
    origins = _replayed(connection, target, lines, edits, known, keys)
    found = [
        Line(number, line, edits[origin] if origin != OUTSIDE else None, at)
        for number, (line, origin, at) in enumerate(zip(lines, origins, known.lines, strict=True), 1)
    ]
    return Blame(target, _attested(target, found), edits, commands)


def _attested(target: Target, lines: list[Line]) -> list[Line]:
    """The lines with what notes and traces say of those that are not recorded."""
    unknown = {line.stored.commit.id for line in lines if line.stored and not line.edit}
    if target.repository is None or not unknown:
        return lines
    said: dict[tuple[str, str, int], Attested] = {}
    for commit, text in notes.all_notes(target.repository, unknown):
        said |= {(commit, path, number): one for (path, number), one in notes.read_note(text).items()}
    try:
        traces = files.read_regular(os.path.join(target.root, notes.TRACES), targets.LONGEST_FILE)
        said |= notes.read_traces(traces.decode("utf-8", "replace").splitlines())
    except OSError:
        pass
    return [
        line._replace(attested=said.get((line.stored.commit.id, line.stored.path, line.stored.number)))
        if line.stored and not line.edit
        else line
        for line in lines
    ]


def _known(target: Target, lines: list[str], keys: Keys) -> Known:
    """What git knows of each line. It is asked about commits only: the working copy is compared with them here."""
    nothing = Known(target.path, [None] * len(lines), [])
    repository = target.repository
    head = target.commit.id if target.commit else repository.head if repository else None
    if repository is None or head is None:
        return nothing
    try:
        path = target.path
        content = repository.blob(head, path)
        if content is None and target.commit is None:
            path = history.moved_from(repository, head, path, lines) or path
            content = repository.blob(head, path)
        if content is None:
            return nothing
        with (
            history.start_blame(repository, head, path) as blaming,
            history.start_versions(repository, head, path) as looking,
        ):
            before = targets.Cleaner(target.place.home)(content).split("\n")
            stored = history.read_blame(blaming.read(), path)
            versions = history.read_versions(looking.read())
    except GitError:
        return nothing
    before = before[: len(stored)]
    found = align.align(before, lines, keys) if len(before) == len(stored) else []
    return Known(path, [None if i == NEW else stored[i] for i in found] or nothing.lines, versions)


def _replayed(
    connection: sqlite3.Connection, target: Target, lines: list[str], edits: list[Edit], known: Known, keys: Keys
) -> list[int]:
    clean = targets.Cleaner(target.place.home)

    def versions(until: str) -> Iterator[str]:
        for version in [version for version in known.versions if version.at <= until][:_VERSIONS]:
            if target.repository and (content := target.repository.blob(version.commit, version.path)):
                yield clean(content)

    def original(edit: Edit) -> str | None:
        return recorded.original(connection, edit)

    replay = Replay(edits, original, versions, keys)
    if target.commit is None:
        replay.run()
        return replay.origins_in(lines, target.root)
    # The commit that changed the file last has what was written until it was first made, if a rebase made it again; if
    # it was squashed or amended, it has more.
    seen = [stored.commit for stored in known.lines if stored]
    last = max(seen, key=lambda commit: commit.committed_at, default=target.commit)
    best: list[int] = []
    most = -1
    for until in sorted({last.authored_at, last.committed_at, target.commit.committed_at}):
        replay.run(until)
        if (alike := replay.overlap(lines)) > most:
            best, most = replay.origins_in(lines, ""), alike
    return best
