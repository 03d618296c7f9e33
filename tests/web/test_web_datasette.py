"""Datasette's own pages: reachable, in our colours, with working scripts, and with links back."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import urlopen

from playwright.sync_api import expect

from sessionlog.archive.place import Place
from tests.conftest import ROOT
from tests.helpers.archives import bash, event, store
from tests.web.browsing import Open, Serve

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"


def fill(place: Place) -> None:
    store(place, event("UserPromptSubmit", prompt=HOSTILE), bash("ls"), bash("rm -rf x"), event("Stop", HOSTILE))


def test_tables_facets_menus_and_sql_work_without_complaints(place: Place, serve: Serve, visit: Open) -> None:
    fill(place)
    address = serve("--all")
    page = visit(f"{address}-/tables")
    page.get_by_role("link", name="shop", exact=True).click()
    page.wait_for_url(f"**/{place.name}")
    assert page.locator("header.top nav a").all_inner_texts()[-1] == "Tables"
    page.goto(f"{address}{place.name}/events")
    expect(page.locator("table.rows-and-columns tbody tr")).to_have_count(4)
    expect(page.locator(".column-descriptions")).to_contain_text("The number of the event")
    assert page.locator("td img, td script").count() == 0

    # The menu of a column sets a facet; a session leads to its moment.
    page.locator("th.col-event svg").click()
    page.get_by_text("Facet by this").click()
    page.wait_for_url("**_facet=event**")
    expect(page.locator(".facet-info")).to_contain_text("PostToolUse")
    href = page.locator("td.col-session_id a").nth(1).get_attribute("href")
    assert href == f"/-/session/{place.name}/s1?at=e3#e3"

    # The editor, and a canned query with its parameter.
    page.goto(f"{address}{place.name}?sql=select+1+as+one")
    expect(page.locator("table.rows-and-columns")).to_contain_text("one")
    page.locator("#sql-format").click()
    page.wait_for_function(
        "document.querySelector('.CodeMirror').CodeMirror.getValue().toLowerCase().includes('\\n  1 as one')"
    )
    page.goto(f"{address}{place.name}/dangerous-commands")
    expect(page.locator("table.rows-and-columns")).to_contain_text("rm -rf x")
    page.locator("input[name=since]").fill("2026-12-01")
    page.locator("form.sql input[type=submit]").click()
    page.wait_for_url("**since=2026-12-01**")
    expect(page.locator(".zero-results")).to_have_count(1)

    # Back with the keyboard.
    page.locator("body").press("/")
    page.keyboard.type("rm")
    page.keyboard.press("Enter")
    page.wait_for_url("**/-/search?q=rm")


def test_readable_in_the_dark_and_on_a_phone(place: Place, serve: Serve, visit: Open) -> None:
    fill(place)
    address = f"{serve('--all')}{place.name}/events"
    page = visit(address, phone=True)
    colours = "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.querySelector('td')).color]"
    for is_dark in (False, True):
        page.emulate_media(color_scheme="dark" if is_dark else "light")
        behind, text = page.evaluate(colours)
        assert (sum(map(int, re.findall(r"\d+", behind)[:3])) < 200) == is_dark
        assert (sum(map(int, re.findall(r"\d+", text)[:3])) > 400) == is_dark
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_datasette_itself_shows_the_same_pages(place: Place, tmp_path: Path, visit: Open) -> None:
    fill(place)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    metadata = str(ROOT / "datasette-metadata.yml")
    command = [sys.executable, "-m", "datasette", "serve", place.db, "-m", metadata, "-p", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        address = f"http://127.0.0.1:{port}/"
        _wait_for(address)
        page = visit(f"{address}-/audits/dangerous-commands")
        expect(page.locator("tbody tr")).to_have_count(1)
        page.goto(f"{address}-/search?q=rm")
        expect(page.locator(".hit")).to_have_count(1)
        page.goto(f"{address}{place.name}/events")
        expect(page.locator(".column-descriptions")).to_contain_text("The number of the event")
        page.goto(f"{address}{place.name}/dangerous-commands")
        expect(page.locator("table.rows-and-columns")).to_contain_text("rm -rf x")
    finally:
        process.terminate()
        process.communicate(timeout=60)


def _wait_for(address: str) -> None:
    for _ in range(200):
        try:
            urlopen(address).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError(f"{address} does not answer")
