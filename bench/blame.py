"""How long `sessionlog blame` and `sessionlog why` take: python -m bench.blame [--events 1000000]

A file of 5,000 lines with 2,000 recorded edits, and one of 300 lines with 40, in a git repository, in an archive with
so many other events. CPU time counts the processes of git, too; it says more than the clock on a machine that is busy.
"""

import argparse
import os
import random
import resource
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from bench import archives, report
from sessionlog.archive import append
from sessionlog.archive.event import normalise

TIMES = 5


class File(NamedTuple):
    """A file to ask about."""

    name: str
    lines: int
    edits: int


LARGE, ORDINARY = File("big.py", 5000, 2000), File("ordinary.py", 300, 40)


def prepare(found: archives.Archive, file: File) -> Path:
    """The file, its commit and its edits."""
    path = Path(found.place.project) / file.name
    if path.exists():
        return path
    rng = random.Random(1)
    lines = [f"value_{number} = compute({rng.randrange(10**9)}, {number})" for number in range(file.lines)]
    path.write_text("\n".join(lines) + "\n")
    who = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com"]
    for arguments in (["init", "-q"], ["add", file.name], [*who, "commit", "-q", "-m", f"Begin {file.name}"]):
        subprocess.run(["git", *arguments], cwd=found.place.project, check=True)
    at_ms = 1_795_000_000_000
    with closing(append.open_for_writing(found.place, 10)) as connection:
        connection.execute("BEGIN")
        for number in range(file.edits):
            old, new = _edit(rng, lines, number)
            inputs = {"file_path": str(path), "old_string": old, "new_string": new}
            name = f"{path.stem}-{number}"
            payload = {"hook_event_name": "PostToolUse", "session_id": f"{path.stem}-{number // 100}"}
            payload |= {"tool_name": "Edit", "tool_input": inputs, "tool_use_id": name, "cwd": found.place.project}
            at_ms += 1000
            append.append(connection, normalise(payload, at_ms=at_ms, via="bench"), at_ms)
        connection.execute("COMMIT")
    path.write_text("\n".join(lines) + "\n")
    return path


def _edit(rng: random.Random, lines: list[str], number: int) -> tuple[str, str]:
    """Up to three lines become up to three others; on the whole the file stays as long as it is."""
    at, count = rng.randrange(len(lines) - 3), rng.choice((1, 1, 1, 2, 3))
    new = [f"value_{at} = better({rng.randrange(10**9)}, {number}, {k})" for k in range(rng.choice((1, 1, 1, 2, 3)))]
    old, lines[at : at + count] = lines[at : at + count], new
    return "\n".join(old), "\n".join(new)


def measure(found: archives.Archive, *arguments: str) -> tuple[float, float]:
    """The medians of some runs, in milliseconds: by the clock, and of the CPU."""
    took, used = [], []
    env = {**os.environ, **found.env}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # what pip installed is compiled
    for _ in range(TIMES):
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "sessionlog", *arguments],
            env=env,
            cwd=found.place.project,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        took.append((time.perf_counter() - start) * 1000)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used.append((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000)
    return sorted(took)[TIMES // 2], sorted(used)[TIMES // 2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    events = parser.parse_args().events
    found = archives.archive_of(archives.temporary(f"blame-{events}"), events, small=True)
    large, ordinary = prepare(found, LARGE), prepare(found, ORDINARY)
    measure(found, "search", "value", "--wait")  # the index is there already, as in an archive that is in use
    for what, arguments in (
        (f"blame, {LARGE.lines:,} lines, {LARGE.edits:,} edits", ("blame", str(large))),
        ("why, one line of it", ("why", f"{large}:2500")),
        (f"why, {ORDINARY.lines} lines, {ORDINARY.edits} edits", ("why", f"{ordinary}:150")),
        ("starting the command alone", ("--version",)),
    ):
        clock, cpu = measure(found, *arguments)
        report.progress(f"{what}, {events:,} events: {clock:.0f} ms, CPU {cpu:.0f} ms")


if __name__ == "__main__":
    main()
