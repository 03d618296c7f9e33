"""Every address is ours: one frame around all pages, Datasette's own and errors included."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from sessionlog.archive.place import Place
from tests.conftest import thorough
from tests.helpers.archives import bash, call, event, store
from tests.web.browsing import Open, Serve, Share, Site, complaints, urlopen

LONG = "line one\n" + "a long line of output " * 40


EVENTS = [
    event("UserPromptSubmit", prompt=LONG),
    bash("ls"),
    bash("rm -rf x"),
    event("Stop", last_assistant_message=LONG),
]
LOG = bash("make") | {"tool_response": {"stdout": "\n".join(map(str, range(200))), "stderr": ""}}


@pytest.fixture(scope="module")
def site(share: Share) -> Site:
    changed = call("Edit", "s2", file_path="/w/a.py", old_string="a = 1", new_string="a = 2")
    words = call("Edit", "s2", file_path="/w/b.py", old_string="A = 'red'  # a", new_string="A = 'blue'  # b")
    return share(lambda _: [*EVENTS, changed, words, LOG], "--all")


def test_an_unknown_address_is_a_page_of_ours(site: Site, visit: Open) -> None:
    address, _ = site
    missing = visit(address).context.new_page()  # the console of `visit` must say nothing, not even 404
    missing.emulate_media(color_scheme="dark")
    paths = ("nope/events", "-/session/nope/nope", "nope", "-/nope")
    for path in paths if thorough() else paths[:2]:
        response = missing.goto(f"{address}{path}")
        assert response and response.status == 404
        expect(missing.locator("html[lang=en]")).to_have_count(1)
        expect(missing.get_by_role("navigation", name="Pages").get_by_role("link")).to_have_count(7)
        expect(missing.get_by_role("main").get_by_role("heading", level=1)).to_be_visible()
        assert missing.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(22, 23, 26)"
        missing.get_by_role("main").get_by_role("link", name="All sessions").click()
        expect(missing.get_by_role("heading", level=1)).to_contain_text("Sessions")


def test_the_whole_menu_can_be_seen(site: Site, visit: Open) -> None:
    address, place = site
    page = visit(f"{address}-/tables")
    paths = ("-/tables", f"{place.name}/events")
    for path in paths:
        page.goto(f"{address}{path}")
        nav = page.get_by_role("navigation", name="Pages")
        expect(nav.locator("[aria-current=page]")).to_have_text("Tables")
        for width in (360, 390, 761, 800, 861, 1000, 1001, 1070, 1440):
            page.set_viewport_size({"width": width, "height": 800})
            last = nav.get_by_role("link").last.bounding_box()
            assert last and last["x"] >= 0 and last["x"] + last["width"] <= width
            assert nav.evaluate("nav => nav.scrollWidth <= nav.clientWidth + 1")
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_session_belongs_to_sessions_in_the_menu(site: Site, visit: Open) -> None:
    address, place = site
    page = visit(f"{address}-/session/{place.name}/s1")
    expect(page.locator("header.top [aria-current=page]")).to_have_text("Sessions")


def test_tables_are_readable(site: Site, visit: Open) -> None:
    address, place = site
    page = visit(f"{address}{place.name}/events")
    heights = page.locator("table.rows-and-columns tbody tr").evaluate_all("rows => rows.map(row => row.offsetHeight)")
    assert max(heights) < 50, heights
    cell = page.locator("td.col-prompt details.cell")
    expect(cell.locator("pre")).to_be_hidden()
    cell.locator("summary").click()
    expect(cell.locator("pre")).to_contain_text("line one\na long line of output a long")
    assert page.locator("th.col-error").count() == 0  # no row has one
    expect(page.get_by_text("Empty here, and not shown")).to_contain_text("error")
    time = page.locator("td.col-at time").first
    assert time.get_attribute("datetime")
    expect(page.get_by_role("main")).to_have_count(1)
    expect(page.get_by_role("banner")).to_have_count(1)
    expect(page.get_by_role("navigation", name="Breadcrumbs")).to_contain_text("Tables / shop")

    expect(page.get_by_role("heading", level=2).first).to_contain_text("7 rows")

    # One row is a list of its columns.
    page.locator("td.type-pk a").last.click()
    page.wait_for_url(f"**/{place.name}/events/1")
    expect(page.get_by_role("row")).to_have_count(page.locator(".row-values th").count())
    expect(page.get_by_role("rowheader", name="prompt", exact=True)).to_be_visible()
    expect(page.locator(".row-values pre")).to_contain_text("a long line of output")

    # Light or dark is chosen here, too, and stays.
    page.get_by_role("button", name="Switch between light and dark").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.goto(f"{address}{place.name}")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_without_any_archive_the_pages_say_how_to_begin(home: Path, serve: Serve, visit: Open, place: Place) -> None:
    address = serve()
    page = visit(address)
    main = page.get_by_role("main")
    for command in ("sessionlog install", "sessionlog import", "sessionlog demo"):
        expect(main.get_by_text(command, exact=True)).to_be_visible()
    for path in ("-/sessions", "-/search", "-/search?q=x", "-/files", "-/dashboard", "-/audits", "-/tables"):
        assert urlopen(f"{address}{path}").status == 200
    store(place, *EVENTS)
    main.get_by_role("link", name="look again").click()
    expect(page.get_by_role("heading", name="Recent sessions")).to_be_visible()


def test_axe_finds_nothing_on_any_page(site: Site, visit: Open) -> None:
    address, place = site
    page = visit(address)
    ours = ["", "-/sessions", "-/search", "-/dashboard?since=all", "-/audits", "-/audits/failures"]
    ours += ["-/tables", f"-/files?project={place.name}&path=/w/a.py"]
    of_session = f"-/session/{place.name}/s1"
    ours += [f"{of_session}/print"]
    theirs = [place.name, f"{place.name}/events", f"{place.name}/events/1"]
    if thorough():  # they look like others; test_web_session.py has a session and its files, test_web_search.py hits
        ours += ["-/files", "-/files?line=a+=+2", of_session, f"{of_session}?focus=1", "-/search?q=long"]
        ours += [f"-/session/{place.name}/s2/files"]
        theirs += [f"{place.name}?sql=select+1+as+one"]
    said = {}
    for number, path in enumerate([*ours, *theirs, f"{place.name}/dangerous-commands"]):
        page.goto(f"{address}{path}")
        expect(page.locator("[data-later]")).to_have_count(0)
        ways = ((390, "light"), (1440, "dark"), (390, "dark"), (1440, "light"))
        chosen = ways if thorough() else ways[number % 4 :][:1]
        for width in {390, 1440} - {width for width, _ in chosen}:
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (path, width)
        for width, colours in chosen:
            page.set_viewport_size({"width": width, "height": 900})
            said[f"{path} {width}"] = complaints(page, colours)
    assert not any(said.values()), {where: what for where, what in said.items() if what}
