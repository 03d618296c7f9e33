"""The page of files: what was touched, every change of a file, and why a line is where it is."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import expect

from sessionlog.archive import read
from sessionlog.archive.place import Place
from sessionlog.ask import file_history
from sessionlog.ask.search import build, index
from sessionlog.transcripts import importer
from tests.helpers import transcript_files as made
from tests.helpers.archives import call, event, store
from tests.web.browsing import Open, Serve, complaints

HOSTILE = "/w/<img src=x onerror=alert(1)>\u202e.py"


def fill(place: Place) -> None:
    cart = f"{place.project}/src/cart.py"
    store(
        place,
        event("UserPromptSubmit", prompt="请修复折扣计算", prompt_id="p1"),
        call("Read", file_path=cart),
        call("Edit", file_path=cart, old_string="    return total", new_string="    return total - discount(total)"),
        event("UserPromptSubmit", prompt="And round it", prompt_id="p2"),
        call(
            "Edit",
            file_path=cart,
            old_string="    return total - discount(total)",
            new_string="    return round(total - discount(total), 2)",
        ),
        call("Edit", name="PostToolUseFailure", file_path=cart, old_string="nowhere", new_string="x")
        | {"error": "String to replace not found"},
        call("Write", "s2", file_path=HOSTILE, content="<script>alert(2)</script>\nimport os"),
        call("NotebookEdit", "s2", notebook_path="/w/a.ipynb", new_source="print(total)"),
    )


def test_a_file_and_a_line_of_it(place: Place, serve: Serve, visit: Open) -> None:
    fill(place)
    address = serve("--all")
    page = visit(f"{address}-/files")
    assert page.locator("td.path").all_inner_texts()[1] == "src/cart.py", "the newest first, within the project"
    row = page.locator("tbody tr").nth(1).locator("td").all_inner_texts()
    assert row[1:5] == ["2", "1", "1", "1"]
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**path=**")
    expect(page.locator("h1")).to_have_text("src/cart.py")
    changes = page.locator(".change-of-file")
    expect(changes).to_have_count(3)
    expect(changes.nth(0).locator(".badge.bad")).to_have_text("failed")
    assert "And round it" in changes.nth(1).inner_text() and "请修复折扣计算" in changes.nth(2).inner_text()
    assert changes.nth(2).locator(".prompt a").get_attribute("href") == f"/-/session/{place.name}/s1?at=e1#e1"
    assert changes.nth(2).locator(".add").inner_text().strip().endswith("return total - discount(total)")

    page.locator("#line").fill("return total - discount(total)")
    page.keyboard.press("Enter")
    page.wait_for_url("**line=**")
    # On a busy machine the page says at first that it is looking.
    told = page.locator(".change-of-file header p:last-child > span:first-child")
    expect(told).to_have_text(["removed the line", "added the line"])

    page.goto(f"{address}-/files?name=cart")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.goto(f"{address}-/files?name={quote('%_')}")
    expect(page.locator("main")).to_contain_text("No file has")
    page.goto(f"{address}-/files?line={quote('});')}")
    expect(page.locator("main")).to_contain_text("No recorded edit has this line")


def test_hostile_names_and_contents_are_only_shown(place: Place, serve: Serve, visit: Open) -> None:
    fill(place)
    address = serve("--all")
    page = visit(f"{address}-/files", phone=True)
    expect(page.locator("tbody tr")).to_have_count(2)
    assert "\u202e" not in page.content()
    page.locator("td.path a").first.click()
    page.wait_for_url("**path=**")
    expect(page.locator(".diff")).to_contain_text("<script>alert(2)</script>")
    assert page.locator("main script, main img").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.goto(f"{address}-/files?line={quote('<script>alert(2)</script>')}")
    expect(page.locator(".change-of-file")).to_have_count(1)


def test_what_has_no_column_for_its_file_is_found_by_the_index(place: Place) -> None:
    fill(place)
    with closing(read.connect(place)) as archive:
        build.catch_up(place, archive)
        assert file_history.history(archive, "/w/a.ipynb", indexed=False) == []
        index.attach(place, archive)
        (row,) = file_history.history(archive, "/w/a.ipynb", indexed=True)
        (change,) = file_history.changes(archive, [row])
        assert change.call.input["new_source"] == "print(total)"
        found, is_all = file_history.edits_with(archive, "print(total)")
        assert [what for what, _ in found] == ["added"] and is_all
        assert file_history.edits_with(archive, "print(total)", path="/w/other.py") == ([], True)


def test_sessions_that_no_hook_saw_count_too(home: Path) -> None:
    made.recorded(home)
    importer.run()
    with closing(read.connect(made.shop())) as archive:
        build.catch_up(made.shop(), archive)
        index.attach(made.shop(), archive)
        listed = {file.path: file for file in file_history.only_in_transcripts(archive)}
        assert listed["/home/dev/shop/hello.py"].changes == 3
        changes = list(
            file_history.changes(archive, file_history.history(archive, "/home/dev/shop/hello.py", indexed=True))
        )
        assert [change.call.name for change in changes] == ["Edit", "Edit", "Write"]
        assert all(change.name.startswith("m") and change.prompt for change in changes)
        found, _ = file_history.edits_with(archive, "x = 1")
        assert [what for what, _ in found] == ["removed", "added"]


def test_blame_beside_the_text_and_why(place: Place, serve: Serve, visit: Open) -> None:
    fill(place)
    folder = Path(place.project) / "src"
    folder.mkdir()
    (folder / "cart.py").write_text(
        "    return round(total - discount(total), 2)\n# by hand <script>alert(3)</script>\n"
    )
    (folder / "secret.txt").write_text("nobody edited this\n")
    address = serve("--all")
    page = visit(f"{address}-/blame?project={place.name}&path=src/cart.py")
    expect(page.locator("table.blame tbody tr")).to_have_count(2)
    texts = page.locator("td.from").all_inner_texts()
    assert "And round it" in texts[0] and texts[1] == "not recorded"
    page.locator("#L1").click()
    page.wait_for_url("**line=1**")
    expect(page.locator(".story article").first).to_contain_text("And round it")
    page.set_viewport_size({"width": 390, "height": 844})
    assert not (found := complaints(page)), found
    text = page.locator("tr.meant pre").bounding_box()
    assert text and 0 < text["x"] < 100 and text["width"] > 200, "the text is on the screen of a phone"
    for path in ("src/secret.txt", "../../etc/passwd", "/etc/passwd"):
        assert page.request.get(f"{address}-/blame?project={place.name}&path={quote(path)}").status == 404
