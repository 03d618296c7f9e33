"""Transcripts of other agents: found, archived to the byte, understood, merged with what hooks saw, written back."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sessionlog.agents import registry, transcripts
from sessionlog.archive import place as projects
from sessionlog.archive import read
from sessionlog.session import load, merge
from sessionlog.transcripts import importer, restore
from tests.agents.test_hooks import captured, send
from tests.conftest import FIXTURES, rows

HOMES = FIXTURES / "agents" / "homes"
AGENTS = sorted(path.name for path in HOMES.iterdir())


@pytest.fixture
def here(home: Path) -> projects.Place:
    """The archive of the project in which all of them worked; their files are in the home directory."""
    for agent in AGENTS:
        shutil.copytree(HOMES / agent, home / f".{agent}")
    return projects.place("/home/dev/shop")


class Said(NamedTuple):
    """What the transcripts of a session say."""

    client: str
    model: str
    prompts: int
    calls: int
    edits: int
    failures: int
    answers: int
    input_tokens: int
    cached: int
    output_tokens: int


# Counted by hand. Each answer of the model reported 1120 tokens of input, 1000 of them from the cache, and 30 of output,
# Gemini's 5 more for thoughts. Codex's sub-agents and main sessions of the second run have answers with ids that the
# first one used already.
EXPECTED = {
    "01a1e4d2": Said("codex", "gpt-5.5", 1, 7, 2, 1, 7, 840, 7000, 210),
    "ee188ecc": Said("copilot", "claude-sonnet-4.5", 2, 10, 2, 2, 12, 1440, 12000, 360),
    "b3ef3a28": Said("gemini", "gemini-2.5-pro", 1, 8, 2, 2, 8, 960, 8000, 280),
    "9ac4854d": Said("gemini", "gemini-2.5-pro", 1, 3, 0, 0, 4, 480, 4000, 140),
    "7c8ac596": Said("qwen", "fake-model", 1, 10, 2, 3, 10, 1200, 10000, 300),
    "c9d83ead": Said("qwen", "fake-model", 1, 2, 0, 0, 5, 600, 5000, 150),
}


def test_import_finds_and_reads_the_transcripts_of_every_agent(here: projects.Place) -> None:
    summary = importer.run()
    assert summary.skips == []
    assert summary.projects == {"/home/dev/shop"}
    found = rows(
        here,
        "SELECT s.session_id, client, model, f.prompts, f.tool_calls, f.edits, f.failures, "
        "(SELECT count(*) FROM model_answers AS a WHERE a.session_id = s.session_id) AS answers, "
        "(SELECT sum(input_tokens) FROM model_answers AS a WHERE a.session_id = s.session_id) AS input, "
        "(SELECT sum(cache_read_tokens) FROM model_answers AS a WHERE a.session_id = s.session_id) AS cached, "
        "(SELECT sum(output_tokens) FROM model_answers AS a WHERE a.session_id = s.session_id) AS output "
        "FROM sessions AS s JOIN session_facts AS f USING (session_id)",
    )
    by_session = {row.pop("session_id")[:8]: Said(*row.values()) for row in found}
    assert {name: by_session.get(name) for name in EXPECTED} == EXPECTED
    assert importer.run().files == 0  # nothing is new


@pytest.mark.parametrize("agent", AGENTS)
def test_restore_writes_every_byte_back_where_the_agent_looks(agent: str, here: projects.Place, home: Path) -> None:
    importer.run()
    shutil.rmtree(home / f".{agent}")
    with closing(read.connect(here)) as connection:
        sessions = [
            row["session_id"]
            for row in connection.execute("SELECT session_id FROM sessions WHERE client = ?", (agent,)).fetchall()
        ]
        for session_id in sessions:
            restore.restore(connection, session_id)
    files = {path.relative_to(HOMES / agent) for path in (HOMES / agent).rglob("*.jsonl")}
    assert files
    for file in files:
        assert (home / f".{agent}" / file).read_bytes() == (HOMES / agent / file).read_bytes()


@pytest.mark.parametrize(
    ("agent", "run", "calls", "failed"),
    [("codex", "exec", 7, 1), ("copilot", "pascalcase-headless", 10, 2), ("gemini", "headless", 8, 2)],
)
def test_hooks_and_transcript_tell_of_each_call_once(
    agent: str, run: str, calls: int, failed: int, here: projects.Place
) -> None:
    for found in captured(agent, run):
        send(agent, found)
    session_id = rows(here, "SELECT session_id FROM sessions")[0]["session_id"]
    importer.run()
    with closing(read.connect(here)) as connection:
        outline = merge.read(connection, session_id)
        tools = [item for item in outline.items if item.kind == "tool"]
        assert len(tools) == calls
        assert sum(item.outcome == "failed" for item in tools) == failed
        prompts = [item.title for item in outline.items if item.kind == "prompt"]
        assert len(prompts) == (2 if agent == "copilot" else 1)  # its transcript goes on
        entries = {entry.call.name: entry for entry in load.load(connection, session_id, tools) if entry.call}
        assert {"Bash", "Edit", "Write"} <= set(entries)


def test_a_call_that_no_hook_saw_is_read_from_the_line(here: projects.Place) -> None:
    importer.run()
    with closing(read.connect(here)) as connection:
        for row in connection.execute("SELECT session_id, client FROM sessions").fetchall():
            items = [item for item in merge.read(connection, row["session_id"]).items if item.kind == "tool"]
            for entry in load.load(connection, row["session_id"], items):
                assert entry.call and isinstance(entry.call.input, dict), row["client"]
                assert entry.call.outcome != "no result", row["client"]


def test_what_lies_beside_a_transcript_comes_along(here: projects.Place, home: Path) -> None:
    main = home / ".gemini/tmp/shop/chats/session-2026-11-16T14-50-9ac4854d.jsonl"
    found = [source.agent_id for source in transcripts.of_session(str(main), "gemini")]
    assert found == [None, "b26b10c9-1801-46a5-9e60-0f7feb1567ab"]
    assert list(transcripts.of_session(str(main), "codex")) == []  # whatever a payload says


def test_lines_that_are_not_as_expected_are_kept_and_passed_over(here: projects.Place, home: Path) -> None:
    """Every value of every line in turn is something else."""
    for agent in AGENTS:
        for path in sorted((home / f".{agent}").rglob("*.jsonl")):
            lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
            reader = transcripts.reader(agent, "s", None)
            for number, line in enumerate(lines):
                for key in list(line):
                    for value in (None, 7, "x", [], [None], {}, {"type": 1}):
                        reader.read({**line, key: value}, number)


def test_a_new_folder_is_found() -> None:
    assert registry.others() == ["codex", "copilot", "gemini", "opencode", "qwen"]
    assert registry.others("transcripts") == ["codex", "copilot", "gemini", "qwen"]


def test_the_hook_starts_an_import_with_the_right_reader(here: projects.Place, home: Path, tmp_path: Path) -> None:
    """As the hook's child does it: a script, with the standard library alone."""
    path = next((home / ".codex").rglob("rollout-2026-11-16T14-46*"))
    stamp = tmp_path / "stamp"
    stamp.touch()
    child = Path(importer.__file__).parent.parent / "record" / "import_child.py"
    arguments = [here.home, "/home/dev/shop", here.db, str(path), str(stamp), "codex"]
    subprocess.run([sys.executable, "-I", "-S", str(child), *arguments], check=True)
    assert rows(here, "SELECT client, model FROM sessions") == [{"client": "codex", "model": "gpt-5.5"}]


COPILOT_LINES = [
    {"type": "session.start", "data": {"context": {"cwd": "/home/dev/shop", "branch": "main"}}},
    {"type": "assistant.message", "data": {"model": "gpt-5.5", "content": "I start", "apiCallId": "a1"}},
    {
        "type": "tool.execution_start",
        "data": {"toolCallId": "t1", "toolName": "bash", "arguments": {"command": "make all"}},
    },
    {"type": "filler", "data": {"text": "x" * 1000}},
    {
        "type": "tool.execution_complete",
        "data": {"toolCallId": "t1", "success": True, "result": {"content": "built\n<exited with exit code 0>"}},
    },
    {"type": "assistant.message", "data": {"content": "Done", "apiCallId": "a2"}},
]
CODEX_LINES = [
    {"type": "session_meta", "payload": {"id": "s", "session_id": "s", "cwd": "/home/dev/shop"}},
    {"type": "turn_context", "payload": {"cwd": "/home/dev/shop", "model": "gpt-5.5"}},
    {"type": "filler", "payload": {"text": "x" * 1000}},
    {
        "type": "response_item",
        "payload": {
            "type": "custom_tool_call",
            "name": "apply_patch",
            "call_id": "c1",
            "input": "*** Begin Patch\n*** Update File: a.py\n@@\n-1\n+2\n*** Update File: b.py\n@@\n-3\n+4\n*** End Patch\n",
        },
    },
    {
        "type": "response_item",
        "payload": {"type": "custom_tool_call_output", "call_id": "c1", "output": "Exit code: 0\nOutput:\nDone"},
    },
    {
        "type": "token_usage_record",
        "payload": {"response_id": "r1", "usage": {"input_tokens": 10, "output_tokens": 3}},
    },
]


@pytest.mark.parametrize(
    ("agent", "file", "lines"),
    [
        ("copilot", ".copilot/session-state/long/events.jsonl", COPILOT_LINES),
        (
            "codex",
            ".codex/sessions/2026/11/16/rollout-2026-11-16T14-46-24-01a1e4d2-d344-70f1-86d2-52d41f823b0d.jsonl",
            CODEX_LINES,
        ),
    ],
)
@pytest.mark.parametrize("filler", [1, 2000, 6000])  # one chunk, two, and more than the reader reads at once
def test_a_long_transcript_is_read_across_the_borders_of_chunks(
    home: Path, agent: str, file: str, lines: list[dict[str, Any]], filler: int
) -> None:
    stamped = [
        {"id": f"u{number}", "timestamp": f"2026-11-16T14:46:{number % 60:02}.{number:06}Z", **line}
        for number, line in enumerate(
            again for line in lines for again in ([line] * filler if line["type"] == "filler" else [line])
        )
    ]
    path = home / file
    path.parent.mkdir(parents=True)
    path.write_text("".join(f"{json.dumps(line)}\n" for line in stamped))
    importer.run()
    place = projects.place("/home/dev/shop")
    (row,) = rows(place, "SELECT count(*) AS n FROM transcript_chunks")
    assert row["n"] == {1: 1, 2000: 2, 6000: 5}[filler]
    parts = rows(
        place, "SELECT kind, tool_name, tool_use_id, outcome, file_path, text FROM transcript_parts ORDER BY id"
    )
    calls = {row["kind"]: row for row in parts if row["tool_use_id"]}
    if agent == "copilot":
        assert calls["tool_result"]["tool_use_id"] == calls["tool_use"]["tool_use_id"]
        assert (calls["tool_result"]["outcome"], calls["tool_result"]["tool_name"]) == ("ok", "Bash")
    else:
        assert [row["model"] for row in rows(place, "SELECT model FROM model_answers")] == ["gpt-5.5"]
        assert '"/home/dev/shop/b.py"' in calls["tool_use"]["text"]
