"""Import of transcripts beside a plain loop and what the package index offers, all in the same run.

python -m bench.import                  # a corpus of 500 MB
python -m bench.import --size 50        # a smaller one
python -m bench.import --no-peers       # without asking the package index
"""

import argparse
import json
import os
import random
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any

from bench import corpus
from bench.processes import tree_memory
from sessionlog.fastlib import utc_text

# What people can install from the package index to keep transcripts in a database: name, command, environment.
PEERS = {
    "agentsview": (["agentsview", "sync"], {"AGENTSVIEW_NO_DAEMON": "1"}),
    "claude-code-log": (["claude-code-log", "--all-projects"], {}),
}
PATIENCE = 1800

PLAIN_LOOP = """
import glob, orjson, sqlite3, sys
folder, target, keep_lines = sys.argv[1], sys.argv[2], len(sys.argv) > 3
db = sqlite3.connect(target)
db.execute("CREATE TABLE messages (session_id TEXT, uuid TEXT UNIQUE, type TEXT, at TEXT, content TEXT, line TEXT)")
for path in glob.glob(folder + "/**/*.jsonl", recursive=True):
    rows = []
    with open(path, "rb") as file:
        for line in file:
            entry = orjson.loads(line)
            message = entry.get("message")
            content = orjson.dumps(message["content"]).decode() if message else None
            row = (entry.get("sessionId"), entry.get("uuid"), entry["type"], entry.get("timestamp"), content)
            rows.append((*row, line.decode() if keep_lines else None))
    db.executemany("INSERT OR IGNORE INTO messages VALUES (?, ?, ?, ?, ?, ?)", rows)
    db.commit()
"""

OURS = """
import sys
from sessionlog.transcripts import importer as transcripts
if __name__ == "__main__":
    summary = transcripts.run([sys.argv[1]])
    assert not summary.skips, summary.skips
"""


def lines(rng: random.Random, session_id: str, start_ms: int) -> Any:
    """The entries of one turn: sizes as they are met, most of the bytes in tool results that are there twice."""
    parent: str | None = None
    at_ms = start_ms

    def envelope(type_: str, **fields: Any) -> dict[str, Any]:
        nonlocal parent, at_ms
        at_ms += rng.randint(20, 9000)
        entry = {
            "parentUuid": parent,
            "isSidechain": False,
            "type": type_,
            **fields,
            "uuid": str(uuid.UUID(int=rng.getrandbits(128))),
            "timestamp": utc_text(at_ms),
            "userType": "external",
            "entrypoint": "cli",
            "cwd": "/home/dev/shop",
            "sessionId": session_id,
            "version": "2.1.325",
            "gitBranch": "main",
        }
        parent = entry["uuid"]
        return entry

    yield envelope("user", message={"role": "user", "content": corpus.text(rng.randint(20, 600), rng)})
    for _ in range(rng.randint(3, 25)):
        message_id, request_id = f"msg_{rng.getrandbits(80):020x}", f"req_{rng.getrandbits(80):020x}"
        usage = {
            "input_tokens": rng.randint(1, 400),
            "output_tokens": rng.randint(20, 2000),
            "cache_read_input_tokens": rng.randint(0, 150_000),
            "cache_creation_input_tokens": rng.randint(0, 4000),
        }

        def answer(block: dict[str, Any], ids: tuple[str, str] = (message_id, request_id), usage: Any = usage) -> Any:
            message = {"id": ids[0], "type": "message", "role": "assistant", "model": "claude-opus-5-5"}
            return envelope("assistant", message={**message, "content": [block], "usage": usage}, requestId=ids[1])

        if rng.random() < 0.4:
            text = corpus.text(int(rng.lognormvariate(5.5, 1)), rng)
            yield answer({"type": "thinking", "thinking": text, "signature": f"{rng.getrandbits(4096):x}"})
        if rng.random() < 0.5:
            yield answer({"type": "text", "text": corpus.text(int(rng.lognormvariate(5.5, 1)), rng)})
        call = f"toolu_{rng.getrandbits(90):024x}"
        body = corpus.text(min(int(rng.lognormvariate(7.3, 1.4)), 400_000), rng)
        kind = rng.choice(("Bash", "Read", "Edit", "Grep"))
        inputs: dict[str, Any] = {"command": f"pytest -q tests/{rng.choice(corpus.WORDS)}"}
        result: Any = {"stdout": body, "stderr": "", "interrupted": False}
        if kind == "Edit":
            half = len(body) // 2
            inputs = {"file_path": "/home/dev/shop/app.py", "old_string": body[:half], "new_string": body[half:]}
            result = {"filePath": "/home/dev/shop/app.py", "oldString": body[:half], "newString": body[half:]}
            body = "The file has been updated."
        yield answer({"type": "tool_use", "id": call, "name": kind, "input": inputs})
        block = {"type": "tool_result", "tool_use_id": call, "content": body}
        yield envelope("user", message={"role": "user", "content": [block]}, toolUseResult=result)
    yield {"type": "last-prompt", "lastPrompt": "…", "leafUuid": parent, "sessionId": session_id}


def make(folder: Path, megabytes: int, seed: int = 5) -> int:
    """A folder of projects as Claude Code would leave it; returns its bytes."""
    rng = random.Random(seed)
    total, number = 0, 0
    while total < megabytes * 1_000_000:
        session_id = str(uuid.UUID(int=rng.getrandbits(128)))
        project = folder / f"-home-dev-shop{number % 4 or ''}"
        project.mkdir(parents=True, exist_ok=True)
        size = int(rng.lognormvariate(14, 1.2))
        with open(project / f"{session_id}.jsonl", "wb") as file:
            at_ms = 1_760_000_000_000 + number * 86_400_000
            while file.tell() < size:
                for entry in lines(rng, session_id, at_ms):
                    text = json.dumps(entry, ensure_ascii=False, separators=(",", ":"))
                    text = text.replace("/home/dev/shop", f"/home/dev/shop{number % 4 or ''}")
                    file.write(text.encode() + b"\n")
                at_ms += 3_600_000
            total += file.tell()
        number += 1
    return total


def measure(name: str, command: list[str], env: dict[str, str], size: int) -> None:
    """Run one importer in processes of its own; print its speed and its greatest memory."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    watch = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    peak = 0
    while watch.poll() is None:
        if time.perf_counter() - started > PATIENCE:
            watch.kill()
        peak = max(peak, tree_memory(watch.pid))
        time.sleep(0.02)
    seconds = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    problem = ""
    if watch.returncode:
        last = (watch.stderr.read() if watch.stderr else b"").decode(errors="replace").strip().splitlines()
        problem = f"  failed: {last[-1] if last else watch.returncode}"
    print(f"{name:34}{size / 1e6 / seconds:8.1f} MB/s {seconds:8.2f} s {cpu:8.2f} s CPU {peak / 1e6:7.0f} MB{problem}")


def peers(folder: Path, projects: Path, size: int) -> None:
    """What installs from the package index, each with a home and a copy of the corpus of its own."""
    for name, (command, more) in PEERS.items():
        place = folder / name
        try:
            subprocess.run([sys.executable, "-m", "venv", place], check=True, capture_output=True)
            install = [place / "bin" / "python", "-m", "pip", "install", "--quiet", name]
            subprocess.run(install, check=True, capture_output=True, timeout=300)
        except (subprocess.SubprocessError, OSError):
            print(f"{name:34}    skipped: it does not install here")
            continue
        shutil.copytree(projects, place / ".claude" / "projects")
        env = {"PATH": os.environ["PATH"], "HOME": str(place), **more}
        measure(name, [str(place / "bin" / command[0]), *command[1:]], env, size)
        shutil.rmtree(place)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--size", type=int, default=500, help="of the corpus, in MB")
    parser.add_argument("--no-peers", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        projects = folder / ".claude" / "projects"
        size = make(projects, options.size)
        count = sum(1 for _ in projects.rglob("*.jsonl"))
        print(f"Python {sys.version.split()[0]}, SQLite {sqlite3.sqlite_version}, {os.cpu_count()} cores; ", end="")
        print(f"{size / 1e6:.0f} MB in {count} transcripts\n")
        root = str(Path(__file__).resolve().parent.parent)
        env = {"PATH": os.environ["PATH"], "HOME": name, "PYTHONPATH": root, "SESSIONLOG_HOME": f"{name}/archive"}
        script = folder / "ours.py"
        script.write_text(OURS)
        plain = [sys.executable, "-c", PLAIN_LOOP, str(projects)]
        measure("plain orjson + sqlite3 loop", [*plain, f"{name}/plain.db"], env, size)
        measure("the same, and it keeps the lines", [*plain, f"{name}/lines.db", "keep"], env, size)
        ours = [sys.executable, str(script), str(projects)]
        measure("sessionlog, first run", ours, env, size)
        archived = sum(path.stat().st_size for path in (folder / "archive").glob("*.db*"))
        measure("sessionlog, nothing new", ours, env, size)
        if not options.no_peers:
            peers(folder, projects, size)
        print()
        print(f"{'archive':34}{archived / size:8.2f} x the transcripts")
        for loop in ("plain", "lines"):
            stored = Path(name, f"{loop}.db").stat().st_size
            print(f"{f'database of the loop ({loop})':34}{stored / size:8.2f} x")


if __name__ == "__main__":
    main()
