"""The time to the first byte of every page on a big archive, a long session in a tab, a writer meanwhile: docs/web.md.

python -m bench.web                        # 1,000,000 events, 5,000 sessions and one of 20,000 events; 10 minutes
python -m bench.web --events 100000 --no-report
python -m bench.web --events 4000 --only-tab   # the long session in a browser alone
"""

import argparse
import multiprocessing
import random
import sqlite3
import statistics
import time
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlencode

from bench import archives, corpus, report, tab
from bench.archives import Archive
from bench.processes import Answer, Server, browsing
from bench.report import milliseconds
from sessionlog.archive import append, lookup, read, sidecar
from sessionlog.archive.event import normalise
from sessionlog.archive.place import Place
from sessionlog.ask import audit, warm
from sessionlog.ask.rollup import open as rollup

LONG, LONG_EVENTS = "long-session", 20_000
LIMIT, HOME_LIMIT = 0.3, 0.15  # seconds
RATE = 100  # events a second


class Page(NamedTuple):
    """A page, its address, and how long its first byte may take."""

    name: str
    path: str
    limit: float = LIMIT


def pages(found: Archive) -> list[Page]:
    """Every kind of page, with what this archive holds."""
    database = found.place.name
    with closing(read.connect(found.place)) as connection:
        sessions = [row["session_id"] for row in lookup.sessions(connection, 40)]
        session = next(name for name in sessions[len(sessions) // 2 :] if name != LONG)
        middle = _middle(connection, session)
        far = _middle(connection, LONG)
        (file_path,) = connection.execute(
            "SELECT file_path FROM events WHERE file_path IS NOT NULL ORDER BY id DESC LIMIT 1"
        ).fetchone()
    of_session, of_long = f"/-/session/{database}/{session}", f"/-/session/{database}/{LONG}"
    file_query = urlencode({"project": database, "path": file_path})
    return [
        Page("home", "/", HOME_LIMIT),
        Page("sessions of all projects", "/-/sessions"),
        Page("sessions of a project", f"/-/sessions/{database}"),
        *(
            Page(f"sessions, sorted by {column}", f"/-/sessions/{database}?sort={column}")
            for column in ("tokens", "failures")
        ),
        Page("sessions, filtered by tool", f"/-/sessions/{database}?tool=Write"),
        Page("sessions, filtered by text", f"/-/sessions/{database}?{urlencode({'q': '按钮'})}"),
        Page("a session", of_session),
        Page("a session in its middle", f"{of_session}?at=e{middle}"),
        Page(f"a session of {LONG_EVENTS:,} events", of_long),
        Page("the same in its middle", f"{of_long}?at=e{far}"),
        Page("search, a word", "/-/search?q=handler"),
        Page("search, two Chinese characters", f"/-/search?q={quote('按钮')}"),
        Page("search, filtered", f"/-/search?{urlencode({'q': 'handler', 'tool': 'Bash'})}"),
        Page("search, nothing found", "/-/search?q=nowheretobefound"),
        Page("files", "/-/files"),
        Page("files of a project", f"/-/files?project={database}"),
        Page("a file", f"/-/files?{file_query}"),
        Page("dashboard", "/-/dashboard"),
        Page("audits", "/-/audits"),
        *(Page(f"audit {name}", f"/-/audits/{name}") for name in audit.audits()),
        Page("Datasette: database", f"/{database}"),
        Page("Datasette: events", f"/{database}/events"),
        Page("Datasette: events, filtered", f"/{database}/events?event=PostToolUse&tool_name=Edit"),
        Page("Datasette: events of a session", f"/{database}/events?session_id={session}"),
        Page("Datasette: sessions", f"/{database}/sessions"),
    ]


def _middle(connection: sqlite3.Connection, session_id: str) -> int:
    ids = [row["id"] for row in lookup.events(connection, session_id)]
    return int(ids[len(ids) // 2])


class Times(NamedTuple):
    """What a page took, over several loads; its status is the worst of them."""

    status: int
    middle: float
    worst: float
    size: int


def load(server: Server, page: Page, loads: int, patience: float) -> Times:
    """Load a page so often, after once to warm up; a slow one less often."""
    first = server.get(page.path, patience)
    answers = [first] if first.first_byte > patience / 4 else [server.get(page.path, patience) for _ in range(loads)]
    return Times(_status(answers), *_times(answers), answers[0].size)


def _status(answers: list[Answer]) -> int:
    return next((answer.status for answer in answers if answer.status != 200), 200)


def _times(answers: list[Answer]) -> tuple[float, float]:
    times = [answer.first_byte for answer in answers]
    return statistics.median(times), max(times)


class Written(NamedTuple):
    """What the writer did: how many events, how many were refused, and how long each took."""

    seconds: float
    refusals: list[str]
    times: list[float]


def write_until_told(place: Place, rate: float, pipe: Connection) -> None:
    """Append events as a hook does, with its patience, a connection for each; ends when something comes by the pipe."""
    rng = random.Random(5)
    refusals, times = [], []
    started = time.perf_counter()
    while not pipe.poll(max(0.0, started + len(times) / rate - time.perf_counter())):
        at_ms = time.time_ns() // 1_000_000
        row = normalise(corpus.payload("Bash", 1500, rng, "written-meanwhile"), at_ms=at_ms, via="bench")
        begun = time.perf_counter()
        try:
            connection = append.open_for_writing(place)
            try:
                append.append(connection, row, at_ms)
                append.let_go(connection, place)
            finally:
                connection.close()
        except Exception as error:
            refusals.append(f"{type(error).__name__}: {error}")
        times.append(time.perf_counter() - begun)
    pipe.send(Written(time.perf_counter() - started, refusals, times))


def _told(written: Written) -> str:
    middle, late = (milliseconds(report.percentile(written.times, share)) for share in (0.5, 0.99))
    worst = milliseconds(max(written.times, default=0))
    reason = f" (the first: {written.refusals[0]})" if written.refusals else ""
    return (
        f"A writer appended {len(written.times):,} events at {len(written.times) / written.seconds:.0f} a second while "
        f"the pages were loaded: **{len(written.refusals)} refused**{reason}; p50 {middle}, p99 {late}, worst {worst}."
    )


def _address(server: Server, found: Archive) -> str:
    return server.address(f"/-/session/{found.place.name}/{LONG}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--events", type=int, default=1_000_000, help="in sessions of 200")
    parser.add_argument("--loads", type=int, default=7, help="of each page")
    parser.add_argument("--seconds", type=float, default=60, help="of loading pages while events are written")
    parser.add_argument("--patience", type=float, default=30, help="seconds for one page")
    parser.add_argument("--steps", type=int, default=LONG_EVENTS, help="through the long session in a browser")
    parser.add_argument("--folder", type=Path, help="where the archive is made, and found again")
    parser.add_argument("--only-tab", action="store_true", help="the long session in a browser alone; print only")
    parser.add_argument("--no-report", action="store_true", help="print only; docs/ stays as it is")
    options = parser.parse_args()
    folder = options.folder or archives.temporary(f"web-{options.events}")
    found = archives.archive_of(folder, options.events)
    archives.add_session(found, LONG, LONG_EVENTS)
    if options.only_tab:
        with browsing(found.env, folder) as server:
            print(tab.as_text(tab.measure(_address(server, found), options.steps), LONG_EVENTS))
        return
    asked = pages(found)
    rows = []
    failed = 0
    context = multiprocessing.get_context("spawn")
    sidecar.forget(found.place, [rollup.KIND.ending])
    with browsing(found.env, folder) as server:
        begun = time.monotonic()
        first = server.get("/", options.patience)
        report.progress(f"the first look at home took {milliseconds(first.first_byte)}; now everything is counted")
        while server.get("/-/counting").status != 204:
            time.sleep(0.5)
        counted = time.monotonic() - begun
        report.progress("the search index is made")
        warm.bring_up_to_date(found.place)
        quiet = []
        for page in asked:
            quiet.append(load(server, page, options.loads, options.patience))
            report.progress(f"{page.name}: {quiet[-1].status}, {milliseconds(quiet[-1].middle)}")
        report.progress(f"a browser goes through the session of {LONG_EVENTS:,} events")
        in_tab = tab.measure(_address(server, found), options.steps)
        ours, theirs = context.Pipe()
        writer = context.Process(target=write_until_told, args=(found.place, RATE, theirs))
        writer.start()
        report.progress(f"once more, while {RATE} events a second are written")
        busy: list[list[Times]] = [[] for _ in asked]
        enough = time.monotonic() + options.seconds
        while not busy[-1] or time.monotonic() < enough:
            for page, times in zip(asked, busy, strict=True):
                times.append(load(server, page, options.loads, options.patience))
            report.progress(f"round {len(busy[0])} of pages is done")
        ours.send("enough")
        written: Written = ours.recv()
        writer.join()
        memory = server.memory()
    for page, still, moving in zip(asked, quiet, busy, strict=True):
        kept = still.status == 200 and still.middle <= page.limit
        failed += not kept
        verdict = "" if kept else "MISSED" if still.status == 200 else f"status {still.status}"
        middle, worst = statistics.median(each.middle for each in moving), max(each.worst for each in moving)
        columns = [milliseconds(took) for took in (still.middle, still.worst, middle, worst)]
        rows.append([page.name, *columns, milliseconds(page.limit), f"{still.size / 1000:,.0f} KB", verdict])
    head = ["page", "p50", "worst", "p50, written to", "worst, written to", "limit", "size", ""]
    text = "\n\n".join(
        (
            f"{report.circumstances('web')}: {options.events:,} events in "
            f"{options.events // 200:,} sessions and one of {LONG_EVENTS:,}, {found.size() / 1e6:,.0f} MB. Time to the "
            f"first byte, warm, {options.loads} loads of each page, each over a new connection.",
            report.table(head, rows),
            f"{len(asked) - failed} of {len(asked)} pages keep their limit. The server took {memory / 1e6:.0f} MB.",
            f"The first home page, before anything is counted, took {milliseconds(first.first_byte)}: it shows the "
            f"sessions, and how far counting is. All was counted after {milliseconds(counted)}.",
            _told(written),
            tab.as_text(in_tab, LONG_EVENTS),
        )
    )
    print(text)
    if not options.no_report:
        report.write("web.md", "How fast the pages are", text)


if __name__ == "__main__":
    main()
