"""Made-up but realistic events and archives to measure with."""

import random
import sqlite3
import uuid
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from sessionlog.archive import append, migrate
from sessionlog.archive import place as projects
from sessionlog.archive.append import DIGESTED
from sessionlog.archive.event import COLUMNS, normalise
from sessionlog.fastlib import utc_text

WORDS = (
    "def return import class self value result index config request response session event handler archive "
    "测试 数据 按钮 组件 函数 文件 async await const let function export default None True False error path"
).split()


KINDS = ("Edit", "Write", "Bash", "Bash", "Bash", "Failure", "Prompt")

POOL = 2_000_000  # characters; all texts are pieces of them, because making up each word takes minutes
TEMPLATES = 5000  # different events; those of an archive are copies of them with ids and times of their own


@cache
def _pool() -> str:
    rng = random.Random(0)
    lines, length = [], 0
    while length < POOL:
        line = " " * rng.choice((0, 4, 8)) + " ".join(rng.choices(WORDS, k=rng.randint(3, 12)))
        if not len(lines) % 500:
            line += " getUserName(handler_42)"  # what is rare is asked for, too
        lines.append(line)
        length += len(line) + 1
    return "\n".join(lines)[:POOL]


def text(size: int, rng: random.Random) -> str:
    """Code-like text of `size` characters."""
    pieces = []
    while size > 0:
        start = rng.randrange(POOL)
        pieces.append(_pool()[start : start + size])
        size -= len(pieces[-1])
    return "".join(pieces)


def payload(kind: str, size: int, rng: random.Random, session_id: str) -> dict[str, Any]:
    """A payload of one kind whose JSON has about `size` bytes."""
    common = {
        "session_id": session_id,
        "transcript_path": _transcript_path(session_id),
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


def _transcript_path(session_id: str) -> str:
    return f"/home/dev/.claude/projects/-home-dev-shop/{session_id}.jsonl"


def fill(
    project: Path, events: int, seed: int = 1, events_per_session: int = 200, small: bool = False, step_ms: int = 40_000
) -> projects.Place:
    """An archive of `events` events, as hooks would leave it; `small` ones take a third of the room."""
    place = projects.place(str(project))
    connection = migrate.open_new_or_outdated(place, 10)
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("PRAGMA journal_mode = OFF")
    connection.execute("PRAGMA cache_size = -1000000")
    # To keep the indexes and the counts of sessions row by row takes most of the time; at the end it takes little. But
    # ids of calls come in no order: made at the end, the pages of their index would all be full, and every hook would
    # have to split one.
    kept = connection.execute(
        "SELECT type, name, sql FROM sqlite_master "
        "WHERE tbl_name = 'events' AND type IN ('index', 'trigger') AND name <> 'events_tool_use_id'"
    ).fetchall()
    for kind, name, _ in kept:
        connection.execute(f"DROP {kind} {name}")
    rows = _rows(random.Random(seed), events, events_per_session, small, step_ms)
    columns = ("id", *COLUMNS, "salt", "hash")
    insert = f"INSERT INTO events ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
    connection.execute("BEGIN")
    connection.executemany(insert, rows)
    for _, _, statement in kept:
        connection.execute(statement)
    connection.execute(_SESSIONS)
    connection.execute(
        "UPDATE sessions SET (head_hash, last_event_id) = ("
        "SELECT hash, id FROM events WHERE events.session_id = sessions.session_id ORDER BY at DESC LIMIT 1)"
    )
    connection.execute("COMMIT")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    return place


# What the trigger of the archive would have counted, for events of these kinds.
_SESSIONS = """
INSERT INTO sessions (
    session_id, started_at, last_at, cwd, transcript_path, permission_mode, events, prompts, tool_calls, edits, failures
)
SELECT
    session_id, min(at), max(at), cwd, transcript_path, permission_mode,
    count(*), sum(event = 'UserPromptSubmit'), sum(event IN ('PostToolUse', 'PostToolUseFailure')),
    sum(event = 'PostToolUse' AND tool_name IN ('Edit', 'Write')), sum(event = 'PostToolUseFailure')
FROM events INDEXED BY events_session_id_at
GROUP BY session_id
"""


def _rows(
    rng: random.Random, events: int, events_per_session: int, small: bool, step_ms: int
) -> Iterator[tuple[Any, ...]]:
    """The rows of `events`: id, COLUMNS, salt and hash."""
    templates = [_template(rng, small) for _ in range(min(events, TEMPLATES))]
    session_at, at_at, prompt_at, call_at, duration_at, path_at = map(
        COLUMNS.index, ("session_id", "at", "prompt_id", "tool_use_id", "duration_ms", "transcript_path")
    )
    at_ms = 1_760_000_000_000
    for number in range(events):
        if number % events_per_session == 0:
            session_id = str(uuid.UUID(int=rng.getrandbits(128)))
            path, chain = _transcript_path(session_id), None
        at_ms += 100 + int(rng.random() * step_ms)
        row = list(templates[int(rng.random() * len(templates))])
        row[session_at], row[at_at], row[path_at] = session_id, utc_text(at_ms), path
        if row[call_at]:
            row[call_at], row[duration_at] = f"toolu_{rng.getrandbits(64):016x}", 1 + int(rng.random() * 3000)
        prompt_id = f"{rng.getrandbits(128):032x}"
        row[prompt_at] = f"{prompt_id[:8]}-{prompt_id[8:12]}-{prompt_id[12:16]}-{prompt_id[16:20]}-{prompt_id[20:]}"
        salt = f"{rng.getrandbits(128):032x}"
        fields = {**dict(zip(COLUMNS, row, strict=True)), "id": number + 1, "salt": salt}
        values = [fields[name].encode() if isinstance(fields[name], str) else fields[name] for name in DIGESTED]
        chain = append.link(chain, append.digest(values))
        yield number + 1, *row, salt, chain


def _template(rng: random.Random, small: bool) -> tuple[Any, ...]:
    size = 700 + int(rng.expovariate(1 / 60)) if small else min(int(rng.lognormvariate(6.8, 1.0)), 20_000)
    event = payload(rng.choice(KINDS), size, rng, "template")
    return tuple(normalise(event, at_ms=0, via="bench").values())


def count(place: projects.Place) -> int:
    """How many events the archive holds."""
    with sqlite3.connect(place.db) as connection:
        number: int = connection.execute("SELECT count(*) FROM events").fetchone()[0]
        return number
