"""What the tests of the pages share."""

from __future__ import annotations

import http.client
import urllib.request
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Page

Serve = Callable[..., str]
Open = Callable[..., Page]

# The cookie of each server that a test started, by host and port.
_cookies: dict[str, str] = {}


def log_in(printed: str) -> str:
    """Open the address that was printed, as a person does; returns it without the token."""
    parts = urlsplit(printed)
    assert parts.hostname
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=30)
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


def urlopen(address: str, timeout: float = 60) -> Any:
    """As urllib's, with the cookie."""
    return urllib.request.urlopen(urllib.request.Request(address, headers=headers(address)), timeout=timeout)
