"""Who is answered, and what a browser may do with the answer."""

from __future__ import annotations

import http.client
from urllib.parse import urlsplit

import pytest
from archives import store
from browsing import Serve

from sessionlog.projects import Place


def ask(address: str, path: str, **headers: str) -> http.client.HTTPResponse:
    parts = urlsplit(address)
    assert parts.hostname
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=20)
    connection.request("GET", path, headers=headers)
    response = connection.getresponse()
    response.read()
    connection.close()
    return response


@pytest.fixture
def address(place: Place, serve: Serve) -> str:
    store(place, {"session_id": "s1", "hook_event_name": "UserPromptSubmit", "prompt": "hello"})
    return serve()


PAGES = ("/", "/-/sessions", "/-/search", "/-/files", "/-/dashboard", "/-/audits", "/-/tables")


def test_only_names_of_this_machine_are_answered(address: str) -> None:
    for host in ("evil.example", "evil.example:8417", "127.0.0.1.evil.example", "10.0.0.1", ""):
        for path in ("/", "/-/search?q=x", "/-/tables"):
            assert ask(address, path, Host=host).status == 421, host
    for host in ("localhost", "127.0.0.1:1", "[::1]:80", "LOCALHOST."):
        assert ask(address, "/", Host=host).status == 200, host


def test_every_page_comes_with_a_strict_policy(address: str) -> None:
    for path in PAGES:
        response = ask(address, path)
        assert response.status == 200, path
        policy = response.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        scripts = policy.split("script-src", 1)[1].split(";")[0]
        assert "unsafe" not in scripts
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert response.headers["Referrer-Policy"] == "no-referrer"


def test_public_bind_demands_the_token_once(place: Place, serve: Serve) -> None:
    store(place, {"session_id": "s1", "hook_event_name": "UserPromptSubmit", "prompt": "hello"})
    printed = urlsplit(serve("--host", "0.0.0.0"))
    address = f"http://127.0.0.1:{printed.port}/"
    assert ask(address, "/").status == 403
    assert ask(address, "/?token=wrong").status == 403
    entered = ask(address, f"/-/search?q=x&{printed.query}")
    assert entered.status == 303
    assert entered.headers["Location"] == "/-/search?q=x"
    cookie = entered.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert ask(address, "/", Cookie=cookie.partition(";")[0]).status == 200
    assert ask(address, "/", Cookie="sessionlog-token=wrong").status == 403
    assert ask(address, "/", Host="evil.example", Cookie=cookie.partition(";")[0]).status == 421
