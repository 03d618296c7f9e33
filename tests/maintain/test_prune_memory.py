"""What was pruned stays out, whatever comes back: a touched or grown file, a copy, an older version, a merge, an export."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from sessionlog.archive import place as projects
from sessionlog.cli.main import cli
from sessionlog.transcripts import importer
from tests.conftest import rows
from tests.helpers import transcript_files as made
from tests.helpers.archives import call, event, store
from tests.helpers.transcript_files import answer, line, shop, transcript

OUTPUT = "the whole output of the tool"
WAYS = ["touched", "grown", "another path", "a link to the home", "replaced", "moved away and back", "older version"]


def sessionlog(*words: str) -> str:
    result = CliRunner().invoke(cli, list(words), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def at(minute: int) -> str:
    return f"2026-11-16T01:{minute:02}:00.000Z"


def result_line(tool_use_id: str, minute: int, text: str = OUTPUT) -> bytes:
    content = [{"type": "tool_result", "tool_use_id": tool_use_id, "content": text}]
    message = {"role": "user", "content": content}
    return line(message=message, timestamp=at(minute), toolUseResult={"stdout": text})


def written(home: Path) -> Path:
    """A session with an answer, a tool call, a sub-agent and a large output of its own file."""
    use = {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {}}]}
    path = transcript(
        home,
        b'{"type":"file-history-snapshot","messageId":"m","snapshot":{}}\n',
        line("first prompt", timestamp=at(1)),
        answer("msg_1", 100, timestamp=at(2)),
        line(type_="assistant", message=use, timestamp=at(3)),
        result_line("toolu_1", 4),
    )
    beside = path.with_suffix("")
    for name, content in {
        "subagents/agent-a1.jsonl": line("task", timestamp=at(3), agentId="a1") + result_line("toolu_2", 4),
        "subagents/agent-a1.meta.json": b'{"agentType":"Explore"}',
        "tool-results/toolu_1.txt": OUTPUT.encode(),
    }.items():
        (beside / name).parent.mkdir(parents=True, exist_ok=True)
        (beside / name).write_bytes(content)
    for file in home.joinpath(".claude").rglob("*"):
        os.utime(file, (1_794_790_000, 1_794_790_000))
    return path


def bring_back(way: str, home: Path, path: Path, tmp_path: Path) -> None:
    claude = home / ".claude"
    match way:
        case "touched":
            for file in claude.rglob("*"):
                os.utime(file)
        case "grown":
            with path.open("ab") as file:
                file.write(line("after the prune", timestamp=at(9)) + result_line("toolu_9", 10, "new output"))
        case "another path":
            shutil.copytree(claude, tmp_path / "copy", copy_function=shutil.copy)
            importer.run([str(tmp_path / "copy" / "projects")])
        case "a link to the home":
            shutil.copytree(claude, tmp_path / "real")
            (tmp_path / "link").symlink_to(tmp_path / "real")
            importer.run([str(tmp_path / "link" / "projects")])
        case "replaced":
            path.write_bytes(line("now it begins so", timestamp=at(0)) + path.read_bytes())
        case "moved away and back":
            claude.rename(tmp_path / "away")
            importer.run()
            shutil.copytree(tmp_path / "away", claude, copy_function=shutil.copy)
        case "older version":
            older = tmp_path / "backup" / "projects" / "-home-dev-shop" / path.name
            older.parent.mkdir(parents=True)
            older.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:3]))
            importer.run([str(older)])
    importer.run()


def left(place: projects.Place) -> dict[str, list[dict[str, Any]]]:
    tables = ("sessions", "events", "transcript_parts", "model_answers", "session_facts", "subagent_facts")
    return {table: found for table in tables if (found := rows(place, f"SELECT * FROM {table}"))}


@pytest.mark.parametrize("way", WAYS)
def test_a_pruned_session_stays_pruned_and_what_is_new_is_taken_in(home: Path, way: str, tmp_path: Path) -> None:
    path = written(home)
    importer.run()
    assert OUTPUT.encode() in made.everything(shop())
    sessionlog("prune", "--session", "s", "--all", "--yes")
    bring_back(way, home, path, tmp_path)
    everything = made.everything(shop())
    assert OUTPUT.encode() not in everything and b"first prompt" not in everything and b"Done." not in everything
    if way == "grown":
        found = left(shop())
        assert [row["text"] for row in found["transcript_parts"]] == ["after the prune", "new output"]
        assert [row["line"] for row in found["transcript_parts"]] == [6, 7]
        assert [row["started_at"] for row in found["sessions"]] == [at(9)]
        with path.open("ab") as file:
            file.write(line("and once more", timestamp=at(1)))  # the clock was set back: new all the same
        importer.run()
        assert [row["text"] for row in rows(shop(), "SELECT text FROM transcript_parts ORDER BY line")] == [
            "after the prune",
            "new output",
            "and once more",
        ]
        new = b"".join(path.read_bytes().splitlines(keepends=True)[5:])
        path.unlink()
        sessionlog("restore", "s", "--all")
        assert path.read_bytes() == new
    else:
        assert left(shop()) == {}


@pytest.mark.parametrize("way", WAYS)
def test_pruned_output_stays_pruned(home: Path, way: str, tmp_path: Path) -> None:
    path = written(home)
    importer.run()
    sessionlog("prune", "--session", "s", "--only", "tool-output", "--all", "--yes")
    parts = len(rows(shop(), "SELECT id FROM transcript_parts"))
    bring_back(way, home, path, tmp_path)
    everything = made.everything(shop())
    assert OUTPUT.encode() not in everything and b"first prompt" in everything
    if way == "grown":
        assert b"new output" in everything, "what was printed after the prune is there"
        sessionlog("prune", "--session", "s", "--only", "tool-output", "--all", "--yes")
        assert b"new output" not in made.everything(shop())
        os.utime(path)
        importer.run()
        assert b"new output" not in made.everything(shop())
    elif way != "replaced":
        assert len(rows(shop(), "SELECT id FROM transcript_parts")) == parts


def test_the_history_of_prompts_brings_nothing_back(home: Path) -> None:
    path = home / ".claude" / "history.jsonl"
    path.parent.mkdir()

    def typed(text: str, session_id: str, stamp: int) -> str:
        entry = {"display": text, "sessionId": session_id, "project": "/home/dev/shop", "timestamp": stamp}
        return json.dumps(entry) + "\n"

    path.write_text(typed("first prompt", "s", 1_794_793_260_000) + typed("of another", "o", 1_794_793_270_000))
    written(home)
    importer.run()
    sessionlog("prune", "--session", "s", "--all", "--yes")
    with path.open("a") as file:
        file.write(typed("a later prompt", "s", 1_894_793_260_000))
    importer.run()
    assert b"first prompt" not in made.everything(shop())
    texts = [row["text"] for row in rows(shop(), "SELECT text FROM transcript_parts ORDER BY line")]
    assert texts == ["of another", "a later prompt"]
    path.write_text("\n" + path.read_text())
    importer.run()
    assert b"first prompt" not in made.everything(shop())


@pytest.mark.parametrize("only", [False, True])
def test_neither_a_merge_nor_an_export_brings_it_back(
    home: Path, only: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(home)
    importer.run()
    read_it = call("Read", "h", file_path="/etc/hosts") | {"tool_response": OUTPUT}
    store(shop(), event("UserPromptSubmit", "h", prompt="typed into a hook"), read_it)
    backup, exported = tmp_path / "backup.db", tmp_path / "exported.jsonl"
    sessionlog("backup", str(backup), "--project", "/home/dev/shop")
    sessionlog("export", "--all", "-o", str(exported))
    words = ["--only", "tool-output"] if only else []
    sessionlog("prune", "--session", "s", "--session", "h", *words, "--all", "--yes")
    before = {table: len(found) for table, found in left(shop()).items()}
    monkeypatch.chdir(home)
    sessionlog("merge", str(backup), "--into", "/home/dev/shop", "--yes")
    sessionlog("import", str(exported))
    everything = made.everything(shop())
    assert OUTPUT.encode() not in everything
    assert (b"typed into a hook" in everything) == only
    assert {table: len(found) for table, found in left(shop()).items()} == before


def test_the_prunes_of_a_merged_archive_come_with_it(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(home)
    importer.run()
    sessionlog("prune", "--session", "s", "--all", "--yes")
    old = shop().db
    monkeypatch.setenv("SESSIONLOG_HOME", str(tmp_path / "new"))
    store(shop(), event("UserPromptSubmit", "h", prompt="hello"))
    sessionlog("merge", old, "--into", "/home/dev/shop", "--yes")
    os.utime(path)
    importer.run()
    assert b"first prompt" not in made.everything(shop())


def test_the_list_names_them_and_one_can_be_lifted(home: Path) -> None:
    path = written(home)
    importer.run()
    before = {table: len(found) for table, found in left(shop()).items()}
    assert "No pruned session" in sessionlog("prune", "--remembered", "--all")
    sessionlog("prune", "--session", "s", "--all", "--yes")
    assert "everything until" in sessionlog("prune", "--remembered", "--all")
    assert "1 pruned session stays out" in CliRunner().invoke(cli, ["doctor"]).output
    sessionlog("prune", "--forget", "s", "--all")
    assert "No pruned session" in sessionlog("prune", "--remembered", "--all")
    importer.run()
    assert {table: len(found) for table, found in left(shop()).items()} == before
    content = path.read_bytes()
    shutil.rmtree(home / ".claude")
    sessionlog("restore", "s", "--all")
    assert path.read_bytes() == content


def test_lifted_output_comes_back(home: Path) -> None:
    written(home)
    importer.run()
    sessionlog("prune", "--session", "s", "--only", "tool-output", "--all", "--yes")
    sessionlog("prune", "--forget", "s", "--all")
    importer.run()
    texts = [row["text"] for row in rows(shop(), "SELECT text FROM transcript_parts WHERE kind = 'tool_result'")]
    assert texts == [OUTPUT, OUTPUT]


def test_the_lines_of_a_pruned_session_in_the_file_of_another_are_not_shown_again(home: Path) -> None:
    written(home)
    copied = transcript(
        home, line("of s", timestamp=at(2)), line("own", session_id="t", timestamp=at(5)), session_id="t"
    )
    importer.run()
    sessionlog("prune", "--session", "s", "--all", "--yes")
    with copied.open("ab") as file:
        file.write(line("own again", session_id="t", timestamp=at(6)))
    importer.run()
    assert {row["session_id"] for row in rows(shop(), "SELECT session_id FROM sessions")} == {"t"}
    assert [row["text"] for row in rows(shop(), "SELECT text FROM transcript_parts ORDER BY line")] == [
        "own",
        "own again",
    ]


def test_an_import_says_what_it_left_out(home: Path, tmp_path: Path) -> None:
    path = written(home)
    importer.run()
    sessionlog("prune", "--session", "s", "--all", "--yes")
    copy = tmp_path / "projects" / "-home-dev-shop" / path.name
    copy.parent.mkdir(parents=True)
    shutil.copy(path, copy)
    assert "5 lines of pruned sessions left out" in sessionlog("import", str(copy))
