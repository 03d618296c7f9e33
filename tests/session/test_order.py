"""The order of a session, whatever clocks say, and what of it stands under another id."""

from __future__ import annotations

import json
import os
from contextlib import closing
from pathlib import Path

import pytest

from sessionlog.archive import place as projects
from sessionlog.archive import read, spool
from sessionlog.session import load, merge
from sessionlog.transcripts import importer
from tests.cli.test_cli import printed
from tests.conftest import rows
from tests.helpers import transcript_lines as made
from tests.helpers.recording import record
from tests.helpers.transcript_files import shop


@pytest.fixture(autouse=True)
def in_shop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", "/home/dev/shop")


def order(session_id: str = "s") -> list[str]:
    """The words and calls of a session, as pages and as `show` have them."""
    with closing(read.connect(shop())) as connection:
        outline = merge.read(connection, session_id).items
        entries = list(load.entries(connection, session_id))
        assert all(item.name in entry.names for item, entry in zip(outline, entries, strict=True))
        return [entry.text or entry.title for entry in entries if not entry.minor]


@pytest.mark.parametrize("seen", [False, True])
def test_a_clock_that_was_set_back_changes_no_order(home: Path, seen: bool) -> None:
    """Two turns; an hour back in between, and hooks saw both or none."""
    one = made.Transcript("s")
    events = []
    for turn in ("first", "second"):
        one.user(f"{turn} prompt", promptId=turn)
        base = {"session_id": "s", "at": one.clock}
        events.append({**base, "hook_event_name": "UserPromptSubmit", "prompt": f"{turn} prompt", "prompt_id": turn})
        call = one.call("Bash", {"command": "ls"})
        tool = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": call}
        events.append({**base, "at": one.clock, "hook_event_name": "PreToolUse", **tool})
        one.result(call)
        events.append({**base, "at": one.clock, "hook_event_name": "PostToolUse", **tool, "tool_response": "fine"})
        one.answer(f"{turn} answer")
        stop = {**base, "at": one.clock, "hook_event_name": "Stop", "last_assistant_message": f"{turn} answer"}
        events.append(stop)
        one.tick(-3600)
    for event in events if seen else ():
        record(shop(), [event], int(event.pop("at").timestamp() * 1000) + 100)
    one.write(home)
    importer.run()
    turns = [[f"{turn} prompt", "Bash", f"{turn} answer"] for turn in ("first", "second")]
    assert order() == [*turns[0], *turns[1]]
    shown = printed("show", "s")
    assert shown.index("first answer") < shown.index("second prompt")
    assert "second answer" in printed("show", json.loads(printed("search", "second answer", "--json"))[0]["hit"])
    assert [row["first_prompt"] for row in json.loads(printed("sessions", "--json"))] == ["first prompt"]
    assert rows(shop(), "SELECT first_prompt FROM session_summary") == [{"first_prompt": "first prompt"}]
    assert [tuple(row.values()) for row in rows(shop(), "SELECT prompt, tool_calls FROM turns ORDER BY abs(id)")] == [
        ("first prompt", 1),
        ("second prompt", 1),
    ]


def test_lines_a_moment_apart_are_in_the_order_of_their_times(home: Path) -> None:
    """Results of calls at the same time are written as they come."""
    one = made.Transcript("s")
    one.user("go")
    one.answer("later", timestamp="2026-11-16T08:00:30.000Z")
    one.answer("earlier", timestamp="2026-11-16T08:00:20.000Z")
    one.write(home)
    importer.run()
    assert order() == ["go", "earlier", "later"]


def test_two_sessions_in_one_file_name_each_other(home: Path) -> None:
    one = made.Transcript("aaaa")
    for number in range(3):
        one.user(f"of a {number}", sessionId="aaaa")
        one.answer(f"of b {number}", sessionId="bbbb")
    one.write(home)
    importer.run()
    assert order("aaaa") == [f"of a {number}" for number in range(3)]
    assert order("bbbb") == [f"of b {number}" for number in range(3)]
    for own, other in (("aaaa", "bbbb"), ("bbbb", "aaaa")):
        told = f"goes on from lines of session {other}"
        assert told in printed("show", own)
        assert all(told in printed("export", own, "--format", form) for form in ("markdown", "html"))


def test_a_fork_does_not_name_the_session_whose_lines_it_repeats(home: Path) -> None:
    one, fork = made.Transcript("aaaa"), made.Transcript("ffff")
    one.user("go")
    one.answer("gone")
    origin = {"sessionId": "ffff", "forkedFrom": {"sessionId": "aaaa", "messageUuid": one.last}}
    fork.lines = [{**line, **origin} for line in one.lines]
    fork.last, fork.clock = one.last, one.clock
    fork.user("further")
    for file in (one, fork):
        file.write(home)
    importer.run()
    assert order("ffff") == ["go", "gone", "further"]
    assert "goes on from" not in printed("show", "ffff") + printed("show", "aaaa")


def test_any_row_of_an_entry_leads_to_it(home: Path) -> None:
    """The answer is in the transcript, and a moment later in an event."""
    one = made.Transcript("s")
    one.user("go", promptId="p")
    one.answer("gone")
    one.write(home)
    base = {"session_id": "s"}
    events = [
        {**base, "hook_event_name": "UserPromptSubmit", "prompt": "go", "prompt_id": "p"},
        {**base, "hook_event_name": "Stop", "last_assistant_message": "gone"},
    ]
    record(shop(), events, int(made.START.timestamp() * 1000) + 1100)
    importer.run()
    for name in ("e1", "e2", "m1", "m2"):
        shown = printed("show", name).splitlines()
        (marked,) = [line for line in shown if line[8:9] == ">"]
        assert ("prompt" if name.endswith("1") else "answer") in marked


def test_events_that_come_after_their_lines_count_once(home: Path) -> None:
    """They waited in the spool while the transcript was imported."""
    one = made.Transcript("s")
    one.user("go", promptId="p")
    call = one.call("Bash", {"command": "ls"})
    one.result(call)
    path = one.write(home)
    record(shop(), [{"session_id": "s", "hook_event_name": "SessionStart", "source": "startup"}])
    importer.run()
    late = [
        {"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "go", "prompt_id": "p"},
        {"session_id": "s", "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"},
            "tool_use_id": call, "tool_response": "fine"},
    ]  # fmt: skip

    def counts() -> tuple[int, int]:
        (row,) = json.loads(printed("sessions", "--json"))
        return row["prompts"], row["tool_calls"]

    assert counts() == (1, 1)
    at_ms = int(made.START.timestamp() * 1000)
    spool.append(shop(), (at_ms, "test", None, None, late[0], None))
    assert counts() == (1, 1)
    # The hook empties the spool as well, or the event itself is late: the import at the end of the turn counts again.
    record(shop(), [late[1]], at_ms)
    importer.follow(shop(), os.fspath(path))
    assert counts() == (1, 1)


def test_a_session_that_only_ended_is_not_the_last(place: projects.Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """`claude plugin install` reports the end of a session of which nothing else is known."""
    record(place, [{"session_id": "real", "hook_event_name": "UserPromptSubmit", "prompt": "go"}])
    record(place, [{"session_id": "lone", "hook_event_name": "SessionEnd", "reason": "other"}], 1_794_793_274_740)
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", place.project)
    listed = json.loads(printed("sessions", "--json"))
    assert [row["session_id"] for row in listed] == ["real"]
    assert "session real" in printed("show", "last") and "session lone" in printed("show", "lone")
    assert json.loads(printed("stats", "--since", "2020-01-01", "--json"))["totals"]["sessions"] == 1
    record(place, [{"session_id": "lone", "hook_event_name": "UserPromptSubmit", "prompt": "more"}], 1_794_793_275_000)
    assert "session lone" in printed("show", "last")
    assert [(row["session_id"], row["prompts"]) for row in json.loads(printed("sessions", "--json"))] == [
        ("lone", 1), ("real", 1),
    ]  # fmt: skip
