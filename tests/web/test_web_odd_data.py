"""Whatever is in an archive, every page that can be reached from the first one answers."""

from __future__ import annotations

import random
import re
import sqlite3
import urllib.error
from collections import Counter, deque
from contextlib import closing
from html import unescape
from urllib.parse import quote, urldefrag, urljoin, urlsplit

import pytest

from sessionlog.archive import place as projects
from sessionlog.ask import audit
from tests.conftest import thorough
from tests.helpers import odd_archive
from tests.web.browsing import Open, Serve, urlopen

# Of one kind of page, so many are followed: there are thousands of ways to sort a table.
OF_A_KIND = 10 if thorough() else 2


def fetch(address: str) -> tuple[int, str]:
    address = quote(address, safe="/:?&=%+,;@~!$'()*[]-._")  # as browsers do
    try:
        with urlopen(address) as answer:
            body = answer.read()  # to its end: what comes in pieces may break late
            return answer.status, body.decode() if "html" in answer.headers["content-type"] else ""
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def kind(address: str) -> str:
    """The page without its particulars: the question, the session, the row."""
    return "/".join(urlsplit(address).path.split("/")[:3])


def starts(place: projects.Place) -> list[str]:
    with closing(sqlite3.connect(place.db)) as connection:
        connection.text_factory = bytes
        sessions = [row[0] for row in connection.execute("SELECT session_id FROM sessions")]
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')").fetchall()
    return [
        "/",
        *(f"/-/session/{place.name}/{quote(name, safe='')}" for name in sessions),
        *(f"/{place.name}/{table.decode()}" for (table,) in tables),
        *(f"/-/search?q={quote(text)}" for text in ("x", "数", "%_", "a\0b", "y" * 500)),
        *(f"/-/audits/{name}" for name in audit.audits()),
        *(f"/-/sessions/{place.name}?{quote(name)}=x" for name in ("tool", "model", "branch", "since", "sort", "q")),
    ]


@pytest.mark.parametrize("seed", range(4 if thorough() else 1))
def test_no_page_breaks(place: projects.Place, serve: Serve, seed: int) -> None:
    odd_archive.fill(place, random.Random(seed), 15, legible=True)
    top = serve()
    waiting = deque(urljoin(top, path) for path in starts(place))
    seen, followed = set(waiting), Counter[str]()
    broken = {}
    while waiting:
        address = waiting.popleft()
        status, page = fetch(address)
        if status >= 500:
            broken[address] = status
        for link in re.findall(r'(?:href|src)="([^"]*)"', page):
            there = urldefrag(urljoin(address, unescape(link))).url
            if not there.startswith(top) or there in seen or followed[kind(there)] >= OF_A_KIND:
                continue
            followed[kind(there)] += 1
            seen.add(there)
            waiting.append(there)
    assert broken == {}
    assert len(seen) > (200 if thorough() else 120)


def test_a_browser_shows_it(place: projects.Place, serve: Serve, visit: Open) -> None:
    odd_archive.fill(place, random.Random(7), legible=True)
    top = serve()
    session = next(path for path in starts(place) if "/-/session/" in path and not path.endswith("/"))
    page = visit(top)
    for path in ("/", session, "/-/search?q=x", "/-/dashboard", "/-/files", f"/{place.name}/events"):
        page.goto(urljoin(top, path))
        assert page.locator("h1").first.is_visible(), path
