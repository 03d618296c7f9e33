"""A real server over real archives, and a real browser to look at it."""

from __future__ import annotations

import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TextIO

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect, sync_playwright

from tests.web.browsing import Open, Serve, headers, log_in

CHROMIUM = os.environ.get("CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
# As long as pages wait for elsewhere; the machine may be busy.
expect.set_options(timeout=15_000)
# Chromium's own traffic would be refused on machines without a network, many times a second.
SWITCHES = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class Servers:
    """Starts `sessionlog browse` by way of forking.py."""

    def __init__(self) -> None:
        script = Path(__file__).with_name("forking.py")
        self.process = subprocess.Popen(
            [sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def start(self, arguments: list[str], output: Path) -> int:
        """The number of the process, which prints to this named pipe."""
        assert self.process.stdin and self.process.stdout
        request = {
            "arguments": arguments,
            "environment": dict(os.environ),
            "folder": os.getcwd(),
            "output": str(output),
        }
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    """One for all tests."""
    made = Servers()
    yield made
    made.process.communicate(timeout=20)


@pytest.fixture
def serve(home: Path, servers: Servers, tmp_path: Path) -> Iterator[Serve]:
    """Runs `sessionlog browse` with these arguments, and gives the address that it prints."""
    running: list[tuple[int, TextIO]] = []

    def start(*arguments: str) -> str:
        pipe = tmp_path / f"printed-{len(running)}"
        os.mkfifo(pipe)
        pid = servers.start(["browse", "--no-open", "--port", "0", *arguments], pipe)
        running.append((pid, output := pipe.open()))
        told = output.readline()
        found = re.search(r"http://\S+", told)
        assert found, f"no address: {told!r}"
        return log_in(found[0]) if "token=" in found[0] and "--host" not in arguments else found[0]

    yield start
    for pid, output in running:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        ended, _, _ = select.select([output], [], [], 20)
        if not ended:
            os.kill(pid, signal.SIGKILL)
        with output:
            assert ended and output.read() == "", "the server does not end"


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    if CHROMIUM is None:
        assert not os.environ.get("CI"), "CI needs a browser, on the PATH or in $CHROMIUM"
        pytest.skip("no Chromium on this machine")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=SWITCHES)
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium: Browser) -> Iterator[Open]:
    """Opens a page; the test fails if any page asked for something outside this machine, or a script failed."""
    contexts: list[BrowserContext] = []
    problems: list[str] = []

    def keep_here(route: Route) -> None:
        if re.match(r"https?://(127\.0\.0\.1|localhost|\[::1\])[:/]", route.request.url):
            route.continue_()
        else:
            problems.append(f"asked for {route.request.url}")
            route.abort()

    def open_page(address: str, *, dark: bool = False, phone: bool = False, known: bool = True) -> Page:
        context = chromium.new_context(
            color_scheme="dark" if dark else "light",
            viewport={"width": 390, "height": 844} if phone else {"width": 1280, "height": 800},
            is_mobile=phone,
            has_touch=phone,
        )
        contexts.append(context)
        context.route("**/*", keep_here)
        if known and (cookie := headers(address).get("Cookie")):
            name, _, value = cookie.partition("=")
            context.add_cookies([{"name": name, "value": value, "url": "/".join(address.split("/", 3)[:3])}])
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("pageerror", lambda error: problems.append(f"script failed: {error}"))
        if known:  # else the first answer is a 403, which the console tells
            page.on("console", lambda said: problems.append(f"console: {said.text}") if said.type == "error" else None)
        page.on("dialog", lambda dialog: (problems.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not problems
