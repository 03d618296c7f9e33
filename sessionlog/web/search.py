"""Search over all projects: hits under their sessions, filters with counts, newest or best first."""

from __future__ import annotations

import asyncio
import itertools
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack, closing
from functools import partial
from typing import Any, NamedTuple

from datasette.utils.asgi import Response

from sessionlog.archive import read
from sessionlog.archive.time_limit import TookTooLong
from sessionlog.ask.search import build, facets, index, scan
from sessionlog.ask.search import find as search
from sessionlog.errors import SessionlogError
from sessionlog.session import header
from sessionlog.web import archives, background, hit_html, search_query
from sessionlog.web import page as pages
from sessionlog.web.archives import Archive
from sessionlog.web.search_query import Asked

SHOWN = 30
# A search for a file or a branch may look at many hits for few that match.
SECONDS = 2.0
SCAN_SECONDS = 4.0
TITLES = {"project": "Project", "role": "Who", "tool": "Tool", "event": "What", "branch": "Branch", "client": "Agent"}
ROLES = {"user": "You", "assistant": "Claude", "tool": "Tools", "system": "Client"}
FACET_VALUES = 12

EXAMPLES = (
    ("折扣", "Chinese, Japanese and Korean are found from one character on"),
    ('"connection refused"', "the words of a phrase, in this order"),
    ("deploy* -staging", "what begins with deploy, without staging"),
    ("timeout OR retry", "one or the other"),
    ("threading.Lock", "identifiers, and their parts"),
)


class Group(NamedTuple):
    """The hits of one session."""

    archive: Archive
    session: dict[str, Any]
    title: str
    hits: list[ShownHit]


class ShownHit(NamedTuple):
    """A hit, and what the page shows of it."""

    hit: search.Hit
    shown: hit_html.ShownHit


class Value(NamedTuple):
    """One of the values that hits have."""

    label: str
    value: str
    number: str
    is_set: bool


class Facet(NamedTuple):
    """A filter, and what one can set it to."""

    name: str
    title: str
    choices: list[Value]
    rest: int  # values that are not listed


class SearchResults(NamedTuple):
    """What a page shows."""

    groups: list[Group]
    more: str | None
    counts: dict[str, facets.Counts]
    cut: bool  # looking took too long


def routes(datasette: Any) -> list[tuple[str, Any]]:
    return [(r"/-/search$", page)]


async def page(datasette: Any, request: Any) -> Response:
    """Hits, or, while nothing is asked, what one can ask."""
    asked = search_query.from_request(request)
    every = list(archives.find(datasette).values())
    chosen = archives.chosen(datasette, [asked.given.get("project", "")])
    if not asked.text and not any(asked.filters) and not asked.problem:
        return await pages.render(
            datasette, request, "search", asked=asked, examples=EXAMPLES, **search_query.choices(asked)
        )
    if asked.mode:
        return await _scanned(datasette, request, asked, chosen, every)
    catching_up = await asyncio.gather(*(catch_up(archive) for archive in every))
    jobs = dict(zip((archive.name for archive in every), catching_up, strict=True))
    problems = [_problem(archive, jobs[archive.name]) for archive in chosen]
    ready = {archive.name for archive in every if is_ready(archive, jobs[archive.name])}
    behind = [job for archive in chosen if not (job := jobs[archive.name]).is_done]
    answer = await asyncio.to_thread(
        _answer, asked, [a for a in chosen if a.name in ready], [a for a in every if a.name in ready]
    )
    return await _answered(
        datasette,
        request,
        asked,
        answer,
        facets=_facets(asked, answer, every, chosen),
        total=_total(answer, chosen),
        behind=(sum(job.done for job in behind), sum(job.total for job in behind)) if behind else None,
        problems=[problem for problem in (asked.problem, *problems) if problem],
        hint=_hint(asked.text),
    )


async def _scanned(datasette: Any, request: Any, asked: Asked, chosen: list[Archive], every: list[Archive]) -> Response:
    """What a look at everything finds, as far as it comes in time; the next page goes on from there."""
    starts = _positions(request.args.get("from") or "")
    going = [archive for archive in chosen if not starts or archive.name in starts]

    def look(tell: background.Tell) -> list[scan.Found]:
        return [
            scan.look(
                archive.place,
                asked.text,
                asked.mode == "regex",
                asked.filters,
                starts.get(archive.name, scan.START),
                SHOWN,
                SCAN_SECONDS / len(going),
            )
            for archive in going
        ]

    problem, found = asked.problem, []
    job = await background.ask(("scan", *asked.given.items(), *starts.items()), look)
    if job.is_done:
        try:
            found = job.result
        except SessionlogError as error:
            problem = str(error)
    hits = sorted((hit for one in found for hit in one.hits), key=lambda hit: hit.row["at"] or "", reverse=True)
    by_file = {archive.place.db: archive for archive in chosen}
    unfinished = [(archive, one) for archive, one in zip(going, found, strict=False) if one.position]
    onwards = ",".join(
        f"{archive.name}:{one.position[0]}:{one.position[1]}" for archive, one in unfinished if one.position
    )
    answer = SearchResults(await asyncio.to_thread(_grouped, asked, hits, by_file), None, {}, False)
    return await _answered(
        datasette,
        request,
        asked,
        answer,
        facets=[],
        total=f"{len(hits)}{'+' if onwards else ''}",
        looking=not job.is_done,
        onwards=onwards,
        back_to=max((one.back_to for _, one in unfinished), default=""),
        problems=[problem] if problem else [],
        hint="",
    )


async def _answered(datasette: Any, request: Any, asked: Asked, answer: SearchResults, **more: Any) -> Response:
    """The page with an answer, however it was found."""
    clients = {group.session.get("client") for group in answer.groups}
    clients.update(client for counts in answer.counts.values() for client in counts.values["client"])
    return await pages.render(
        datasette,
        request,
        "search",
        asked=asked,
        answer=answer,
        with_client=len(clients) > 1,
        link=lambda **changes: pages.address("search", **{**asked.given, **changes}),
        **search_query.choices(asked),
        **more,
    )


def _positions(text: str) -> dict[str, scan.Position]:
    """Where to go on in each archive: name:event:message, with commas between."""
    found = re.findall(r"([^,:]+):(\d{1,19}):(\d{1,19})", text)
    return {name: (int(event), int(message)) for name, event, message in found}


async def catch_up(archive: Archive) -> background.Job[None]:
    """Let the index take in what is new; a long way to go is gone in the background."""

    def work(tell: background.Tell) -> None:
        with closing(read.connect(archive.place)) as connection:
            build.catch_up(archive.place, connection, tell)

    return await background.ask(("index", archive.place.db), work, anew=True)


def is_ready(archive: Archive, job: background.Job[None]) -> bool:
    """Whether the index can be asked, even if it is behind."""
    if job.is_done:
        return job.future.exception() is None
    with closing(archives.connect(archive)) as connection:
        return index.can_be_asked(archive.place, connection)


def _problem(archive: Archive, job: background.Job[None]) -> str | None:
    error = job.future.exception() if job.is_done else None
    return f"{archive.label} cannot be searched: {error}" if error else None


def _answer(asked: Asked, chosen: list[Archive], every: list[Archive]) -> SearchResults:
    counts = {archive.name: facets.count(archive.place, asked.text, asked.filters) for archive in every}
    by_file = {archive.place.db: archive for archive in chosen}
    cut = False
    hits = None if asked.best_first else _counted(asked, chosen, counts)
    if hits is None:
        hits, cut = _looked_up(asked, chosen)
    more = None
    if len(hits) > SHOWN and not asked.best_first:
        more = f"{hits[SHOWN - 1].key}-{by_file[hits[SHOWN - 1].place.db].name}"
    return SearchResults(_grouped(asked, hits[:SHOWN], by_file), more, counts, cut)


def _counted(asked: Asked, chosen: list[Archive], counts: dict[str, facets.Counts]) -> list[search.Hit] | None:
    """The next hits, if they are among those that were counted: then the index need not be asked again."""
    pool = [
        (document["key"], archive.name, document)
        for archive in chosen
        for document in counts[archive.name].newest
        if document["key"] < search_query.before(asked, archive.name)
    ]
    pool.sort(key=lambda found: (-found[0], found[1]))
    # Below this moment there may be hits that were not counted.
    known_from = max((_known_from(counts[archive.name]) for archive in chosen), default=0)
    wanted = [found for found in pool if found[0] >= known_from][: SHOWN + 1]
    if known_from and len(wanted) <= SHOWN:
        return None
    hits = []
    for archive in chosen:
        documents = [document for _, name, document in wanted if name == archive.name]
        hits += search.hits_of(archive.place, asked.text, documents)
    names = {archive.place.db: archive.name for archive in chosen}
    return sorted(hits, key=lambda hit: (-hit.key, names[hit.place.db]))


def _known_from(counts: facets.Counts) -> int:
    if counts.is_all:
        return 0
    return int(counts.newest[-1]["key"]) if counts.newest else search.LAST_KEY


def _looked_up(asked: Asked, chosen: list[Archive]) -> tuple[list[search.Hit], bool]:
    """The next hits, and whether looking for them took too long."""
    streams = [
        search.find(
            archive.place,
            asked.text,
            asked.filters,
            best_first=asked.best_first,
            before=search_query.before(asked, archive.name),
            as_it_is=True,
            seconds=SECONDS,
        )
        for archive in chosen
    ]
    hits: list[search.Hit] = []
    try:
        for hit in itertools.islice(search.merged(streams, asked.best_first), SHOWN + 1):
            hits.append(hit)
    except TookTooLong:
        return hits, True
    finally:
        for stream in streams:
            stream.close()
    return hits, False


def _grouped(asked: Asked, hits: Iterable[search.Hit], by_file: dict[str, Archive]) -> list[Group]:
    groups: dict[tuple[str, str], Group] = {}
    pattern = search_query.pattern(asked)
    with ExitStack() as stack:
        connections: dict[str, sqlite3.Connection] = {}
        for hit in hits:
            if hit.place.db not in connections:
                connections[hit.place.db] = stack.enter_context(closing(read.connect(hit.place)))
            connection = connections[hit.place.db]
            key = (hit.place.db, hit.row["session_id"])
            if key not in groups:
                groups[key] = _group(by_file[hit.place.db], connection, hit.row)
            mark = hit_html.marker(pattern or hit_html.marks_of(hit))
            relative = partial(archives.relative, by_file[hit.place.db])
            groups[key].hits.append(ShownHit(hit, hit_html.show(hit, connection, mark, relative)))
    return list(groups.values())


def _group(archive: Archive, connection: sqlite3.Connection, row: dict[str, Any]) -> Group:
    query = "SELECT * FROM session_summary WHERE session_id = ?"
    session = connection.execute(query, (row["session_id"],)).fetchone() or {
        "session_id": row["session_id"],
        "title": None,
        "first_prompt": None,
        "started_at": row["at"],
    }
    return Group(archive, session, header.Overview(session, archive.place.project, []).title, [])


def _total(answer: SearchResults, chosen: list[Archive]) -> str:
    return _number([answer.counts[archive.name] for archive in chosen if archive.name in answer.counts])


def _number(counts: list[facets.Counts]) -> str:
    """12, or 1,000+ if there are more than were counted."""
    return f"{sum(count.total for count in counts):,}{'' if all(count.is_all for count in counts) else '+'}"


def _facets(asked: Asked, answer: SearchResults, every: list[Archive], chosen: list[Archive]) -> list[Facet]:
    """The filters with counts; that of projects only where there are several."""
    shown = []
    current = asked.given.get("project", "")
    if len(every) > 1:
        known = [(archive, answer.counts[archive.name]) for archive in every if archive.name in answer.counts]
        values = [
            Value(archive.label, archive.name, _number([count]), archive.name == current)
            for archive, count in known
            if count.total or archive.name == current
        ]
        shown.append(Facet("project", TITLES["project"], values, 0))
    counts = [answer.counts[archive.name] for archive in chosen if archive.name in answer.counts]
    more = "" if all(count.is_all for count in counts) else "+"
    for kind in facets.KINDS:
        found: Counter[str] = sum((count.values[kind] for count in counts), Counter())
        current = asked.given.get(kind, "")
        if current and not any(value.lower() == current.lower() for value in found):
            found[current] = 0
        if len(found) < 2 and not current:  # nothing to choose
            continue
        values = [
            Value(_label(kind, value), value, f"{number:,}{more}", value.lower() == current.lower())
            for value, number in found.most_common()
        ]
        kept = [value for number, value in enumerate(values) if number < FACET_VALUES or value.is_set]
        if kept:
            shown.append(Facet(kind, TITLES[kind], kept, len(values) - len(kept)))
    return shown


def _label(kind: str, value: str) -> str:
    """A value of a filter in people's words."""
    if kind == "event":
        return hit_html.label(value)
    return ROLES.get(value, value) if kind == "role" else value


def _hint(text: str) -> str:
    if re.search(r"(^|\s)-\w", text):
        return 'A word after - is one that must not occur; put code into double quotes: "ls -la".'
    return ""
