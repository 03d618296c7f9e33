"""Import of transcripts: what is new in each file goes to the archive of its project, whole lines only, once."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from sessionlog import projects, settings
from sessionlog.projects import Place
from sessionlog.redact import Rules
from sessionlog.transcripts import chunks, files, prices, store
from sessionlog.transcripts.chunks import Digest, Skip, Span
from sessionlog.transcripts.homes import Homes

if TYPE_CHECKING:
    from concurrent.futures import Future  # which takes 6 ms to import

# Starting other processes takes longer than reading this much.
WORTH_A_POOL = 16 << 20
# A last line without an end whose file nobody has touched for so long (s) will not be finished.
ABANDONED = 3600


class Plan:
    """What is to be read of one file, and where it goes."""

    def __init__(
        self, source: files.Source, place: Place, status: os.stat_result, known: store.Known | None, renew: bool = False
    ) -> None:
        self.source = source
        self.place = place
        self.status = status
        self.known = known
        self.renew = renew
        self.only: frozenset[str] | None = None

    @property
    def start(self) -> int:
        if self.known is None or self.renew:
            return 0
        return self.known.last_offset if store.continues_last_chunk(self.known) else self.known.size

    @property
    def new_bytes(self) -> int:
        archived = 0 if self.known is None or self.renew else self.known.size
        return self.status.st_size - archived

    def spans(self) -> Iterator[Span]:
        abandoned = time.time() - self.status.st_mtime > ABANDONED
        yield from chunks.spans(self.source, self.start, self.status.st_size, self.only, abandoned)


class Summary:
    """What an import did."""

    def __init__(self) -> None:
        self.files = 0
        self.unchanged = 0
        self.replaced = 0
        self.contested = 0
        self.bytes = 0
        self.messages = 0
        self.events = 0
        self.replacements = 0
        self.sessions: set[str] = set()
        self.projects: set[str] = set()
        self.skips: list[Skip] = []
        self.seconds = 0.0


def run(
    paths: Iterable[str] = (),
    *,
    since: float | None = None,
    dry_run: bool = False,
    workers: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Summary:
    """Import these files and folders, else all that Claude Code has; `progress` is told bytes done and bytes in all."""
    started = time.monotonic()
    named = [os.path.abspath(path) for path in paths]
    summary = Summary()
    for path in named:
        if not os.path.exists(path):
            summary.skips.append(Skip(path, None, "there is no such file or folder"))
    exported = [path for path in named if _is_export(path)]
    for path in exported:
        _import_export(path, dry_run, summary)
    with Homes() as homes:
        given = [path for path in named if os.path.exists(path) and path not in exported]
        sources = files.find(given) if given or not named else ()
        plans = list(_plans(sources, homes, summary, since))
        if not dry_run:
            _carry_out(plans, homes, summary, workers, progress)
        else:
            for plan in plans:
                _count(plan, summary)
                summary.bytes += plan.new_bytes
    summary.seconds = time.monotonic() - started
    return summary


def _is_export(path: str) -> bool:
    # Imported here: it needs more than the standard library, which is all that the hook's importer has.
    from sessionlog.export import jsonl

    return jsonl.is_export(path)


def _import_export(path: str, dry_run: bool, summary: Summary) -> None:
    """Events that `sessionlog export` wrote."""
    from sessionlog.export import jsonl

    done = jsonl.read(path, dry_run)
    summary.files += bool(done.events)
    summary.unchanged += not done.events
    summary.bytes += os.path.getsize(path) if done.events else 0
    summary.events += done.events
    summary.sessions |= done.sessions
    summary.projects |= done.projects
    summary.skips += [Skip(path, line, reason) for line, reason in done.skipped]


def follow(place: Place, transcript_path: str) -> Summary:
    """Import one session as its hooks ask for: in this process alone, into the archive that the hooks write to."""
    summary = Summary()
    for _ in range(3):
        summary.contested = 0
        with Homes(place) as homes:
            plans = list(_plans(files.of_session(transcript_path), homes, summary, None))
            _carry_out(plans, homes, summary, 1, lambda done, total: None)
        if not summary.contested:  # else another importer was at it, and may have begun before the last lines came
            break
    return summary


def _plans(sources: Iterable[files.Source], homes: Homes, summary: Summary, since: float | None) -> Iterator[Plan]:
    for source in sources:
        try:
            status = os.stat(source.path)
            if since is not None and status.st_mtime < since:
                continue
            if source.kind == files.HISTORY:
                yield from _history_plans(source, status, homes, summary)
            elif plan := _plan(source, status, homes, summary, homes.known(source.path)):
                yield plan
        except OSError as error:
            summary.skips.append(Skip(source.path, None, f"it cannot be read: {error.strerror}"))


def _plan(
    source: files.Source,
    status: os.stat_result,
    homes: Homes,
    summary: Summary,
    found: tuple[Place, store.Known] | None,
    place: Place | None = None,
) -> Plan | None:
    """What is new in a file; None if nothing is."""
    if found is None:
        place = place or homes.of(source)
        found = homes.moved(source, place)
        if found is None:
            return Plan(source, place, status, None) if status.st_size else None
    place, known = found
    same_time = status.st_mtime_ns == known.file_mtime_ns and source.path == known.file
    unfinished = known.size < known.file_size and time.time() - status.st_mtime > ABANDONED
    if same_time and status.st_size == known.file_size and not unfinished:
        summary.unchanged += 1
        return None
    # A file that only grew is compared at its beginning and end; one that was touched, in every byte.
    touched = status.st_size == known.file_size and not unfinished
    if status.st_size < known.size or not store.still_holds(homes.connection(place), known, source.path, touched):
        summary.replaced += 1
        return Plan(source, place, status, known, renew=True)
    return Plan(source, place, status, known)


def _history_plans(source: files.Source, status: os.stat_result, homes: Homes, summary: Summary) -> Iterator[Plan]:
    """The history of prompts is one file for all projects: each archive gets its own lines."""
    for place, folders in homes.of_history(source.path):
        plan = _plan(source, status, homes, summary, homes.known(source.path, place), place)
        if plan:
            plan.only = folders
            yield plan


def _carry_out(
    plans: list[Plan], homes: Homes, summary: Summary, workers: int | None, progress: Callable[[int, int], None]
) -> None:
    total = sum(plan.status.st_size - plan.start for plan in plans)
    if workers is None:
        workers = (os.cpu_count() or 1) if total >= WORTH_A_POOL else 1
    done = 0
    touched: dict[str, tuple[Place, set[str]]] = {}
    writers: dict[int, store.Writer] = {}
    given_up: set[int] = set()
    for plan, digest in _digests(plans, workers, summary):
        if digest is not None and id(plan) not in given_up:
            writer = writers.get(id(plan))
            if writer is None:
                connection = homes.connection(plan.place)
                writer = writers[id(plan)] = store.Writer(connection, plan.source, plan.known, plan.renew, plan.status)
                _count(plan, summary)
            base, before = writer.first_line, writer.bytes
            if not digest.length or not writer.write(digest):  # it vanished, or another importer has it
                given_up.add(id(plan))
                summary.contested += bool(digest.length)
                continue
            summary.bytes += writer.bytes - before
            summary.messages += writer.new_messages
            summary.replacements += digest.replacements
            summary.skips += [skip._replace(line=base + (skip.line or 0)) for skip in digest.skips]
            _, sessions = touched.setdefault(plan.place.db, (plan.place, set()))
            sessions.update(digest.facts)
            done += digest.length
            progress(done, total)
        elif digest is None and id(plan) not in given_up:
            _finish(plan, writers.pop(id(plan), None), homes)
    for place, sessions in touched.values():
        connection = homes.connection(place)
        store.count_messages(connection, sessions)
        prices.apply(connection, prices.load(place.home))


def _finish(plan: Plan, writer: store.Writer | None, homes: Homes) -> None:
    if writer is None and plan.known is not None and not plan.renew:  # only touched, or moved
        writer = store.Writer(homes.connection(plan.place), plan.source, plan.known, False, plan.status)
    if writer is not None:
        writer.finish()


def _count(plan: Plan, summary: Summary) -> None:
    summary.files += 1
    summary.projects.add(plan.place.project)
    if plan.source.session_id:
        summary.sessions.add(plan.source.session_id)


# --- Reading, in this process or in others ----------------------------------------------------------------------------


def _digests(plans: list[Plan], workers: int, summary: Summary) -> Iterator[tuple[Plan, Digest | None]]:
    """Each plan with its chunks in order, then with None; a file that vanishes is reported and passed over."""
    home = projects.home_folder()
    raw = settings.keeps_transcripts_raw(home)
    if workers <= 1:
        rules = None if raw else Rules(home)
        yield from _in_order(plans, summary, lambda span: _done(chunks.digest, span, rules), 1)
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # Not forked: a child must not hold this process's connections to SQLite.
    with ProcessPoolExecutor(
        workers, mp_context=get_context("spawn"), initializer=_prepare_worker, initargs=(home, raw)
    ) as pool:
        yield from _in_order(plans, summary, lambda span: pool.submit(_digest_in_worker, span), 2 * workers + 2)


def _in_order(
    plans: list[Plan], summary: Summary, submit: Callable[[Span], Future[Digest]], ahead: int
) -> Iterator[tuple[Plan, Digest | None]]:
    """Keep a few chunks in work and take them as they were given out: more would only fill the memory."""
    waiting: deque[tuple[Plan, Future[Digest] | None]] = deque()

    def take() -> Iterator[tuple[Plan, Digest | None]]:
        plan, future = waiting.popleft()
        try:
            yield plan, future.result() if future else None
        except OSError as error:
            summary.skips.append(Skip(plan.source.path, None, f"it cannot be read: {error.strerror}"))

    for plan in plans:
        try:
            for span in plan.spans():
                waiting.append((plan, submit(span)))
                while len(waiting) >= ahead:
                    yield from take()
        except OSError as error:
            summary.skips.append(Skip(plan.source.path, None, f"it cannot be read: {error.strerror}"))
        waiting.append((plan, None))
    while waiting:
        yield from take()


def _done(work: Callable[[Span, Rules | None], Digest], span: Span, rules: Rules | None) -> Future[Digest]:
    from concurrent.futures import Future

    future: Future[Digest] = Future()
    try:
        future.set_result(work(span, rules))
    except OSError as error:
        future.set_exception(error)
    return future


_rules: Rules | None = None


def _prepare_worker(home: str, raw: bool) -> None:
    global _rules  # noqa: PLW0603 (one for the life of the process)
    _rules = None if raw else Rules(home)


def _digest_in_worker(span: Span) -> Digest:
    return chunks.digest(span, _rules)
