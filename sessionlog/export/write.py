"""Sessions as files for others: JSONL to import again, Markdown and HTML to read.

Everything is written as it is read, so memory does not grow with the archive, and nothing but the archive goes in, so
the same archive gives the same bytes.
"""

from __future__ import annotations

import itertools
import os
import re
import sqlite3
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from hashlib import blake2b
from typing import Any, NamedTuple

from sessionlog.archive import lookup, one_client, read
from sessionlog.archive import place as projects
from sessionlog.archive.place import Place
from sessionlog.errors import SessionlogError
from sessionlog.redact.rules import Rules
from sessionlog.session import header, load
from sessionlog.session.header import Overview
from sessionlog.session.load import Entry
from sessionlog.system import atomic

FORMATS = {"jsonl": ".jsonl", "markdown": ".md", "html": ".html"}
DETAILS = ("full", "normal", "brief")
PIECE = 1 << 20  # bytes that are written to a file at once
# Events and messages: from so many on, other processes help; a session with more is written as it is read.
WORTH_A_POOL, LARGE = 4000, 20_000


class Options(NamedTuple):
    """What to write of the chosen sessions, and how."""

    format: str = "jsonl"
    detail: str = "normal"
    since: str = ""
    redact: bool = False


class Chosen(NamedTuple):
    """Sessions of one archive, by their ids, oldest first."""

    place: Place
    session_ids: list[str]


class Written(NamedTuple):
    """A file that was written."""

    path: str
    sessions: int
    bytes: int


def choose(places: list[Place], wanted: Iterable[str] = (), since: str = "", client: str | None = None) -> list[Chosen]:
    """The sessions whose ids start with what is wanted, else all that something happened in since then.

    With a client, of that agent's sessions.
    """
    by_db: dict[str, Chosen] = {}
    names = list(wanted)
    for name in names:
        found = lookup.find_session(places, name, client)
        chosen = by_db.setdefault(found.place.db, Chosen(found.place, []))
        if found.session["session_id"] not in chosen.session_ids:
            chosen.session_ids.append(found.session["session_id"])
    if not names:
        some = places if len(places) == 1 else [place for place in places if os.path.exists(place.db)]
        for place in some:
            by_db[place.db] = Chosen(place, [])
    for chosen in by_db.values():
        with closing(one_client.connect(chosen.place, client)) as connection:
            ordered = _by_first_event(connection, since)
            only = set(chosen.session_ids)
            chosen.session_ids[:] = [session_id for session_id in ordered if not names or session_id in only]
    return [chosen for chosen in by_db.values() if chosen.session_ids]


def chunks(chosen: Iterable[Chosen], options: Options) -> Iterator[bytes]:
    """All of the chosen sessions as one document."""
    several = [Chosen(one.place, list(one.session_ids)) for one in chosen]
    if options.format == "jsonl":
        for one in several:
            with closing(_connect_fast(one.place)) as connection:
                yield from _jsonl(connection, one, options)
        return
    module = _renderer(options.format)
    sessions = itertools.chain.from_iterable(_rendered(one, options) for one in several)
    first = next(sessions, b"")  # other processes go on with the next ones while the table of contents is made
    yield from _encoded(module.beginning(_overviews(several, options)))
    yield first
    yield from sessions
    yield from _encoded(module.end())


def _rendered(one: Chosen, options: Options) -> Iterator[bytes]:
    """The sessions of an archive one after the other; of many, several at once, each in a process of its own."""
    with closing(read.connect(one.place)) as connection:
        cores = min(os.cpu_count() or 1, len(one.session_ids))
        sizes = _sizes(connection, one.session_ids) if cores > 1 else []
        if cores < 2 or sum(sizes) < WORTH_A_POOL:
            for session_id in one.session_ids:
                yield from session(connection, one.place, session_id, options)
            return
        from sessionlog.system.workers import Pool

        with Pool(cores, "sessionlog.export.session_worker", one.place.home, one.place.project, one.place.db) as pool:
            waiting: deque[tuple[str, int, Future[bytes] | None]] = deque()
            rest = zip(one.session_ids, sizes, strict=True)
            ahead = 0
            while True:
                while (len(waiting) <= 2 * cores or ahead < LARGE) and (following := next(rest, None)):
                    session_id, size = following
                    waiting.append((session_id, size, pool.submit((session_id, options)) if size <= LARGE else None))
                    ahead += size
                if not waiting:
                    return
                session_id, size, rendered = waiting.popleft()
                ahead -= size
                if rendered is not None:
                    yield rendered.result()
                else:  # it need not fit into memory
                    yield from session(connection, one.place, session_id, options)


def session(connection: sqlite3.Connection, place: Place, session_id: str, options: Options) -> Iterator[bytes]:
    """One session as Markdown or HTML."""
    about, entries = _session(connection, place, session_id, options)
    return _encoded(_renderer(options.format).session(about, entries, options.detail))


def _sizes(connection: sqlite3.Connection, session_ids: list[str]) -> list[int]:
    """How many events and messages each session has; the view `session_summary` would read its first prompt, too."""
    query = (
        "SELECT session_id, events + ifnull(facts.messages, 0) AS size "
        "FROM sessions LEFT JOIN session_facts AS facts USING (session_id)"
    )
    sizes = {row["session_id"]: row["size"] for row in connection.execute(query)}
    return [sizes.get(session_id, 0) for session_id in session_ids]  # it may have been pruned meanwhile


def write(chosen: list[Chosen], options: Options, target: str) -> list[Written]:
    """Write one file, or one for each session if the target is a folder (one that exists, or ends with a slash)."""
    if not (os.path.isdir(target) or target.endswith(("/", os.sep))):
        count = sum(len(one.session_ids) for one in chosen)
        return [_write_file(target, chunks(chosen, options), count)]
    os.makedirs(target, exist_ok=True)
    written = []
    names: set[str] = set()
    for one in chosen:
        with closing(read.connect(one.place)) as connection:
            started = {session_id: _row(connection, session_id)["started_at"] for session_id in one.session_ids}
        for session_id in one.session_ids:
            name = _file_name(started[session_id], session_id)
            if name.casefold() in names:  # two projects have it, or two ids differ in capitals only
                name += f"-{_hash(f'{one.place.project} {session_id}')}"
            names.add(name.casefold())
            path = os.path.join(target, name + FORMATS[options.format])
            content = chunks([Chosen(one.place, [session_id])], options)
            written.append(_write_file(path, content, 1))
    return written


def not_carried(chosen: Iterable[Chosen]) -> int:
    """How many transcripts the chosen sessions have, which JSONL leaves to `restore` and `import`."""
    count = 0
    for one in chosen:
        with closing(read.connect(one.place)) as connection:
            query = "SELECT count(*) AS n FROM transcripts WHERE session_id = ? AND kind = 'main'"
            count += sum(connection.execute(query, (name,)).fetchone()["n"] for name in one.session_ids)
    return count


# --- One session ------------------------------------------------------------------------------------------------------


def _session(
    connection: sqlite3.Connection, place: Place, session_id: str, options: Options
) -> tuple[Overview, Iterator[Entry]]:
    about = header.load(connection, _row(connection, session_id), place.project)
    entries = load.entries(connection, session_id, since=options.since)
    if options.redact:
        rules = _rules()
        about = about._replace(session=_cleaned(about.session, rules))
        entries = (_cleaned_entry(entry, rules) for entry in entries)
    return about, entries


def _overviews(chosen: list[Chosen], options: Options) -> Iterator[Overview]:
    """The sessions to come, for a table of contents; nothing is read unless somebody asks."""
    for one in chosen:
        with closing(read.connect(one.place)) as connection:
            for session_id in one.session_ids:
                row = _row(connection, session_id)
                yield Overview(_cleaned(row, _rules()) if options.redact else row, one.place.project, [])


def _jsonl(connection: sqlite3.Connection, one: Chosen, options: Options) -> Iterator[bytes]:
    from sessionlog.export import jsonl

    rules = _rules() if options.redact else None
    return jsonl.lines(connection, one.place.project, one.session_ids, options.since, rules)


def _renderer(name: str) -> Any:
    if name == "markdown":
        from sessionlog.export import markdown

        return markdown
    from sessionlog.export import html

    return html


def _row(connection: sqlite3.Connection, session_id: str) -> dict[str, Any]:
    row: dict[str, Any] = connection.execute(
        "SELECT * FROM session_summary WHERE session_id = ?", (session_id,)
    ).fetchone()
    return row


def _by_first_event(connection: sqlite3.Connection, since: str) -> list[str]:
    """By the first event and not by `started_at`, which a transcript may have moved: an import must find this order."""
    rows = connection.execute(
        "SELECT session_id, coalesce((SELECT min(at) FROM events WHERE events.session_id = sessions.session_id), "
        "started_at) AS first_at FROM sessions WHERE last_at >= ? ORDER BY first_at, session_id",
        (since,),
    )
    return [row["session_id"] for row in rows]


def _connect_fast(place: Place) -> sqlite3.Connection:
    """Text straight from SQLite: only what is sound is stored, and a function for each value costs time."""
    connection = read.connect(place)
    connection.text_factory = str
    return connection


# --- Redaction of what is old -----------------------------------------------------------------------------------------


def _rules() -> Rules:
    rules = Rules(projects.home_folder())
    rules.enabled = True  # asked for here, whatever is chosen for recording
    return rules


def _cleaned(value: Any, rules: Rules) -> Any:
    from sessionlog.export.jsonl import encoded

    suspects = rules.suspects(encoded(value))
    return rules.clean(value, suspects)


def _cleaned_entry(entry: Entry, rules: Rules) -> Entry:
    title, text = _cleaned([entry.title, entry.text], rules)
    if entry.call is None:
        return entry._replace(title=title, text=text)
    parts = entry.call._asdict()
    return entry._replace(title=title, text=text, call=entry.call._replace(**_cleaned(parts, rules)))


# --- Files ------------------------------------------------------------------------------------------------------------


def _file_name(started_at: str, session_id: str) -> str:
    """2026-11-16-f0b8f9eb-…: sorts by time. An id may be any text; where it cannot be a name, a hash tells it apart."""
    name = re.sub(r"[^\w-]", "_", f"{started_at[:10]}-{session_id}")[:100]
    return name if name.endswith(f"-{session_id}") else f"{name}-{_hash(session_id)}"


def _hash(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def _write_file(path: str, content: Iterator[bytes], sessions: int) -> Written:
    """Whole or not at all, for the user's eyes only."""
    size = 0
    try:
        if os.path.exists(path) and not os.path.isfile(path):  # /dev/stdout, a pipe
            with open(path, "wb") as file:
                return Written(path, sessions, sum(map(file.write, content)))
        with atomic.draft(path) as draft, ThreadPoolExecutor(1) as writer:
            # The disk takes the one piece while the next is made.
            written = writer.submit(int)
            for piece in _pieces(content):
                written.result()
                written = writer.submit(draft.file.write, piece)
                size += len(piece)
            written.result()
    except OSError as error:
        raise SessionlogError(f"{path} cannot be written: {error.strerror}") from error
    return Written(path, sessions, size)


def _pieces(content: Iterator[bytes]) -> Iterator[bytes]:
    """The same in pieces of about a megabyte."""
    gathered: list[bytes] = []
    length = 0
    for chunk in content:
        gathered.append(chunk)
        length += len(chunk)
        if length >= PIECE:
            yield b"".join(gathered)
            gathered, length = [], 0
    yield b"".join(gathered)


def _encoded(texts: Iterable[str]) -> Iterator[bytes]:
    for text in texts:
        yield text.encode("utf-8", "replace")
