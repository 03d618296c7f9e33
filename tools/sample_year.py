"""A made-up year of three projects, as hooks and transcripts record it: for screenshots and for looking around.

python tools/sample_year.py FOLDER     # fills FOLDER with archives; then: SESSIONLOG_HOME=FOLDER sessionlog browse
"""

# ruff: noqa: E501 (texts)

from __future__ import annotations

import base64
import json
import os
import random
import struct
import subprocess
import sys
import time
import uuid
import zlib
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

DAY = 86_400_000
YEAR = 340
PROJECTS = {"/home/dev/shop": 1.0, "/home/dev/billing": 0.45, "/home/dev/mobile-app": 0.25}
MODELS = ("claude-opus-5-5", "claude-opus-5-5", "claude-sonnet-5", "claude-haiku-4-5")
BRANCHES = ("main", "main", "dark-mode", "fix/login-timeout", "orders-migration")


class Task(NamedTuple):
    """What somebody asks for, and what it is done with."""

    prompt: str
    file: str
    old: str
    new: str
    command: str
    description: str
    output: str
    error: str
    answer: str


TASKS = (
    Task(
        "Add a dark mode to the settings page",
        "src/settings.tsx",
        'export function Settings() {\n  return <main className="settings">',
        'export function Settings() {\n  const [theme, setTheme] = useTheme();\n  return <main className="settings" data-theme={theme}>',
        "npm test -- settings",
        "Run the tests of the settings page",
        "PASS src/settings.test.tsx\n  ✓ shows the theme (12 ms)\n\nTests: 14 passed, 14 total",
        "Exit code 1\nFAIL src/settings.test.tsx\n  ● shows the theme\n    TypeError: useTheme is not a function\n      at Settings (src/settings.tsx:8:31)\n\nTests: 1 failed, 13 passed, 14 total",
        "The settings page has a **dark mode** now. It follows the system until somebody chooses:\n\n- `useTheme` keeps the choice in `localStorage`\n- the colours are CSS variables, so no component changes\n\nAll 14 tests pass.",
    ),
    Task(
        "Why does the login test fail on CI?",
        "tests/test_login.py",
        "def test_login(client):\n    response = client.post('/login', timeout=1)",
        "def test_login(client):\n    response = client.post('/login', timeout=LOGIN_TIMEOUT)",
        "pytest -q tests/test_login.py",
        "Run the login tests",
        "....\n4 passed in 0.61s",
        "Exit code 1\n.F..\ntests/test_login.py:12: ConnectionRefusedError: [Errno 111] connection refused\n1 failed, 3 passed in 1.02s",
        "The test expects the server within one second; on CI it needs two. I use `LOGIN_TIMEOUT` from the settings instead.",
    ),
    Task(
        "请把购物车的按钮改成蓝色，并补上测试",
        "src/cart.py",
        "BUTTON = 'red'",
        "BUTTON = 'blue'  # 蓝色",
        "pytest -q tests/test_cart.py",
        "Run the cart tests",
        "......\n6 passed in 0.40s",
        "Exit code 1\nE   AssertionError: assert 'red' == 'blue'\n1 failed, 5 passed in 0.44s",
        "按钮已经改成蓝色，测试也补上了。",
    ),
    Task(
        "Refactor the payment module into smaller functions",
        "src/payment.py",
        "def charge(card, amount):\n    if amount <= 0:\n        raise ValueError('amount')\n    return gateway.post(card, amount)",
        "def charge(card, amount):\n    _check(amount)\n    return gateway.post(card, round(amount, 2))\n\n\ndef _check(amount):\n    if amount <= 0:\n        raise PaymentError('the amount must be positive')",
        "ruff check src && mypy src",
        "Lint and type-check",
        "All checks passed!\nSuccess: no issues found in 41 source files",
        'Exit code 1\nsrc/payment.py:7: error: Name "PaymentError" is not defined  [name-defined]\nFound 1 error in 1 file (checked 41 source files)',
        "`charge` is three functions now. Behaviour is unchanged, except that amounts are rounded to cents.",
    ),
    Task(
        "Write a migration for the orders table",
        "migrations/0042_orders.sql",
        "-- next migration",
        "ALTER TABLE orders ADD COLUMN currency TEXT NOT NULL DEFAULT 'EUR';\nCREATE INDEX orders_by_customer ON orders(customer_id, created_at);",
        "make migrate",
        "Apply migrations to the test database",
        "0042_orders.sql ... ok",
        "Exit code 2\n0042_orders.sql ... FAILED\nsqlite3.OperationalError: duplicate column name: currency",
        "The migration adds `currency` and an index for the list of a customer's orders. It can be applied while the shop runs.",
    ),
    Task(
        "カートの合計が間違っています。直してください",
        "src/cart.py",
        "    return sum(item.price for item in items)",
        "    return sum(item.price * item.quantity for item in items)",
        "pytest -q tests/test_total.py",
        "Run the tests of the total",
        "...\n3 passed in 0.20s",
        "Exit code 1\nE   assert 10 == 30\n1 failed, 2 passed in 0.23s",
        "数量が掛けられていませんでした。直しました。",
    ),
    Task(
        "Speed up the search endpoint, it takes two seconds",
        "src/search/index.py",
        "    rows = db.execute('SELECT * FROM products').fetchall()",
        "    rows = db.execute('SELECT id, name FROM products WHERE name LIKE ? LIMIT 50', (pattern,)).fetchall()",
        "python -m bench.search",
        "Measure the endpoint",
        "search: median 41 ms (was 2,130 ms)",
        "Exit code 1\nTraceback (most recent call last):\n  File \"bench/search.py\", line 9, in <module>\nModuleNotFoundError: No module named 'bench'",
        "It read the whole table for each request. With the index and a limit it takes 41 ms instead of 2.1 s.",
    ),
)
DENIED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). To tell you how to proceed, the user said:\n"
)
SAID = ("Not on main, please open a branch first", "Use the staging database for that", "No, keep the old API")


class Recording:
    """One session: what its hooks get, and its transcript."""

    def __init__(self, rng: random.Random, project: str, at: int, model: str) -> None:
        self.rng, self.project, self.at, self.model = rng, project, at, model
        self.id = _identifier(rng)
        self.branch = rng.choice(BRANCHES)
        self.payloads: list[tuple[int, dict[str, Any]]] = []
        self.lines: dict[str, list[dict[str, Any]]] = {"": []}  # by sub-agent
        self.context = rng.randint(9_000, 16_000)

    def wait(self, least: int = 300, most: int = 9_000) -> None:
        self.at += self.rng.randint(least, most)

    def hook(self, event: str, **fields: Any) -> None:
        payload = {"hook_event_name": event, "session_id": self.id, "cwd": self.project, **fields}
        self.payloads.append((self.at, payload))

    def line(self, kind: str, agent: str = "", **fields: Any) -> None:
        lines = self.lines.setdefault(agent, [])
        own = {"agentId": agent} if agent else {}
        lines.append(
            {
                "parentUuid": lines[-1]["uuid"] if lines else None,
                "isSidechain": bool(agent),
                "type": kind,
                "uuid": _identifier(self.rng),
                "timestamp": _text(self.at),
                "cwd": self.project,
                "sessionId": self.id,
                "version": "2.1.325",
                "gitBranch": self.branch,
                **own,
                **fields,
            }
        )

    def says(self, *content: dict[str, Any], agent: str = "") -> None:
        """An answer of the model, with what it cost."""
        self.context += self.rng.randint(200, 2_400)
        fresh = self.rng.randint(40, 900)
        usage = {
            "input_tokens": fresh,
            "cache_read_input_tokens": self.context,
            "cache_creation_input_tokens": self.rng.randint(300, 2_500),
            "output_tokens": self.rng.randint(60, 1_400),
        }
        message = {
            "id": f"msg_{_identifier(self.rng)}",
            "role": "assistant",
            "model": self.model,
            "content": list(content),
            "usage": usage,
        }
        self.line("assistant", agent, message=message)

    def prompt(self, text: str) -> None:
        self.wait()
        identifier = _identifier(self.rng)
        self.hook("UserPromptSubmit", prompt=text, prompt_id=identifier)
        self.line("user", promptId=identifier, message={"role": "user", "content": text})

    def answer(self, text: str) -> None:
        self.wait()
        self.says({"type": "text", "text": text})
        self.hook("Stop", last_assistant_message=text)

    def call(
        self, tool: str, inputs: dict[str, Any], result: Any, shown: Any, *, failed: str = "", agent: str = ""
    ) -> str:
        """A tool call with its result; `shown` is what the model gets to see."""
        self.wait()
        call = f"toolu_{_identifier(self.rng)}"
        own = {"agent_id": agent, "agent_type": "general-purpose"} if agent else {}
        about = {"tool_name": tool, "tool_input": inputs, "tool_use_id": call, **own}
        self.says({"type": "tool_use", "id": call, "name": tool, "input": inputs}, agent=agent)
        took = int(self.rng.lognormvariate(6, 1.6))
        self.at += took
        block = {"type": "tool_result", "tool_use_id": call, "content": failed or shown, "is_error": bool(failed)}
        if failed:
            self.hook("PostToolUseFailure", error=failed, duration_ms=took, **about)
        else:
            self.hook("PostToolUse", tool_response=result, duration_ms=took, **about)
        more = {"toolUseResult": f"Error: {failed}" if failed else result}
        self.line("user", agent, message={"role": "user", "content": [block]}, **more)
        return call

    def denied(self, tool: str, inputs: dict[str, Any], said: str) -> None:
        self.wait()
        call = f"toolu_{_identifier(self.rng)}"
        about = {"tool_name": tool, "tool_input": inputs, "tool_use_id": call}
        self.says({"type": "tool_use", "id": call, "name": tool, "input": inputs})
        self.hook("PreToolUse", **about)
        self.hook("PermissionRequest", **about)
        self.wait(4_000, 30_000)
        block = {"type": "tool_result", "tool_use_id": call, "content": DENIED + said, "is_error": True}
        more = {"toolUseResult": "User rejected tool use"}
        self.line("user", message={"role": "user", "content": [block]}, **more)

    def subagent(self, description: str, prompt: str, answer: str, files: list[str]) -> None:
        agent = f"a{_identifier(self.rng).replace('-', '')[:16]}"
        self.wait()
        call = f"toolu_{_identifier(self.rng)}"
        inputs = {"description": description, "prompt": prompt, "subagent_type": "general-purpose"}
        about = {"tool_name": "Agent", "tool_input": inputs, "tool_use_id": call}
        self.says({"type": "tool_use", "id": call, "name": "Agent", "input": inputs})
        own = {"agent_id": agent, "agent_type": "general-purpose"}
        self.hook("SubagentStart", **own)
        self.line("user", agent, message={"role": "user", "content": prompt})
        for file in files:
            self.call("Read", {"file_path": f"{self.project}/{file}"}, *_read(f"{self.project}/{file}"), agent=agent)
        self.wait()
        self.says({"type": "text", "text": answer}, agent=agent)
        self.hook("SubagentStop", last_assistant_message=answer, **own)
        result = {"status": "completed", "agentId": agent, "content": [{"type": "text", "text": answer}]}
        self.hook("PostToolUse", tool_response=result, duration_ms=20_000, **about)
        block = {"type": "tool_result", "tool_use_id": call, "content": [{"type": "text", "text": answer}]}
        self.line("user", message={"role": "user", "content": [block]}, toolUseResult=result)


def session(rng: random.Random, project: str, at: int) -> Recording:
    """A made-up session."""
    model = rng.choice(MODELS)
    made = Recording(rng, project, at, model)
    made.hook("SessionStart", source="startup", model=model)
    for task in rng.sample(TASKS, rng.choice((1, 1, 2, 2, 3))):
        work(made, task)
    made.wait()
    made.hook("SessionEnd", reason="prompt_input_exit")
    return made


def work(made: Recording, task: Task) -> None:
    """One prompt, and what was done for it."""
    rng, file = made.rng, f"{made.project}/{task.file}"
    made.prompt(task.prompt)
    if rng.random() < 0.15:
        made.subagent(
            "Find the callers",
            f"Find every place that uses {task.file} and list them.",
            f"Three places use `{task.file}`:\n\n1. `src/app.py`\n2. `src/api.py`\n3. `tests/test_app.py`",
            ["src/app.py", "src/api.py"],
        )
    made.call("Read", {"file_path": file}, *_read(file, task.old))
    if rng.random() < 0.3:
        made.call("Grep", {"pattern": "TODO", "path": made.project}, {"mode": "files", "filenames": [file]}, file)
    if rng.random() < 0.12:
        made.denied("Bash", {"command": "git push origin main", "description": "Push the change"}, rng.choice(SAID))
    for _ in range(rng.randint(1, 3)):
        edit = {"file_path": file, "old_string": task.old, "new_string": task.new, "replace_all": False}
        made.call(
            "Edit", edit, {"filePath": file, "oldString": task.old, "newString": task.new}, "The file was updated."
        )
    run = {"command": task.command, "description": task.description}
    if rng.random() < 0.3:
        made.call("Bash", run, {}, "", failed=task.error)
    if rng.random() < 0.25 and task.file.endswith(".tsx"):
        made.call("Read", {"file_path": f"{made.project}/shots/settings.png"}, *_picture())
    made.call("Bash", run, {"stdout": task.output, "stderr": "", "interrupted": False}, task.output)
    made.answer(task.answer)


def _read(path: str, content: str = "# …\n") -> tuple[dict[str, Any], str]:
    count = content.count("\n") + 1
    file = {"filePath": path, "content": content, "numLines": count, "startLine": 1, "totalLines": count}
    return {"type": "text", "file": file}, "\n".join(
        f"{number}\t{line}" for number, line in enumerate(content.split("\n"), 1)
    )


def _picture() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A small settings page with a dark theme, drawn here."""
    wide, high = 320, 180
    rows = bytearray()
    for y in range(high):
        rows.append(0)
        for x in range(wide):
            is_bar, is_button = y < 28, 24 < x < 120 and 120 < y < 150
            is_line = 50 < y < 100 and y % 16 < 5 and 24 < x < 24 + (y * 7) % 200 + 60
            rows += bytes((249, 115, 22) if is_button else (60, 64, 72) if is_bar or is_line else (24, 26, 30))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", wide, high, 8, 2, 0, 0, 0)
    png = (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(rows))) + chunk(b"IEND", b"")
    )
    text = base64.b64encode(png).decode()
    result = {"type": "image", "file": {"base64": text, "type": "image/png", "originalSize": len(png)}}
    return result, [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": text}}]


def _identifier(rng: random.Random) -> str:
    return str(uuid.UUID(int=rng.getrandbits(128)))


def _text(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def year(rng: random.Random, now: int) -> Iterator[Recording]:
    """The sessions of all projects; the last one is about the dark mode, has everything in it and still runs."""
    for project, busy in PROJECTS.items():
        for day in range(YEAR, -1, -1):
            is_weekend = datetime.fromtimestamp((now - day * DAY) / 1000).weekday() > 4
            for _ in range(rng.choice((0, 1, 1, 2, 3, 5)) if rng.random() < busy * (0.25 if is_weekend else 1) else 0):
                yield session(rng, project, now - day * DAY - rng.randint(DAY // 24, DAY // 3))
    yield shown(rng, now)


def shown(rng: random.Random, now: int) -> Recording:
    """The session of the pictures."""
    made = Recording(rng, "/home/dev/shop", now - 900_000, "claude-opus-5-5")
    made.branch = "dark-mode"
    made.hook("SessionStart", source="startup", model=made.model)
    task = TASKS[0]
    file = f"{made.project}/{task.file}"
    made.prompt(task.prompt)
    made.subagent(
        "Find the colours",
        "Find every hard-coded colour in src/ and list the files.",
        "Hard-coded colours are in 3 files:\n\n1. `src/settings.tsx`\n2. `src/cart.tsx`\n3. `src/theme.css`",
        ["src/cart.tsx", "src/theme.css"],
    )
    made.call("Read", {"file_path": file}, *_read(file, task.old))
    edit = {"file_path": file, "old_string": task.old, "new_string": task.new, "replace_all": False}
    made.call("Edit", edit, {"filePath": file, "oldString": task.old, "newString": task.new}, "The file was updated.")
    run = {"command": task.command, "description": task.description}
    made.call("Bash", run, {}, "", failed=task.error)
    hook = "import { useState } from 'react';\n\nexport function useTheme() {\n  return useState('dark');\n}\n"
    written = {"file_path": f"{made.project}/src/useTheme.ts", "content": hook}
    made.call("Write", written, {"type": "create", "filePath": written["file_path"], "content": hook}, "Created.")
    made.call("Bash", run, {"stdout": task.output, "stderr": "", "interrupted": False}, task.output)
    made.call("Read", {"file_path": f"{made.project}/shots/settings.png"}, *_picture())
    made.denied("Bash", {"command": "git push origin main", "description": "Push the change"}, SAID[0])
    made.answer(task.answer)
    work(made, TASKS[2])
    return made


def fill(home: str) -> tuple[str, str]:
    """Fill a folder with the year; returns the project and the id of the session to show."""
    os.environ["SESSIONLOG_HOME"] = home
    from sessionlog.archive import append
    from sessionlog.archive import place as projects
    from sessionlog.archive.event import normalise

    rng = random.Random(4)  # noqa: S311 (the same year every time)
    now = time.time_ns() // 1_000_000
    by_project: dict[str, list[Recording]] = {}
    folder = Path(home, "claude", "projects")
    for made in year(rng, now):
        by_project.setdefault(made.project, []).append(made)
        own = folder / made.project.replace("/", "-")
        for agent, lines in made.lines.items():
            path = own / made.id / "subagents" / f"agent-{agent}.jsonl" if agent else own / f"{made.id}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    for project, recordings in by_project.items():
        with closing(append.open_for_writing(projects.place(project))) as connection:
            connection.execute("BEGIN")
            for at, payload in sorted(
                (pair for made in recordings for pair in made.payloads), key=lambda pair: pair[0]
            ):
                append.append(connection, normalise(payload, at_ms=at, via="demo"), at)
            connection.execute("COMMIT")
    subprocess.run([sys.executable, "-m", "sessionlog", "import", "--quiet", str(folder)], check=True)  # noqa: S603
    last = by_project["/home/dev/shop"][-1]
    return projects.place(last.project).name, last.id


if __name__ == "__main__":
    print(*fill(str(Path(sys.argv[1]).resolve())))
