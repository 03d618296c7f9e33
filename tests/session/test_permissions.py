"""Which call a permission question is about, and what became of it: one answer in the view, show, pages and exports."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest

from sessionlog.archive import place as projects
from sessionlog.archive import read
from sessionlog.session import load, merge
from tests.cli.test_cli import printed
from tests.conftest import rows
from tests.helpers.recording import record

ALLOWED, OPEN, DENIED = "allowed", "denied or not answered", "denied"
EVENTS = {"start": "PreToolUse", "ask": "PermissionRequest", "end": "PostToolUse", "fail": "PostToolUseFailure"}
EVENTS |= {"deny": "PermissionDenied"}


def payload(step: str) -> dict[str, Any]:
    """`start 1 ls` is the start of the call 1, whose command is ls; `ask 1 ls` has no id, as the client sends none."""
    word, number, text, *more = step.split()
    made = {"session_id": "s1", "hook_event_name": EVENTS[word], "tool_name": "Bash", "tool_use_id": number}
    made["tool_input"] = {"command": text}
    if word == "ask":
        del made["tool_use_id"]
    for pair in more:
        key, _, value = pair.partition("=")
        (made if key in ("agent_id", "tool_name") else made["tool_input"])[key] = value
    return made


CASES = {
    "one after the other": (
        ["start 1 a", "ask 1 a", "end 1 a", "start 2 b", "ask 2 b"],
        [("1", ALLOWED), ("2", OPEN)],
    ),
    "at once, the first is denied": (
        ["start 1 a", "start 2 b", "ask 1 a", "ask 2 b", "end 2 b"],
        [("1", OPEN), ("2", ALLOWED)],
    ),
    "at once, the second is denied": (
        ["start 1 a", "start 2 b", "ask 1 a", "ask 2 b", "fail 1 a"],
        [("1", ALLOWED), ("2", OPEN)],
    ),
    "at once, they differ only in what no column has": (
        ["start 1 a timeout=1", "start 2 a timeout=2", "ask 1 a timeout=1", "ask 2 a timeout=2", "end 2 a timeout=2"],
        [("1", OPEN), ("2", ALLOWED)],
    ),
    "at once, edits of one file": (
        ["start 1 a new_string=x", "start 2 a new_string=y", "ask 2 a new_string=y", "end 1 a new_string=x"],
        [("2", OPEN)],
    ),
    "at once, the same input, the second is denied": (
        ["start 1 a", "start 2 a", "ask 1 a", "ask 2 a", "end 1 a"],
        [("1", ALLOWED), ("2", OPEN)],
    ),
    "at once, the same input, the first ends before the second is asked about": (
        ["start 1 a", "start 2 a", "ask 1 a", "end 1 a", "ask 2 a", "end 2 a"],
        [("1", ALLOWED), ("2", ALLOWED)],
    ),
    "three at once, the same input, questions in between": (
        ["start 1 a", "start 2 a", "ask 1 a", "start 3 a", "ask 2 a", "ask 3 a", "end 1 a", "end 3 a"],
        [("1", ALLOWED), ("2", OPEN), ("3", ALLOWED)],
    ),
    "a retry after a denial": (
        ["start 1 a", "ask 1 a", "start 2 a", "ask 2 a", "end 2 a"],
        [("1", OPEN), ("2", ALLOWED)],
    ),
    "a retry after a hook had stopped it": (
        ["start 1 a", "start 2 a", "ask 2 a", "end 2 a"],
        [("2", ALLOWED)],
    ),
    "allowed once, then asked again": (
        ["start 1 a", "end 1 a", "start 2 a", "ask 2 a"],
        [("2", OPEN)],
    ),
    "a question whose call nobody saw": (
        ["start 1 a", "end 1 a", "ask 9 a", "ask 9 b"],
        [("1", OPEN), (None, OPEN)],
    ),
    "denied by a rule": (
        ["start 1 a", "start 2 b", "deny 2 b", "end 1 a"],
        [("2", DENIED)],
    ),
    "two agents, the same input": (
        ["start 1 a agent_id=x", "start 2 a agent_id=y", "ask 1 a agent_id=x", "end 2 a agent_id=y"],
        [("1", OPEN)],
    ),
    "two tools, the same input": (
        ["start 1 a tool_name=Read", "start 2 a tool_name=Write", "ask 1 a tool_name=Read", "end 1 a tool_name=Read"],
        [("1", ALLOWED)],
    ),
}


@pytest.mark.parametrize(("steps", "expected"), CASES.values(), ids=CASES.keys())
def test_everybody_gives_the_same_answer(
    place: projects.Place, steps: list[str], expected: list[tuple[str | None, str]]
) -> None:
    record(place, [payload(step) for step in steps])
    decided = rows(place, "SELECT id, tool_use_id, decision FROM permission_decisions ORDER BY id")
    assert [(row["tool_use_id"], row["decision"]) for row in decided] == expected
    with closing(read.connect(place)) as connection:
        entries = list(load.entries(connection, "s1"))
        items = merge.read(connection, "s1").items
    # A question is a part of the call that it is about, and stands for itself if nobody saw the call.
    for row in decided:
        (item,) = (item for item in items if f"e{row['id']}" in item.names)
        (entry,) = (entry for entry in entries if f"e{row['id']}" in entry.names)
        if row["tool_use_id"]:
            assert (item.kind, item.tool_use_id) == ("tool", row["tool_use_id"])
            assert entry.call and item.asked == entry.call.asked == row["decision"]
        else:
            assert (item.kind, item.outcome, entry.title) == ("permission", row["decision"], row["decision"])
    for text in (printed("show", "s1"), printed("export", "s1", "--format", "markdown")):
        lines = [line for line in text.splitlines() if "permission" in line]
        assert len(lines) == len(expected)
        for line, (_, decision) in zip(lines, expected, strict=True):
            assert decision in line
    audit = printed("audit", "permissions", "--json")
    assert audit.count('"decision": "allowed"') == sum(decision == ALLOWED for _, decision in expected)


def test_the_decisions_of_one_session_are_those_of_all(place: projects.Place) -> None:
    for number, (steps, _) in enumerate(CASES.values()):
        record(place, [{**payload(step), "session_id": f"s{number}"} for step in steps])
    everything = rows(place, "SELECT * FROM permission_decisions ORDER BY id")
    alone = [
        row
        for number in range(len(CASES))
        for row in rows(place, "SELECT * FROM permission_decisions WHERE session_id = ? ORDER BY id", f"s{number}")
    ]
    assert everything == alone and len(alone) == sum(len(expected) for _, expected in CASES.values())
