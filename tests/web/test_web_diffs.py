"""Diffs on pages: every language, several edits in one call, one column or two, and from a line to why it is there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from pygments.token import STANDARD_TYPES

from sessionlog import web
from sessionlog.archive.place import Place
from sessionlog.session.call import Call, changes
from sessionlog.web import diffs, highlight
from tests.helpers.archives import event, store
from tests.web.browsing import Open, Serve
from tests.web.test_web_session import pair, path_of

YAML = "on:\n  push:\n    branches: [main]\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      - run: make test\n"
SAMPLES = {
    "ci.yml": (YAML, YAML.replace("ubuntu-latest", "ubuntu-24.04")),
    "notes.md": ("# Title\n\nSome *plain* words.\n", "# Title\n\nSome *plain* old words.\n"),
    "notes.txt": ("plain words\n", "plain old words\n"),
    "cart.py": ("def total(a):\n    return a  # cents\n", "def total(a, b):\n    return a - b  # cents\n"),
    "site.css": ("a { color: red; }\n", "a { color: blue; }\n"),
}


def edit(path: str, old: str, new: str, **more: Any) -> list[Any]:
    return pair("Edit", file_path=f"/p/{path}", old_string=old, new_string=new, **more)


def test_no_class_of_ours_is_one_of_the_colours() -> None:
    """Pygments calls a literal `l` and white space `w`: a line or a word of ours with that name took its colour."""
    call = Call(
        "Edit", {"file_path": "/p/a.py", "old_string": "a = 1\nb = 2", "new_string": "a = 1\nb = 3"}, action="edit"
    )
    diff = diffs.render(call, ("b = 3",))
    assert diff
    ours = {
        name
        for names in re.findall(r'class="([^"]*)"', re.sub(r"<span.*?</span>", "", diff.html))
        for name in names.split()
    }
    assert {"ln", "add", "del", "diff", "wanted"} <= ours
    assert not (ours | {"word"}) & set(STANDARD_TYPES.values())


@pytest.fixture
def page(place: Place, serve: Serve, visit: Open) -> Page:
    store(
        place,
        event("UserPromptSubmit", prompt="Change all of it"),
        *(payload for name, (old, new) in SAMPLES.items() for payload in edit(name, old, new)),
    )
    return visit(f"{serve()}{path_of(place)[1:]}")


def test_a_line_of_any_language_is_one_line(page: Page) -> None:
    for diff in page.locator(".diff").all():
        heights = diff.locator(".ln").evaluate_all("lines => lines.map(line => line.getBoundingClientRect().height)")
        assert len(set(map(round, heights))) == 1, diff.inner_text()
    # What has no colour of its own has that of the page, on plain and on changed lines.
    plain = page.locator(".diff").nth(2).locator(".ln > span").first
    assert plain.evaluate("e => getComputedStyle(e).color") == page.locator("body").evaluate(
        "e => getComputedStyle(e).color"
    )


def test_every_colour_of_code_can_be_read_on_changed_lines_and_words() -> None:
    style = (Path(web.__file__).parent / "static" / "diffs.css").read_text()
    behind = re.findall(r"(?:--add: |--del: |background: )light-dark\((#\w+), (#\w+)\)", style)
    assert len(behind) == 5
    assert {light for light, _ in behind} <= set(highlight.LIGHT_GROUNDS)
    assert {dark for _, dark in behind} <= set(highlight.DARK_GROUNDS)


def test_a_new_file_has_one_column_of_numbers() -> None:
    assert "only-new" in diffs.of_lines(["@@ -0,0 +1,2 @@", "+a", "+b"], "a.py").html
    assert "only-new" not in diffs.of_lines(["@@ -1,1 +1,2 @@", " a", "+b"], "a.py").html


def test_several_edits_of_one_call_are_hunks(place: Place, serve: Serve, visit: Open) -> None:
    edits = [{"old_string": "import a", "new_string": "import b"}, {"old_string": "x = 1", "new_string": "x = 2"}]
    store(place, *pair("MultiEdit", file_path="/p/a.py", edits=edits))
    diff = visit(f"{serve()}{path_of(place)[1:]}").locator(".diff")
    expect(diff.locator(".hunk")).to_have_text(["@@ edit 1 of 2 @@", "@@ edit 2 of 2 @@"])
    assert diff.locator("> div").evaluate_all("parts => parts.map(part => part.className)") == [
        *("hunk", "change", "hunk", "change"),
    ]


def test_lines_far_apart_in_one_edit_do_not_look_adjacent() -> None:
    old = "\n".join(f"line {number}" for number in range(40))
    new = old.replace("line 3\n", "line three\n").replace("line 35\n", "line 35!\n")
    found = changes(Call("Edit", {"old_string": old, "new_string": new}, action="edit"))
    assert found.count("@@") == 1
    assert found.index("+line three") < found.index("@@") < found.index("+line 35!")


def test_a_cell_of_a_notebook_is_compared_with_what_it_was() -> None:
    inputs = {"notebook_path": "/p/a.ipynb", "cell_id": "c1", "new_source": "a = 1\nb = 3"}
    call = Call("NotebookEdit", inputs, {"old_source": "a = 1\nb = 2"}, "ok", action="edit")
    assert changes(call) == [" a = 1", "-b = 2", "+b = 3"]


def test_side_by_side_uses_the_width_and_numbers_both_sides(place: Place, serve: Serve, visit: Open) -> None:
    patch = {"oldStart": 3, "oldLines": 3, "newStart": 3, "newLines": 4, "lines": [" a", "-b", "+c", "+d", " e"]}
    store(
        place,
        *edit("a.py", "b", "c\nd", response={"structuredPatch": [patch]}),
        *pair("Write", file_path="/p/new.py", content="one\ntwo\n", response={"type": "create", "structuredPatch": []}),
    )
    page = visit(f"{serve()}{path_of(place)[1:]}")
    page.set_viewport_size({"width": 1440, "height": 900})
    lines = page.locator(".diff").first.locator(".ln")
    numbers = "lines => lines.map(line => [line.dataset.o ?? '', line.dataset.n ?? ''].join(' '))"
    assert lines.evaluate_all(numbers) == ["3 3", "4 ", " 4", " 5", "5 6"]
    page.locator("#diff-switch").click()
    expect(page.locator(".diff").first.locator(".same > .old .ln")).to_have_count(2)
    widths = (
        page.locator(".diff")
        .first.locator(".change > div")
        .evaluate_all("sides => sides.map(side => side.clientWidth)")
    )
    assert min(widths) > 500
    # A new file has nothing to stand beside.
    new = page.locator(".diff.only-new .change > .new")
    assert new.evaluate("e => e.getBoundingClientRect().width") > 1000
    page.locator("#diff-switch").click()
    expect(page.locator(".same > .old")).to_have_count(0)
