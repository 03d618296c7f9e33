"""One row for each thing that happened, however many events and lines tell of it."""

from __future__ import annotations

from contextlib import closing
from typing import Any

from sessionlog.archive import place as projects
from sessionlog.archive import read
from sessionlog.session import load, merge
from sessionlog.session.load import Entry
from sessionlog.session.outline import Outline
from tests.helpers.archives import event, store
from tests.web.test_web_session import in_agent, pair


def told(place: projects.Place) -> tuple[Outline, list[Entry]]:
    """What happened, and the words of it; what is only bookkeeping is left out."""
    with closing(read.connect(place)) as connection:
        outline = merge.read(connection, "s1")
        entries = [entry for entry in load.entries(connection, "s1") if not entry.minor]
    assert [entry.kind for entry in entries] == [item.kind for item in outline.items if not item.minor]
    return outline, entries


def test_a_call_somebody_was_asked_about(place: projects.Place) -> None:
    start, end = pair("Bash", command="git push")
    asked = {key: value for key, value in start.items() if key != "tool_use_id"}
    asked["hook_event_name"] = "PermissionRequest"
    notice = event(
        "Notification", message="Claude needs your permission to use Bash", notification_type="permission_prompt"
    )
    denied, _ = pair("Bash", command="git push --force")
    refusal = {**denied, "hook_event_name": "PermissionDenied", "reason": "never force"}
    store(place, start, asked, notice, end, denied, refusal)
    outline, entries = told(place)
    calls: list[Any] = [entry.call for entry in entries]
    assert [(call.asked, call.outcome, call.error) for call in calls] == [
        ("allowed", "ok", ""),
        ("denied", "denied", "never force"),
    ]
    assert outline.by_name["e2"] is outline.by_name["e1"]
    assert outline.by_name["e6"] is outline.by_name["e5"]
    assert outline.by_name["e3"].minor


def test_a_compaction(place: projects.Place) -> None:
    for number in range(2):
        store(
            place,
            event("PreCompact", trigger="auto"),
            event("PostCompact", trigger="auto", compact_summary=f"Summary {number}"),
            start_ms=1_794_787_200_000 + number * 60_000,
        )
    _, entries = told(place)
    assert [(entry.kind, entry.title, entry.text) for entry in entries] == [
        ("compaction", "auto", "Summary 0"),
        ("compaction", "auto", "Summary 1"),
    ]


def test_a_compaction_that_did_not_come_to_its_end(place: projects.Place) -> None:
    store(place, event("PreCompact", trigger="manual", custom_instructions="keep the plan"))
    _, (entry,) = told(place)
    assert (entry.title, entry.text) == ("manual", "keep the plan")


def test_the_call_that_started_a_sub_agent_belongs_to_it(place: projects.Place) -> None:
    start, end = pair("Agent", description="Look", prompt="Look around", response={"agentId": "a1", "content": []})
    store(
        place,
        start,
        event("SubagentStart", agent_id="a1", agent_type="Explore"),
        *in_agent(pair("Grep", pattern="x"), "a1"),
        event("SubagentStop", agent_id="a1", agent_type="Explore", last_assistant_message="Found"),
        end,
    )
    outline, _ = told(place)
    assert outline.agents["a1"].call is outline.by_name["e1"]
