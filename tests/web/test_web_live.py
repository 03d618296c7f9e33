"""Live means the same on every page and in every command."""

from __future__ import annotations

import re
import time

import pytest
from click.testing import CliRunner

from sessionlog.archive.place import Place
from sessionlog.cli.main import cli
from sessionlog.maintain import prune
from sessionlog.times import parse
from tests.helpers.archives import event, store
from tests.web.browsing import Serve, urlopen

# Minutes since the last event, whether it has ended, and whether that is live.
CASES = {"now": (0, False, True), "12-minutes": (12, False, True), "20-minutes": (20, False, False)}
CASES |= {"hours": (600, False, False), "just-ended": (0, True, False), "days": (5000, False, False)}


@pytest.fixture
def sessions(place: Place) -> Place:
    now_ms = int(time.time() * 1000)
    for name, (minutes, ended, _) in CASES.items():
        payloads = [event("UserPromptSubmit", name, prompt="Begin")]
        payloads += [event("SessionEnd", name, reason="exit")] if ended else []
        store(place, *payloads, start_ms=now_ms - minutes * 60_000 - 2000)
    return place


def test_pages_agree(sessions: Place, serve: Serve) -> None:
    address = serve()
    live = {name for name, (*_, live) in CASES.items() if live}

    def get(path: str) -> str:
        with urlopen(f"{address.rstrip('/')}/{path}") as answer:
            return str(answer.read().decode())

    assert "token" not in address
    for path, row in (("", r"<li.*?</li>"), ("-/sessions", r"<tr.*?</tr>")):
        rows = [row for row in re.findall(row, get(path), re.S) if "/-/session/" in row]
        shown = {
            match[1] for row in rows if "live</span>" in row and (match := re.search(r"/-/session/[^/]+/([\w-]+)", row))
        }
        assert shown == live, path
    pages = {name: get(f"-/session/{sessions.name}/{name}") for name in CASES}
    assert {name for name, page in pages.items() if 'badge live">live' in page} == live
    # For a moment after the end, the page still looks for what the transcript has to say.
    assert {name for name, page in pages.items() if 'data-live="1"' in page} == live | {"just-ended"}


def test_commands_agree(sessions: Place) -> None:
    live = {name for name, (*_, live) in CASES.items() if live}
    listed = CliRunner().invoke(cli, ["sessions"]).output.splitlines()
    assert {line.split()[0] for line in listed if "  live  " in line} == {name[:8] for name in live}
    for name in CASES:
        heading = CliRunner().invoke(cli, ["show", name]).output.splitlines()[1]
        assert heading.endswith(", live") is (name in live), heading


def test_prune_keeps_what_may_be_continued(sessions: Place) -> None:
    plan = prune.plan(sessions, prune.Which(before=parse("0m")))
    assert {session.session_id for session in plan.sessions} == {"just-ended", "days"}
    assert plan.recent == 4
