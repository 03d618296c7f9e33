"""Made-up but realistic events and archives to measure with."""

import random
import sqlite3
import uuid
from pathlib import Path
from typing import Any

from sessionlog import archive, migrate, projects
from sessionlog.event import normalise

WORDS = (  # noqa: SIM905 (a list of 40 would be 40 lines)
    "def return import class self value result index config request response session event handler archive "
    "测试 数据 按钮 组件 函数 文件 async await const let function export default None True False error path"
).split()


def text(size: int, rng: random.Random) -> str:
    """Code-like text of about `size` characters."""
    lines, length = [], 0
    while length < size:
        line = " " * rng.choice((0, 4, 8)) + " ".join(rng.choices(WORDS, k=rng.randint(3, 12)))
        lines.append(line)
        length += len(line) + 1
    return "\n".join(lines)[:size]


def payload(kind: str, size: int, rng: random.Random, session_id: str) -> dict[str, Any]:
    """A payload of one kind whose JSON has about `size` bytes."""
    common = {
        "session_id": session_id,
        "transcript_path": f"/home/dev/.claude/projects/-home-dev-shop/{session_id}.jsonl",
        "cwd": "/home/dev/shop",
        "prompt_id": str(uuid.UUID(int=rng.getrandbits(128))),
        "permission_mode": "default",
    }
    tool = {"tool_use_id": f"toolu_{rng.getrandbits(64):016x}", "duration_ms": rng.randint(1, 3000)}
    body = text(max(16, size - 700), rng)
    file_path = f"/home/dev/shop/src/{rng.choice(WORDS)}_{rng.randint(1, 300)}.py"
    match kind:
        case "Edit":
            half = len(body) // 2
            inputs = {"file_path": file_path, "old_string": body[:half], "new_string": body[half:]}
            more = {"tool_input": inputs, "tool_response": {"filePath": file_path, "userModified": False}}
        case "Write":
            inputs = {"file_path": file_path, "content": body}
            more = {"tool_input": inputs, "tool_response": {"type": "create", "filePath": file_path}}
        case "Bash":
            inputs = {"command": f"pytest -q tests/{rng.choice(WORDS)}", "description": "Run the tests"}
            more = {"tool_input": inputs, "tool_response": {"stdout": body, "stderr": "", "interrupted": False}}
        case "Failure":
            inputs = {"command": f"make {rng.choice(WORDS)}", "description": "Build"}
            more = {"tool_input": inputs, "error": f"Exit code {rng.randint(1, 127)}\n{body}"}
            return {**common, "hook_event_name": "PostToolUseFailure", "tool_name": "Bash", **tool, **more}
        case _:
            return {**common, "hook_event_name": "UserPromptSubmit", "prompt": body}
    return {**common, "hook_event_name": "PostToolUse", "tool_name": kind, **tool, **more}


def fill(project: Path, events: int, seed: int = 1, events_per_session: int = 200) -> projects.Place:
    """An archive of `events` events, made through the library in big transactions."""
    rng = random.Random(seed)
    place = projects.place(str(project))
    connection = migrate.open_new_or_outdated(place, 10)
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("BEGIN")
    kinds = ("Edit", "Write", "Bash", "Bash", "Bash", "Failure", "Prompt")
    at_ms = 1_760_000_000_000
    for number in range(events):
        if number % events_per_session == 0:
            session_id = str(uuid.UUID(int=rng.getrandbits(128)))
        size = min(int(rng.lognormvariate(6.8, 1.0)), 20_000)
        at_ms += rng.randint(100, 40_000)
        event = payload(rng.choice(kinds), size, rng, session_id)
        archive.append(connection, normalise(event, at_ms=at_ms, via="bench"), at_ms)
    connection.execute("COMMIT")
    connection.close()
    return place


def count(place: projects.Place) -> int:
    """How many events the archive holds."""
    with sqlite3.connect(place.db) as connection:
        number: int = connection.execute("SELECT count(*) FROM events").fetchone()[0]
        return number
