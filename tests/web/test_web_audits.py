"""The page of audits: the questions of datasette-metadata.yml and their answers."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from sessionlog.archive import place as projects
from sessionlog.archive.place import Place
from sessionlog.ask import audit
from tests.helpers.archives import bash, call, event, store
from tests.web.browsing import Open, Serve, urlopen


@pytest.fixture
def address(place: Place, tmp_path: Path, serve: Serve) -> str:
    store(
        place,
        event("UserPromptSubmit", prompt="clean up"),
        bash("rm -rf build # <script>alert(1)</script>\u202e"),
        bash("git push --force"),
        bash("ls", name="PostToolUseFailure") | {"error": "Exit code 2\nno such file"},
        call("AskUserQuestion", questions=[{"question": "Which colour?", "header": "Pick"}])
        | {
            "hook_event_name": "PostToolUseFailure",
            "error": "<tool_use_error>Error: No such tool available: AskUserQuestion. AskUserQuestion is disabled "
            "in this mode, use another one</tool_use_error>",
        },
    )
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    store(projects.place(str(folder)), bash("sudo rm -rf /opt/x", "s9"))
    return serve("--all")


def test_a_question_is_asked_and_its_rows_lead_to_their_moments(address: str, place: Place, visit: Open) -> None:
    page = visit(f"{address}-/audits")
    expect(page.locator("[data-count]")).to_have_count(len(audit.audits()))
    page.locator("[data-count=dangerous-commands].bad").wait_for()
    expect(page.locator("[data-count=dangerous-commands]")).to_have_text("3")
    expect(page.locator("[data-count=secrets].good")).to_have_text("0")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/-/audits/dangerous-commands")
    expect(page.locator("tbody tr")).to_have_count(3)
    expect(page.locator("tbody tr", has_text="sudo")).to_contain_text(re.compile(r"\w+, \w+"))  # its kinds are words
    assert page.locator("main script").count() == 0 and "\u202e" not in page.content()
    page.wait_for_load_state()
    page.locator("select[name=project]").select_option(place.name)
    page.wait_for_url("**project=**")
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(2)
    link = rows.filter(has_text="git push").locator("a").first
    assert link.get_attribute("href") == f"/-/session/{place.name}/s1?at=e3#e3"

    page.get_by_role("link", name="Edit the SQL").click()
    page.wait_for_url(f"**/{place.name}?sql=**")
    expect(page.locator("table.rows-and-columns")).to_contain_text("git push")
    expect(page.locator(".CodeMirror")).to_contain_text("MATERIALIZED")

    # Several projects: the SQL of each can be opened. Kinds of failures lead to what failed.
    page.goto(f"{address}-/audits/failures")
    page.get_by_text("Edit the SQL in one of 2 projects").click()
    expect(page.locator(".editors a")).to_have_count(2)
    href = page.locator("tbody tr").first.get_by_role("link").first.get_attribute("href")
    assert href and href.startswith("/-/search?tool=") and "failed=1" in href
    # Neither tags of the client nor JSON; the words of the error lead to it.
    asked = page.locator("tbody tr", has_text="AskUserQuestion")
    expect(asked).to_contain_text("No such tool available: AskUserQuestion")
    expect(asked.locator("code").last).to_have_text("Which colour?")
    assert "tool_use_error" not in page.locator("main").inner_text()
    asked.get_by_role("link").nth(1).click()
    expect(page.locator(".hit")).to_have_count(1)

    page.goto(f"{address}-/audits/dangerous-commands?since=2026-12-01")
    expect(page.locator("main")).to_contain_text("Nothing found")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{address}-/audits/dangerous-commands")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_csv_and_json_hold_all_rows(address: str, place: Place) -> None:
    with urlopen(f"{address}-/audits/dangerous-commands.csv?project={place.name}") as response:
        assert "attachment" in response.headers["Content-Disposition"]
        rows = list(csv.DictReader(io.StringIO(response.read().decode(), newline="")))
    assert sorted(row["command"] for row in rows) == [
        "git push --force",
        "rm -rf build # <script>alert(1)</script>\u202e",
    ]
    with urlopen(f"{address}-/audits/dangerous-commands.json") as response:
        assert len(json.loads(response.read())) == 3


def test_every_question_has_a_page(address: str) -> None:
    for name in audit.audits():
        with urlopen(f"{address}-/audits/{name}") as response:
            assert audit.audits()[name].title.split(",")[0] in response.read().decode()
