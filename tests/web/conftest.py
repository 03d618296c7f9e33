"""A real server over real archives, and a real browser to look at it."""

from __future__ import annotations

import ctypes
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

import pytest
from playwright.sync_api import Browser, BrowserContext, Error, Page, Request, expect, sync_playwright

from sessionlog.archive import place as projects
from sessionlog.archive.place import Place
from tests.conftest import empty_home
from tests.helpers.archives import store
from tests.helpers.chromium import CHROMIUM
from tests.web.browsing import Open, Serve, Share, Site, headers, log_in

# The machine may be busy, and what comes in time costs nothing.
PATIENCE_MS = 60_000
expect.set_options(timeout=PATIENCE_MS)
# Chromium's own traffic would be refused on machines without a network, many times a second.
SWITCHES = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-software-rasterizer",
    "--disable-extensions",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # A process less for each server that is opened, and no thread for each processor: a fifth of the browser's work.
    "--renderer-process-limit=1",
    "--disable-site-isolation-trials",
    "--in-process-gpu",
    "--num-raster-threads=1",
    # What is outside of this machine is behind a proxy that is not there.
    "--proxy-server=127.0.0.1:9",
    "--proxy-bypass-list=127.0.0.1;localhost;[::1]",
]
PR_CAPBSET_DROP, CAP_SYS_NICE = 24, 23


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
    made.process.communicate(timeout=60)


@contextmanager
def serving(servers: Servers, folder: Path) -> Iterator[Serve]:
    running: list[tuple[int, TextIO]] = []

    def start(*arguments: str) -> str:
        pipe = folder / f"printed-{len(running)}"
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
        ended, _, _ = select.select([output], [], [], 60)  # a busy machine
        stacks = ""
        if not ended:
            os.kill(pid, signal.SIGUSR1)  # forking.py: write down where each thread is
            time.sleep(1)
            stacks = Path(f"{output.name}.stacks").read_text()
            os.kill(pid, signal.SIGKILL)
        with output:
            assert ended and output.read() == "", f"the server does not end: {stacks}"


@pytest.fixture
def serve(home: Path, servers: Servers, tmp_path: Path) -> Iterator[Serve]:
    """Runs `sessionlog browse` with these arguments, and gives the address that it prints."""
    with serving(servers, tmp_path) as start:
        yield start


@pytest.fixture(scope="module")
def share(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Share]:
    """Fills an archive and serves it, once for all tests of a module; they only read."""
    folder = tmp_path_factory.mktemp("shared")
    project = folder / "shop"
    project.mkdir()
    with serving(servers, folder) as start:

        def fill(events: Callable[[Place], Iterable[dict[str, Any]]], *arguments: str) -> Site:
            with pytest.MonkeyPatch.context() as patch:
                empty_home(patch, folder)
                place = projects.place(os.path.realpath(project))
                store(place, *events(place))
                return Site(start(*arguments), place)

        yield fill


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    if CHROMIUM is None:
        assert not os.environ.get("CI"), "CI needs a browser, on the PATH or in $CHROMIUM"
        pytest.skip("no Chromium on this machine")
    if sys.platform == "linux":
        # Chromium of root gives itself a higher priority than the server that it waits for: not if it may not.
        ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_SYS_NICE, 0, 0, 0)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=SWITCHES)
        yield browser
        browser.close()


class Tabs:
    """A browser window and a phone that all tests of a worker share.

    What pages keep is removed after each test.
    """

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.contexts: dict[bool, BrowserContext] = {}

    def context(self, phone: bool) -> BrowserContext:
        if phone not in self.contexts:
            self.contexts[phone] = self.browser.new_context(
                viewport={"width": 390, "height": 844} if phone else {"width": 1280, "height": 800},
                is_mobile=phone,
                has_touch=phone,
                reduced_motion="reduce",  # a badge that breathes is drawn 60 times a second
                permissions=["clipboard-read", "clipboard-write"],
            )
            self.contexts[phone].new_page()  # stays: the process that shows pages ends with the last of them
        return self.contexts[phone]


@pytest.fixture(scope="session")
def tabs(chromium: Browser) -> Tabs:
    return Tabs(chromium)


@pytest.fixture
def visit(tabs: Tabs) -> Iterator[Open]:
    """Opens a page; the test fails if any page asked for something outside this machine, or a script failed."""
    problems: list[str] = []

    def is_here(request: Request) -> None:
        if not re.match(r"(https?://(127\.0\.0\.1|localhost|\[::1\])[:/]|data:|blob:)", request.url):
            problems.append(f"asked for {request.url}")

    def open_page(address: str, *, dark: bool = False, phone: bool = False, known: bool = True) -> Page:
        context = tabs.context(phone)
        if known and (cookie := headers(address).get("Cookie")):
            name, _, value = cookie.partition("=")
            context.add_cookies([{"name": name, "value": value, "url": "/".join(address.split("/", 3)[:3])}])
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        if dark:
            page.emulate_media(color_scheme="dark")
        page.on("request", is_here)
        page.on("pageerror", lambda error: problems.append(f"script failed: {error}"))
        if known:  # else the first answer is a 403, which the console tells
            page.on("console", lambda said: problems.append(f"console: {said.text}") if said.type == "error" else None)
        page.on("dialog", lambda dialog: (problems.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.goto(address)
        return page

    yield open_page
    for context in tabs.contexts.values():
        for page in context.pages[1:]:
            with suppress(Error):  # an empty page has nothing to keep
                page.evaluate("localStorage.clear()")
            page.close()
        context.clear_cookies()
    assert not problems
