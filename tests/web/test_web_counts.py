"""Header, outline, chips, statistics, SQL, exports and pages show the same numbers for the same session."""

from __future__ import annotations

import itertools
import json
import random
from contextlib import closing
from typing import Any

import pytest

from sessionlog.archive import place as projects
from sessionlog.archive import read
from sessionlog.transcripts import importer
from tests.conftest import FIXTURES
from tests.helpers import counts
from tests.helpers.recording import hostile_session, record
from tests.web.browsing import Serve, urlopen

PAYLOADS = [json.loads(path.read_bytes()) for path in sorted((FIXTURES / "payloads").rglob("*.json"))]
RECORDED_MS = 1_794_793_274_740  # when the transcripts were written
TOOLS = ("Bash", "Edit", "Write", "Read", "MultiEdit", "NotebookEdit", "WebFetch", "mcp__shop__list", "Task")


def check(place: projects.Place, address: str) -> dict[str, counts.Counts]:
    """All sessions of the archive; returns what its summary says of each."""

    def page(path: str) -> str:
        with urlopen(f"{address}{path}") as response:
            return str(response.read().decode())

    with closing(read.connect(place)) as connection:
        sessions = [row["session_id"] for row in connection.execute("SELECT session_id FROM sessions").fetchall()]
    found = {session: counts.everywhere(place, session, page) for session in sessions}
    wrong = {session: wrong for session, said in found.items() if (wrong := counts.differences(said))}
    assert wrong == {}
    assert counts.differences(counts.totals(place)) == {}
    return {session: said["session_summary"] for session, said in found.items()}


class Generated:
    """A session as hooks see it, and an own count of what is in it."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.session_id = f"generated-{seed}"
        self.numbers = itertools.count()
        self.events: list[dict[str, Any]] = []
        self.counts = dict.fromkeys(("prompts", "tool_calls", "edits", "failures"), 0)
        self.agents: set[str] = set()
        self.add("SessionStart", source="startup", model="claude-opus-5-5")
        for _ in range(6):
            self.turn()
        self.add("SessionEnd", reason="other")

    def add(self, name: str, **more: Any) -> None:
        self.events.append({"session_id": self.session_id, "hook_event_name": name, **more})

    def turn(self) -> None:
        self.add("UserPromptSubmit", prompt=f"Prompt {next(self.numbers)}", prompt_id=f"p{next(self.numbers)}")
        self.counts["prompts"] += 1
        for _ in range(self.random.randrange(5)):
            self.random.choice((self.calls, self.denied, self.subagent, self.compaction))()
        if self.random.random() < 0.3:
            self.add("StopFailure", error="overloaded")
            self.counts["failures"] += 1
        else:
            self.add("Stop", last_assistant_message=f"Done {next(self.numbers)}")

    def calls(self, agent: dict[str, str] | None = None) -> None:
        """One call, or several at once that end in another order; a failed one is tried again."""
        running = [self.call() | (agent or {}) for _ in range(self.random.choice((1, 1, 2, 4)))]
        for call in running:
            self.add("PreToolUse", **call)
        self.random.shuffle(running)
        for call in running:
            fate = self.random.choice(("ok", "ok", "ok", "failed", "cut off"))
            if fate == "cut off":
                continue
            self.counts["tool_calls"] += 1
            if fate == "ok":
                self.counts["edits"] += call["tool_name"] in ("Edit", "Write", "MultiEdit", "NotebookEdit")
                self.add("PostToolUse", **call, tool_response={"ok": True}, duration_ms=7)
            else:
                self.counts["failures"] += 1
                self.add("PostToolUseFailure", **call, error="Exit code 1\nno", duration_ms=7)
                self.again(call)

    def again(self, call: dict[str, Any]) -> None:
        retry = call | {"tool_use_id": f"toolu_{next(self.numbers)}"}
        self.add("PreToolUse", **retry)
        self.add("PostToolUse", **retry, tool_response="", duration_ms=3)
        self.counts["tool_calls"] += 1
        self.counts["edits"] += call["tool_name"] in ("Edit", "Write", "MultiEdit", "NotebookEdit")

    def call(self) -> dict[str, Any]:
        tool, number = self.random.choice(TOOLS), next(self.numbers)
        inputs = {"Bash": {"command": f"ls {number}"}, "NotebookEdit": {"notebook_path": f"/n/{number}"}}
        given = inputs.get(tool, {"file_path": f"/f/{number}", "old_string": "a", "new_string": "b"})
        return {"tool_name": tool, "tool_input": given, "tool_use_id": f"toolu_{next(self.numbers)}"}

    def denied(self) -> None:
        """Asked for and not allowed, by the user or by a classifier."""
        call = self.call()
        self.add("PreToolUse", **call)
        self.add("PermissionRequest", tool_name=call["tool_name"], tool_input=call["tool_input"])
        if self.random.random() < 0.5:
            self.add("PermissionDenied", **call, reason="no")
        else:
            self.again(call)

    def subagent(self) -> None:
        agent = {"agent_id": f"a{next(self.numbers)}", "agent_type": "Explore"}
        self.agents.add(agent["agent_id"])
        self.add("SubagentStart", **agent)
        for _ in range(self.random.randrange(3)):
            self.calls(agent)
        self.add("SubagentStop", **agent, last_assistant_message=f"Report {next(self.numbers)}")

    def compaction(self) -> None:
        self.add("PreCompact", trigger="auto", custom_instructions="")
        self.add("PostCompact", trigger="auto", compact_summary="What was said.")


def test_recorded_events(place: projects.Place, serve: Serve) -> None:
    record(place, [payload for payload in PAYLOADS if "session_id" in payload])
    assert sum(said["tool_calls"] for said in check(place, serve()).values()) >= 10


def test_recorded_events_and_transcripts(place: projects.Place, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions of which hooks saw a part, or nothing."""
    monkeypatch.setenv("SESSIONLOG_DB", place.db)
    record(place, [payload for payload in PAYLOADS if "session_id" in payload], RECORDED_MS, 100)
    importer.run([str(FIXTURES / "transcripts")], workers=1)
    check(place, serve())


def test_hostile_session(place: projects.Place, serve: Serve) -> None:
    record(place, hostile_session())
    check(place, serve())


@pytest.mark.parametrize("seed", range(2))
def test_generated_sessions(place: projects.Place, serve: Serve, seed: int) -> None:
    made = [Generated(10 * seed + number) for number in range(3)]
    # Sessions run at the same time.
    waiting = [list(reversed(one.events)) for one in made]
    mixed = random.Random(seed)
    events = []
    while waiting := [left for left in waiting if left]:
        events.append(mixed.choice(waiting).pop())
    record(place, events)
    found = check(place, serve())
    for one in made:
        assert {name: found[one.session_id][name] for name in one.counts} == one.counts
