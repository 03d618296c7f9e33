"""What it costs a Stop hook to have the transcript imported: without, with an importer waiting already, with a new one.

python -m bench.follow
"""

import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from bench.hook import BARE, handler

ROUNDS = 150


def run(command: list[str], data: bytes, env: dict[str, str]) -> float:
    """Until the process has ended and its pipes are closed, as Claude Code waits."""
    started = time.perf_counter()
    subprocess.run(command, input=data, env=env, capture_output=True, check=True)
    return time.perf_counter() - started


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        project, home = Path(name, "shop"), Path(name, "home")
        project.mkdir()
        transcript = Path(name, "projects", "-shop", "s.jsonl")
        transcript.parent.mkdir(parents=True)
        entry = {"type": "user", "uuid": "u", "sessionId": "s", "cwd": str(project), "message": {"content": "hello"}}
        transcript.write_text(json.dumps(entry) + "\n")
        env = {"PATH": os.environ["PATH"], "SESSIONLOG_HOME": str(home), "CLAUDE_PROJECT_DIR": str(project)}
        hook = handler()
        columns: dict[str, list[float]] = {}
        for number in range(ROUNDS):

            def measure(column: str, command: list[str] = hook, number: int = number, **more: str) -> None:
                event = {"session_id": "s", "hook_event_name": "Stop", "transcript_path": str(transcript)}
                event |= {"cwd": str(project), "last_assistant_message": f"{column} {number}"}
                seconds = run(command, json.dumps(event).encode(), {**env, **more})
                columns.setdefault(column, []).append(seconds)

            measure("bare interpreter", BARE)
            measure("without import", SESSIONLOG_NO_FOLLOW="1")
            stamp = home / "following" / "s"
            stamp.parent.mkdir(parents=True, exist_ok=True)
            stamp.touch()
            measure("an importer waits already")
            stamp.unlink(missing_ok=True)
            measure("starts an importer")
        floor = statistics.median(columns["bare interpreter"])
        for column, values in columns.items():
            ordered = sorted(values)
            middle, late = statistics.median(values), ordered[int(len(values) * 0.95)]
            print(f"{column:28}{middle / floor:6.2f} x   p95 {late / floor:5.2f} x {1000 * (middle - floor):+8.2f} ms")
        print(f"(1 x = {floor * 1000:.1f} ms, {' '.join(BARE)})")
        time.sleep(5)  # the last importers end before their folder goes
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
