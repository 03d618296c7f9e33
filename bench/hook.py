"""What one hook costs, beside a bare interpreter and two plain loggers, all in the same run.

python -m bench.hook            # 100,000 events in the archive, 2 KB, 200 KB and 5 MB events, a burst of 400
python -m bench.hook --quick    # a tenth of it
python -m bench.hook --instructions  # instead of times, instructions counted by valgrind: no noise
"""

import argparse
import json
import os
import random
import shlex
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from bench import corpus
from sessionlog.record import bundle
from sessionlog.record.spawn_import import OPTIONS

ROOT = Path(__file__).resolve().parent.parent
PYTHON = [sys.executable, *OPTIONS]
BARE = [sys.executable, "-I", "-S", "-c", "pass"]
WRITERS, EACH = 16, 25  # of a burst
PATIENCE = 120  # seconds for one hook
COST_PATIENCE = 120  # seconds for all of one size; a slow logger is measured less often
BURST_PATIENCE = 240  # seconds; what a slow logger has not begun by then is left out

PLAIN_LOGGER = """
import json, os, sqlite3, sys
payload = json.load(sys.stdin)
db = sqlite3.connect(os.environ["PLAIN_DB"], timeout=5)
db.execute("PRAGMA journal_mode = WAL")
db.execute("CREATE TABLE IF NOT EXISTS events (id INTEGER PRIMARY KEY, session_id TEXT, event TEXT, payload TEXT)")
db.execute("INSERT INTO events (session_id, event, payload) VALUES (?, ?, ?)",
           (payload["session_id"], payload["hook_event_name"], json.dumps(payload)))
db.commit()
"""
SHELL_LOGGER = """
payload=$(cat); escaped=${payload//\\'/\\'\\'}
printf "CREATE TABLE IF NOT EXISTS events (id INTEGER PRIMARY KEY, payload TEXT);
INSERT INTO events (payload) VALUES ('%s');" "$escaped" | sqlite3 "$PLAIN_DB"
"""

Logger = tuple[list[str], Path, Callable[[], int]]


def handler(name: str = "any_event.py", *arguments: str) -> list[str]:
    """The command that runs a handler, after its modules were bundled as `sessionlog install` does it."""
    bundle.bring_up_to_date()
    return [*PYTHON, str(ROOT / "hooks" / name), *arguments]


def run(command: list[str], data: bytes, env: dict[str, str]) -> float:
    """Until the process has ended and its pipes are closed, in the folder of the project, as Claude Code does it."""
    started = time.perf_counter()
    place = env["CLAUDE_PROJECT_DIR"]
    done = subprocess.run(command, input=data, env=env, cwd=place, capture_output=True, check=False, timeout=PATIENCE)
    seconds = time.perf_counter() - started
    assert done.stdout == b"", done.stdout
    return seconds


def loggers(folder: Path, place: corpus.projects.Place) -> dict[str, Logger]:
    """The command of each logger, its database, and how to count what it stored."""

    def stored(db: Path) -> Callable[[], int]:
        def count() -> int:
            with sqlite3.connect(db) as connection:
                return int(connection.execute("SELECT count(*) FROM events").fetchone()[0])

        return count

    plain, shell = folder / "plain.db", folder / "shell.db"
    found: dict[str, Logger] = {
        "sessionlog": (
            handler(),
            Path(place.db),
            lambda: corpus.count(place),
        ),
        "json + sqlite3": ([sys.executable, "-c", PLAIN_LOGGER], plain, stored(plain)),
    }
    if shutil.which("sqlite3") and shutil.which("bash"):
        found["bash + sqlite3 shell"] = (["bash", "-c", SHELL_LOGGER], shell, stored(shell))
    for db in (plain, shell):
        with sqlite3.connect(db) as connection:
            connection.execute(
                "CREATE TABLE events (id INTEGER PRIMARY KEY, session_id TEXT, event TEXT, payload TEXT)"
            )
    return found


class Cost(NamedTuple):
    """What a hook takes, and what a bare interpreter took in turns with it, in seconds."""

    median: float
    p95: float
    floor: float


def as_json(event: dict[str, Any]) -> bytes:
    return json.dumps(event, ensure_ascii=False).encode() + b"\n"


def cost(
    command: list[str], env: dict[str, str], size: int, repeats: int, form: Callable[[dict[str, Any]], bytes] = as_json
) -> Cost:
    """One logger by itself, in turns with the bare interpreter: what one does to the disk is not charged to others."""
    rng = random.Random(7)
    floor, times = [], []
    enough = time.perf_counter() + COST_PATIENCE
    for number in range(repeats):
        if len(times) >= 3 and time.perf_counter() > enough:
            break
        data = form(corpus.payload("Edit", size, rng, f"bench-{size}-{number % 7}"))
        floor.append(run(BARE, b"", env))
        times.append(run(command, data, env))
    return Cost(statistics.median(times), sorted(times)[int(len(times) * 0.95)], statistics.median(floor))


def latency(found: dict[str, Logger], env: dict[str, str], rounds: int) -> None:
    floors: list[float] = []
    print(f"{'':24}{'2 KB':>24}{'200 KB':>24}{'5 MB':>24}")
    for name, (command, db, _) in found.items():
        cells = []
        for size, repeats in ((2_000, rounds), (200_000, rounds // 2), (5_000_000, max(3, rounds // 15))):
            median, p95, floor = cost(command, {**env, "PLAIN_DB": str(db)}, size, repeats)
            floors.append(floor)
            cells.append(f"{median / floor:5.2f} x  p95 {p95 / floor:5.2f} x")
        print(f"{name:24}" + "".join(f"{cell:>24}" for cell in cells))
    print(f"(1 x = {statistics.median(floors) * 1000:.1f} ms, {' '.join(map(shlex.quote, BARE))})\n")


def at_once(
    command: list[str],
    env: dict[str, str],
    form: Callable[[dict[str, Any]], bytes] = as_json,
    writers: int = WRITERS,
    each: int = EACH,
) -> tuple[float, int]:
    """So many processes at once, each one event after the other; the seconds that took, and how many events it was."""
    rng = random.Random(8)
    batches = [
        [form(corpus.payload("Bash", 2_000, rng, f"burst-{writer}")) for _ in range(each)] for writer in range(writers)
    ]
    started = time.perf_counter()

    def write(batch: list[bytes]) -> int:
        for number, data in enumerate(batch):
            if time.perf_counter() - started > BURST_PATIENCE:
                return number
            try:
                run(command, data, env)
            except subprocess.TimeoutExpired:
                pass  # sent, and not stored: the count tells
        return len(batch)

    with ThreadPoolExecutor(writers) as pool:
        sent = sum(pool.map(write, batches))
    return time.perf_counter() - started, sent


def burst(found: dict[str, Logger], env: dict[str, str]) -> None:
    print(f"{WRITERS} processes x {EACH} events at once")
    for name, (command, db, stored) in found.items():
        before = stored()
        seconds, events = at_once(command, {**env, "PLAIN_DB": str(db)})
        print(f"{name:24}{events / seconds:8.0f} events/s   stored {stored() - before} of {events}")


def instructions(env: dict[str, str]) -> None:
    """What a hook executes in user space, for Claude Code and another agent, with and without the bundle."""
    with tempfile.TemporaryDirectory() as name:
        for folder in ("hooks", "sessionlog"):
            shutil.copytree(ROOT / folder, Path(name) / folder, ignore=shutil.ignore_patterns("*.bundle"))
        rows = {
            "sessionlog": handler("post_tool_use.py"),
            "without the bundle": [*PYTHON, f"{name}/hooks/post_tool_use.py"],
            "codex": handler("agent_event.py", "codex", "PostToolUse"),
        }
        floor = _count(BARE, b"", env)
        print(f"{'bare interpreter':24}{floor / 1e6:12.2f} M")
        for title, command in rows.items():
            cells = []
            for size in (2_000, 200_000):
                rng = random.Random(7)
                events = [as_json(corpus.payload("Edit", size, rng, title)) for _ in range(4)]
                for data in events[:-1]:  # the first ones open the archive
                    run(command, data, env)
                count = _count(command, events[-1], env)
                cells.append(f"{count / 1e6:12.2f} M {count / floor:6.3f} x")
            print(f"{title:24}" + "".join(cells))


def _count(command: list[str], data: bytes, env: dict[str, str]) -> int:
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command]
    done = subprocess.run(valgrind, input=data, env=env, cwd=env["CLAUDE_PROJECT_DIR"], capture_output=True, check=True)
    return int(done.stderr.rpartition(b"Collected : ")[2].split()[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="a tenth of the work")
    parser.add_argument("--instructions", action="store_true", help="count instructions (valgrind)")
    options = parser.parse_args()
    quick = options.quick or options.instructions
    if options.instructions and not shutil.which("valgrind"):
        parser.error("--instructions needs valgrind")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        project = folder / "project"
        project.mkdir()
        os.environ["SESSIONLOG_HOME"] = str(folder / "home")
        events = 10_000 if quick else 100_000
        place = corpus.fill(project, events)
        size = Path(place.db).stat().st_size / 1e6
        print(f"Python {sys.version.split()[0]}, SQLite {sqlite3.sqlite_version}; {events:,} events, {size:.0f} MB\n")
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "SESSIONLOG_HOME": str(folder / "home"),
            "CLAUDE_PROJECT_DIR": str(project),
            "LANG": "C.UTF-8",  # as in a terminal: a locale that Python loads when it starts, unless told not to
        }
        if options.instructions:
            instructions({**env, "SESSIONLOG_NO_FOLLOW": "1"})
            return
        found = loggers(folder, place)
        latency(found, env, rounds=20 if quick else 200)
        burst(found, env)


if __name__ == "__main__":
    main()
