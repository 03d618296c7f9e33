"""`sessionlog commit`: what stands behind a commit, notes and traces."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from sessionlog.archive.place import Place
from sessionlog.ask.provenance import notes
from sessionlog.cli.main import cli
from tests.helpers.archives import call, event, store

# As git-ai writes it, with a session, a known human and a legacy prompt.
FOREIGN = """src/main.rs
  s_0123456789abcd::t_fedcba98765432 1-2,4
  h_00112233445566 3
"with blank.rs"
  abcdef0123456789 7
---
{
  "schema_version": "authorship/3.0.0",
  "sessions": {"s_0123456789abcd": {"agent_id": {"tool": "cursor", "id": "conv-1", "model": "gpt-5"}}},
  "humans": {"h_00112233445566": {"author": "Ann <ann@example.com>"}},
  "prompts": {"abcdef0123456789": {"agent_id": {"tool": "claude", "id": "c2", "model": "opus"}, "messages": []}}
}
"""


def git(place: Place, *arguments: str, **environment: str) -> str:
    who = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com"]
    done = subprocess.run(
        ["git", *who, *arguments],
        cwd=place.project,
        env={**os.environ, **environment},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


@pytest.fixture
def repository(place: Place, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Two commits: one of a person, one with a line of a session and one of the person."""
    path = Path(place.project) / "cart.py"
    git(place, "init", "-q", "-b", "main")
    path.write_text("first = 'by hand'\n")
    git(place, "add", "-A")
    git(place, "commit", "-q", "-m", "one")
    store(
        place,
        event("SessionStart", source="startup", model="claude-opus-5-5"),
        event("UserPromptSubmit", prompt="Add | the <b>total</b>", prompt_id="p1"),
        call(
            "Edit",
            file_path=str(path),
            old_string="first = 'by hand'\n",
            new_string="first = 'by hand'\ntotal = first + 1\n",
        ),
        start_ms=1_700_000_000_000,
    )
    path.write_text("first = 'by hand'\ntotal = first + 1\nthird = 'by hand, too'\n")
    git(place, "add", "-A")
    git(place, "commit", "-q", "-m", "two")
    monkeypatch.chdir(place.project)
    return place


def run(*arguments: str) -> str:
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 0, (done.output, done.exception)
    return done.stdout


def test_the_sessions_behind_a_commit(repository: Place) -> None:
    told = run("commit")
    assert "2 lines: 1 by agents, 1 by people, 0 unknown" in told and "Add | the <b>total</b>" in told
    assert "2 lines: 1 by agents" in run("commit", "HEAD~1..HEAD")
    found = json.loads(run("commit", "--json"))["commits"][0]
    assert found["sessions"][0]["session_id"] == "s1" and found["sessions"][0]["lines"] == [2]
    assert (found["lines_by_agents"], found["lines_by_people"], found["lines_unknown"]) == (1, 1, 0)
    markdown = run("commit", "--format", "markdown")
    assert "<b>" not in markdown and "| Add \\| the &lt;b&gt;" in markdown
    assert git(repository, "for-each-ref", "refs/notes") == "", "nothing is written unless asked for"


def test_lines_that_a_command_may_have_written_are_unknown(repository: Place) -> None:
    """A session was at work when the commit was made, or nothing was recorded yet: nobody knows who wrote the line."""
    made_ms = 1000 * int(git(repository, "log", "-1", "--format=%ct"))  # not now: that may be the next second
    store(repository, event("UserPromptSubmit", "s2", prompt="Something else"), start_ms=made_ms)
    assert "2 lines: 1 by agents, 0 by people, 1 unknown" in run("commit")
    (Path(repository.project) / "late.py").write_text("x = 1\n")
    git(repository, "add", "-A")
    early = {"GIT_COMMITTER_DATE": "2001-01-01T00:00:00Z", "GIT_AUTHOR_DATE": "2001-01-01T00:00:00Z"}
    git(repository, "commit", "-q", "-m", "before anything was recorded", **early)
    assert "1 line: 0 by agents, 0 by people, 1 unknown" in run("commit")


def test_a_note_is_written_once_and_read_again(repository: Place) -> None:
    run("commit", "--note")
    run("commit", "--note")
    commit = git(repository, "rev-parse", "HEAD").strip()
    text = git(repository, "notes", "--ref", "ai", "show", commit)
    head, _, body = text.partition("\n---\n")
    path, attested = head.splitlines()
    assert path == "cart.py" and re.fullmatch(r"  s_[0-9a-f]{14}::t_[0-9a-f]{14} 2", attested)
    assert json.loads(body)["schema_version"] == "authorship/3.0.0"
    assert notes.read_note(text) == {("cart.py", 2): notes.Attested("claude-code", "s1", "claude-opus-5-5")}


def test_the_note_of_another_tool_stays_and_is_read(repository: Place) -> None:
    git(repository, "notes", "--ref", "ai", "add", "-m", "foreign", "HEAD")
    done = CliRunner().invoke(cli, ["commit", "--note"])
    assert done.exit_code != 0 and "stays as it is" in str(done.exception)
    found = notes.read_note(FOREIGN)
    assert found["src/main.rs", 4] == notes.Attested("cursor", "conv-1", "gpt-5")
    assert ("src/main.rs", 3) not in found, "a known human"
    assert found["with blank.rs", 7].tool == "claude"
    assert notes.read_note("nonsense") == {} == notes.read_note("---\n[]")


def test_blame_uses_notes_for_lines_that_the_archive_does_not_know(repository: Place) -> None:
    text = FOREIGN.replace("src/main.rs", "cart.py")
    commit = git(repository, "rev-parse", "HEAD").strip()
    body = Path(repository.project) / "note"
    body.write_text(text.replace("1-2,4", "3").replace("h_00112233445566 3", "h_00112233445566 1"))
    git(repository, "notes", "--ref", "ai", "add", "-F", str(body), commit)
    lines = json.loads(run("blame", "cart.py", "--json"))["lines"]
    assert [line["source"] for line in lines] == ["commit", "edit", "note"]
    assert lines[2]["session_id"] == "conv-1" and lines[2]["agent"] == "cursor"
    assert "cursor" in run("blame", "cart.py")


def test_agent_traces_are_written_and_read(repository: Place, tmp_path: Path) -> None:
    file = tmp_path / "traces.jsonl"
    run("commit", "--agent-trace", str(file))
    record = json.loads(file.read_text())
    assert {"version", "id", "timestamp", "files"} <= set(record) and record["version"] == "0.1.0"
    (talk,) = record["files"][0]["conversations"]
    assert talk["contributor"] == {"type": "ai", "model_id": "anthropic/claude-opus-5-5"}
    assert talk["ranges"] == [{"start_line": 2, "end_line": 2}]
    commit = git(repository, "rev-parse", "HEAD").strip()
    assert notes.read_traces(file.read_text().splitlines())[commit, "cart.py", 2].tool == "sessionlog"
    assert notes.read_traces(["nonsense", "{}", "[]"]) == {}
