"""`sessionlog show`: a session as a person reads it."""

from __future__ import annotations

import json
import re
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bench import corpus
from sessionlog.agents.claude_code import tools
from sessionlog.archive import place as projects
from sessionlog.archive import read
from sessionlog.errors import SessionlogError
from sessionlog.session import call as calls
from sessionlog.session import load
from sessionlog.transcripts import importer
from tests.cli.test_cli import failing, printed, run
from tests.conftest import FIXTURES
from tests.helpers.recording import hostile_session, record
from tests.record.test_hook import prompt, tool

SESSION = "f0b8f9eb-e977-492a-9bcd-0e80389a7950"
CALL = {"session_id": "s1", "cwd": "/p", "tool_use_id": "toolu_1"}


@pytest.fixture
def transcribed(place: projects.Place, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The recorded sessions as their hooks and their transcripts tell them, each event at its own time."""
    monkeypatch.setenv("SESSIONLOG_DB", place.db)
    files = sorted((FIXTURES / "payloads" / "2.1.325").glob("*.json"))
    payloads = [json.loads(path.read_bytes()) for path in files]
    # The hooks of a session ran between the first and the last line of its transcript.
    record(place, [payload for payload in payloads if payload["session_id"] == SESSION], 1_794_793_274_740, 100)
    importer.run([str(FIXTURES / "transcripts")], workers=1)
    return payloads


def entries(place: projects.Place, session_id: str = "s1", **options: Any) -> list[load.Entry]:
    with closing(read.connect(place)) as connection:
        return list(load.entries(connection, session_id, **options))


def kinds(place: projects.Place) -> list[str]:
    return [entry.kind for entry in entries(place)]


# --- The stream of entries --------------------------------------------------------------------------------------------


def test_a_call_that_hooks_and_transcript_saw_is_told_once(transcribed: Any, place: projects.Place) -> None:
    found = entries(place, SESSION)
    told = [name for entry in found for name in entry.names]
    assert len(told) == len(set(told))
    edits = [entry for entry in found if entry.call and entry.call.name == "Edit"]
    assert [entry.call.outcome for entry in edits if entry.call] == ["ok", "failed"]
    both = next(entry for entry in found if entry.call and entry.call.name == "Write")
    assert {name[0] for name in both.names} == {"e", "m"} and len(both.names) == 4
    prompts = [entry for entry in found if entry.kind == "prompt"]
    assert [entry.text for entry in prompts] == ["please 请帮我写一个按钮组件"]


def test_a_call_that_only_the_transcript_saw_is_told_whole(transcribed: Any, place: projects.Place) -> None:
    failed = [entry.call for entry in entries(place, SESSION) if entry.call and entry.call.name == "Edit"][1]
    assert calls.changes(failed)[:2] == ["-not there", "+x"] and "String to replace not found" in calls.output(failed)


def test_the_words_of_the_assistant_are_told_once(transcribed: Any, place: projects.Place) -> None:
    words = [entry.text for entry in entries(place, SESSION) if entry.kind == "answer" and not entry.agent_id]
    assert words[0] == "I'll create the file."
    assert words.count("All done: 完成了。") == 2, "there were two turns with this answer, and one Stop event"


def test_without_a_transcript_the_last_message_is_the_answer(place: projects.Place) -> None:
    record(place, [prompt("a"), {"session_id": "s1", "hook_event_name": "Stop", "last_assistant_message": "done"}])
    assert [(entry.kind, entry.text) for entry in entries(place)] == [("prompt", "a"), ("answer", "done")]


@pytest.mark.parametrize(
    ("after", "decision"),
    [("PostToolUse", "allowed"), ("PostToolUseFailure", "allowed"), (None, "denied or not answered")],
)
def test_a_question_for_permission_has_its_outcome(place: projects.Place, after: str | None, decision: str) -> None:
    call = {**CALL, "tool_name": "Bash", "tool_input": {"command": "rm x"}}
    asked = {**call, "hook_event_name": "PermissionRequest"}
    del asked["tool_use_id"]
    end = [{**call, "hook_event_name": after, "error": "e"}] if after else []
    record(place, [{**call, "hook_event_name": "PreToolUse"}, asked, *end])
    (entry,) = entries(place)  # one row: the call, with the question and its answer
    assert entry.call and entry.call.asked == decision
    assert f"permission: {decision}" in printed("show", "s1")


def test_calls_without_ids_and_of_the_nested_shape(place: projects.Place) -> None:
    nested = {"event": "PostToolUse", "data": {"tool": "Bash", "tool_input": {"command": "ls"}, "session_id": "s1"}}
    record(place, [nested, {**nested, "data": {**nested["data"], "tool_result": "out"}}])  # type: ignore[dict-item]
    assert kinds(place) == ["tool", "tool"]
    assert "$ ls" in printed("show", "s1") and "out" in printed("show", "s1")


# --- On the screen ----------------------------------------------------------------------------------------------------


def test_show_tells_what_was_said_done_and_spent(transcribed: Any) -> None:
    text = printed("show", "f0b8")
    for expected in (
        "1 prompt · ",
        "claude-opus-5-5: 22,600 tokens in (20,000 from the cache), 600 out",
        "answer      I'll create the file.",
        "Edit        hello.py (+1 -1)  5 ms",
        "-x = 1\n",
        "+x = 2\n",
        "$ cat /nonexistent; exit 3  exit 3  34 ms",
        "cat: /nonexistent: No such file or directory",
        "general-purpose started",
        "    Bash        $ echo from-subagent",
        "… 2 more lines",
    ):
        assert expected in text, expected
    assert "hello.py\n" not in text and "-rw-r--r--" in printed("show", "f0b8", "--full")


@pytest.mark.parametrize(
    ("name", "inputs", "response", "shown"),
    [
        ("Edit", {"old_string": "a\nb\nc", "new_string": "a\nB\nc"}, None, [" a", "-b", "+B", " c"]),
        ("Write", {"content": "a\nb\n"}, None, ["+a", "+b"]),
        ("MultiEdit", {"edits": [{"old_string": "a", "new_string": "b"}, 5]}, None, ["-a", "+b"]),
        ("NotebookEdit", {"new_source": "a"}, None, ["+a"]),
        ("Edit", {"old_string": 5, "new_string": None}, {"structuredPatch": [{}]}, []),
        (
            "Edit",
            {},
            {"structuredPatch": [{"oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 2, "lines": ["-a"]}]},
            ["@@ -1,2 +1,2 @@", "-a"],
        ),
        ("Edit", {"old_string": "x\n" * 3000, "new_string": "y"}, None, ["-x"] * 3000 + ["+y"]),
        ("Bash", {"content": "a"}, None, []),
    ],
)
def test_changes_as_diffs(name: str, inputs: Any, response: Any, shown: list[str]) -> None:
    assert calls.changes(calls.Call(name, inputs, response, "ok", action=tools.ACTIONS.get(name, ""))) == shown


@pytest.mark.parametrize(
    ("response", "text"),
    [
        (None, ""),
        ("plain", "plain"),
        ({"stdout": "out", "stderr": "err"}, "out\nerr"),
        ({"type": "text", "file": {"content": "of a file"}}, "of a file"),
        ({"mode": "content", "content": "found"}, "found"),
        ({"filenames": ["a", "b"]}, "a\nb"),
        ([{"type": "text", "text": "a"}, {"type": "image"}], "a\n[image]"),
        ({"content": [{"type": "text", "text": "a"}]}, "a"),
        ({"odd": [1]}, '{\n  "odd": [\n    1\n  ]\n}'),
        ([], "[]"),
        (5, "5"),
    ],
)
def test_results_as_text(response: Any, text: str) -> None:
    assert calls.output(calls.Call("T", {}, response, "ok")) == text


def test_long_output_is_folded_unless_asked_for(place: projects.Place) -> None:
    output = "\n".join(f"line {number}" for number in range(100))
    record(place, [tool(1, tool_response={"stdout": output, "stderr": ""})])
    assert "line 4\n" in printed("show", "s1") and "line 5\n" not in printed("show", "s1")
    assert "… 95 more lines" in printed("show", "s1")
    assert "line 99\n" in printed("show", "s1", "--full")


def test_some_tools_only(transcribed: Any) -> None:
    text = printed("show", "f0b8", "--tools", "Bash, Edit")
    assert "Bash  " in text and "Edit  " in text and "please" in text
    assert not re.search(r"^\S+ +(Read|Write|WebFetch|Agent) ", text, re.MULTILINE)
    shown = json.loads(printed("show", "f0b8", "--tools", "Edit", "--json"))
    assert {item["payload"]["tool_name"] for item in shown["events"]} == {"Edit"}


def test_json_has_events_messages_and_tokens(transcribed: list[dict[str, Any]]) -> None:
    shown = json.loads(printed("show", "f0b8", "--json"))
    assert [item["payload"] for item in shown["events"]] == [one for one in transcribed if one["session_id"] == SESSION]
    assert "I'll create the file." in [message["text"] for message in shown["messages"]]
    assert shown["usage"][0]["output_tokens"] == 600


def test_json_has_every_key_once(transcribed: Any) -> None:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        assert len({name for name, _ in pairs}) == len(pairs)
        return dict(pairs)

    shown = json.loads(printed("show", "f0b8", "--json"), object_pairs_hook=once)
    assert shown["session"]["events"] == len(shown["events"])
    assert shown["session"]["messages"] == len(shown["messages"])


def test_json_of_a_moment_is_what_is_shown_of_it(place: projects.Place) -> None:
    record(place, [tool(number) for number in range(60)])
    shown = json.loads(printed("show", "e30", "-C", "2", "--json"))
    assert [item["id"] for item in shown["events"]] == [28, 29, 30, 31, 32]


def test_the_last_answer(transcribed: Any, place: projects.Place) -> None:
    answer = printed("answer", "f0b8")
    assert answer.strip() and answer.strip() in printed("show", "f0b8", "--full")
    record(place, [{**tool(1), "session_id": "no-answer"}])
    with pytest.raises(SessionlogError, match="no answer is recorded"):
        run("answer", "no-answer")


@pytest.mark.parametrize("wanted", ["e30", "#30"])
def test_around_a_moment(place: projects.Place, wanted: str) -> None:
    record(place, [tool(number) for number in range(60)])
    text = printed("show", wanted, "-C", "2")
    assert re.findall(r"echo (\d+)", text) == ["27", "28", "29", "30", "31"]
    assert "> Bash        $ echo 29" in text


def test_around_a_message(transcribed: Any, place: projects.Place) -> None:
    with closing(read.connect(place)) as connection:
        row = connection.execute("SELECT id FROM transcript_parts WHERE text = 'I''ll create the file.'").fetchone()
    assert "> answer      I'll create the file." in printed("show", f"m{row['id']}")


def test_a_session_whose_id_looks_like_a_moment(
    place: projects.Place, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    record(place, [prompt("hello", session_id="e99999-1")])
    assert "hello" in printed("show", "e99999")
    assert "no event #77" in failing(monkeypatch, capsys, "show", "#77")


def test_hostile_sessions_do_not_reach_the_terminal(place: projects.Place) -> None:
    record(place, hostile_session())
    for arguments in (["show", "hostile"], ["show", "hostile", "--full"], ["show", "e5"], ["tail", "-n", "999"]):
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200f]", printed(*arguments))
    assert "\\x1b[31mred" in printed("show", "hostile")


def test_a_session_is_read_by_its_index(tmp_path: Path) -> None:
    place = corpus.fill(tmp_path / "shop", 300, events_per_session=100)
    queries: list[str] = []
    with closing(read.connect(place)) as connection:
        session_id = connection.execute("SELECT session_id FROM sessions").fetchone()["session_id"]
        connection.set_trace_callback(queries.append)
        assert len(list(load.entries(connection, session_id))) == 100
        connection.set_trace_callback(None)
        for query in set(queries):
            plan = connection.execute(f"EXPLAIN QUERY PLAN {query}").fetchall()
            told = " ".join(step["detail"] for step in plan)
            assert "SCAN" not in told and "TEMP B-TREE" not in told, query
            assert "tool_use_id =" not in query or "_tool_use_id (" in told, query
