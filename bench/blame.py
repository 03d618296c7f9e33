"""How long `sessionlog blame` and `sessionlog why` take: python -m bench.blame [--events 1000000]

A file of 5,000 lines with 2,000 recorded edits, in a git repository, in an archive with so many other events.
"""

import argparse
import os
import random
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

from bench import archives, report
from sessionlog.archive import append
from sessionlog.archive.event import normalise

LINES, EDITS, TIMES = 5000, 2000, 5


def prepare(found: archives.Archive) -> Path:
    """The file, its commit and its edits."""
    path = Path(found.place.project) / "large.py"
    if path.exists():
        return path
    rng = random.Random(1)
    lines = [f"value_{number} = compute({rng.randrange(10**9)}, {number})" for number in range(LINES)]
    path.write_text("\n".join(lines) + "\n")
    who = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com"]
    for arguments in (["init", "-q"], ["add", "large.py"], [*who, "commit", "-q", "-m", "Begin"]):
        subprocess.run(["git", *arguments], cwd=found.place.project, check=True)
    at_ms = 1_795_000_000_000
    with closing(append.open_for_writing(found.place, 10)) as connection:
        connection.execute("BEGIN")
        for number in range(EDITS):
            at = rng.randrange(LINES)
            old, lines[at] = lines[at], f"value_{at} = better({rng.randrange(10**9)}, {number})"
            inputs = {"file_path": str(path), "old_string": old, "new_string": lines[at]}
            payload = {"hook_event_name": "PostToolUse", "session_id": f"blamed-{number // 100}", "tool_name": "Edit"}
            payload |= {"tool_input": inputs, "tool_use_id": f"blamed_{number}", "cwd": found.place.project}
            at_ms += 1000
            append.append(connection, normalise(payload, at_ms=at_ms, via="bench"), at_ms)
        connection.execute("COMMIT")
    path.write_text("\n".join(lines) + "\n")
    return path


def measure(found: archives.Archive, *arguments: str) -> float:
    """The median of some runs, in milliseconds."""
    took = []
    for _ in range(TIMES):
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "sessionlog", *arguments],
            env={**os.environ, **found.env},
            cwd=found.place.project,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        took.append((time.perf_counter() - start) * 1000)
    return sorted(took)[TIMES // 2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    events = parser.parse_args().events
    found = archives.archive_of(archives.temporary(f"blame-{events}"), events, small=True)
    path = prepare(found)
    measure(found, "search", "value")  # the index is there already, as in an archive that is in use
    report.progress(
        f"blame, {LINES:,} lines, {EDITS:,} edits, {events:,} events: {measure(found, 'blame', str(path)):.0f} ms"
    )
    report.progress(f"why, one line of it: {measure(found, 'why', f'{path}:2500'):.0f} ms")
    empty = measure(found, "--version")
    report.progress(f"starting the command alone: {empty:.0f} ms")


if __name__ == "__main__":
    main()
