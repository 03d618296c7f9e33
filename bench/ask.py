"""How fast the archive answers, beside SQLite's LIKE and beside ripgrep over an export, on the same data.

python -m bench.ask                     # 1,000,000 events; takes minutes to make, kept in $TMPDIR for the next run
python -m bench.ask --events 100000
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
from sessionlog import reading, search
from sessionlog.projects import Place
from sessionlog.search import index

WORDS = ("按钮", "handler archive", "getUserName OR handler_42", "数据 测试", "handl*")


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


def archive(folder: Path, events: int) -> Place:
    os.environ["SESSIONLOG_HOME"] = str(folder / "home")
    project = folder / "project"
    project.mkdir(parents=True, exist_ok=True)
    os.environ["CLAUDE_PROJECT_DIR"] = str(project)
    place = reading.place_of()
    if not os.path.exists(place.db):
        print(f"Making {events:,} events …", flush=True)
        corpus.fill(project, events)
    return place


def first_index(place: Place) -> None:
    index.forget(place)
    with closing(reading.connect(place)) as connection:
        started = time.perf_counter()
        index.catch_up(place, connection)
        took = time.perf_counter() - started
    megabytes = Path(place.db).stat().st_size / 1e6
    size = Path(index.path_of(place)).stat().st_size / 1e6
    print(f"first index        {took:8.1f} s   {megabytes / took:6.1f} MB/s of archive, index {size:.0f} MB")


def searches(place: Place) -> None:
    start_up = seconds(command("--version"))
    for question in WORDS:
        inside = seconds(lambda question=question: list(islice(search.find(place, question), 20)))  # type: ignore[misc]
        outside = seconds(command("search", question))
        print(
            f"search {question!r:30} {inside * 1000:8.1f} ms inside, {outside * 1000:6.0f} ms as a command "
            f"(of which start-up {start_up * 1000:.0f} ms)"
        )
    with closing(sqlite3.connect(place.db)) as connection:
        like = " OR ".join(f"{column} LIKE '%按钮%'" for column in ("prompt", "content", "old_string", "tool_response"))
        query = f"SELECT id FROM events WHERE {like} ORDER BY id DESC"
        taken = seconds(lambda: connection.execute(query).fetchall(), 1)
        print(f"sqlite3 LIKE                           {taken * 1000:8.0f} ms")


def commands(place: Place, folder: Path) -> None:
    with closing(reading.connect(place)) as connection:
        session_id = next(iter(reading.sessions(connection, 1)))["session_id"]
    for arguments in (["sessions"], ["show", session_id[:8]], ["show", "last"]):
        print(f"{' '.join(arguments):30} {seconds(command(*arguments)) * 1000:8.0f} ms wall")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="where the archive is made, and found again")
    arguments = parser.parse_args()
    folder = arguments.folder or Path(tempfile.gettempdir()) / f"sessionlog-bench-{arguments.events}"
    place = archive(folder, arguments.events)
    megabytes = Path(place.db).stat().st_size / 1e6
    versions = f"Python {sys.version.split()[0]}, SQLite {sqlite3.sqlite_version}"
    print(f"{versions}; {arguments.events:,} events, {megabytes:.0f} MB")
    first_index(place)
    searches(place)
    commands(place, folder)
    if not shutil.which("rg"):
        print("rg is not installed: no comparison with it")


if __name__ == "__main__":
    main()
