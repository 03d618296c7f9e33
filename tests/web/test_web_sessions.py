"""Lists of sessions: any order, any filter, any length."""

from __future__ import annotations

import re
import sqlite3
import urllib.error
from contextlib import closing

import pytest
from playwright.sync_api import Page, expect

from sessionlog.archive import place as projects
from sessionlog.archive.place import Place
from tests.helpers.archives import START_MS, bash, call, event, store
from tests.web.browsing import Open, Serve, urlopen

HOSTILE = "<img src=x onerror=alert(1)>\x1b[31m\u202e<script>alert(2)</script>"
HOUR_MS = 3_600_000
SESSIONS = 130


@pytest.fixture
def long_list(place: Place) -> Place:
    for number in range(SESSIONS):
        session_id = f"session-{number:03}"
        failed = [{**bash("make", session_id, "PostToolUseFailure"), "error": "Exit code 2"}] * (number % 10 == 3)
        store(
            place,
            event("UserPromptSubmit", session_id, prompt=f"Job {number:03}"),
            *(bash("ls", session_id) for _ in range(number % 7)),
            *failed,
            *([call("Edit", session_id, file_path=f"/p/{HOSTILE}/cart.py", old_string="a", new_string="b")] if number == 5 else []),
            start_ms=START_MS + number * HOUR_MS,
        )  # fmt: skip
    with closing(sqlite3.connect(place.db)) as connection:
        connection.execute(
            "INSERT INTO session_facts (session_id, custom_title, git_branch) VALUES ('session-007', ?, ?)",
            (f"Title {HOSTILE}", f"branch/{HOSTILE}"),
        )
        connection.execute("UPDATE sessions SET model = ? WHERE session_id = 'session-008'", (HOSTILE,))
        connection.commit()
    store(projects.place("/srv/other"), event("UserPromptSubmit", "o1", prompt="Elsewhere"), start_ms=START_MS - 1)
    return place


def read(address: str) -> str:
    with urlopen(address) as answer:
        return str(answer.read().decode())


def names(page: Page) -> list[str]:
    return page.locator("tbody .name").all_inner_texts()


def test_a_long_list(long_list: Place, serve: Serve, visit: Open) -> None:
    address = serve()
    page = visit(f"{address}-/sessions")
    expect(page.locator("h1")).to_contain_text(f"{SESSIONS + 1} sessions")
    assert names(page)[0] == f"Job {SESSIONS - 1:03}"

    # It grows by itself until its end.
    for count in (100, SESSIONS + 1):
        page.evaluate("scrollTo(0, document.body.scrollHeight)")
        page.wait_for_function("count => document.querySelectorAll('tbody .name').length >= count", arg=count)
    found = names(page)
    assert len(set(found)) == SESSIONS + 1 and found[-1] == "Elsewhere"

    # A heading for each day, once, though the rows came in parts; nothing says 0.
    days = page.locator("tr.day").all_inner_texts()
    assert len(days) == len(set(days)) > 1
    assert page.locator("td[data-label]").get_by_text(re.compile(r"^0( ms)?$")).count() == 0

    # The whole row is the link, except what is a link of its own; projects can be chosen.
    page.locator("tr[data-item]").first.locator("td[data-label=Started]").click(force=True)  # the link lies over it
    expect(page).to_have_url(re.compile(r"/-/session/"))
    page.goto(f"{address}-/sessions")
    page.locator("tr[data-item] .facts a.badge").first.click()
    expect(page).to_have_url(re.compile(r"/-/sessions/shop-\w+$"))
    page.wait_for_load_state()  # scripts listen from then on
    page.locator("select[name=project]").select_option(label="other")
    expect(page.locator("tbody .name")).to_have_text(["Elsewhere"])
    page.wait_for_load_state()
    page.locator("select[name=project]").select_option(label="All projects")
    expect(page.locator("h1")).to_contain_text(f"{SESSIONS + 1} sessions")

    # Any column, and the other way round.
    page.locator("th a", has_text="Tools").click()
    expect(page.locator("th[aria-sort='descending']")).to_have_text("Tools")
    counts = [int(text or 0) for text in page.locator("td[data-label='Tools']").all_inner_texts()]
    assert counts == sorted(counts, reverse=True)
    page.locator("th a", has_text="Tools").click()
    expect(page.locator("th[aria-sort='ascending']")).to_have_text("Tools")
    page.wait_for_load_state()
    counts = [int(text or 0) for text in page.locator("td[data-label='Tools']").all_inner_texts()]
    assert counts == sorted(counts)

    # Filters, which the address keeps.
    page.wait_for_load_state()
    page.get_by_label("With failures").check()
    expect(page.locator("h1")).to_contain_text("13 sessions")
    page.get_by_label("Title or prompt").fill("Job 02")
    page.keyboard.press("Enter")
    expect(page.locator("tbody .name")).to_have_text(["Job 023"])
    assert "text=Job+02" in page.url and "failed=1" in page.url
    page.get_by_role("link", name="Clear").click()
    page.get_by_label("Changed file").fill("cart.py")
    page.keyboard.press("Enter")
    expect(page.locator("tbody .name")).to_have_text(["Job 005"])
    page.goto(f"{address}-/sessions")
    page.wait_for_load_state()
    page.locator("select[name=tool]").select_option("Edit")
    expect(page.locator("tbody .name")).to_have_text(["Job 005"])
    assert "No sessions match" in read(f"{address}-/sessions?text=nothing+is+like+this")

    # What is hostile is shown and does nothing; the browser had it in the rows above.
    shown = read(f"{address}-/sessions?text=Title")
    assert "Title &lt;img src=x onerror=alert(1)&gt;" in shown and "branch/&lt;img" in shown
    assert "<img src=x" not in shown

    # Keys: from below the last that is seen; from above the first, the next, open.
    page.goto(f"{address}-/sessions?sort=started&order=asc")
    page.keyboard.press("k")
    assert 0 <= page.evaluate("innerHeight - document.activeElement.getBoundingClientRect().bottom") < 200
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/-/session/shop-[0-9a-f]{16}/session-000$"))

    # One project, without a script: a plain link leads on.
    (path,) = set(re.findall(r'href="/(-/sessions/other-\w+)"', read(address)))
    assert "Elsewhere" in (shown := read(f"{address}{path}")) and "Job 0" not in shown

    phone = visit(f"{address}-/sessions", phone=True)
    assert phone.evaluate("document.documentElement.scrollWidth <= innerWidth")
    phone.get_by_role("button", name="More filters").tap()
    expect(phone.get_by_label("With failures")).to_be_visible()


def test_wrong_addresses_are_told(place: Place, serve: Serve) -> None:
    store(place, event("UserPromptSubmit", prompt="x"))
    address = serve()
    for question, said in (
        ("sort=nothing", "cannot be sorted by"),
        ("after=[1]", "begin at its first page"),
        ("since=soon", "is no day"),
    ):
        with pytest.raises(urllib.error.HTTPError) as refused:
            urlopen(f"{address}-/sessions?{question}")
        assert refused.value.code == 400
        assert said in refused.value.read().decode()
        refused.value.close()
