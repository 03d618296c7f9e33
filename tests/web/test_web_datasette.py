"""Datasette's own pages: reachable, in our colours, with working scripts, and with links back."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import urlopen

import pytest
from archives import bash, event, store
from browsing import Open, Serve

from sessionlog import metadata
from sessionlog.projects import Place

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"


def fill(place: Place) -> None:
    store(place, event("UserPromptSubmit", prompt=HOSTILE), bash("ls"), bash("rm -rf x"), event("Stop", HOSTILE))


def test_tables_facets_menus_and_sql_work_without_complaints(place: Place, serve: Serve, visit: Open) -> None:
    fill(place)
    address = serve("--all")
    page = visit(f"{address}-/tables")
    page.get_by_role("link", name=place.name, exact=True).click()
    page.wait_for_url(f"**/{place.name}")
    assert page.locator("header.top nav a").all_inner_texts()[-1] == "Tables"
    page.goto(f"{address}{place.name}/events")
    assert page.locator("table.rows-and-columns tbody tr").count() == 4
    assert "The number of the event" in page.locator(".column-descriptions").inner_text()
    assert page.locator("td img, td script").count() == 0

    # The menu of a column sets a facet; a session leads to its moment.
    page.locator("th.col-event svg").click()
    page.get_by_text("Facet by this").click()
    page.wait_for_url("**_facet=event**")
    assert "PostToolUse" in page.locator(".facet-info").inner_text()
    href = page.locator("td.col-session_id a").nth(1).get_attribute("href")
    assert href == f"/-/session/{place.name}/s1?at=e3#e3"

    # The editor, and a canned query with its parameter.
    page.goto(f"{address}{place.name}?sql=select+1+as+one")
    assert "one" in page.locator("table.rows-and-columns").inner_text()
    page.locator("#sql-format").click()
    page.wait_for_function(
        "document.querySelector('.CodeMirror').CodeMirror.getValue().toLowerCase().includes('\\n  1 as one')"
    )
    page.goto(f"{address}{place.name}/dangerous-commands")
    assert "rm -rf x" in page.locator("table.rows-and-columns").inner_text()
    page.locator("input[name=since]").fill("2026-12-01")
    page.locator("form.sql input[type=submit]").click()
    page.wait_for_url("**since=2026-12-01**")
    assert page.locator(".zero-results").count() == 1

    # Back with the keyboard.
    page.locator("body").press("/")
    page.keyboard.type("rm")
    page.keyboard.press("Enter")
    page.wait_for_url("**/-/search?q=rm")


@pytest.mark.parametrize("look", [{"dark": True}, {"phone": True}])
def test_readable_in_the_dark_and_on_a_phone(place: Place, serve: Serve, visit: Open, look: dict[str, bool]) -> None:
    fill(place)
    address = serve("--all")
    page = visit(f"{address}{place.name}/events", **look)
    behind, text = page.evaluate(
        "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.querySelector('td')).color]"
    )
    assert (sum(map(int, re.findall(r"\d+", behind)[:3])) < 200) == look.get("dark", False)
    assert (sum(map(int, re.findall(r"\d+", text)[:3])) > 400) == look.get("dark", False)
    if look.get("phone"):
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_datasette_itself_shows_the_same_pages(place: Place, tmp_path: Path, visit: Open) -> None:
    fill(place)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    path = next(path for path in metadata.FILES if path.exists())
    command = [sys.executable, "-m", "datasette", "serve", place.db, "-m", str(path), "-p", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        address = f"http://127.0.0.1:{port}/"
        _wait_for(address)
        page = visit(f"{address}-/audits/dangerous-commands")
        assert page.locator("tbody tr").count() == 1
        page.goto(f"{address}-/search?q=rm")
        assert page.locator(".hit").count() == 1
        page.goto(f"{address}{place.name}/events")
        assert "The number of the event" in page.locator(".column-descriptions").inner_text()
        page.goto(f"{address}{place.name}/dangerous-commands")
        assert "rm -rf x" in page.locator("table.rows-and-columns").inner_text()
    finally:
        process.terminate()
        process.communicate(timeout=20)


def _wait_for(address: str) -> None:
    for _ in range(200):
        try:
            urlopen(address).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError(f"{address} does not answer")
