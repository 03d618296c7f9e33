"""What the tests of the pages share."""

from __future__ import annotations

import http.client
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

import axe_playwright_python
from playwright.sync_api import Page

from sessionlog.archive.place import Place
from tests.conftest import thorough

Serve = Callable[..., str]
Open = Callable[..., Page]


class Site(NamedTuple):
    """A server, and the archive that it shows."""

    address: str
    place: Place


AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text()
# Rules that depend on the colours. All others find the same in light and dark.
COLOURS = ("color-contrast", "link-in-text-block")
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")

Share = Callable[..., Site]  # events of an archive, and arguments of `browse`


# The cookie of each server that a test started, by host and port.
_cookies: dict[str, str] = {}


def log_in(printed: str) -> str:
    """Open the address that was printed, as a person does; returns it without the token."""
    parts = urlsplit(printed)
    assert parts.hostname
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=120)
    connection.request("GET", f"{parts.path}?{parts.query}")
    response = connection.getresponse()
    response.read()
    connection.close()
    assert response.status == 303, response.status
    _cookies[parts.netloc] = response.headers["Set-Cookie"].partition(";")[0]
    return f"http://{parts.netloc}/"


def headers(address: str) -> dict[str, str]:
    """What makes a request one of the person who opened the address."""
    cookie = _cookies.get(urlsplit(address).netloc)
    return {"Cookie": cookie} if cookie else {}


def complaints(page: Page, colours: str = "light and dark") -> dict[str, list[str]]:
    """What axe-core finds on this page, and whether it is wider than the screen.

    Colours are most of its work: a test that looks at a page in two widths gives each of them one scheme.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    found: dict[str, list[str]] = {}
    for scheme in [scheme for scheme in SCHEMES if thorough() or scheme in colours]:
        options: dict[str, Any] = {
            "resultTypes": ["violations"],
            "selectors": False,
            **({"runOnly": COLOURS} if found else {}),
        }
        page.emulate_media(color_scheme=scheme)
        violations = page.evaluate("async options => (await axe.run(document, options)).violations", options)
        found[scheme] = [f"{rule['id']}: {rule['nodes'][0]['html'][:200]}" for rule in violations]
    page.emulate_media(color_scheme="light")
    if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
        found["wide"] = ["a part of it is outside of the screen"]
    return {name: said for name, said in found.items() if said}


def urlopen(address: str, timeout: float = 120) -> Any:
    """As urllib's, with the cookie."""
    return urllib.request.urlopen(urllib.request.Request(address, headers=headers(address)), timeout=timeout)
