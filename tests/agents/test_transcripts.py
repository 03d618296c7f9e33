"""Transcripts of other agents: found, archived to the byte, understood, merged with what hooks saw, written back."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

from sessionlog.agents import registry, transcripts
from sessionlog.archive import place as projects
from sessionlog.archive import read
from sessionlog.ask import file_history
from sessionlog.ask.provenance import open as provenance
from sessionlog.cli.main import cli as main
from sessionlog.maintain import redact
from sessionlog.session import changed_files, load, merge
from sessionlog.transcripts import importer, restore
from sessionlog.transcripts.stored_lines import Lines
from tests.agents.test_hooks import captured, send
from tests.conftest import FIXTURES, rows
from tests.helpers import transcript_files as made

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
    {"type": "assistant.message", "data": {"content": "Done: the blue heron is in it", "apiCallId": "a2"}},
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
        "type": "response_item",
        "payload": {"type": "message", "role": "assistant", "content": [{"text": "The blue heron is in it"}]},
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
    redact.run(place, redact.GivenRules(place.home, values=["blue heron"]))
    cleaned = rows(
        place, "SELECT kind, tool_name, tool_use_id, outcome, file_path, text FROM transcript_parts ORDER BY id"
    )
    assert [row for row in cleaned if "[redacted:" not in row["text"]] == [
        row for row in parts if "blue heron" not in row["text"]
    ]
    assert len(cleaned) == len(parts)


@pytest.mark.parametrize("size", [2, 2000])  # the row of the call has all of it, or the beginning
@pytest.mark.parametrize("filler", [0, 2000])  # what its lines depend on is in the same chunk, or in one before
def test_a_patch_that_only_a_transcript_knows_changes_all_of_its_files(home: Path, size: int, filler: int) -> None:
    changed = "".join(f"*** Update File: {name}\n@@\n-{'x' * size}\n+y\n" for name in ("a.py", "b.py", "c.py"))
    meta, context, space, call, done, *_ = CODEX_LINES
    patch = {**call, "payload": {**call["payload"], "input": f"*** Begin Patch\n{changed}*** End Patch\n"}}  # type: ignore[dict-item]
    name = "rollout-2026-11-16T14-46-24-01a1e4d2-d344-70f1-86d2-52d41f823b0d.jsonl"
    path = home / ".codex/sessions/2026/11/16" / name
    path.parent.mkdir(parents=True)
    at = {"timestamp": "2026-11-16T14:46:24.000Z"}
    lines = [meta, context, *[space] * filler, patch, done]
    path.write_text("".join(f"{json.dumps(at | line)}\n" for line in lines))
    importer.run()
    place = projects.place("/home/dev/shop")
    expected = [f"/home/dev/shop/{letter}.py" for letter in "abc"]
    found = CliRunner().invoke(main, ["stats", "--json", "--project", "/home/dev/shop", "--since", "2026-01-01"])
    assert json.loads(found.output)["totals"]["files"] == 3
    with provenance.archive(place) as (connection, indexed):
        assert indexed and sorted(file.path for file in file_history.only_in_transcripts(connection)) == expected
        (session_id,) = [row["session_id"] for row in connection.execute("SELECT session_id FROM sessions")]
        outline = merge.read(connection, session_id)
        assert [file.path for file in changed_files.read(connection, session_id, outline)] == expected
    for letter in "abc":
        asked = ["search", "y", "--file", f"{letter}.py", "--json", "--project", "/home/dev/shop"]
        assert "c1" in CliRunner().invoke(main, asked).output, letter
    shutil.copy(place.db, home / "other.db")
    for file in Path(place.home).glob("*.db*"):
        file.unlink()
    CliRunner().invoke(main, ["merge", str(home / "other.db"), "--into", "/home/dev/shop", "--yes"])
    assert rows(place, "SELECT client FROM sessions") == [{"client": "codex"}], "also after a merge"


def sessionlog(*words: str) -> None:
    result = CliRunner().invoke(main, list(words), catch_exceptions=False)
    assert result.exit_code == 0, result.output


def outputs(place: projects.Place) -> dict[str, str]:
    """What tools gave back, by the part of a transcript, as far as nothing else says it too."""
    found = rows(place, "SELECT uuid, text FROM transcript_parts WHERE kind = 'tool_result'")
    return {row["uuid"]: row["text"] for row in found if row["text"] != "[pruned]"}


@pytest.mark.parametrize("agent", AGENTS)
def test_a_call_and_its_result_are_told_apart(home: Path, agent: str) -> None:
    """Also where one line has both; of a long one, the row has the beginning."""
    shutil.copytree(HOMES / agent, home / f".{agent}")
    importer.run()
    with closing(read.connect(projects.place("/home/dev/shop"))) as connection:
        lines = Lines(connection)
        parts = connection.execute("SELECT id, kind FROM transcript_parts WHERE tool_use_id IS NOT NULL").fetchall()
        assert parts and [(lines.block(row["id"])[0] or {}).get("type") for row in parts] == [
            row["kind"] for row in parts
        ]


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("way", ["touched", "another path"])
def test_what_was_pruned_stays_out(home: Path, agent: str, way: str, tmp_path: Path) -> None:
    folder = home / f".{agent}"
    shutil.copytree(HOMES / agent, folder)
    importer.run()
    place = projects.place("/home/dev/shop")
    assert outputs(place)
    sessionlog("prune", "--keep", "0", "--all", "--yes")
    if way == "touched":
        for file in folder.rglob("*"):
            os.utime(file)
    else:
        shutil.copytree(folder, tmp_path / "copy" / f".{agent}")
        importer.run([str(tmp_path / "copy" / f".{agent}")])
    importer.run()
    for table in ("sessions", "transcript_parts", "model_answers", "session_facts", "subagent_facts"):
        assert rows(place, f"SELECT * FROM {table}") == [], table


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("way", ["prune", "not recorded"])
def test_no_output_of_tools_is_left_if_it_is_not_wanted(home: Path, agent: str, way: str) -> None:
    folder = home / f".{agent}"
    shutil.copytree(HOMES / agent, folder)
    importer.run()
    place = projects.place("/home/dev/shop")
    known = outputs(place)
    said = "SELECT uuid, kind, tool_name, tool_use_id, outcome, file_path, model FROM transcript_parts ORDER BY id"
    before = rows(place, said)
    if way == "prune":
        sessionlog("prune", "--keep", "0", "--only", "tool-output", "--all", "--yes")
        for file in folder.rglob("*"):
            os.utime(file)
    else:
        for file in Path(place.home).glob("*.db*"):
            file.unlink()
        (Path(place.home) / "config.json").write_text('{"record": {"tool_output": false}}')
    importer.run()
    assert outputs(place) == {}
    assert rows(place, said) == before, "what is known of the calls stays, also whether they failed"
    with closing(read.connect(place)) as connection:
        lines = Lines(connection)
        whole = [
            str(lines.block(row["id"])[0])
            for row in rows(place, "SELECT id FROM transcript_parts WHERE kind = 'tool_result'")
        ]
    assert whole and [block for block in whole if "[pruned]" not in block] == []
    left = made.everything(place)
    inputs = " ".join(
        row["text"] for row in rows(place, "SELECT text FROM transcript_parts WHERE kind <> 'tool_result'")
    )
    found = {text for text in known.values() if text.strip() not in inputs and json.dumps(text)[1:-1].encode() in left}
    assert found == set()
