"""Pictures of every page for the README and docs/pages.md: light and dark, desktop and phone.

python tools/screenshots.py            # needs Chromium, and Noto's CJK fonts for the Chinese text
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pages"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
SWITCHES = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]

PROJECTS = {"/home/dev/shop": 1.0, "/home/dev/billing": 0.4, "/home/dev/mobile-app": 0.25}
PROMPTS = (
    "Add a dark mode to the settings page",
    "Why does the login test fail on CI?",
    "请把购物车的按钮改成蓝色，并补上测试",
    "Refactor the payment module into smaller functions",
    "Write a migration for the orders table",
    "カートの合計が間違っています。直してください",
    "Speed up the search endpoint, it takes two seconds",
    "Find out why memory grows overnight",
    "Rename Customer to Account everywhere",
)
FILES = ("src/cart.py", "src/payment.py", "src/settings.tsx", "tests/test_cart.py", "README.md", "src/search/index.py")
COMMANDS = ("pytest -q", "npm test", "git status", "make build")
DAY = 86_400_000
YEAR = 340


def session(rng: random.Random, project: str) -> Iterator[dict[str, Any]]:
    """The events of a made-up session."""
    yield {
        "hook_event_name": "SessionStart",
        "source": "startup",
        "model": rng.choice(("claude-opus-5-5", "claude-sonnet-5")),
    }
    for _ in range(rng.randint(1, 6)):
        yield {"hook_event_name": "UserPromptSubmit", "prompt": rng.choice(PROMPTS), "prompt_id": identifier(rng)}
        for _ in range(rng.randint(1, 14)):
            yield call(rng, f"{project}/{rng.choice(FILES)}")
        yield {"hook_event_name": "Stop", "last_assistant_message": "Done. All tests pass."}
    yield {"hook_event_name": "SessionEnd", "reason": "prompt_input_exit"}


def call(rng: random.Random, file: str) -> dict[str, Any]:
    inputs: dict[str, Any]
    match tool := rng.choice(("Bash", "Bash", "Edit", "Edit", "Read", "Grep", "Write", "WebFetch")):
        case "Bash":
            inputs = {"command": rng.choice(COMMANDS)}
        case "Edit":
            inputs = {"file_path": file, "old_string": "return total", "new_string": "return round(total, 2)"}
        case "Write":
            inputs = {"file_path": file, "content": "# To be filled in\n"}
        case "Read":
            inputs = {"file_path": file}
        case _:
            inputs = {"pattern": "cart", "url": "https://example.org/"}
    done = {"tool_name": tool, "tool_input": inputs, "tool_use_id": f"toolu_{identifier(rng)}"}
    done["duration_ms"] = int(rng.lognormvariate(6, 1.6))
    if rng.random() < 0.07:
        return {**done, "hook_event_name": "PostToolUseFailure", "error": "Exit code 1\n1 failed, 41 passed"}
    return {**done, "hook_event_name": "PostToolUse", "tool_response": {"stdout": "42 passed", "stderr": ""}}


def identifier(rng: random.Random) -> str:
    return str(uuid.UUID(int=rng.getrandbits(128)))


def fill() -> str:
    """A year of three projects, and today the session of `sessionlog demo`; returns the address of its page."""
    from sessionlog.archive import append
    from sessionlog.archive import place as projects
    from sessionlog.archive.event import normalise
    from sessionlog.cli.demo import SAMPLE

    rng = random.Random(4)  # noqa: S311 (the same pictures every time)
    now = time.time_ns() // 1_000_000
    sample = [
        json.loads(line.replace("{project}", "/home/dev/shop").replace("{home}", "/home/dev"))
        for line in SAMPLE.read_text(encoding="utf-8").splitlines()
    ]
    for project, busy in PROJECTS.items():
        sessions = [
            (now - day * DAY - rng.randint(DAY // 24, DAY // 2), list(session(rng, project)), identifier(rng))
            for day in range(YEAR, -1, -1)
            for _ in range(rng.choice((0, 0, 1, 1, 2, 3)) if rng.random() < busy else 0)
        ]
        if project.endswith("shop"):
            sessions.append((now - 180_000, sample, sample[0]["session_id"]))
        with closing(append.open_for_writing(projects.place(project))) as connection:
            connection.execute("BEGIN")
            for at_ms, events, session_id in sessions:
                at = at_ms
                for event in events:
                    at += rng.randint(300, 9_000)
                    record = normalise({"cwd": project, **event, "session_id": session_id}, at_ms=at, via="demo")
                    append.append(connection, record, at)
            connection.execute("COMMIT")
    return f"/-/session/{projects.place('/home/dev/shop').name}/{sample[0]['session_id']}"


def picture(browser: Browser, address: str, name: str, dark: bool, phone: bool) -> None:
    context = browser.new_context(
        color_scheme="dark" if dark else "light",
        viewport={"width": 390, "height": 844} if phone else {"width": 1280, "height": 860},
        is_mobile=phone,
    )
    page = context.new_page()
    page.goto(address)
    page.wait_for_load_state("networkidle")
    page.get_by_text("Looking …").wait_for(state="hidden")
    kind = f"{'phone-' if phone else ''}{'dark' if dark else 'light'}"
    page.screenshot(path=PICTURES / f"{name}-{kind}.png")
    context.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        os.environ["SESSIONLOG_HOME"] = home
        shown = fill()
        database = shown.split("/")[3]
        pages = {
            "home": "/",
            "sessions": "/-/sessions",
            "session": shown,
            "search": "/-/search?q=%E6%8C%89%E9%92%AE",
            "files": f"/-/files?project={database}&path=/home/dev/shop/cart.py",
            "dashboard": "/-/dashboard",
            "audits": "/-/audits",
            "audit": "/-/audits/failures",
            "tables": f"/{database}/bash_commands",
        }
        PICTURES.mkdir(exist_ok=True)
        command = [sys.executable, "-m", "sessionlog", "browse", "--no-open", "--no-token", "--port", "0"]
        with (
            subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server,  # noqa: S603 (our own)
            sync_playwright() as playwright,
        ):
            found = re.search(r"http://\S+\d", server.stdout.readline() if server.stdout else "")
            if not found:
                raise SystemExit("the server did not start")
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=SWITCHES)
            warm = browser.new_page()
            for path in pages.values():  # the first answer may be about an index or a count that is being made
                warm.goto(found[0] + path)
                warm.wait_for_timeout(1500)
            for name, path in pages.items():
                for dark in (False, True):
                    for phone in (False, True):
                        picture(browser, found[0] + path, name, dark, phone)
            browser.close()
            server.terminate()


if __name__ == "__main__":
    main()
