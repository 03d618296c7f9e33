"""Brings the search index of an archive up to date: the newest first, on all cores if there is much to do."""

from __future__ import annotations

import itertools
import os
import sqlite3
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

from sessionlog.archive.locks import open_private, try_lock
from sessionlog.archive.place import Place
from sessionlog.archive.transaction import writing
from sessionlog.ask.search import index, slices, waiting
from sessionlog.ask.search.waiting import Coverage, Span
from sessionlog.transcripts.packed import load_orjson

BATCH = 32_000  # rows of a slice: each is a piece of the index, and many small ones take long to merge
WORTH_A_POOL = 10_000  # rows; starting other processes takes longer than taking in fewer
STALLED = 10.0  # seconds without progress, after which another process is not waited for: it may have been stopped
NEW_AFTER = 4  # slices
LOCK_ENDING = ".build.lock"

Progress = Callable[[int, int], None]


class _Replaced(Exception):
    """The file of the index is another one: something was removed from the archive."""


def catch_up(
    place: Place,
    archive: sqlite3.Connection,
    progress: Progress | None = None,
    until: float | None = None,
    only_one: bool = False,
) -> Coverage | None:
    """Take in what is new in the archive since the last time. How far it is; None if the index knows everything.

    `until` (of time.monotonic) ends what takes long; what is little is always done. `only_one` leaves what takes long
    to another process that is at it.
    """
    ids = waiting.newest(archive)  # what comes in meanwhile is for the next search: a busy archive has no end
    while True:
        with closing(index.open_for_writing(place, archive)) as file:
            build = _Build(place, archive, file, ids, progress)
            try:
                is_all = build.run(until, only_one)
                return None if is_all else waiting.coverage(file, archive)
            except _Replaced:
                continue


@contextmanager
def brought_up_to_date(
    place: Place, archive: sqlite3.Connection, progress: Progress | None = None, until: float | None = None
) -> Iterator[tuple[Place, Coverage | None]]:
    """The place of an index after `catch_up`, and how far it is; on a disk that cannot be written, a temporary copy."""
    try:
        coverage = catch_up(place, archive, progress, until)
    except (OSError, sqlite3.OperationalError):  # read-only or full
        import shutil
        from tempfile import TemporaryDirectory  # both take 5 ms, and nearly nobody needs them

        with TemporaryDirectory(prefix="sessionlog-search-") as folder:
            there = Place(place.home, place.project, os.path.join(folder, os.path.basename(place.db)))
            if not os.path.exists(f"{index.path_of(place)}-wal"):  # else the file alone may not be whole
                with suppress(OSError):
                    shutil.copyfile(index.path_of(place), index.path_of(there))
            yield there, catch_up(there, archive, progress, until)
    else:
        yield place, coverage


class _Build:
    """One run over what waits."""

    def __init__(
        self,
        place: Place,
        archive: sqlite3.Connection,
        file: sqlite3.Connection,
        ids: dict[str, int],
        progress: Progress | None,
    ) -> None:
        self.archive = archive
        self.file = file
        self.ids = ids
        self.progress = progress
        self.path = index.path_of(place)
        self.number = os.stat(self.path).st_ino
        self.total = self.left = waiting.count(file, ids)

    def run(self, until: float | None, only_one: bool) -> bool:
        """Whether everything up to the ids is in the index."""
        if not self.left:
            return True
        load_orjson()
        self._report()
        if self.total < WORTH_A_POOL:
            return self._all_of(self._in_turn(), None)
        with _lock_file(self.path) as descriptor:
            if only_one and not try_lock(descriptor):
                return False
            while not try_lock(descriptor):
                if not self._changes_within(STALLED, until):
                    break
                if not self.left or _is_over(until):
                    return not self.left
            return not _is_over(until) and self._all_of(self._with_workers(), until)

    def _all_of(self, batches: Generator[None, None, None], until: float | None) -> bool:
        with closing(batches):
            for _ in batches:
                self._look()
                if not self.left or _is_over(until):
                    break
        return not self.left

    def _changes_within(self, seconds: float, until: float | None) -> bool:
        """Wait until another process has gone on; False if it does not."""
        before, started = self.left, time.monotonic()
        while self.left == before and not _is_over(until):
            if time.monotonic() - started > seconds:
                return False
            time.sleep(0.02)
            self._look()
        return True

    def _look(self) -> None:
        if not _is_file(self.path, self.number):
            raise _Replaced
        self.left = waiting.count(self.file, self.ids)
        self._report()

    def _report(self) -> None:
        if self.progress:
            self.progress(self.total - self.left, self.total)

    def _in_turn(self) -> Generator[None, None, None]:
        """Take in slices one after the other."""
        reader = slices.Reader(self.archive)
        with writing(self.file):
            self._note_new()
        while True:
            with writing(self.file):  # before we read: another search may be at it at the same time
                spans = waiting.spans(self.file)
                if spans:
                    made = reader.read(_newest_slice(self.archive, spans))
                    waiting.remove(self.file, made.span)
                    slices.write(self.file, made)
            yield

    def _with_workers(self) -> Generator[None, None, None]:
        """The same for many: other processes read slices and make entries of them while this one writes."""
        from sessionlog.system import workers

        count = os.cpu_count() or 1
        db = os.path.realpath(self.archive.execute("PRAGMA database_list").fetchone()["file"])
        with workers.Pool(count, "sessionlog.ask.search.index_worker", db) as pool:
            flying: deque[tuple[Span, Any]] = deque()
            spans: list[Span] = []
            for number in itertools.count():
                # Events that keep coming are taken in at times, not each alone: the rest would wait for ever.
                if number % NEW_AFTER == 0 or not (spans or flying):
                    with writing(self.file):
                        self._note_new()
                    spans = _without(waiting.spans(self.file), [span for span, _ in flying])
                while spans and len(flying) <= count:
                    span = _newest_slice(self.archive, spans)
                    spans = _without(spans, [span])
                    flying.append((span, pool.submit(span)))
                if flying:
                    asked, future = flying.popleft()
                    made = future.result()
                    with writing(self.file):
                        if waiting.remove(self.file, made.span):
                            slices.write(self.file, made)
                            spans += _without([asked], [made.span])
                        else:  # another search was faster: go on where it is
                            flying.clear()
                            spans = []
                yield

    def _note_new(self) -> None:
        waiting.note_new(self.file, self.archive, waiting.newest(self.archive))


def _newest_slice(archive: sqlite3.Connection, spans: list[Span]) -> Span:
    """The upper part of the span that has the newest row."""
    found = []
    for table in waiting.TABLES:
        own = [span for span in spans if span.table == table]
        if own:
            span = max(own, key=lambda span: span.high)
            query = f"SELECT id, at FROM {table} WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT 1"
            top = archive.execute(query, span[1:]).fetchone() or {"id": span.low, "at": None}
            found.append((top["at"] or "", Span(table, max(span.low, top["id"] - BATCH + 1), span.high)))
    return max(found)[1]


def _without(spans: list[Span], taken: list[Span]) -> list[Span]:
    """The parts of spans that are not in those that are taken."""
    for one in taken:
        kept = []
        for span in spans:
            if span.table != one.table or span.high < one.low or span.low > one.high:
                kept.append(span)
                continue
            kept += [Span(span.table, low, high) for low, high in ((span.low, one.low - 1), (one.high + 1, span.high))]
        spans = [span for span in kept if span.low <= span.high]
    return spans


@contextmanager
def _lock_file(path: str) -> Iterator[int]:
    """The file that the process has locked which makes a large part of the index: two would do the same work."""
    descriptor = open_private(path + LOCK_ENDING, 0)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _is_over(until: float | None) -> bool:
    return until is not None and time.monotonic() > until


def _is_file(path: str, number: int) -> bool:
    try:
        return os.stat(path).st_ino == number
    except FileNotFoundError:
        return False
