"""How fast the archive answers, beside SQLite's LIKE and beside ripgrep over an export, on the same data.

python -m bench.ask                     # 1,000,000 events, made in a minute and kept in $TMPDIR for the next run
python -m bench.ask --events 100000
python -m bench.ask --events 10000000 --small
"""

import argparse
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from itertools import islice
from pathlib import Path

from bench import corpus
from sessionlog.archive import lookup, read, sidecar
from sessionlog.archive.place import Place
from sessionlog.ask.search import build, index
from sessionlog.ask.search import find as search

# A question of ours, and the substring that comes nearest to it for those who know nothing of words.
QUESTIONS = {
    "按钮": "按钮",
    "handler archive": "handler archive",
    "getUserName OR handler_42": "getUserName",
    "数据 测试": "数据 测试",
    "handl*": "handl",
}
TEXTS = ("prompt", "content", "old_string", "new_string", "command", "error", "tool_response")


def seconds(work: Callable[[], object], repeats: int = 5) -> float:
    """The best of a few tries."""
    best = float("inf")
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - started)
    return best


def command(*arguments: str) -> Callable[[], object]:
    full = [sys.executable, "-m", "sessionlog", *arguments]
    return lambda: subprocess.run(full, capture_output=True, check=True)


def archive(folder: Path, events: int, small: bool = False) -> Place:
    os.environ["SESSIONLOG_HOME"] = str(folder / "home")
    project = folder / "project"
    project.mkdir(parents=True, exist_ok=True)
    os.environ["CLAUDE_PROJECT_DIR"] = str(project)
    place = read.place_of()
    if not os.path.exists(place.db):
        print(f"Making {events:,} events …", flush=True)
        corpus.fill(project, events, small=small)
    return place


def first_index(place: Place) -> None:
    sidecar.forget(place)
    with closing(read.connect(place)) as connection:
        started, used = time.perf_counter(), time.process_time()
        build.catch_up(place, connection)
        took, used = time.perf_counter() - started, time.process_time() - used
    megabytes = Path(place.db).stat().st_size / 1e6
    size = Path(index.path_of(place)).stat().st_size / 1e6
    rates = f"{megabytes / took:6.1f} MB/s of archive, {megabytes / used:.1f} by processor time"
    print(f"first index        {took:8.1f} s   {rates}")
    print(f"its size           {size:8.0f} MB")


def searches(place: Place, export: Path | None) -> None:
    """The newest 20 hits by us; all hits by those who have no index, as they cannot know the newest before."""
    start_up = seconds(command("--version"))
    print(f"\n{'milliseconds':30}{'inside':>10}{'command':>10}{'sqlite3 LIKE':>15}{'rg':>10}")
    for question, nearest in QUESTIONS.items():
        inside = seconds(lambda question=question: list(islice(search.find(place, question), 20)))  # type: ignore[misc]
        outside = seconds(command("search", question)) - start_up
        others = f"{like(place, nearest) * 1000:15,.0f}"
        others += f"{ripgrep(export, nearest) * 1000:10,.0f}" if export else f"{'-':>10}"
        print(f"{f'search {question}':30}{inside * 1000:10.1f}{outside * 1000:10.0f}{others}")
    print(f"(a command: after the {start_up * 1000:.0f} ms that it takes to start; rg over the JSONL export)\n")


def like(place: Place, text: str) -> float:
    query = f"SELECT id FROM events WHERE {' OR '.join(f'{column} LIKE :text' for column in TEXTS)} ORDER BY id DESC"
    with closing(sqlite3.connect(place.db)) as connection:
        return seconds(lambda: connection.execute(query, {"text": f"%{text}%"}).fetchall(), 1)


def ripgrep(export: Path, text: str) -> float:
    """Finding nothing is exit code 1."""
    arguments = ["rg", "--fixed-strings", "--count", text, str(export)]
    return seconds(lambda: subprocess.run(arguments, capture_output=True, check=False), 2)


def exported(place: Place, folder: Path, events: int) -> Path | None:
    """All events as JSONL, for those who search files."""
    target = folder / "export.jsonl"
    if not target.exists():
        took = seconds(command("export", "--format", "jsonl", "-o", str(target)), 1)
        print(f"export             {took:8.1f} s   {events / took:,.0f} events/s")
    if shutil.which("rg"):
        return target
    print("rg is not installed: no comparison with it")
    return None


def commands(place: Place) -> None:
    with closing(read.connect(place)) as connection:
        session_id = next(iter(lookup.sessions(connection, 1)))["session_id"]
    for arguments in (["sessions"], ["show", session_id[:8]], ["show", "last"]):
        print(f"{' '.join(arguments):30} {seconds(command(*arguments)) * 1000:8.0f} ms wall")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--small", action="store_true", help="events of a few hundred bytes")
    parser.add_argument("--folder", type=Path, help="where the archive is made, and found again")
    arguments = parser.parse_args()
    folder = arguments.folder or Path(tempfile.gettempdir()) / f"sessionlog-bench-{arguments.events}"
    place = archive(folder, arguments.events, arguments.small)
    megabytes = Path(place.db).stat().st_size / 1e6
    versions = f"Python {sys.version.split()[0]}, SQLite {sqlite3.sqlite_version}"
    print(f"{versions}; {arguments.events:,} events, {megabytes:.0f} MB")
    first_index(place)
    searches(place, exported(place, folder, arguments.events))
    commands(place)


if __name__ == "__main__":
    main()
