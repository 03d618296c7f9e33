"""Search over all projects: hits under their sessions, filters with counts, newest or best first."""

from __future__ import annotations

import asyncio
import itertools
import re
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from typing import Any, NamedTuple

from datasette.utils.asgi import Response
from markupsafe import Markup, escape

from sessionlog import overview, reading, search, terminal, when
from sessionlog.errors import SessionlogError
from sessionlog.patience import TookTooLong
from sessionlog.search import facets, index, scanning, words
from sessionlog.web import archives, later, pages
from sessionlog.web.archives import Archive

SHOWN = 30
# Whoever asks for a file or a branch may have many hits looked at for few that fit.
SECONDS = 2.0
SCAN_SECONDS = 4.0
LONGEST_QUESTION = 500

FILTERS = ("session", "tool", "event", "file", "branch", "agent", "role")
PARAMETERS = ("q", "project", *FILTERS, "since", "until", "failed", "sort", "mode")
MODES = (("", "words"), ("exact", "exact text"), ("regex", "regular expression"))
TIMES = (("", "Any time"), ("24h", "Last 24 hours"), ("7d", "Last 7 days"), ("30d", "Last 30 days"))
TITLES = {"project": "Project", "role": "Who", "tool": "Tool", "event": "Event", "branch": "Branch"}
ROLES = {"user": "You", "assistant": "Claude", "tool": "Tools", "system": "Client"}
FACET_VALUES = 12

EXAMPLES = (
    ("折扣", "Chinese, Japanese and Korean are found from one character on"),
    ('"connection refused"', "the words of a phrase, in this order"),
    ("deploy* -staging", "what begins with deploy, without staging"),
    ("timeout OR retry", "one or the other"),
    ("threading.Lock", "identifiers, and their parts"),
)


class Asked(NamedTuple):
    """The question, as the address holds it."""

    text: str
    filters: search.Filters
    best_first: bool
    before: int
    of_archive: str  # where the hit before which to go on was found
    given: dict[str, str]  # parameters of the address, without the place to go on from
    problem: str  # what of it could not be understood
    mode: str  # "" for words, else a look at everything: exact or regex


class Group(NamedTuple):
    """The hits of one session."""

    archive: Archive
    session: dict[str, Any]
    title: str
    hits: list[search.Hit]


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


class Answer(NamedTuple):
    """What a page shows."""

    groups: list[Group]
    more: str | None
    counts: dict[str, facets.Counts]
    cut: bool  # looking took too long


def routes(datasette: Any) -> list[tuple[str, Any]]:
    return [(r"/-/search$", page)]


async def page(datasette: Any, request: Any) -> Response:
    """Hits, or, while nothing is asked, what one can ask."""
    asked = _asked(request)
    every = list(archives.of(datasette).values())
    chosen = archives.chosen(datasette, [asked.given.get("project", "")])
    if not asked.text and not any(asked.filters) and not asked.problem:
        return await pages.render(datasette, request, "search", asked=asked, examples=EXAMPLES, **_choices(asked))
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
    return await pages.render(
        datasette,
        request,
        "search",
        asked=asked,
        answer=answer,
        highlighted=highlighted,
        kind=_kind,
        facets=_facets(asked, answer, every, chosen),
        total=_total(answer, chosen),
        behind=(sum(job.done for job in behind), sum(job.total for job in behind)) if behind else None,
        problems=[problem for problem in (asked.problem, *problems) if problem],
        hint=_hint(asked.text),
        link=lambda **changes: pages.address("search", **{**asked.given, **changes}),
        **_choices(asked),
    )


async def _scanned(datasette: Any, request: Any, asked: Asked, chosen: list[Archive], every: list[Archive]) -> Response:
    """What a look at everything finds, as far as it comes in time; the next page goes on from there."""
    starts = _positions(request.args.get("from") or "")
    going = [archive for archive in chosen if not starts or archive.name in starts]

    def look(tell: later.Tell) -> list[scanning.Found]:
        return [
            scanning.look(
                archive.place,
                asked.text,
                asked.mode == "regex",
                asked.filters,
                starts.get(archive.name, scanning.START),
                SHOWN,
                SCAN_SECONDS / len(going),
            )
            for archive in going
        ]

    problem, found = asked.problem, []
    job = await later.ask(("scan", *asked.given.items(), *starts.items()), look)
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
    answer = Answer(await asyncio.to_thread(_grouped, hits, by_file), None, {}, False)
    return await pages.render(
        datasette,
        request,
        "search",
        asked=asked,
        answer=answer,
        highlighted=highlighted,
        kind=_kind,
        facets=[],
        total=f"{len(hits)}{'+' if onwards else ''}",
        looking=not job.is_done,
        onwards=onwards,
        back_to=max((one.back_to for _, one in unfinished), default=""),
        problems=[problem] if problem else [],
        hint="",
        link=lambda **changes: pages.address("search", **{**asked.given, **changes}),
        **_choices(asked),
    )


def _positions(text: str) -> dict[str, scanning.Position]:
    """Where to go on in each archive: name:event:message, with commas between."""
    found = re.findall(r"([^,:]+):(\d{1,19}):(\d{1,19})", text)
    return {name: (int(event), int(message)) for name, event, message in found}


def highlighted(hit: search.Hit) -> Markup:
    """The snippet, its words marked."""
    pieces, end = Markup(""), 0
    for start, stop in hit.marks:
        pieces += escape(terminal.safe(hit.snippet[end:start]))
        pieces += Markup("<mark>{}</mark>").format(terminal.safe(hit.snippet[start:stop]))
        end = stop
    return pieces + escape(terminal.safe(hit.snippet[end:]))


async def catch_up(archive: Archive) -> later.Job[None]:
    """Let the index take in what is new; a long way to go is gone in the background."""

    def work(tell: later.Tell) -> None:
        with closing(reading.connect(archive.place)) as connection:
            index.catch_up(archive.place, connection, tell)

    return await later.ask(("index", archive.place.db), work)


def is_ready(archive: Archive, job: later.Job[None]) -> bool:
    """Whether the index can be asked, be it behind."""
    if job.is_done:
        return job.future.exception() is None
    with closing(archives.connect(archive)) as connection:
        return index.can_be_asked(archive.place, connection)


def _problem(archive: Archive, job: later.Job[None]) -> str | None:
    error = job.future.exception() if job.is_done else None
    return f"{archive.label} cannot be searched: {error}" if error else None


def _asked(request: Any) -> Asked:
    args = request.args
    given = {name: value for name in PARAMETERS if (value := (args.get(name) or "").strip()[:LONGEST_QUESTION])}
    limits, problem = {}, ""
    for name in ("since", "until"):
        text = given.get(name, "")
        day = "T23:59:59.999" if name == "until" and len(text) == 10 else ""  # a last day is meant as a whole
        try:
            limits[name] = when.parse(text + day) if text else None
        except SessionlogError as error:
            problem = str(error)
            del given[name]
    plain = {name: given.get(name) for name in FILTERS}
    filters = search.Filters(**plain, **limits, failed=bool(given.get("failed")))
    position = re.fullmatch(r"(\d{1,19})-(.*)", args.get("before") or "")
    mode = given.get("mode", "") if given.get("mode") in dict(MODES) else ""
    if "q" in given and not mode and not words.terms(given["q"]):
        mode = "exact"  # signs alone are in no index
    if "q" not in given:
        mode = ""
    before, of_archive = (int(position[1]), position[2]) if position else (search.LAST_KEY, "")
    return Asked(given.get("q", ""), filters, given.get("sort") == "best", before, of_archive, given, problem, mode)


def _answer(asked: Asked, chosen: list[Archive], every: list[Archive]) -> Answer:
    by_file = {archive.place.db: archive for archive in chosen}
    streams = [
        search.find(
            archive.place,
            asked.text,
            asked.filters,
            best_first=asked.best_first,
            before=_before(asked, archive),
            as_it_is=True,
            seconds=SECONDS,
        )
        for archive in chosen
    ]
    hits: list[search.Hit] = []
    cut = False
    try:
        for hit in itertools.islice(search.merged(streams, asked.best_first), SHOWN + 1):
            hits.append(hit)
    except TookTooLong:
        cut = True
    finally:
        for stream in streams:
            stream.close()
    more = None
    if len(hits) > SHOWN and not asked.best_first:
        more = f"{hits[SHOWN - 1].key}-{by_file[hits[SHOWN - 1].place.db].name}"
    counts = {archive.name: facets.count(archive.place, asked.text, asked.filters) for archive in every}
    return Answer(_grouped(hits[:SHOWN], by_file), more, counts, cut)


def _before(asked: Asked, archive: Archive) -> int:
    """Where to go on: hits of the same moment come in the order of their archives' names."""
    return asked.before + (asked.before < search.LAST_KEY and archive.name > asked.of_archive)


def _grouped(hits: Iterable[search.Hit], by_file: dict[str, Archive]) -> list[Group]:
    groups: dict[tuple[str, str], Group] = {}
    for hit in hits:
        key = (hit.place.db, hit.row["session_id"])
        if key not in groups:
            with closing(reading.connect(hit.place)) as connection:
                query = "SELECT * FROM session_summary WHERE session_id = ?"
                session = connection.execute(query, (key[1],)).fetchone()
            session = session or {
                "session_id": key[1],
                "title": None,
                "first_prompt": None,
                "started_at": hit.row["at"],
            }
            title = overview.Overview(session, hit.place.project, []).title
            groups[key] = Group(by_file[hit.place.db], session, title, [])
        groups[key].hits.append(hit)
    return list(groups.values())


def _kind(hit: search.Hit) -> tuple[str, str]:
    """What a hit is: in a word, and the class that colours it."""
    row = hit.row
    if row["tool_name"]:
        return str(row["tool_name"]), "tool"
    name = row["kind"] if hit.is_message else row["event"]
    role = index.role_of_message(name, row["role"]) if hit.is_message else index.role_of_event(name, None)
    told = {"UserPromptSubmit": "prompt", "Stop": "answer", "SubagentStop": "sub-agent", "text": "answer"}
    return told.get(name, str(name)), {"user": "prompt", "assistant": "answer"}.get(role, "")


def _total(answer: Answer, chosen: list[Archive]) -> str:
    return _number([answer.counts[archive.name] for archive in chosen if archive.name in answer.counts])


def _number(counts: list[facets.Counts]) -> str:
    """12, or 1,000+ if there are more than were counted."""
    return f"{sum(count.total for count in counts):,}{'' if all(count.is_all for count in counts) else '+'}"


def _facets(asked: Asked, answer: Answer, every: list[Archive], chosen: list[Archive]) -> list[Facet]:
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
        labels = ROLES if kind == "role" else {}
        values = [
            Value(labels.get(value, value), value, f"{number:,}{more}", value.lower() == current.lower())
            for value, number in found.most_common()
        ]
        kept = [value for number, value in enumerate(values) if number < FACET_VALUES or value.is_set]
        if kept:
            shown.append(Facet(kind, TITLES[kind], kept, len(values) - len(kept)))
    return shown


def _choices(asked: Asked) -> dict[str, Any]:
    """What the form offers."""
    times = list(TIMES)
    since = asked.given.get("since", "")
    if since not in dict(times):
        times.append((since, f"Since {since}"))
    return {"times": times, "modes": MODES}


def _hint(text: str) -> str:
    if re.search(r"(^|\s)-\w", text):
        return 'A word after - is one that must not occur; put code into double quotes: "ls -la".'
    return ""
