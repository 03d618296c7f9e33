"""Home: what there is, at a glance."""

from __future__ import annotations

import os
import re
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from sessionlog.archive import append
from sessionlog.archive import place as projects
from sessionlog.archive.place import Place
from sessionlog.ask.rollup import open as rollup
from sessionlog.transcripts import importer
from sessionlog.web import counting
from tests.helpers.archives import bash, call, event, store
from tests.helpers.transcript_lines import Transcript
from tests.web.browsing import Open, Serve, urlopen

HOSTILE = "<img src=x onerror=alert(1)>\x1b[31m\u202e<script>alert(2)</script>"
DAY_MS = 86_400_000


@pytest.fixture
def now_ms() -> int:
    return int(time.time() * 1000)


@pytest.fixture
def busy(place: Place, now_ms: int) -> Place:
    """Sessions of today and of days before, one of them live."""
    store(
        place,
        event("UserPromptSubmit", "live", prompt="给结账页面加上折扣码"),
        bash("ls", "live"),
        {**bash("make", "live", "PostToolUseFailure"), "error": "Exit code 2"},
        call("Edit", "live", file_path="/p/a.py", old_string="a", new_string="b"),
        start_ms=now_ms - 4000,
    )
    for number in range(30):
        session_id = f"old-{number:02}"
        store(
            place,
            event("UserPromptSubmit", session_id, prompt=f"Job {number}" if number else HOSTILE),
            *(bash("ls", session_id) for _ in range(number)),
            event("SessionEnd", session_id, reason="other"),
            start_ms=now_ms - (number * 11 + 2) * DAY_MS,
        )
    return place


def total(page: Page, name: str) -> str:
    return page.locator(".totals > div", has_text=name).locator("dd").inner_text()


def test_home(busy: Place, serve: Serve, visit: Open, now_ms: int, monkeypatch: pytest.MonkeyPatch) -> None:
    address = serve()
    page = visit(address)
    assert (total(page, "Sessions"), total(page, "Prompts"), total(page, "Tool calls")) == ("31", "31", "438")
    assert (total(page, "Failures"), total(page, "Edits")) == ("1", "1")
    expect(page.locator(".today")).to_contain_text("1 session")
    first = page.locator(".recent li").first
    expect(first).to_contain_text("给结账页面加上折扣码")
    expect(first.locator(".live")).to_have_text("live")
    expect(first).to_contain_text("1 failed")
    expect(page.locator(".recent li")).to_have_count(12)
    expect(page.locator(".recent")).to_contain_text("<img src=x onerror=alert(1)>")
    expect(page.locator(".calendar a")).to_have_count(31)

    # A day of the calendar is a list of that day's sessions; without a mouse.
    page.locator(".calendar a[tabindex='0']").focus()
    page.keyboard.press("ArrowLeft")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/-/sessions\?since=(\S+)&until=\1$"))
    expect(page.locator("tr[data-item]")).to_have_count(1)
    page.go_back()

    page.keyboard.press("/")
    expect(page.locator("#find")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/-/session/shop-[0-9a-f]{16}/live$"))

    # What is recorded while the server runs is there when one looks again, in new projects, too.
    store(busy, event("UserPromptSubmit", "newer", prompt="One more"), start_ms=now_ms)
    store(projects.place("/srv/another"), event("UserPromptSubmit", "n1", prompt="Elsewhere"), start_ms=now_ms)
    page.goto(address)
    expect(page.locator(".recent")).to_contain_text("One more")
    expect(page.locator(".recent")).to_contain_text("Elsewhere")
    expect(page.locator(".projects li")).to_have_count(2)
    page.get_by_role("link", name="another").click()
    expect(page.locator("tbody")).to_contain_text("Elsewhere")

    # An archive that cannot be read hides none of the others.
    with closing(sqlite3.connect(projects.place("/srv/another").db)) as connection:
        connection.execute("PRAGMA user_version = 999")
    page.goto(address)
    expect(page.get_by_role("alert")).to_contain_text("written by a newer sessionlog")
    expect(page.locator(".projects li")).to_have_count(1)

    for dark, phone in ((True, False), (False, True)):
        page = visit(address, dark=dark, phone=phone)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_rows_are_links_and_nothing_is_counted_that_is_not_there(
    place: Place, serve: Serve, visit: Open, now_ms: int
) -> None:
    store(place, event("SessionStart", "quiet", source="startup"), start_ms=now_ms - 40 * DAY_MS)
    timeless = Transcript("timeless", cwd=place.project)
    del timeless.user("When was this?")["timestamp"]
    os.utime(timeless.write(Path.home()), (0, 1_700_000_000))
    importer.run()
    empty = projects.place("/srv/empty")
    append.open_for_writing(empty).close()
    page = visit(serve())
    expect(page.locator(".recent li")).to_have_count(2)
    assert not re.search(r"\blive\b|\b0\b", page.locator(".recent").inner_text())
    row = page.locator(".recent li").first  # and not what has no time
    expect(row).not_to_contain_text("When was this?")
    assert not re.search(r"\b0\b", row.inner_text()), row.inner_text()
    assert "live" not in row.inner_text()
    expect(page.locator(".projects li", has_text="empty")).to_contain_text("No sessions yet")
    assert not re.search(r"\b0 ", page.locator(".projects li", has_text="empty").inner_text())
    box = row.bounding_box()
    assert box
    page.mouse.click(box["x"] + box["width"] - 30, box["y"] + box["height"] / 2)
    page.wait_for_url("**/-/session/**")


def test_an_empty_home_says_what_to_do(place: Place, serve: Serve, visit: Open, tmp_path: Path) -> None:
    append.open_for_writing(place).close()
    address = serve()
    page = visit(address)
    for command in ("sessionlog install", "sessionlog import", "sessionlog demo"):
        expect(page.locator("main")).to_contain_text(command)
    page = visit(f"{address}-/sessions")
    expect(page.locator("main")).to_contain_text("sessionlog install")
    page = visit(f"{address}-/dashboard")
    expect(page.locator("main")).to_contain_text("Nothing was recorded in that time")


def test_an_archive_that_cannot_be_read_is_not_an_empty_one(busy: Place, serve: Serve, visit: Open) -> None:
    address = serve()
    with closing(sqlite3.connect(busy.db)) as connection:
        connection.execute("PRAGMA user_version = 999")
    page = visit(address)
    expect(page.get_by_role("alert")).to_contain_text("written by a newer sessionlog")
    expect(page.locator("main")).not_to_contain_text("Nothing has been recorded")


def test_what_is_being_counted_is_not_waited_for(busy: Place, serve: Serve, visit: Open) -> None:
    with closing(sqlite3.connect(busy.db)) as connection:  # as if there were as many as nobody waits for
        connection.execute(
            "UPDATE sessions SET events = events + 30000 WHERE started_at = (SELECT max(started_at) FROM sessions)"
        )
        connection.commit()
    with rollup.KIND.lock(busy):  # as somebody has it who counts a big archive
        address = serve()
        page = visit(address)
        expect(page.locator("#counting")).to_contain_text("counted for the first time")
        expect(page.locator(".recent").first).to_contain_text("给结账页面加上折扣码")
        assert page.locator(".calendar").count() == 0
        for path, text in (("-/sessions", "给结账页面加上折扣码"), ("-/dashboard", "Days, tools, files")):
            with urlopen(f"{address}{path}") as response:
                assert text in response.read().decode()
    # The page shows the rest by itself.
    expect(page.locator(".calendar")).to_be_visible(timeout=60_000)
    assert page.locator("#counting").count() == 0


def test_counts_that_cannot_be_kept_are_made_each_time(busy: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rollup, "FEW", 0)
    Path(rollup.KIND.path(busy)).mkdir()  # nothing can be written there
    with closing(counting.connect(busy)) as first:
        assert rollup.is_preview(first)
    assert counting.start(busy).future.exception(60) is None
    with closing(counting.connect(busy)) as then:
        assert not rollup.is_preview(then)
