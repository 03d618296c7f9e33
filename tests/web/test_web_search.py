"""The page that searches all projects."""

from __future__ import annotations

import http.client
import re
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from playwright.sync_api import expect

from sessionlog.archive import place as projects
from sessionlog.archive import read
from sessionlog.archive.place import Place
from sessionlog.ask.search import build, facets, index, scan
from sessionlog.ask.search import find as search
from tests.conftest import thorough
from tests.helpers.archives import bash, call, event, store
from tests.web.browsing import Open, Serve, complaints, headers

HOSTILE = '<script>alert(1)</script><img src=x onerror=alert(2)>\x1b[31m\u202eevil "折扣"'


@pytest.fixture
def other(tmp_path: Path) -> Place:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    return projects.place(str(folder))


def fill(place: Place, other: Place) -> None:
    store(
        place,
        event("UserPromptSubmit", prompt="请修复购物车的折扣计算", prompt_id="p1"),
        bash("grep 折扣 cart.py"),
        bash("grep 折扣 missing.py", name="PostToolUseFailure") | {"error": "Exit code 2\n折扣: no such file"},
        call("Edit", file_path="/w/cart.py", old_string="a", new_string="# 折扣\nb"),
        event("Stop", last_assistant_message="折扣 is right now"),
        event("UserPromptSubmit", "s2", prompt=f"{HOSTILE} nothing else"),
    )
    store(other, event("UserPromptSubmit", "s3", prompt="another 折扣 elsewhere"))


def test_find_filter_and_open_with_the_keyboard(place: Place, other: Place, serve: Serve, visit: Open) -> None:
    fill(place, other)
    address = serve("--all")
    page = visit(f"{address}-/search")
    page.keyboard.type("折扣")  # the box has the focus
    page.keyboard.press("Enter")
    page.wait_for_url("**/-/search?q=*")
    expect(page.locator("h1")).to_have_text("7 hits")
    expect(page.locator(".hit mark").first).to_have_text("折扣")
    assert page.locator(".hits h2").all_inner_texts() != []

    # The moment of a hit is in its address.
    prompt = page.locator(".hit", has=page.locator(".word.prompt", has_text="Prompt")).filter(has_text="购物车")
    assert prompt.get_attribute("href") == f"/-/session/{place.name}/s1?at=e1#e1"

    # Facets: counts, one click sets, another removes.
    tools = page.locator("[data-facet=tool]")
    expect(tools.locator("li")).to_have_text(["Bash\n2", "Edit\n1"], use_inner_text=True)
    tools.get_by_text("Bash").click()
    page.wait_for_url("**tool=Bash**")
    expect(page.locator(".hit")).to_have_count(2)
    expect(page.locator("[data-facet=tool]").locator("li"), "the others can still be chosen").to_have_count(2)
    page.wait_for_load_state()
    page.get_by_label("Failed only").check()
    page.wait_for_url("**failed=1**")
    expect(page.locator(".hit")).to_have_count(1)
    expect(page.locator(".hit .badge.bad")).to_have_count(1)
    page.locator("aside .set a").click()
    page.wait_for_url(lambda url: "tool=" not in url and "failed=1" in url)

    # One project, then one session.
    page.goto(f"{address}-/search?q={quote('折扣')}&project={other.name}")
    expect(page.locator("h1")).to_have_text("1 hit")
    page.goto(f"{address}-/search?q={quote('折扣')}")
    page.locator("h1").wait_for()
    page.keyboard.press("j")
    page.keyboard.press("j")
    second = page.locator(".hit").nth(1).get_attribute("href")
    assert page.evaluate("document.activeElement.getAttribute('href')") == second
    page.keyboard.press("Enter")
    page.wait_for_url("**/-/session/**")
    assert page.url.endswith(str(second))


def test_a_hit_explains_itself(place: Place, serve: Serve, visit: Open) -> None:
    error = (
        "Exit code 2\nrunning 41 tests\n\x1b[31mE   TypeError: useTheme is not a function\x1b[0m\nat settings.tsx:8\n"
    )
    run = call(
        "Bash", name="PostToolUseFailure", command="npm test -- settings", description="Run the tests of the page"
    )
    answer = "## Done\n\n- the page uses **`useTheme`** from [the docs](https://example.org/docs) " + "wordy " * 60
    store(
        place,
        event("UserPromptSubmit", prompt="first line\nwhy does the darkTheme flicker?\nlast line"),
        run | {"error": error},
        call("Edit", file_path="/w/theme.py", old_string="a", new_string="x = 1\ncolour_theme = getThemeName()\n"),
        event("Stop", last_assistant_message=answer),
    )
    page = visit(f"{serve('--all')}-/search?q=theme")
    hits = page.locator(".hit")
    expect(hits).to_have_count(4)

    # Newest first: Markdown without its signs, no word in part, each part of a name marked.
    said = hits.nth(0).locator(".snippet")
    assert re.fullmatch(r"the page uses useTheme from the docs( wordy)+…", said.inner_text())
    expect(said.locator("mark")).to_have_text(["Theme"])
    expect(hits.nth(0).locator(".word")).to_have_text("Answer")
    expect(hits.nth(1).locator(".file mark")).to_have_text("theme")
    expect(hits.nth(1).locator(".snippet")).to_have_count(0)  # the path matches

    # What was run, what it was for, how it ended and why: no click.
    failed = hits.nth(2)
    expect(failed.locator(".command")).to_have_text("npm test -- settings")
    expect(failed.locator(".about")).to_have_text("Run the tests of the page")
    expect(failed.locator(".badge.bad")).to_have_text("exit 2")
    expect(failed.locator(".error")).to_have_text("E TypeError: useTheme is not a function")
    expect(failed.locator(".error mark")).to_have_text("Theme")
    expect(hits.nth(3).locator(".snippet")).to_have_text("why does the darkTheme flicker?")

    # What is marked can be read, in red and in small print, too.
    assert complaints(page, "dark") == {}

    # The same without any words: what failed, and why.
    page.goto(page.url.replace("q=theme", "failed=1"))
    expect(page.locator(".error")).to_have_text("E TypeError: useTheme is not a function")
    expect(page.locator("[data-facet]")).to_have_count(0)  # one value is no choice
    # By a regular expression, what it found is marked in all lines.
    page.goto(page.url.replace("failed=1", "q=use[A-Z]heme&mode=regex"))
    expect(page.locator(".error mark")).to_have_text("useTheme")


def test_a_report_of_a_sub_agent_is_words(place: Place, serve: Serve, visit: Open) -> None:
    report = {"content": [{"type": "text", "text": "Found in:\n\n1. **`src/theme.css`**"}]}
    store(place, call("Agent", description="Find it", prompt="Find it") | {"tool_response": report})
    snippet = visit(f"{serve('--all')}-/search?q=theme").locator(".hit .snippet")
    expect(snippet).to_have_text("src/theme.css")
    expect(snippet).not_to_have_class(re.compile("mono"))


def test_facets_are_in_peoples_words_and_one_line_on_a_phone(place: Place, serve: Serve, visit: Open) -> None:
    store(place, *(bash(f"make word{number}") for number in range(40)), event("UserPromptSubmit", prompt="make it so"))
    page = visit(f"{serve('--all')}-/search?q=make", phone=True)
    expect(page.locator(".behind")).to_have_count(0)
    expect(page.locator("[data-facet=event] li").first).to_be_hidden()
    first = page.locator(".hit").first.bounding_box()
    assert first and first["y"] < 500, first
    page.locator("[data-facet=event] summary").click()
    expect(page.locator("[data-facet=event] li")).to_have_text(["Tool call 40", "Prompt 1"])


QUESTIONS = [
    '"',
    "a OR",
    "*",
    "-",
    "NEAR(",
    "{}:",
    "a" * 5000,
    "(",
    "^x",
    HOSTILE,
    "𠮷",
    "%",
    "\u202e",
    "said : x",
    "- - OR OR",
]


def test_any_text_is_a_question(place: Place, other: Place, serve: Serve, visit: Open) -> None:
    fill(place, other)
    address = serve("--all")
    parts = urlsplit(address)
    assert parts.hostname
    more_of_it = ("", "&sort=best", "&tool=%22&role=x&file=[&branch=%27&before=9999999999999999999-x&failed=1")
    for number, question in enumerate(QUESTIONS):
        for more in more_of_it if thorough() else more_of_it[number % 3 :][:1]:
            connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
            connection.request("GET", f"/-/search?q={quote(question)}{more}", headers=headers(address))
            response = connection.getresponse()
            body = response.read().decode()
            connection.close()
            assert response.status == 200, question
            assert "<script>alert" not in body and "<img src=x" not in body
    page = visit(f"{address}-/search?q=evil", phone=True)
    expect(page.locator(".hit")).to_have_count(1)
    assert "\u202e" not in page.content() and "\\u202e" in page.locator(".snippet").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.goto(f"{address}-/search?q=x&since=yesteryear")
    expect(page.locator("main")).to_contain_text("is no time")


def test_more_hits_than_a_page_holds(place: Place, serve: Serve, visit: Open) -> None:
    store(place, *(event("UserPromptSubmit", f"s{number % 3}", prompt=f"word {number}") for number in range(70)))
    page = visit(f"{serve('--all')}-/search?q=word")
    expect(page.locator(".hit")).to_have_count(30)  # on a busy machine the index is behind at first
    seen = []
    while True:
        seen += page.locator(".snippet").all_inner_texts()
        older = page.get_by_text("Older hits")
        if not older.count():
            break
        with page.expect_navigation():
            older.click()
    assert sorted(seen) == sorted(f"word {number}" for number in range(70))


def test_an_index_that_is_behind_answers_and_goes_on(place: Place, serve: Serve, visit: Open) -> None:
    store(place, event("UserPromptSubmit", prompt="early bird"))
    with closing(read.connect(place)) as archive:
        build.catch_up(place, archive)
    store(place, *(event("UserPromptSubmit", "s2", prompt=f"late bird {number}") for number in range(20)))
    with closing(sqlite3.connect(index.path_of(place), isolation_level=None)) as held:
        held.execute("BEGIN IMMEDIATE")  # the server can read the index, and not go on with it
        page = visit(f"{serve('--all')}-/search?q=bird")
        expect(page.locator("[data-later]")).to_contain_text("of 20 events")
        expect(page.locator("mark")).to_have_text(["bird"], use_inner_text=True)
        held.execute("ROLLBACK")
    page.get_by_text("21 hits").wait_for()
    expect(page.locator("[data-later]")).to_have_count(0)


def test_exact_text_and_regular_expressions(place: Place, serve: Serve, visit: Open) -> None:
    store(place, bash("echo '});'"), event("UserPromptSubmit", prompt='say "});" 折扣'), bash("ls"))
    address = serve("--all")
    page = visit(f"{address}-/search?q={quote('});')}")  # signs alone are looked for as they are
    page.get_by_text("2 hits").wait_for()
    expect(page.locator("mark")).to_have_text(["});", "});"], use_inner_text=True)
    page.goto(f"{address}-/search?mode=regex&q={quote('^l.$')}")
    page.get_by_text("1 hit").wait_for()
    page.goto(f"{address}-/search?mode=regex&q={quote('(')}")
    page.get_by_text("is not a regular expression").wait_for()


def test_a_look_at_everything_ends_in_time_and_can_be_gone_on_with(place: Place) -> None:
    store(place, *(bash(f"echo needle{number}" if number % 2 else "ls") for number in range(50)))
    store(place, event("UserPromptSubmit", prompt="a" * 40 + "b"))
    seen, position = [], scan.START
    while True:
        found = scan.look(place, "needle", False, search.Filters(), position, 10, 60)
        seen += [hit.row["id"] for hit in found.hits]
        if found.position is None:
            break
        position = found.position
    assert seen == sorted(range(2, 51, 2), reverse=True)
    assert len(scan.look(place, r"needle\d", True, search.Filters(tool="Bash"), scan.START, 99, 60).hits) == 25
    started = time.monotonic()
    found = scan.look(place, "(a+)+$", True, search.Filters(), scan.START, 10, 1)
    assert found.hits == [] and found.position == scan.START
    assert time.monotonic() - started < 30, "by itself it would take years"


def test_counts_are_bounded_and_leave_the_choice(place: Place) -> None:
    store(place, *(bash(f"echo word {number}") for number in range(30)))
    store(
        place,
        call("Edit", file_path="/a.py", old_string="word", new_string="x"),
        event("UserPromptSubmit", prompt="word"),
    )
    with closing(read.connect(place)) as archive:
        build.catch_up(place, archive)
    counts = facets.count(place, "word", search.Filters())
    assert (counts.total, counts.is_all, counts.failed) == (32, True, 0)
    assert counts.values["tool"] == {"Bash": 30, "Edit": 1}
    assert counts.values["role"] == {"tool": 31, "user": 1}
    only = facets.count(place, "word", search.Filters(tool="Edit"))
    assert only.total == 1 and only.values["tool"] == {"Bash": 30, "Edit": 1}
    some = facets.count(place, "word", search.Filters(), limit=10)
    assert (some.total, some.is_all) == (10, False)


def test_words_that_are_everywhere_are_sorted_by_where_they_stand(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "WEIGHED", 3)
    store(
        place,
        event("UserPromptSubmit", prompt="word in a prompt"),
        bash("echo word"),
        *(call("Edit", file_path="/a.py", old_string="word", new_string=str(number)) for number in range(5)),
    )
    hits = list(search.find(place, "word", best_first=True))
    assert [hit.field for hit in hits] == ["said", "input", *["code"] * 5]
    assert re.fullmatch("e[0-9]+", hits[0].name)
