"""Thirty sessions at once for ten minutes, while pages load, searches run and transcripts are imported: docs/load.md.

python -m bench.load                                             # 30 sessions, 10 minutes, 50 events a second
python -m bench.load --minutes 1 --sessions 8 --rate 10 --no-report

Every event goes through a hook process of its own. What exited 0 must be in the archive once, by its own id.
"""

import argparse
import importlib
import itertools
import json
import os
import random
import shutil
import sqlite3
import statistics
import subprocess
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from bench import archives, corpus, report
from bench.archives import Archive
from bench.hook import BARE, as_json, handler
from bench.processes import SESSIONLOG, Server, browsing, timed
from bench.report import milliseconds, percentile
from sessionlog.archive import place as projects
from sessionlog.ask.search import index

BEFORE = 20_000  # events in the archive when it begins
GROWING = 8  # transcripts that are written to
STOP_EVERY = 20  # events of a session; a Stop starts an importer
HOOK_PATIENCE = 60  # seconds; a hook that takes longer counts as one that blocked its session
SEARCHES = ("按钮", "handler archive", "handl*", "数据 测试")


class Fired(NamedTuple):
    """One hook: when after the start, how long, how it ended, the id of its event, and what it said on stderr."""

    at: float
    seconds: float
    code: int | None
    identity: str
    said: str


class Sample(NamedTuple):
    """How big things are at one moment, in bytes."""

    at: float
    db: int
    wal: int
    spool: int
    memory: int


class Work:
    """Everything that goes on at the same time, and what was seen of it."""

    def __init__(self, found: Archive, server: Server, sessions: int, rate: float, seconds: float) -> None:
        self.found, self.server, self.sessions, self.rate, self.seconds = found, server, sessions, rate, seconds
        self.hook = handler()
        self.transcripts = found.folder / ".claude" / "projects" / "-shop"
        self.transcripts.mkdir(parents=True, exist_ok=True)
        self.ids = [str(uuid.UUID(int=random.Random(number).getrandbits(128))) for number in range(sessions)]
        self.fired: list[Fired] = []
        self.bare: list[tuple[float, float]] = []
        self.pages: list[tuple[float, float, int]] = []
        self.commands: dict[str, list[tuple[float, int | None]]] = {"search": [], "import": []}
        self.samples: list[Sample] = []
        self.busy: list[tuple[float, float, float]] = []
        self.skipped = 0
        self.started = time.perf_counter()

    def now(self) -> float:
        return time.perf_counter() - self.started

    def run(self) -> None:
        """All of it, until the time is up."""
        every: list[tuple[float, Callable[[int], None]]] = [
            (2, self.start_bare),
            (1, self.load_page),
            (5, self.search),
            (10, self.import_),
            (1, self.grow),
            (2, self.sample),
        ]
        threads = [threading.Thread(target=self.session, args=(number,)) for number in range(self.sessions)]
        threads += [threading.Thread(target=self.again, args=pair) for pair in every]
        self.started = time.perf_counter()
        for thread in threads:
            thread.start()
        while (now := self.now()) < self.seconds:
            time.sleep(min(10, self.seconds - now))
            report.progress(f"{self.now():.0f} of {self.seconds:.0f} s: {len(self.fired):,} events")
        for thread in threads:
            thread.join()

    def again(self, pause: float, work: Callable[[int], None]) -> None:
        """Do it, wait, do it again; what takes long is not done twice at once."""
        for number in itertools.count():
            work(number)
            if self.now() + pause >= self.seconds:
                return
            time.sleep(pause)

    # --- A session: one hook after the other, as Claude Code waits for each ------------------------------------------

    def session(self, number: int) -> None:
        rng = random.Random(1000 + number)
        turn = number
        for count in itertools.count(1):
            planned = turn / self.rate
            if planned >= self.seconds:
                return
            late = self.now() - planned
            if late > 1:  # the machine cannot keep up: what was planned meanwhile is left out, and said
                missed = int(late * self.rate / self.sessions)
                turn += missed * self.sessions
                self.skipped += missed
            elif late < 0:
                time.sleep(-late)
            self.fired.append(self.fire(*self.event(number, count, rng)))
            turn += self.sessions

    def event(self, number: int, count: int, rng: random.Random) -> tuple[bytes, str]:
        """A payload, and how it is recognised."""
        session_id = self.ids[number]
        payload = corpus.payload(rng.choice(corpus.KINDS), min(int(rng.lognormvariate(7, 1)), 60_000), rng, session_id)
        payload["transcript_path"] = str(self.transcripts / f"{session_id}.jsonl")
        if count % STOP_EVERY == 0:
            for key in [key for key in payload if key.startswith(("tool_", "prompt", "error", "duration"))]:
                del payload[key]
            payload |= {"hook_event_name": "Stop", "last_assistant_message": f"answer {number}.{count}"}
        identity = payload.get("tool_use_id") or payload.get("prompt_id") or payload["last_assistant_message"]
        return as_json(payload), str(identity)

    def fire(self, data: bytes, identity: str) -> Fired:
        at = self.now()
        begun = time.perf_counter()
        try:
            done = subprocess.run(
                self.hook,
                input=data,
                env=self.found.env,
                cwd=self.found.place.project,
                capture_output=True,
                check=False,
                timeout=HOOK_PATIENCE,
            )
        except subprocess.TimeoutExpired:
            return Fired(at, HOOK_PATIENCE, None, identity, "")
        said = (done.stderr + done.stdout).decode(errors="replace").strip()
        return Fired(at, time.perf_counter() - begun, done.returncode, identity, said)

    # --- What else goes on -------------------------------------------------------------------------------------------

    def start_bare(self, _: int) -> None:
        at, begun = self.now(), time.perf_counter()
        subprocess.run(BARE, env=self.found.env, input=b"", capture_output=True, check=True)
        self.bare.append((at, time.perf_counter() - begun))

    def load_page(self, number: int) -> None:
        database = self.found.place.name
        paths = (
            "/",
            f"/-/sessions/{database}",
            f"/-/session/{database}/{self.ids[number % self.sessions]}",
            "/-/search?q=handler",
            "/-/dashboard",
            f"/{database}/events",
        )
        at = self.now()
        answer = self.server.get(paths[number % len(paths)], 60)
        self.pages.append((at, answer.first_byte, answer.status))

    def search(self, number: int) -> None:
        done = timed([*SESSIONLOG, "search", SEARCHES[number % len(SEARCHES)]], self.found.env, 120)
        self.commands["search"].append((done.seconds, done.code))

    def import_(self, _: int) -> None:
        done = timed([*SESSIONLOG, "import", "--quiet", str(self.transcripts.parent)], self.found.env, 120)
        self.commands["import"].append((done.seconds, done.code))

    def grow(self, number: int) -> None:
        """One more turn in one of the transcripts."""
        lines = importlib.import_module("bench.import").lines  # a keyword cannot be imported by its name
        session_id = self.ids[number % min(GROWING, self.sessions)]
        entries = lines(random.Random(number), session_id, time.time_ns() // 1_000_000)
        text = "".join(json.dumps(entry, ensure_ascii=False, separators=(",", ":")) + "\n" for entry in entries)
        with open(self.transcripts / f"{session_id}.jsonl", "ab") as file:
            file.write(text.replace("/home/dev/shop", self.found.place.project).encode())

    def sample(self, _: int) -> None:
        db = self.found.place.db
        spool = sum(map(_size, projects.spool_paths(self.found.place)))
        self.samples.append(Sample(self.now(), _size(db), _size(f"{db}-wal"), spool, self.server.memory()))
        self.busy.append((self.now(), *_processor()))


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _processor() -> tuple[float, float]:
    """Ticks of the processors in all, and of them idle; zeros where there is no /proc."""
    try:
        with open("/proc/stat") as file:
            ticks = [float(text) for text in file.readline().split()[1:9]]
    except OSError:
        return 0.0, 0.0
    return sum(ticks), ticks[3] + ticks[4]


# --- What came of it --------------------------------------------------------------------------------------------------


class Stored(NamedTuple):
    """What the archive holds of the events that were fired."""

    lost: list[str]
    refused: list[str]
    twice: int
    waiting: int
    messages: int
    integrity: str


def look(work: Work) -> Stored:
    """Let what waits come home, and compare."""
    place = work.found.place
    rng = random.Random(77)
    deadline = time.monotonic() + 60
    while True:
        waiting = len(projects.waiting_spools(place))
        if not waiting or time.monotonic() > deadline:
            break
        work.fire(as_json(corpus.payload("Bash", 500, rng, "afterwards")), "")
    with closing(sqlite3.connect(place.db)) as connection:
        marks = ", ".join("?" * len(work.ids))
        rows = connection.execute(
            "SELECT coalesce(tool_use_id, iif(event = 'Stop', last_assistant_message, prompt_id)) FROM events "
            f"WHERE session_id IN ({marks})",
            work.ids,
        )
        stored = Counter(identity for (identity,) in rows)
        (messages,) = connection.execute("SELECT count(*) FROM transcript_parts").fetchone()
        (integrity,) = connection.execute("PRAGMA quick_check").fetchone()
    missing = [fired for fired in work.fired if not stored[fired.identity]]
    lost = [fired.identity for fired in missing if fired.code == 0]
    refused = [fired.identity for fired in missing if fired.code != 0]
    return Stored(lost, refused, sum(count > 1 for count in stored.values()), waiting, messages, integrity)


def by_time(work: Work, step: float) -> tuple[list[list[Any]], dict[str, list[float | None]]]:
    """A row for each stretch of time, and the lines of the picture."""
    rows: list[list[Any]] = []
    lines: dict[str, list[float | None]] = {}
    for number in range(round(work.seconds / step)):
        low, high = number * step, (number + 1) * step
        hooks = [fired.seconds for fired in work.fired if low <= fired.at < high]
        bare = [seconds for at, seconds in work.bare if low <= at < high]
        loaded = [seconds for at, seconds, _ in work.pages if low <= at < high]
        samples = [sample for sample in work.samples if low <= sample.at < high] or work.samples[-1:]
        ticks = [each for each in work.busy if low <= each[0] < high]
        all_ticks = ticks[-1][1] - ticks[0][1] if ticks else 0
        busy = 1 - (ticks[-1][2] - ticks[0][2]) / all_ticks if all_ticks else float("nan")
        shares = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
        times = {f"hook {name}": percentile(hooks, share) for name, share in shares.items()}
        times["bare interpreter p50"] = percentile(bare, 0.5)
        times["page p50"] = percentile(loaded, 0.5)
        for name, value in times.items():
            lines.setdefault(name, []).append(value * 1000)
        last, greatest_wal = samples[-1], max(sample.wal for sample in samples)
        rows.append(
            [
                f"{low:.0f}–{high:.0f} s",
                f"{len(hooks) / step:.1f}",
                *(milliseconds(value) for value in times.values()),
                f"{busy:.0%}",
                f"{last.db / 1e6:.0f} MB",
                f"{greatest_wal / 1e6:.1f} MB",
                f"{last.spool / 1e3:.0f} KB",
                f"{last.memory / 1e6:.0f} MB",
            ]
        )
    return rows, lines


def summary(work: Work, stored: Stored) -> str:
    """What it comes to, in sentences."""
    fired = len(work.fired)
    codes = Counter(each.code for each in work.fired)
    ends = {None: f"ended after {HOOK_PATIENCE} s"}
    others = ", ".join(f"{count} {ends.get(code, f'exit {code}')}" for code, count in codes.items() if code != 0)
    spooled = sum(1 for each in work.fired if each.code == 0 and each.said)
    pages = [seconds for _, seconds, status in work.pages if status == 200]
    bad = Counter(status for *_, status in work.pages if status != 200)
    first, last = work.samples[0], work.samples[-1]
    sentences = [
        f"- **{fired / work.seconds:.1f} events a second** were reached of {work.rate:g} asked for: {fired:,} hooks in "
        f"{work.seconds / 60:g} minutes; {work.skipped:,} were left out because their session still waited.",
        f"- **Lost: {len(stored.lost)}** of the {codes[0]:,} events whose hook exited 0, each looked for by its id. "
        f"Stored twice: {stored.twice}. Still waiting in a spool afterwards: {stored.waiting}. Check of the database: "
        f"{stored.integrity}.",
        f"- **Not kept, and said so: {len(stored.refused)}** (hooks that ended otherwise: {others or 'none'}).",
        f"- Spooled: {spooled:,} hooks found the database busy and kept their event in the spool.{_most_said(work)}",
        f"- Pages: {len(pages):,} loads, p50 {milliseconds(percentile(pages, 0.5))}, p99 "
        f"{milliseconds(percentile(pages, 0.99))} to the first byte; other answers than 200: {dict(bad) or 'none'}.",
        f"- Database {first.db / 1e6:.0f} → {last.db / 1e6:.0f} MB, its log at most "
        f"{max(sample.wal for sample in work.samples) / 1e6:.1f} MB, search index "
        f"{_size(index.path_of(work.found.place)) / 1e6:.0f} MB. Memory of `browse` {first.memory / 1e6:.0f} → "
        f"{last.memory / 1e6:.0f} MB, at most {max(sample.memory for sample in work.samples) / 1e6:.0f} MB.",
    ]
    for name, runs in work.commands.items():
        seconds = [took for took, _ in runs]
        failures = sum(code != 0 for _, code in runs)
        sentences.append(
            f"- `sessionlog {name}`: {len(runs)} times, p50 {milliseconds(percentile(seconds, 0.5))}, worst "
            f"{milliseconds(max(seconds, default=float('nan')))}; failed: {failures}."
        )
    sentences.append(f"- {stored.messages:,} messages came from the {GROWING} transcripts that grew meanwhile.")
    return "\n".join(sentences)


def _most_said(work: Work) -> str:
    said = Counter(each.said.splitlines()[0] for each in work.fired if each.said)
    return f" Said most: “{said.most_common(1)[0][0][:160].replace(str(work.found.folder), '…')}”." if said else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--sessions", type=int, default=30)
    parser.add_argument("--rate", type=float, default=50, help="events a second, of all sessions together")
    parser.add_argument("--events", type=int, default=BEFORE, help="in the archive when it begins")
    parser.add_argument("--no-report", action="store_true", help="print only; docs/ stays as it is")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="sessionlog-load-"))
    try:
        found = archives.archive_of(folder / "load", options.events)
        os.environ.update(found.env)
        timed([*SESSIONLOG, "search", SEARCHES[0], "--wait"], found.env, 600)  # makes the index of what is there
        with browsing(found.env, found.folder) as server:
            work = Work(found, server, options.sessions, options.rate, options.minutes * 60)
            work.run()
            time.sleep(5)  # the last importers that hooks started
            stored = look(work)
        step = 60.0 if options.minutes >= 5 else 10.0
        rows, lines = by_time(work, step)
        floor = statistics.median(seconds for _, seconds in work.bare)
        middle = statistics.median(each.seconds for each in work.fired)
        head = ["time", "events/s", *lines, "CPU", "database", "log", "spool", "browse"]
        text = "\n\n".join(
            (
                f"{report.circumstances('load')}: {options.sessions} sessions, {options.minutes:g} minutes, "
                f"{options.rate:g} events a second asked for, {options.events:,} there before.",
                "![Milliseconds over time](load.svg)",
                summary(work, stored),
                f"A hook took {middle / floor:.2f} x of a bare interpreter started amid the same load (medians).",
                report.table(head, rows),
            )
        )
        print(text)
        if not options.no_report:
            report.write("load.md", "Under load", text)
            labels = [f"{(number + 1) * step / 60:.3g}" for number in range(len(rows))]
            report.picture("load.svg", "Milliseconds under load", "minutes", labels, lines, logarithmic=True)
        if stored.lost or stored.refused or stored.waiting:
            raise SystemExit(1)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
