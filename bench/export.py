"""How fast and in how much memory sessions are exported, imported again and shown.

Type `python -m bench.export`, or with `--events 1000000` if there are minutes to spare.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench import corpus

# Prints what the last of its children took: seconds of wall and processor, and MB at the most.
MEASURED = """
import resource, subprocess, sys, time
started = time.perf_counter()
subprocess.run([sys.executable, "-m", "sessionlog", *sys.argv[1:]], check=True, capture_output=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(time.perf_counter() - started, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
"""


def measured(*arguments: str) -> tuple[float, float, float]:
    done = subprocess.run([sys.executable, "-c", MEASURED, *arguments], check=True, capture_output=True, text=True)
    wall, processor, memory = map(float, done.stdout.split())
    return wall, processor, memory


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=50_000)
    events = parser.parse_args().events
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SESSIONLOG_HOME"] = f"{folder}/home"
        started = time.perf_counter()
        corpus.fill(Path(folder, "project"), events)
        print(f"{events:,} events, made in {time.perf_counter() - started:.0f} s")
        for form in ("jsonl", "markdown", "html"):
            file = f"{folder}/all.{form}"
            report(f"export {form}", events, Path(file), *measured("export", "--all", "--format", form, "-o", file))
        report("show last", 0, None, *measured("show", "last", "--all"))
        os.environ["SESSIONLOG_HOME"] = f"{folder}/other"
        file = f"{folder}/all.jsonl"
        report("import jsonl", events, Path(file), *measured("import", file))
        measured("export", "--all", "-o", f"{folder}/again.jsonl")
        same = Path(file).read_bytes() == Path(folder, "again.jsonl").read_bytes()
        print("exported again:", "the same bytes" if same else "OTHER BYTES")


def report(what: str, events: int, file: Path | None, wall: float, processor: float, memory: float) -> None:
    rate = f"  {events / wall:9,.0f} events/s ({events / processor:9,.0f} of processor time)" if events else ""
    size = f"  {file.stat().st_size / 1e6:7.0f} MB" if file else ""
    print(f"{what:16}{wall:8.2f} s{rate}{size}  {memory:5.0f} MB of memory")


if __name__ == "__main__":
    main()
