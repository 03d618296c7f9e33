"""Files that are not as Claude Code writes them today: other names, other machines, other writers, or no transcripts."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from sessionlog.archive import place as projects
from sessionlog.archive import read
from sessionlog.cli.main import cli
from sessionlog.errors import SessionlogError
from sessionlog.transcripts import importer
from tests.conftest import rows
from tests.helpers import transcript_files as made
from tests.helpers.archives import event, store
from tests.helpers.transcript_files import answer, archived, line, shop, transcript


def sessionlog(*words: str, code: int = 0) -> str:
    result = CliRunner().invoke(cli, list(words))
    assert result.exit_code == code, (result.output, result.exception)
    return f"{result.output}{result.exception or ''}"


def nothing_was_made(home: Path) -> bool:
    return not list(home.joinpath(".local/share/sessionlog").glob("*.db"))


def said(session_id: str, place: projects.Place | None = None) -> list[str]:
    query = "SELECT text FROM transcript_parts WHERE session_id = ? ORDER BY line, part"
    return [row["text"] for row in rows(place or shop(), query, session_id)]


# --- What a file is ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "where"),
    [
        (b'{"a":1}\n{"b":2}\n', ":1: no line of a transcript"),
        (b"\n\nhello\n", ":3: not JSON"),
        (b"[1, 2]\n", ":1: no line of a transcript"),
        (b'{"type": 7, "uuid": "x"}\n', ":1: no line of a transcript"),
        (b"", ": the file is empty"),
        (b"\0\xff" * 1000, ":1: not JSON"),
    ],
)
@pytest.mark.parametrize("name", ["big.jsonl", "notes.txt", "agent-x.jsonl"])
def test_a_file_that_is_neither_is_refused_and_leaves_nothing(
    home: Path, tmp_path: Path, content: bytes, where: str, name: str
) -> None:
    good, path = transcript(home, line("good")), tmp_path / name
    path.write_bytes(content)
    told = sessionlog("import", str(good), str(path), code=1)
    assert f"{path}" in told and where in told and "neither a transcript nor an export" in told
    assert nothing_was_made(home)
    path.rename(good.parent / path.name)
    summary = importer.run()
    assert [skip.path for skip in summary.skips] == (
        [str(good.parent / name)] if name.endswith("l") and content else []
    )
    assert [row["session_id"] for row in rows(shop(), "SELECT session_id FROM sessions")] == ["s"]


def test_a_path_that_is_not_there_is_an_error(home: Path) -> None:
    assert "no such file" in sessionlog("import", "/nope.jsonl", code=1)


@pytest.mark.parametrize("spacing", [(", ", ": "), (",", ":"), (" , ", " : ")])
def test_an_export_is_known_in_any_spacing(home: Path, place: projects.Place, tmp_path: Path, spacing: Any) -> None:
    store(place, event("UserPromptSubmit", prompt="hello"), event("Stop"))
    exported = tmp_path / "big.jsonl"
    sessionlog("export", "--all", "-o", str(exported))
    lines = [json.loads(text) for text in exported.read_text().splitlines()]
    exported.write_text("\n" + "".join(json.dumps(entry, separators=spacing) + "\n" for entry in lines))
    before = rows(place, "SELECT event, prompt, at FROM events")
    shutil.rmtree(place.home)
    sessionlog("import", str(exported))
    assert rows(place, "SELECT event, prompt, at FROM events") == before
    assert rows(place, "SELECT * FROM transcripts") == []


def test_a_transcript_is_known_by_its_lines_whatever_it_is_called(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "conversation.backup"
    path.write_bytes(line("hello") + line("again"))
    sessionlog("import", str(path))
    assert said("s") == ["hello", "again"]


# --- Whatever is archived can be reached, shown and removed ------------------------------------------------------------


@pytest.mark.parametrize("name", ["renamed", "5f0b8f9e-e977-492a-9bcd-0e80389a7950"])
def test_a_renamed_file_is_shown_restored_and_removed(home: Path, name: str) -> None:
    path = transcript(home, line("hello"), line("again"), session_id=name)
    importer.run()
    content = path.read_bytes()
    path.unlink()
    assert "hello" in sessionlog("show", "s", "--all")
    sessionlog("restore", "s", "--all")
    assert path.read_bytes() == content
    for row in rows(shop(), "SELECT session_id FROM sessions"):
        sessionlog("prune", "--session", row["session_id"], "--all", "--yes")
    assert b"hello" not in made.everything(shop())


def test_a_file_of_snapshots_only_has_a_session(home: Path) -> None:
    snapshot = b'{"type":"file-history-snapshot","messageId":"m","snapshot":{"trackedFileBackups":{}}}\n'
    path = transcript(home, snapshot, session_id="snapshots")
    importer.run()
    (place,) = read.all_places()
    assert archived(place, path) == snapshot
    sessionlog("show", "snapshots", "--all")
    path.unlink()
    sessionlog("restore", "snapshots", "--all")
    assert path.read_bytes() == snapshot
    sessionlog("prune", "--session", "snapshots", "--all", "--yes")
    assert b"trackedFileBackups" not in made.everything(place)


# --- Which project ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("witness", ["sub-agent", "neighbour"])
@pytest.mark.parametrize("main", [b"", b'{"type":"summary","summary":"A title","leafUuid":"nobody"}\n'])
def test_an_empty_transcript_sends_nothing_to_a_guessed_project(home: Path, witness: str, main: bytes) -> None:
    folder = "-home-me-my-app"
    path = transcript(home, main, session_id="silent", folder=folder)
    inside = path.with_suffix("") / "subagents" / "agent-a1.jsonl"
    inside.parent.mkdir(parents=True)
    cwd = "/home/me/my-app"
    if witness == "neighbour":
        transcript(home, line("hello", session_id="other", cwd=cwd), session_id="other", folder=folder)
        inside.write_bytes(b'{"type":"user","uuid":"u","sessionId":"silent","message":{"content":"task"}}\n')
    else:
        inside.write_bytes(line("task", session_id="silent", cwd=cwd, agentId="a1"))
    importer.run()
    assert [place.project for place in read.all_places()] == [cwd]


@pytest.mark.parametrize("cwd", ["C:\\Users\\me\\shop", "\\\\server\\share\\shop"])
def test_a_folder_of_windows_is_no_folder_below_this_one(
    home: Path, cwd: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    transcript(home, line("hello", cwd=cwd))
    (home / ".claude" / "history.jsonl").write_text(
        json.dumps({"display": "typed", "sessionId": "s", "project": cwd, "timestamp": 1_794_793_274_000})
    )
    importer.run()
    assert [place.project for place in read.all_places()] == [cwd]
    assert "hello" in sessionlog("show", "s", "--project", cwd)


def test_the_transcript_of_a_removed_worktree_goes_to_where_its_hooks_wrote(
    home: Path, place: projects.Place, tmp_path: Path
) -> None:
    gone = tmp_path / "worktree-that-is-gone"
    store(place, event("UserPromptSubmit", "s", prompt="hello", cwd=str(gone)))
    transcript(home, line("hello", cwd=str(gone)))
    importer.run()
    assert [found.db for found in read.all_places()] == [place.db]
    assert said("s", place) == ["hello"]


# --- Lines ------------------------------------------------------------------------------------------------------------


def test_two_values_on_one_line_are_both_read(home: Path) -> None:
    call = [{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "x" * 600 + "END"}}]
    glued = line("one").rstrip(b"\n") + line(type_="assistant", message={"role": "assistant", "content": call})
    path = transcript(home, line("zero"), glued, line("two"))
    summary = importer.run()
    assert summary.skips == []
    assert [text[:5] for text in said("s")] == ["zero", "one", '{"com', "two"]
    assert "END" in sessionlog("show", "s", "--all", "--full")
    content = path.read_bytes()
    path.unlink()
    sessionlog("restore", "s", "--all")
    assert path.read_bytes() == content


def test_lines_without_ids_and_times_are_read_and_shown(home: Path, tmp_path: Path) -> None:
    plain = [
        {
            "type": "user",
            "sessionId": "s",
            "cwd": "/home/dev/shop",
            "message": {"role": "user", "content": "a question"},
        },
        {"type": "assistant", "sessionId": "s", "message": {"role": "assistant", "content": "an answer"}},
    ]
    path = transcript(home, *[json.dumps(entry).encode() + b"\n" for entry in plain])
    importer.run()
    assert said("s") == ["a question", "an answer"]
    shown = sessionlog("show", "s", "--all")
    assert "a question" in shown and "an answer" in shown
    with path.open("ab") as file:
        file.write(json.dumps(plain[0]).encode() + b"\n")
    importer.run()
    assert said("s") == ["a question", "an answer", "a question"]


def test_the_same_line_without_an_id_in_a_copy_is_the_same(home: Path, tmp_path: Path) -> None:
    entry = json.loads(line("hello"))
    del entry["uuid"]
    path = transcript(home, json.dumps(entry).encode() + b"\n")
    importer.run()
    copy = tmp_path / "projects" / "-home-dev-shop" / path.name
    copy.parent.mkdir(parents=True)
    shutil.copy(path, copy)
    importer.run([str(copy)])
    assert said("s") == ["hello"]


@pytest.mark.parametrize("first", [True, False])
def test_a_summary_is_the_title_of_the_session_whose_message_it_names(home: Path, first: bool) -> None:
    last = json.loads(line("the last message", session_id="old"))
    summary = {"type": "summary", "summary": "Fix the till", "leafUuid": last["uuid"]}
    holder, owner = ("aaa", "zzz") if first else ("zzz", "aaa")
    last["sessionId"] = owner
    transcript(home, json.dumps(last).encode() + b"\n", session_id=owner)
    transcript(home, json.dumps(summary).encode() + b"\n", line("own", session_id=holder), session_id=holder)
    importer.run()
    titles = {row["session_id"]: row["title"] for row in rows(shop(), "SELECT session_id, title FROM session_summary")}
    assert titles == {owner: "Fix the till", holder: None}


@pytest.mark.parametrize(
    "stamp", ["2026-11-16T01:41:14.736+00:00", "2026-11-16T03:41:14.736+02:00", "2026-11-16T01:41:14.736"]
)
def test_a_time_with_an_offset_is_shown(home: Path, stamp: str) -> None:
    transcript(home, line("hello", timestamp=stamp))
    importer.run()
    assert [row["at"] for row in rows(shop(), "SELECT at FROM transcript_parts")] == ["2026-11-16T01:41:14.736Z"]
    assert "hello" in sessionlog("show", "s", "--all")


def test_refusing_raises_no_other_error(home: Path, tmp_path: Path) -> None:
    (tmp_path / "pipe.jsonl").mkdir()
    importer.refuse(str(tmp_path / "pipe.jsonl"))
    with pytest.raises(SessionlogError):
        importer.refuse(str(tmp_path / "nothing"))
    path = tmp_path / "ok.jsonl"
    path.write_bytes(answer("msg_1", 5))
    importer.refuse(str(path))


@pytest.mark.parametrize(("original", "resumed"), [("aaa", "zzz"), ("zzz", "aaa")])
def test_what_an_old_resume_copied_is_paid_by_the_session_that_asked(home: Path, original: str, resumed: str) -> None:
    """Clients 1.0 copied all lines into the new file, under the id of the new session."""
    first, second = "2025-07-01T10:00:00.000Z", "2025-07-02T10:00:00.000Z"
    transcript(home, answer("msg_1", 100, session_id=original, timestamp=first), session_id=original)
    transcript(
        home,
        answer("msg_1", 100, session_id=resumed, timestamp=first),
        answer("msg_2", 7, session_id=resumed, timestamp=second),
        session_id=resumed,
    )
    importer.run()
    spent = rows(shop(), "SELECT session_id, sum(output_tokens) AS tokens FROM model_answers GROUP BY session_id")
    assert {row["session_id"]: row["tokens"] for row in spent} == {original: 100, resumed: 7}
