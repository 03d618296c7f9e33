"""Who is answered, and what a browser may do with the answer."""

from __future__ import annotations

import http.client
import os
import re
import stat
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

import pytest
from playwright.sync_api import expect

from sessionlog.archive.place import Place
from sessionlog.ask.search import scan
from sessionlog.errors import SessionlogError
from sessionlog.web import guard, refusal
from sessionlog.web import token as tokens
from tests.helpers.archives import store
from tests.web.browsing import Open, Serve, Share, Site
from tests.web.browsing import headers as cookie


def serve_module() -> Any:
    """Imported where it is used: every process that runs tests would take a second for Datasette."""
    from sessionlog.web import serve

    return serve


class Answer(NamedTuple):
    status: int
    headers: http.client.HTTPMessage
    body: str


def ask(address: str, path: str, method: str = "GET", **headers: str) -> Answer:
    parts = urlsplit(address)
    assert parts.hostname
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
    connection.request(method, path, headers={**cookie(address), **headers})
    response = connection.getresponse()
    body = response.read().decode("utf-8", "replace")
    connection.close()
    return Answer(response.status, response.headers, body)


@pytest.fixture(scope="module")
def site(share: Share) -> Site:
    return share(lambda place: [{"session_id": "s1", "hook_event_name": "UserPromptSubmit", "prompt": "hello"}])


PAGES = ("/", "/-/sessions", "/-/search", "/-/files", "/-/dashboard", "/-/audits", "/-/tables")


def test_only_names_of_this_machine_are_answered(site: Site) -> None:
    address, _ = site
    for host in ("evil.example", "evil.example:8417", "127.0.0.1.evil.example", "10.0.0.1", ""):
        for path in ("/", "/-/search?q=x", "/-/tables"):
            assert ask(address, path, Host=host).status == 421, host
    for host in ("localhost", "127.0.0.1:1", "[::1]:80", "LOCALHOST."):
        assert ask(address, "/", Host=host).status == 200, host


def test_every_page_comes_with_a_strict_policy(site: Site) -> None:
    address, _ = site
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
    given = entered.headers["Set-Cookie"]
    assert "HttpOnly" in given
    assert "SameSite=Strict" in given
    assert ask(address, "/", Cookie=given.partition(";")[0]).status == 200
    assert ask(address, "/", Cookie="sessionlog-token=wrong").status == 403
    assert ask(address, "/", Host="evil.example", Cookie=given.partition(";")[0]).status == 421


# --- The token on this machine ----------------------------------------------------------------------------------------


def test_other_users_of_this_machine_need_the_token(site: Site) -> None:
    address, place = site
    for path in (*PAGES, f"/{place.name}", f"/{place.name}/events.json", "/-/metadata.json", "/-/no-such-page"):
        for wrong in ("", "sessionlog-token=wrong", "sessionlog-token", "x=y"):
            answer = ask(address, path, Cookie=wrong)
            assert answer.status == 403, path
            assert answer.headers["Content-Security-Policy"] == guard.POLICY
            assert "browse.token" in answer.body and "hello" not in answer.body
    assert ask(address, "/?token=wrong", Cookie="").status == 403
    assert ask(address, "/?token=%F0%9F%98%80", Cookie="").status == 403


def test_the_token_stays_the_same_in_a_file_of_this_user(place: Place, home: Path) -> None:
    token = tokens.of_machine(place.home)
    path = Path(place.home, tokens.FILE)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert tokens.of_machine(place.home) == token == path.read_text().strip()
    path.write_text("short")
    assert len(tokens.of_machine(place.home)) > 20
    path.unlink()
    (home / "planted").write_text("x" * 40)
    path.symlink_to(home / "planted")
    assert tokens.of_machine(place.home) != "x" * 40, "a link is not believed"
    if os.geteuid() == 0:
        path.unlink()
        path.write_text("y" * 40)
        os.chown(path, 54321, 54321)
        assert tokens.of_machine(place.home) != "y" * 40, "nor is a file of another user"


def test_the_token_is_shown_nowhere(site: Site) -> None:
    address, place = site
    token = tokens.of_machine(place.home)
    assert len(token) > 20
    pages = (*PAGES, "/-/metadata.json", "/-/settings.json", "/-/plugins.json", "/-/versions.json", "/-/config.json")
    for path in (*pages, f"/{place.name}", "/-/databases.json", "/-/threads.json", "/-/actor.json"):
        answer = ask(address, path)
        assert token not in answer.body and token not in str(answer.headers), path
    entered = ask(address, f"/-/search?q=x&token={token}", Cookie="")
    assert (entered.status, entered.headers["Location"]) == (303, "/-/search?q=x")
    assert token not in str(entered.headers)


def test_a_token_leads_to_no_other_host(site: Site) -> None:
    address, place = site
    for path in ("/\\evil.example", "//evil.example", "/\\/evil.example", "///\\evil.example/x"):
        entered = ask(address, f"{path}?token={tokens.of_machine(place.home)}", Cookie="")
        assert entered.status == 303
        assert re.match(r"/[^/\\]", entered.headers["Location"])


def test_a_browser_is_asked_for_the_token_and_remembers_it(place: Place, serve: Serve, visit: Open) -> None:
    store(place, {"session_id": "s1", "hook_event_name": "UserPromptSubmit", "prompt": "hello"})
    address = serve()
    page = visit(address, known=False)
    assert page.locator("h1").inner_text() == refusal.NO_TOKEN
    page.locator("input[name=token]").fill(tokens.of_machine(place.home))
    with page.expect_navigation():  # to the same address
        page.keyboard.press("Enter")
    page.goto(f"{address}-/sessions")
    expect(page.locator("body")).to_contain_text("hello")
    (kept,) = page.context.cookies()
    assert kept["httpOnly"] and kept["sameSite"] == "Strict" and kept["expires"] > time.time() + 30 * 86400
    assert tokens.of_machine(place.home) not in kept["value"]


def test_without_a_token_it_is_as_it_was(place: Place, serve: Serve) -> None:
    store(place, {"session_id": "s1", "hook_event_name": "UserPromptSubmit", "prompt": "hello"})
    address = serve("--no-token")
    assert "token" not in address
    assert ask(address, "/", Cookie="").status == 200
    with pytest.raises(SessionlogError, match="--no-token"):
        serve_module().serve([place], "0.0.0.0", 0, False, print, with_token=False)


def test_the_browser_that_is_opened_gets_a_ticket_for_one_time(place: Place) -> None:
    store(place, {"session_id": "s1", "hook_event_name": "UserPromptSubmit", "prompt": "hello"})
    app = serve_module().datasette([place], "the token")
    ticket = tokens.ticket(app)
    assert not tokens.opens(app, "") and not tokens.opens(app, "wrong")
    assert [tokens.opens(app, ticket), tokens.opens(app, ticket)] == [True, False]
    assert tokens.opens(app, "the token") and tokens.opens(app, "the token")


# --- What a request may do --------------------------------------------------------------------------------------------


def test_nothing_but_reading_is_answered(site: Site) -> None:
    address, place = site
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "FOO"):
        for path in ("/", f"/{place.name}", "/-/logout"):
            answer = ask(address, path, method)
            assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD"), (method, path)
    assert ask(address, "/", "HEAD").status == 200


def test_no_page_is_kept_by_the_browser(site: Site) -> None:
    address, place = site
    for path in (*PAGES, f"/{place.name}", f"/{place.name}/events", f"/{place.name}/events.json"):
        assert ask(address, path).headers["Cache-Control"] == "no-store", path


def test_what_datasette_forbids_is_a_page_of_its_own(site: Site) -> None:
    address, _ = site
    for path in ("/-/permissions", "/-/allow-debug", "/-/logout"):
        answer = ask(address, path)
        assert answer.status in (200, 302, 403), path
        assert answer.headers["X-Frame-Options"] == "DENY" and answer.headers["Content-Security-Policy"]
    assert ask(address, "/-/permissions").status == 403


def test_sql_reaches_neither_the_memory_of_the_server_nor_all_of_it(site: Site) -> None:
    address, place = site
    refused = (
        "select fts3_tokenizer('simple')",
        "select hex(zeroblob(400000000))",
        "select group_concat(hex(zeroblob(9000000))) from (select 1 union select 2 union select 3 union select 4)",
        "with recursive c(x) as (values(1) union all select x+1 from c limit 900) select hex(zeroblob(5000000)) from c",
    )
    for query in refused:
        for ending in ("", ".json"):
            answer = ask(address, f"/{place.name}{ending}?sql={quote(query)}")
            assert answer.status == 400, (query, answer.body[:300])
    assert ask(address, f"/{place.name}.json?sql={quote('select hex(zeroblob(1000)) as x')}").status == 200


ENDLESS = "with recursive c(x) as (values(1) union all select x+1 from c) select count(*) from c"


def test_heavy_queries_leave_room_for_a_table(site: Site) -> None:
    """As many as there are threads, each longer than the others wait: some are refused, so that a thread is left."""
    from sessionlog.web import limits

    address, place = site
    milliseconds = int(limits.PATIENCE * 1000) + 500
    statuses: list[int] = []

    def query(number: int) -> None:
        path = f"/{place.name}.json?_timelimit={milliseconds}&sql={quote(f'{ENDLESS} where x > {number}')}"
        statuses.append(ask(address, path).status)

    threads = [threading.Thread(target=query, args=(number,)) for number in range(limits.THREADS)]
    for thread in threads:
        thread.start()
    assert ask(address, f"/{place.name}/events").status == 200
    for thread in threads:
        thread.join()
    assert 503 in statuses and set(statuses) <= {400, 503}


def test_searches_of_everything_take_turns(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []
    going, done = threading.Semaphore(0), threading.Event()

    def collected(*_: object) -> scan.Found:
        started.append("one")
        going.release()
        done.wait(120)
        return scan.Found([], None, "")

    monkeypatch.setattr(scan, "_collected", collected)
    store(place, {"session_id": "s1", "hook_event_name": "UserPromptSubmit", "prompt": "hello"})
    look = (place, "h.*o", True, scan.search.NO_FILTERS, scan.START, 10, 0.2)
    threads = [threading.Thread(target=scan.look, args=look) for _ in range(scan.MOST)]
    for thread in threads:
        thread.start()
    for _ in threads:
        assert going.acquire(timeout=60)
    with pytest.raises(scan.Busy, match="running already"):
        scan.look(*look)
    done.set()
    for thread in threads:
        thread.join()
    assert len(started) == scan.MOST
    assert scan.look(*look).hits == []
