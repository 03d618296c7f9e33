"""One row for each thing that happened, however many events and lines tell of it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sessionlog.archive import place as projects
from sessionlog.archive import read
from sessionlog.ask.rollup import open as rollup
from sessionlog.session import load, merge
from sessionlog.session.load import Entry
from sessionlog.session.outline import Outline
from sessionlog.transcripts import importer
from tests.conftest import rows
from tests.helpers import transcript_lines as made
from tests.helpers.archives import event, store
from tests.helpers.transcript_files import shop
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


BEGIN, END = event("PreCompact", trigger="auto"), event("PostCompact", trigger="auto", compact_summary="So far")


@pytest.mark.parametrize(
    ("by_hooks", "by_transcript", "compactions"),
    [
        ([BEGIN, END] * 2, 0, 2),
        ([BEGIN, BEGIN], 0, 2),  # of clients that do not report the end
        ([END, END], 0, 2),  # OpenCode reports only the end
        ([], 2, 2),
        ([BEGIN, END] * 2, 2, 2),
        ([BEGIN, END], 2, 2),  # recording was paused, or began later
    ],
)
def test_compactions_have_one_count(
    home: Path, by_hooks: list[dict[str, Any]], by_transcript: int, compactions: int
) -> None:
    lines = made.Transcript("s1")
    lines.user("go")
    for number in range(max(len(by_hooks), by_transcript) * (by_transcript > 0)):
        if number < by_transcript:
            lines.add("system", subtype="compact_boundary", content="Conversation compacted")
            lines.user("So far", isCompactSummary=True)
        lines.tick(60)
    store(shop(), event("UserPromptSubmit", prompt="go"), start_ms=int(made.START.timestamp() * 1000))
    for number, payload in enumerate(by_hooks):
        minutes = number // (2 if END in by_hooks and BEGIN in by_hooks else 1)
        store(shop(), payload, start_ms=int(made.START.timestamp() * 1000) + minutes * 62_000 + 1500 + 10 * number)
    if by_transcript:
        lines.write(home)
        importer.run()
    outline, _ = told(shop())
    assert sum(item.kind == "compaction" and not item.minor for item in outline.items) == compactions
    assert rows(shop(), "SELECT compactions FROM session_summary") == [{"compactions": compactions}]
    with closing(rollup.connect(shop())) as connection:
        assert connection.execute("SELECT compactions FROM sessions").fetchone()["compactions"] == compactions


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
