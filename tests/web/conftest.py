"""A real server over real archives, and a real browser to look at it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from browsing import Open, Serve
from playwright.sync_api import Browser, BrowserContext, Page, Route, sync_playwright

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
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


@pytest.fixture
def serve(home: Path) -> Iterator[Serve]:
    """Starts `sessionlog browse` as a person does, and gives its address."""
    processes = []

    def start(*arguments: str) -> str:
        command = [sys.executable, "-m", "sessionlog", "browse", "--no-open", "--port", "0", *arguments]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        processes.append(process)
        assert process.stdout
        told = process.stdout.readline()
        found = re.search(r"http://\S+", told)
        assert found, f"no address: {told!r}"
        return found[0]

    yield start
    for process in processes:
        process.terminate()
        process.communicate(timeout=20)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    if CHROMIUM is None:
        assert not os.environ.get("CI"), "CI needs a browser: .ci/run installs Debian's chromium"
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

    def open_page(address: str, *, dark: bool = False, phone: bool = False) -> Page:
        context = chromium.new_context(
            color_scheme="dark" if dark else "light",
            viewport={"width": 390, "height": 844} if phone else {"width": 1280, "height": 800},
            is_mobile=phone,
            has_touch=phone,
        )
        contexts.append(context)
        context.route("**/*", keep_here)
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("pageerror", lambda error: problems.append(f"script failed: {error}"))
        page.on("console", lambda said: problems.append(f"console: {said.text}") if said.type == "error" else None)
        page.on("dialog", lambda dialog: (problems.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not problems
