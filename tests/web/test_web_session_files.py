"""The tab with the files that a session changed, and from a line of a diff to why it is there."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from sessionlog.archive.place import Place
from sessionlog.session.call import Call
from sessionlog.session.changed_files import combined
from tests.helpers.archives import event, store
from tests.web.browsing import Open, Serve
from tests.web.test_web_session import get, pair, path_of

FILE = "".join(f"line {number}\n" for number in range(1, 31))


def edit(before: str | None, old: str, new: str) -> Call:
    inputs = {"file_path": "/p/a.py", "old_string": old, "new_string": new}
    return Call("Edit", inputs, {"originalFile": before}, "ok", action="edit")


def write(content: str, **response: Any) -> Call:
    return Call("Write", {"file_path": "/p/a.py", "content": content}, response, "ok", action="write")


def test_edits_that_follow_each_other_are_one_diff() -> None:
    after = FILE.replace("line 3\n", "line three\n")
    (piece,) = combined([edit(FILE, "line 3\n", "line three\n"), edit(after, "line 25\n", "")])
    assert piece.calls == [0, 1]
    assert piece.lines == [
        "@@ -1,6 +1,6 @@",
        *(" line 1", " line 2", "-line 3", "+line three", " line 4", " line 5", " line 6"),
        "@@ -22,7 +22,6 @@",
        *(" line 22", " line 23", " line 24", "-line 25", " line 26", " line 27", " line 28"),
    ]


def test_what_a_later_edit_undid_is_not_in_the_diff() -> None:
    undone = [edit(FILE, "line 3\n", "line x\n"), edit(None, "line x\n", "line 3\n")]
    (piece,) = combined(undone)
    assert piece.lines == []
    assert piece.calls == [0, 1]


def test_a_file_that_changed_in_between_begins_anew() -> None:
    formatted = FILE.replace("line 9\n", "line  9\n")
    found = list(combined([edit(FILE, "line 3\n", "line three\n"), edit(formatted, "line 5\n", "five\n")]))
    assert [piece.calls for piece in found] == [[0], [1]]
    assert "+five" in found[1].lines and "+five" not in found[0].lines


def test_a_file_that_is_not_known_shows_what_the_calls_say() -> None:
    found = list(combined([edit(None, "a", "b"), edit(None, "c", "d")]))
    assert [(piece.lines, piece.is_known) for piece in found] == [(["-a", "+b"], False), (["-c", "+d"], False)]


def test_a_new_file_and_what_was_done_to_it() -> None:
    (piece,) = combined([write("one\ntwo\n", type="create"), edit(None, "two", "three")])
    assert piece.lines == ["@@ -1,0 +1,2 @@", "+one", "+three"]


def test_a_rewritten_file_of_many_lines_takes_no_time() -> None:
    old, new = ("".join(f"{word} {n % 7}\n" for n in range(40_000)) for word in ("a", "b"))
    (piece,) = combined([edit(old, "", ""), write(new)])
    assert len(piece.lines) == 80_001


@pytest.fixture
def address(place: Place, serve: Serve) -> str:
    after = FILE.replace("line 3\n", "line three\n")
    store(
        place,
        event("UserPromptSubmit", prompt="Rename the third line", cwd=place.project),
        *pair(
            "Edit",
            file_path=f"{place.project}/a.py",
            old_string="line 3\n",
            new_string="line three\n",
            response={"originalFile": FILE},
        ),
        *pair("Bash", command="make"),
        event("UserPromptSubmit", prompt="And the fourth", cwd=place.project),
        *pair(
            "Edit",
            file_path=f"{place.project}/a.py",
            old_string="line 4\n",
            new_string="line four\n",
            response={"originalFile": after},
        ),
        *pair("Write", file_path=f"{place.project}/new.py", content="x = 1\n", response={"type": "create"}),
        *pair("Edit", file_path=f"{place.project}/a.py", old_string="no", new_string="yes", error="not found"),
    )
    return serve()


def test_the_tab_has_one_diff_for_each_file(address: str, place: Place, visit: Open) -> None:
    page = visit(f"{address}{path_of(place)[1:]}")
    page.get_by_role("link", name="Files changed").click()
    files = page.locator("details.file")
    expect(files.locator("summary .argument")).to_have_text(["a.py", "new.py"])
    expect(page.locator(".files-total")).to_contain_text("2 files changed by 3 edits · +3 −2")
    first = files.first
    expect(first.locator(".diff")).to_have_count(1)
    expect(first.locator(".ln.add")).to_have_text(["line three", "line four"])
    # With the calls that made it, and what they were for.
    expect(first.locator(".made-by li")).to_have_text(
        [re.compile("Edit .* for Rename the third line"), re.compile("Edit .* for And the fourth")]
    )
    first.locator(".made-by a").first.click()
    expect(page.locator(".call.target .argument")).to_have_text("a.py")


def test_a_file_that_is_folded_comes_when_it_is_opened(address: str, place: Place, visit: Open) -> None:
    page = visit(f"{address}{path_of(place)[1:]}/files?path={place.project}/new.py")
    folded = page.locator("details.file").first
    expect(folded.locator(".diff")).to_have_count(0)
    expect(page.locator("details.file").nth(1).locator(".diff")).to_be_visible()
    folded.locator("summary").click()
    expect(folded.locator(".ln.add")).to_have_count(2)
    status, _, _ = get(address, f"{path_of(place)}/files?part=1&path=/nowhere")
    assert status == 404


def test_from_a_line_to_why_it_is_there(address: str, place: Place, visit: Open) -> None:
    base = f"{address}{path_of(place)[1:]}"
    for page in (visit(base), visit(f"{base}/files")):
        line = page.locator(".ln.add", has_text="line three").first
        line.click(position={"x": 8, "y": 8})  # its number, or where it would be
        expect(page.locator("h1")).to_have_text("Why is this line here?")
        expect(page.locator(".ln.wanted > span").first).to_have_text("line three")
        expect(page.locator("main")).to_contain_text("Rename the third line")
    # With the keyboard.
    page = visit(f"{base}/files")
    page.locator(".diff").first.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    expect(page.locator("h1")).to_have_text("Why is this line here?")


def test_print_gives_the_whole_session(address: str, place: Place) -> None:
    status, body, headers = get(address, f"{path_of(place)}/print")
    assert status == 200
    assert headers["Content-Disposition"].startswith("inline")
    assert "script" not in headers["Content-Security-Policy"]
    assert "And the fourth" in body and "line four" in body


def test_sessions_before_and_after(address: str, place: Place, visit: Open) -> None:
    for number, name in enumerate(("older", "newer")):
        store(
            place,
            event("UserPromptSubmit", name, prompt=f"The {name} one"),
            start_ms=1_794_787_000_000 + number * 10**6,
        )
    page = visit(f"{address}{path_of(place)[1:]}")
    expect(page.locator(".top [aria-current]")).to_have_text("Sessions")
    page.set_viewport_size({"width": 1920, "height": 900})
    expect(page.locator("#beside li")).to_have_count(3)
    expect(page.locator("#beside li.here")).to_contain_text("Rename the third line")
    page.keyboard.press("[")
    expect(page.locator("h1")).to_have_text("The older one")
    page.get_by_role("link", name="Later session").click()
    page.get_by_role("link", name="Later session").click()
    expect(page.locator("h1")).to_have_text("The newer one")


def git(place: Place, *arguments: str) -> str:
    who = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com"]
    done = subprocess.run(["git", *who, *arguments], cwd=place.project, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_each_hunk_says_in_which_commit_it_landed(address: str, place: Place, visit: Open) -> None:
    """Also if its line has changed since; and from a line that is in the file today, one click leads to its blame."""
    file = Path(place.project) / "a.py"
    git(place, "init", "-q", "-b", "main")
    for text in (FILE, FILE.replace("line 3\n", "line three\n").replace("line 4\n", "line four\n"), FILE):
        file.write_text(text)
        git(place, "add", "a.py")
        git(place, "commit", "-q", "-m", "one of them", "--allow-empty")
    landed = git(place, "rev-parse", "HEAD~1")
    page = visit(f"{address}{path_of(place)[1:]}/files")
    first = page.locator("details.file").first
    expect(first.locator("a.landed")).to_have_text(f"in {landed[:10]} one of them")
    expect(page.locator("details.file").nth(1).locator(".landed")).to_have_text("in no commit")
    first.locator("a.landed").click()
    expect(page.locator("h1")).to_have_text("one of them")
    expect(page.locator(".shares")).to_have_text("2 lines · 2 by agents")

    file.write_text(FILE.replace("line 3\n", "line three\n"))
    page.goto(f"{address}{path_of(place)[1:]}/files")
    page.wait_for_load_state()
    first.locator(".ln.add", has_text="line three").click(position={"x": 8, "y": 8})
    expect(page.locator(".story h2")).to_have_text("Why line 3 is here")
    expect(page.locator(".story article").first).to_contain_text("Rename the third line")
