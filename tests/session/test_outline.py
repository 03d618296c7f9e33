"""The outline of a session: the same as its entries, without the words."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sessionlog.archive import place as projects
from sessionlog.archive import read
from sessionlog.session import load, merge
from sessionlog.session.outline import Outline
from sessionlog.transcripts import importer
from tests.conftest import FIXTURES
from tests.helpers.recording import hostile_session, record
from tests.record.test_hook import tool

PAYLOADS = [json.loads(path.read_bytes()) for path in sorted((FIXTURES / "payloads").rglob("*.json"))]


def pair(number: int, name: str, end: str = "PostToolUse", **more: Any) -> list[dict[str, Any]]:
    """A call from its start to its end, if it has one."""
    base = tool(number, tool_name=name, **more)
    start = {**base, "hook_event_name": "PreToolUse"}
    return [start, {**base, "hook_event_name": end}] if end else [start]


def of_everything(place: projects.Place) -> dict[str, Outline]:
    """The outline of each session; loading its items gives the entries that are read from the start."""
    found = {}
    with closing(read.connect(place)) as connection:
        for row in connection.execute("SELECT session_id FROM sessions").fetchall():
            session_id = row["session_id"]
            told = list(load.entries(connection, session_id))
            whole = found[session_id] = merge.read(connection, session_id)
            loaded = list(load.load(connection, session_id, whole.items))
            assert [entry._replace(names=()) for entry in loaded] == [entry._replace(names=()) for entry in told]
            for entry, item in zip(told, whole.items, strict=True):
                assert set(entry.names) <= set(item.names)
                assert (entry.kind, entry.agent_id, entry.minor) == (item.kind, item.agent_id, item.minor)
                if entry.call:
                    assert item.outcome == (entry.call.outcome if entry.kind == "tool" else entry.title)
                if load.is_refused(entry):
                    assert item.is_trouble
    return found


def test_the_outline_has_the_entries_of_recorded_sessions(
    place: projects.Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SESSIONLOG_DB", place.db)
    # At the time of the transcript: what both saw is told once.
    record(place, [payload for payload in PAYLOADS if "session_id" in payload], 1_794_793_274_740, 100)
    before = of_everything(place)
    importer.run([str(FIXTURES / "transcripts")], workers=1)
    after = of_everything(place)
    assert len(before) > 1
    assert sum(len(one.items) for one in after.values()) > sum(len(one.items) for one in before.values())
    merged = after["f0b8f9eb-e977-492a-9bcd-0e80389a7950"]
    rows = [name for item in merged.items for name in item.names]
    assert {name[0] for name in rows} == {"e", "m"}
    assert all(merged.by_name[name].names.count(name) for name in rows)


def test_the_outline_has_the_entries_of_hostile_sessions(place: projects.Place) -> None:
    record(place, hostile_session())
    assert len(of_everything(place)["hostile"].items) > 200


def test_outcomes_agents_and_what_waits(place: projects.Place) -> None:
    base = {"session_id": "s1"}
    record(
        place,
        [
            {**base, "hook_event_name": "UserPromptSubmit", "prompt": "one"},
            *pair(1, "Bash"),
            *pair(2, "Bash", "PostToolUseFailure", error="Exit code 1"),
            {**base, "hook_event_name": "Stop", "last_assistant_message": "done"},
            {**base, "hook_event_name": "SupervisorDecision", "decision": "block", "message": "no"},
            {**base, "hook_event_name": "SupervisorDecision", "decision": "allow", "message": "yes"},
            {**base, "hook_event_name": "UserPromptSubmit", "prompt": "two"},
            *pair(3, "Grep", agent_id="a1", agent_type="Explore"),
            *pair(4, "Bash", "", agent_id="a1", agent_type="Explore"),
            {**base, "hook_event_name": "PermissionRequest", "tool_name": "Bash", "agent_id": "a1"},
        ],
    )
    whole = of_everything(place)["s1"]
    assert [item.outcome for item in whole.items if item.outcome] == [
        "ok",
        "failed",
        "not allowed",
        "allowed",
        "ok",
        "no result",
        "denied or not answered",
    ]
    assert [item.name for item in whole.items if item.is_trouble] == ["e4", "e7", "e12", "e13"]
    agent = whole.agents["a1"]
    assert (agent.type, agent.calls, agent.failures, agent.stopped) == ("Explore", 1, 0, False)
    assert whole.by_name["e5"] is whole.by_name["e4"]
    assert whole.items[whole.turn].name == "e9"


def test_stamp_changes_with_the_session(place: projects.Place, home: Path) -> None:
    base = {"session_id": "s1", "hook_event_name": "Notification"}
    record(place, [{**base, "message": "one"}])
    with closing(read.connect(place)) as connection:
        first = merge.stamp(connection, "s1")
        assert merge.stamp(connection, "s1") == first
        record(place, [{**base, "message": "two"}], 1_763_257_999_000)
        assert merge.stamp(connection, "s1") != first
