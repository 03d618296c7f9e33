"""What runs of five other agents become in an archive: captured payloads through the real hook.

The tables are counted by hand from what each client was asked to do (tests/fixtures/agents).
"""

from __future__ import annotations

import copy
import json
import os
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessionlog.agents import translate
from sessionlog.archive import event, read, rebuild
from sessionlog.archive import place as projects
from sessionlog.ask import file_history
from sessionlog.ask.rollup import stats
from sessionlog.session import call as calls
from sessionlog.session import changed_files, merge
from tests.conftest import FIXTURES, HANDLERS, rejected, rows
from tests.helpers import forking

AGENTS = ("codex", "copilot", "gemini", "opencode", "qwen")


class Captured(NamedTuple):
    """One event as a client sent it, in one of its runs."""

    run: str
    event: str
    payload: dict[str, Any]


def captured(agent: str, run: str = "") -> list[Captured]:
    lines = (FIXTURES / "agents" / f"{agent}-payloads.jsonl").read_text(encoding="utf-8").splitlines()
    return [found for found in (Captured(**json.loads(line)) for line in lines) if found.run == run or not run]


RUNS = [(agent, run) for agent in AGENTS for run in dict.fromkeys(found.run for found in captured(agent))]


def send(
    agent: str, found: Captured, script: str = "agent_event.py", **environment: str
) -> subprocess.CompletedProcess[bytes]:
    named = [agent] if script == "agent_event.py" else []
    data = json.dumps(found.payload).encode()
    return forking.hook(HANDLERS / script, *named, found.event, input=data, env={**os.environ, **environment})


@pytest.fixture
def archive(home: Path) -> projects.Place:
    """Where the events of the captured runs go: they were in a folder that is not here."""
    return projects.place("/home/dev/shop")


def count(archive: projects.Place, query: str) -> Any:
    ((value,),) = (row.values() for row in rows(archive, query))
    return value


class Counts(NamedTuple):
    """Of one run."""

    events: int
    prompts: int
    calls: int
    failures: int
    edits: int
    subagents: int = 0
    allowed: int = 0
    refused: int = 0
    unfinished: int = 0


# What each run did: one prompt (two runs go on with a second one), "python3 cart.py", a command that exits with 7, an edit
# of cart.py, a new notes.txt, reading it, reading a file that is missing, two commands at once, and a sub-agent that
# runs one command. Codex says nothing of exit codes to its hooks, and reads files by commands.
EXPECTED = {
    ("codex", "exec"): Counts(18, 1, 7, 0, 2),
    ("codex", "resume"): Counts(4, 1, 0, 0, 0),
    ("codex", "subagent"): Counts(12, 1, 3, 0, 0, subagents=1),
    ("copilot", "camelcase-error"): Counts(9, 1, 0, 0, 0),
    ("copilot", "camelcase-headless"): Counts(35, 1, 10, 2, 2, subagents=1, allowed=7),
    ("copilot", "from-project-claude-settings"): Counts(5, 0, 4, 0, 0, unfinished=4),
    ("copilot", "pascalcase-gpt-apply_patch"): Counts(32, 1, 10, 4, 0, subagents=1, allowed=5),
    ("copilot", "pascalcase-headless"): Counts(35, 1, 10, 2, 2, subagents=1, allowed=7),
    ("copilot", "pascalcase-resume"): Counts(4, 1, 0, 0, 0),
    # 8 of 28, 4 of 8 and 8 of 18 are what goes to the model and comes back, and PreCompress that compresses nothing.
    ("gemini", "headless"): Counts(20, 1, 8, 2, 2),
    ("gemini", "resume"): Counts(4, 1, 0, 0, 0),
    ("gemini", "subagent"): Counts(10, 1, 3, 0, 0),
    ("opencode", "plugin-run"): Counts(25, 1, 10, 1, 2, subagents=1, unfinished=1),
    # Less 10 and 2 PostToolBatch, 9 and 1 empty prompts, and pieces of messages that are not final.
    ("qwen", "headless"): Counts(25, 1, 9, 2, 2),
    ("qwen", "resume"): Counts(6, 1, 0, 0, 0),
    ("qwen", "subagent"): Counts(14, 1, 2, 0, 0, subagents=1),
}


@pytest.mark.parametrize(("agent", "run"), RUNS)
def test_a_run_is_counted_right_and_every_payload_can_be_rebuilt(agent: str, run: str, archive: projects.Place) -> None:
    sent = captured(agent, run)
    for found in sent:
        # Copilot also runs what is registered with Claude Code.
        guest = run == "from-project-claude-settings"
        done = send(agent, found, "any_event.py", COPILOT_CLI="1") if guest else send(agent, found)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    payloads = [found.payload for found in sent]
    for row in rows(archive):
        payloads.remove(rebuild.payload(row))
    assert {count(archive, "SELECT group_concat(DISTINCT client) FROM sessions")} == {agent}
    assert count(archive, "SELECT count(*) FROM sessions") == 1
    assert EXPECTED[agent, run] == Counts(
        *(
            count(archive, query)
            for query in (
                "SELECT count(*) FROM events",
                "SELECT sum(prompts) FROM sessions",
                "SELECT count(*) FROM tool_calls",
                "SELECT sum(failures) FROM sessions",
                "SELECT (SELECT count(*) FROM file_edits) + (SELECT count(*) FROM file_writes)",
                "SELECT count(*) FROM subagents",
                "SELECT count(*) FROM permission_decisions WHERE decision = 'allowed'",
                "SELECT count(*) FROM permission_decisions WHERE decision <> 'allowed'",
                "SELECT count(*) FROM tool_calls WHERE outcome = 'no result'",
            )
        )
    )
    if EXPECTED[agent, run].edits:
        edits_and_commands_are_in_their_columns(agent, archive)
    if (agent, run) == ("copilot", "pascalcase-headless"):
        the_session_of_a_subagent_is_that_of_its_parent(archive)


def edits_and_commands_are_in_their_columns(agent: str, archive: projects.Place) -> None:
    with sqlite3.connect(archive.db) as connection:
        edit = connection.execute("SELECT file_path, old_string, new_string FROM file_edits").fetchall()
        written = connection.execute("SELECT file_path, content FROM file_writes").fetchall()
        commands = connection.execute(
            "SELECT command, failed, exit_code, trim(coalesce(stdout, stderr), char(10)) FROM bash_commands "
            "WHERE command LIKE 'python3%' OR command LIKE '%exit 7'"
        ).fetchall()
    rest = '\nprint("cart", total)\n' if agent == "codex" else ""  # a patch has the lines around it
    assert edit == [("/home/dev/shop/cart.py", f"total = 0{rest}", f"total = 42{rest}")]
    assert written == [("/home/dev/shop/notes.txt", "first line\n购物车 ok\n")]
    failing = ("echo a; echo oops >&2; exit 7", 1, 7, "Exit code 7\na\noops")
    if agent == "codex":  # the transcript knows better
        failing = ("echo a; echo oops >&2; exit 7", 0, None, "a\noops")
    assert sorted(commands) == [failing, ("python3 cart.py", 0, None, "cart 0")]


def the_session_of_a_subagent_is_that_of_its_parent(archive: projects.Place) -> None:
    with sqlite3.connect(archive.db) as connection:
        of_agent = connection.execute(
            "SELECT event FROM events WHERE agent_id IS NOT NULL AND event NOT LIKE '%Tool%' ORDER BY id"
        ).fetchall()
    assert [name for (name,) in of_agent] == [
        "SubagentStart",
        "SubagentPrompt",
        "PermissionRequest",
        "SubagentIdle",
        "SubagentStop",
    ]


def test_two_registrations_with_copilot_store_each_event_once(archive: projects.Place) -> None:
    """In the project's .claude/settings.json for Claude Code, and in Copilot's own hooks."""
    sent = captured("copilot", "pascalcase-headless")[:12]
    for found in sent:
        send("copilot", found)
        send("copilot", found, "any_event.py", COPILOT_CLI="1")
    assert len(rows(archive)) == len(sent)


def test_claude_code_inside_of_copilot_is_claude_code(archive: projects.Place) -> None:
    """It inherits Copilot's environment."""
    payload = {"session_id": "s", "cwd": "/home/dev/shop", "hook_event_name": "UserPromptSubmit", "prompt": "x"}
    send("", Captured("", "UserPromptSubmit", payload), "any_event.py", COPILOT_CLI="1")
    assert count(archive, "SELECT client FROM sessions") == "claude-code"


def test_equal_calls_without_ids_are_paired_in_order(archive: projects.Place) -> None:
    """Gemini: the same command three times, twice at once; the second start waits for its end."""
    start, end = (
        next(found for found in captured("gemini", "headless") if found.event == name)
        for name in ("BeforeTool", "AfterTool")
    )
    for found in (start, end, start, start, end):
        send("gemini", found)
    with sqlite3.connect(archive.db) as connection:
        outcomes = connection.execute("SELECT outcome FROM tool_calls ORDER BY id").fetchall()
    assert outcomes == [("ok",), ("ok",), ("no result",)]


def test_a_session_ends_once(archive: projects.Place) -> None:
    """Gemini sends SessionEnd up to three times. A session that is resumed ends again."""
    sent = captured("gemini", "headless")
    start, end = sent[0], sent[-1]
    for number, found in enumerate((start, end, end, end, start, end)):
        send("gemini", found._replace(payload={**found.payload, "timestamp": f"2026-11-16T14:50:0{number}.000Z"}))
    names = [row["event"] for row in rows(archive)]
    assert names == ["SessionStart", "SessionEnd", "SessionStart", "SessionEnd"]


def test_events_that_waited_in_the_spool_are_stored_as_if_they_had_not(archive: projects.Place, home: Path) -> None:
    sent = captured("gemini", "headless")
    send("gemini", sent[0])
    with sqlite3.connect(archive.db, isolation_level=None) as connection:
        connection.execute("BEGIN IMMEDIATE")
        for found in sent[1:20]:
            assert send("gemini", found).stderr == b""  # Gemini takes it for an answer
        connection.execute("ROLLBACK")
    for found in sent[20:]:
        send("gemini", found)
    payloads = [found.payload for found in sent]
    for row in rows(archive):
        payloads.remove(rebuild.payload(row))
    assert count(archive, "SELECT count(*) FROM tool_calls WHERE outcome <> 'no result'") == 8


def test_a_patch_of_several_files_is_an_edit_of_each(archive: projects.Place) -> None:
    found = next(found for found in captured("codex", "exec") if found.payload.get("tool_name") == "apply_patch")
    patch = (
        "*** Begin Patch\n*** Update File: a.py\n@@\n-1\n+2\n@@ def f():\n-3\n+4\n*** Add File: /b.py\n+new\n"
        "*** Delete File: c.py\n*** End Patch\n"
    )
    found.payload["tool_input"] = {"command": patch}
    send("codex", found)
    (row,) = rows(archive)
    assert (row["tool_name"], row["action"], row["file_path"]) == ("apply_patch", "edit", "/home/dev/shop/a.py")
    edits = json.loads(row["tool_input"])["edits"]
    assert [tuple(edit.values()) for edit in edits] == [
        ("/home/dev/shop/a.py", "1\n", "2\n"),
        ("/home/dev/shop/a.py", "3\n", "4\n"),
        ("/b.py", "", "new\n"),
        ("/home/dev/shop/c.py", "", ""),
    ]
    assert rebuild.payload(row) == found.payload


def test_a_patch_is_in_the_history_of_each_of_its_files(archive: projects.Place) -> None:
    found = next(found for found in captured("codex", "exec") if found.payload.get("tool_name") == "apply_patch")
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-1\n+2\n*** Update File: b.py\n@@\n-3\n+4\n@@\n-5\n+6\n*** End Patch\n"
    found.payload["tool_input"] = {"command": patch}
    for event_name in ("PreToolUse", "PostToolUse"):
        found.payload["hook_event_name"] = event_name
        send("codex", found._replace(event=event_name))
    session_id, first, second = found.payload["session_id"], "/home/dev/shop/a.py", "/home/dev/shop/b.py"
    with closing(read.connect(archive)) as connection:
        touched = {file.path: file for file in file_history.touched(connection)}
        assert [(path, touched[path].changes, touched[path].sessions) for path in (first, second)] == [
            (first, 1, 1),
            (second, 1, 1),
        ]
        assert [file.path for file in file_history.touched(connection, "b.p", often=True)] == [second]
        for path, lines in ((first, ["-1", "+2"]), (second, ["-3", "+4", "-5", "+6"])):
            (row,) = file_history.history(connection, path, indexed=False)
            (change,) = file_history.changes(connection, [row])
            assert [line for line in calls.changes(change.call) if line[0] in "+-"] == lines
        outline = merge.read(connection, session_id)
        files = {file.path: file for file in changed_files.read(connection, session_id, outline)}
        assert list(files) == [first, second]
        (one, two) = changed_files.pieces(connection, session_id, files[second])[0].lines[1:3]
        assert (one, two) == ("-3", "+4")
    with stats.Counted([archive]) as counted:
        assert {row["path"]: row["edits"] for row in stats.by_file(counted, 10)} == {first: 1, second: 1}
        total = stats.totals(counted)
        assert (total["tools"], total["files"], stats.ever(counted)["edits"]) == (1, 2, 1)


# --- whatever comes -----------------------------------------------------------------------------------------------------

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def mutated(draw: st.DrawFn) -> tuple[str, str, dict[str, Any]]:
    """A captured payload with some of its values replaced, at any depth."""
    agent = draw(st.sampled_from(AGENTS))
    found = draw(st.sampled_from(captured(agent)))
    payload = copy.deepcopy(found.payload)
    for _ in range(draw(st.integers(0, 3))):
        container: Any = payload
        while isinstance(container, dict) and container:
            key = draw(st.sampled_from(sorted(container)))
            if isinstance(container[key], dict) and container[key] and draw(st.booleans()):
                container = container[key]
                continue
            container[key] = draw(values)
            break
    return agent, found.event, payload


@given(mutated())
def test_any_payload_can_be_rebuilt(example: tuple[str, str, dict[str, Any]]) -> None:
    agent, name, payload = example
    translation = translate.translate(agent, copy.deepcopy(payload), name)
    if translation is not None:
        given_to_the_row = translation.payload
        record = event.normalise(given_to_the_row, at_ms=0, via="x", event=name, envelope=translation.envelope)
        assert rebuild.payload(record) == payload


def test_an_agent_that_nobody_knows_loses_nothing(home: Path) -> None:
    done = send("../gemini", captured("gemini")[0])
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert len(rejected(home)) == 1
