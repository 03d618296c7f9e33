"""Import of transcripts: what is new in each file goes to the archive of its project, whole lines only, once."""

from __future__ import annotations

import os
import stat
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from sessionlog import config
from sessionlog.agents import transcripts
from sessionlog.agents.claude_code import prices, transcript_files
from sessionlog.archive import place as projects
from sessionlog.archive.place import Place
from sessionlog.errors import SessionlogError
from sessionlog.fastlib import utc_text
from sessionlog.redact.rules import Rules
from sessionlog.system import files
from sessionlog.transcripts import chunks, pruned, store
from sessionlog.transcripts.chunks import Digest, Skip, Span
from sessionlog.transcripts.targets import Targets

if TYPE_CHECKING:
    from concurrent.futures import Future  # which takes 6 ms to import

    from sessionlog.system.workers import Pool

# Starting other processes takes longer than reading this much.
WORTH_A_POOL = 16 << 20
# A last line without an end whose file nobody has touched for so long (s) will not be finished.
ABANDONED = 3600


class Plan:
    """What is to be read of one file, and where it goes."""

    def __init__(
        self,
        source: transcript_files.Source,
        place: Place,
        status: os.stat_result,
        known: store.Known | None,
        renew: bool = False,
    ) -> None:
        self.source = source
        self.place = place
        self.status = status
        self.known = known
        self.renew = renew
        self.only: frozenset[str] | None = None
        self.limits: pruned.Limits = {}
        self.unrecorded: pruned.Unrecorded | None = None

    @property
    def start(self) -> int:
        if self.known is None or self.renew:
            return 0
        return self.known.last_offset if store.continues_last_chunk(self.known) else self.known.size

    @property
    def to_read(self) -> int:
        return self.status.st_size - self.start

    @property
    def new_bytes(self) -> int:
        archived = 0 if self.known is None or self.renew else self.known.size
        return self.status.st_size - archived

    def spans(self) -> Iterator[Span]:
        abandoned = time.time() - self.status.st_mtime > ABANDONED
        limits = self.limits
        if self.known is not None and not self.renew and self.source.session_id in limits:
            # What lies behind the archived bytes is new, whatever its time.
            limits = {key: limit for key, limit in limits.items() if key != self.source.session_id}
        size = self.status.st_size
        yield from chunks.spans(self.source, self.start, size, self.only, abandoned, limits, self.unrecorded)


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
        self.left_out = 0
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
    summary: Summary | None = None,
) -> Summary:
    """Import these files and folders, else all that the agents here have; `progress` gets bytes done and bytes in all.

    What was done is added to `summary`.
    """
    started = time.monotonic()
    named = [os.path.abspath(path) for path in paths]
    summary = summary or Summary()
    for path in named:
        refuse(path)
    with Targets() as targets, _Readers(workers, dry_run) as readers:
        plans = _oldest_first(readers.expect(_plans(transcripts.find(named), targets, summary, since)))
        if not dry_run:
            _carry_out(plans, targets, summary, readers, progress)
        else:
            for plan in plans:
                _count(plan, summary)
                summary.bytes += plan.new_bytes
    summary.seconds += time.monotonic() - started
    return summary


def refuse(path: str) -> None:
    """Raise an error if a path that somebody named is neither a folder nor a transcript."""
    if os.path.isdir(path):
        return
    try:
        reason = transcripts.why_no_transcript(os.path.realpath(path))
    except FileNotFoundError:
        raise SessionlogError(f"{path}: there is no such file or folder") from None
    except OSError as error:
        raise SessionlogError(f"{path} cannot be read: {error.strerror or 'it is not a regular file'}") from None
    if reason is not None:
        raise SessionlogError(
            f"{path}:{reason[0]}: {reason[1]}. The file is neither a transcript nor an export of sessionlog; "
            "nothing was imported"
        )


def follow(place: Place, transcript_path: str, client: str = "claude-code") -> Summary:
    """Import one session as its hooks ask for: in this process alone, into the archive that the hooks write to."""
    summary = Summary()
    for _ in range(3):
        summary.contested = 0
        with Targets(place) as targets, _Readers(1) as readers:
            sources = list(transcripts.of_session(transcript_path, client))
            plans = list(_plans(sources, targets, summary, None))
            _carry_out(plans, targets, summary, readers, lambda done, total: None)
            if os.path.exists(place.db):  # events may have come after the import of their lines
                sessions = {source.session_id for source in sources if source.session_id}
                store.count_messages(targets.connection(place), sessions)
        if not summary.contested:  # else another importer was at it, and may have begun before the last lines came
            break
    return summary


def _plans(
    sources: Iterable[transcript_files.Source], targets: Targets, summary: Summary, since: float | None
) -> Iterator[Plan]:
    for source in sources:
        try:
            status = os.stat(source.path)
            if since is not None and status.st_mtime < since:
                continue
            if not stat.S_ISREG(status.st_mode) or files.is_sparse(status):
                reason = "it has more holes than text" if stat.S_ISREG(status.st_mode) else "it is no regular file"
                summary.skips.append(Skip(source.path, None, reason))
                continue
            if source.kind == transcript_files.HISTORY:
                plans = list(_history_plans(source, status, targets, summary))
            else:
                plan = _plan(source, status, targets, summary, targets.known(source.path))
                plans = [plan] if plan else []
            for plan in plans:
                plan.limits = targets.limits(plan.place)
                plan.unrecorded = targets.unrecorded
                if targets.leaves_out(plan.source, plan.place) or _stays_out(plan, targets):
                    summary.left_out += 1
                else:
                    yield plan
        except OSError as error:
            summary.skips.append(Skip(source.path, None, f"it cannot be read: {error.strerror}"))


def _oldest_first(plans: Iterable[Plan]) -> list[Plan]:
    """By the last time in each transcript: an answer that a later session copied belongs to the one before it."""
    times: dict[str, str] = {}

    def last_time(plan: Plan) -> str:
        path = plan.source.main_path or plan.source.path
        if path not in times:
            times[path] = transcript_files.last_time(path)
        return times[path]

    return sorted(plans, key=last_time)


def _plan(
    source: transcript_files.Source,
    status: os.stat_result,
    targets: Targets,
    summary: Summary,
    found: tuple[Place, store.Known] | None,
    place: Place | None = None,
) -> Plan | None:
    """What is new in a file; None if nothing is."""
    if found is None:
        place = place or targets.place_for(source)
        found = targets.moved(source, place)
        if found is None:
            return Plan(source, place, status, None) if status.st_size and _is_transcript(source, summary) else None
    place, known = found
    same_time = status.st_mtime_ns == known.file_mtime_ns and source.path == known.file
    unfinished = known.size < known.file_size and time.time() - status.st_mtime > ABANDONED
    if same_time and status.st_size == known.file_size and not unfinished:
        summary.unchanged += 1
        return None
    # A file that only grew is compared at its beginning and end; one that was touched, in every byte.
    touched = status.st_size == known.file_size and not unfinished
    if status.st_size < known.size or not store.still_holds(targets.connection(place), known, source.path, touched):
        summary.replaced += 1
        return Plan(source, place, status, known, renew=True)
    return Plan(source, place, status, known)


def _is_transcript(source: transcript_files.Source, summary: Summary) -> bool:
    """Whether a file that is new here has a line of a transcript; a folder may hold other files too."""
    reason = transcript_files.why_no_transcript(source.path) if transcripts.is_to_be_parsed(source) else None
    if reason is not None:
        summary.skips.append(Skip(source.path, *reason))
    return reason is None


def _stays_out(plan: Plan, targets: Targets) -> bool:
    """Whether this is a small file of a pruned session: it has no times in it, so its own time and its name decide."""
    source = plan.source
    limit = plan.limits.get(source.session_id or "")
    if limit is None or source.kind in transcript_files.LINE_KINDS or (plan.known and not plan.renew):
        return False
    until = max(limit) if source.kind == transcript_files.TOOL_RESULT else limit.until
    return utc_text(plan.status.st_mtime_ns // 1_000_000) <= until or (
        until != "" and targets.has_name(source, plan.place)
    )


def _history_plans(
    source: transcript_files.Source, status: os.stat_result, targets: Targets, summary: Summary
) -> Iterator[Plan]:
    """The history of prompts is one file for all projects: each archive gets its own lines."""
    for place, folders in targets.of_history(source.path):
        plan = _plan(source, status, targets, summary, targets.known(source.path, place), place)
        if plan:
            plan.only = folders
            yield plan


def _carry_out(
    plans: list[Plan], targets: Targets, summary: Summary, readers: _Readers, progress: Callable[[int, int], None]
) -> None:
    total = sum(plan.to_read for plan in plans)
    done = 0
    touched: dict[str, tuple[Place, set[str]]] = {}
    files_left = Counter((plan.place.db, plan.source.session_id) for plan in plans)
    writers: dict[int, store.Writer] = {}
    given_up: set[int] = set()
    summaries: list[tuple[Place, str, str]] = []
    for plan, digest in _digests(plans, readers, summary):
        if digest is not None and id(plan) not in given_up:
            writer = writers.get(id(plan))
            if writer is None:
                connection = targets.connection(plan.place)
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
            summary.left_out += digest.left_out
            summary.skips += [skip._replace(line=base + (skip.line or 0)) for skip in digest.skips]
            _, sessions = touched.setdefault(plan.place.db, (plan.place, set()))
            sessions.update(digest.facts)
            summaries += [(plan.place, leaf, text) for leaf, text in store.summaries(digest)]
            done += digest.length
            progress(done, total)
        elif digest is None:
            if id(plan) not in given_up:
                _finish(plan, writers.pop(id(plan), None), targets)
            session = plan.place.db, plan.source.session_id
            files_left[session] -= 1
            _, sessions = touched.get(plan.place.db, (plan.place, set()))
            if not files_left[session] and session[1] in sessions:  # counted while others are read
                sessions.remove(session[1])
                store.count_messages(targets.connection(plan.place), [session[1]])
    for place, leaf, text in summaries:
        store.summarise(targets.connection(place), leaf, text)
    for place, sessions in touched.values():
        connection = targets.connection(place)
        store.count_messages(connection, sessions)
        prices.apply(connection, place.home)


def _finish(plan: Plan, writer: store.Writer | None, targets: Targets) -> None:
    if writer is None and plan.known is not None and not plan.renew:  # only touched, or moved
        writer = store.Writer(targets.connection(plan.place), plan.source, plan.known, False, plan.status)
    if writer is not None:
        writer.finish()


def _count(plan: Plan, summary: Summary) -> None:
    summary.files += 1
    summary.projects.add(plan.place.project)
    if plan.source.session_id:
        summary.sessions.add(plan.source.session_id)


# --- Reading, in this process or in others ----------------------------------------------------------------------------


class _Readers:
    """What reads chunks: this process, or others. They are started as soon as there is enough for them to read."""

    def __init__(self, workers: int | None, dry_run: bool = False) -> None:
        self._worth = 0 if workers is not None else WORTH_A_POOL
        self.workers = 1 if dry_run else workers or os.cpu_count() or 1
        self.home = projects.home_folder()
        self.raw = config.keeps_transcripts_raw(self.home)
        self.pool: Pool | None = None

    def expect(self, plans: Iterable[Plan]) -> Iterator[Plan]:
        """The same plans; others start while more of them are made."""
        size = 0
        for plan in plans:
            size += plan.to_read
            if self.workers > 1 and size >= self._worth and self.pool is None:
                from sessionlog.system.workers import Pool

                self.pool = Pool(self.workers, "sessionlog.transcripts.chunk_worker", self.home, self.raw)
                self.pool.start()
            yield plan

    def __enter__(self) -> _Readers:
        return self

    def __exit__(self, *error: Any) -> None:
        if self.pool is not None:
            self.pool.__exit__(*error)


def _digests(plans: list[Plan], readers: _Readers, summary: Summary) -> Iterator[tuple[Plan, Digest | None]]:
    """Each plan with its chunks in order, then with None; a file that vanishes is reported and passed over."""
    if readers.pool is None:
        rules = chunks.rules_for(readers.home, readers.raw)
        yield from _in_order(plans, summary, lambda span: _done(chunks.digest, span, rules), 1)
    else:
        yield from _in_order(plans, summary, readers.pool.submit, 2 * readers.workers + 2)


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
