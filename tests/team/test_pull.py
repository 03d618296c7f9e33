"""Sessions come back as they were: verified, exported, resumed."""

from __future__ import annotations

import json
import os
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from sessionlog.archive import read
from sessionlog.archive.place import Place
from sessionlog.cli.main import cli
from sessionlog.errors import SessionlogError
from sessionlog.export import jsonl
from sessionlog.maintain import prune, redact, verify
from sessionlog.team import admin, connection, hand_over, pull
from tests.conftest import rows
from tests.helpers import archives, teams
from tests.helpers import transcript_files as made
from tests.team.conftest import Team

TABLES = (
    "events",
    "sessions",
    "transcripts",
    "transcript_chunks",
    "transcript_parts",
    "model_answers",
    "session_facts",
    "subagent_facts",
)


def pulled(user: str, folder: Path, **wanted: Any) -> list[pull.Pulled]:
    with connection.connect(user) as server:
        return pull.pull(server, str(folder), pull.Wanted(**wanted))


def exported(place: Place) -> list[bytes]:
    with closing(read.connect(place)) as archive:
        ids = [
            row["session_id"] for row in archive.execute("SELECT session_id FROM sessions WHERE events > 0 ORDER BY 1")
        ]
        return list(jsonl.lines(archive, place.project, ids))


def findings(place: Place) -> list[Any]:
    return list(verify.Check(place).findings())


def test_pulled_archives_are_like_those_at_home(team: Team, home: Path, tmp_path: Path) -> None:
    place = teams.with_transcripts(home)
    archives.store(place, *teams.session("s2"), start_ms=archives.START_MS + 10**6)
    redact.run(place, redact.GivenRules(place.home, values=["折扣计算错误"]))
    archives.store(place, *teams.session("s3"), start_ms=archives.START_MS + 2 * 10**6)
    prune.run(prune.plan(place, prune.Which(named=frozenset({"s2"}))))
    teams.shipped(place)
    (found,) = pulled("cat", tmp_path / "cache")
    assert (found.developer, found.host, found.project) == ("ann", teams.HOST, place.project)
    for table in TABLES:
        # The bytes of the history of prompts are not of a session.
        some = (
            "WHERE transcript_id IN (SELECT id FROM transcripts WHERE session_id IS NOT NULL)"
            if table == "transcript_chunks"
            else ""
        )
        query = f"SELECT * FROM {table} {some} ORDER BY 1, 2"
        assert rows(found.place, query) == rows(place, query), table
    assert findings(found.place) == []
    assert exported(found.place) == exported(place) != []
    for name in os.listdir(tmp_path / "cache"):
        assert os.stat(tmp_path / "cache" / name).st_mode & 0o077 == 0, name
    assert pulled("bob", tmp_path / "other") == [], "what one may not see cannot be pulled"


def test_some_sessions_are_pulled_and_verified(team: Team, home: Path, tmp_path: Path) -> None:
    place = teams.with_transcripts(home)
    archives.store(place, *teams.session("s2"), start_ms=archives.START_MS + 10**9)
    for number in range(3):  # two sessions in turn: the ids of one have gaps
        archives.store(
            place,
            archives.bash("ls", "s1"),
            archives.bash("ls", "s2"),
            start_ms=archives.START_MS + 2 * 10**9 + number * 10**4,
        )
    teams.shipped(place)
    teams.shipped(place, "bob")  # a copy: its sessions have other names there
    for user, session in (("ann", "s2"), ("bob", "s2@2")):
        (found,) = pulled(user, tmp_path / user, session=session)
        assert found.sessions == ["s2"]
        assert [row["session_id"] for row in rows(found.place, "SELECT session_id FROM sessions")] == ["s2"]
        assert findings(found.place) == []
        query = "SELECT * FROM events WHERE session_id = 's2' ORDER BY id"
        assert rows(found.place, query) == rows(place, query)
    recent = pulled("dan", tmp_path / "dan", since="2026-11-27", developers=["ann"])
    assert [found.sessions for found in recent] == [["s2", "s1"]]
    assert findings(recent[0].place) == []


def test_a_session_without_its_beginning_is_verified(team: Team, tmp_path: Path) -> None:
    place = teams.project("shop")
    archives.store(place, *teams.session(), start_ms=1_700_000_000_000)
    archives.store(place, archives.bash("echo later"), archives.bash("echo more"))
    teams.shipped(place)
    with team.connect() as owner:
        assert admin.retain(owner, "2025-01-01", dry_run=False)["events"] == 24
    (found,) = pulled("ann", tmp_path)
    assert found.events == 2
    kinds = {finding.text for finding in findings(found.place)}
    assert all("the events say" in text for text in kinds), "only the counts know of what was removed"


def test_lower_levels_cannot_be_verified_but_read(team: Team, home: Path, tmp_path: Path) -> None:
    place = teams.with_transcripts(home)
    teams.shipped(place, content="no-outputs")
    (found,) = pulled("ann", tmp_path)
    check = verify.Check(found.place)
    assert list(check.findings()) == [] and check.unsealed == found.events
    with pytest.raises(SessionlogError, match="without its transcript"):
        hand_over.hand_over(found.place, made.SESSION, found.project, "/home/me/shop")


def run(*words: str) -> Any:
    return CliRunner().invoke(cli, list(words), catch_exceptions=False)


def test_a_session_is_handed_over(
    team: Team, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, project: Path
) -> None:
    place = teams.with_transcripts(home)
    teams.shipped(place)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "mine"))  # another person's machine
    monkeypatch.setenv("SESSIONLOG_HOME", str(tmp_path / "archives"))
    original = made.archived(place, home / ".claude/projects/-home-dev-shop" / f"{made.SESSION}.jsonl").decode()
    assert "/home/dev/shop" in original
    result = run("team", "resume", made.SESSION[:8], "--service", "cat", "--dry-run")
    assert result.exit_code == 0 and not (tmp_path / "mine").exists()
    result = run("team", "resume", made.SESSION[:8], "--service", "cat")
    assert result.exit_code == 0, result.output
    assert f"claude --resume {made.SESSION}" in result.output and f"cd {project}" in result.output
    folder = "".join(letter if letter.isalnum() else "-" for letter in str(project))
    path = tmp_path / "mine" / "projects" / folder / f"{made.SESSION}.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    before = [json.loads(line) for line in original.splitlines()]
    assert {line["cwd"] for line in lines if "cwd" in line} == {str(project)}
    assert [line.get("uuid") for line in lines] == [line.get("uuid") for line in before]
    assert json.loads(json.dumps(before).replace("/home/dev/shop", str(project))) == lines
    files = {file.relative_to(path.parent).parts[0] for file in path.parent.rglob("*") if file.is_file()}
    assert files == {f"{made.SESSION}.jsonl", made.SESSION}, "its sub-agents too"
    assert run("team", "resume", made.SESSION, "--service", "cat").exit_code == 0, "twice is no problem"
    path.write_text("something else\n")
    result = CliRunner().invoke(cli, ["team", "resume", made.SESSION, "--service", "cat"])
    assert result.exit_code == 1 and path.read_text() == "something else\n"


def test_thoughts_are_not_touched_and_names_that_only_begin_alike_stay() -> None:
    entry = {
        "cwd": "/home/dev/shop", "a": "/home/dev/shop/x.py and /home/dev/shop-2/y and /x/home/dev/shop",
        "message": {"content": [{"type": "thinking", "thinking": "in /home/dev/shop", "signature": "s"}]},
    }  # fmt: skip
    (line,) = hand_over.mapped(json.dumps(entry).encode() + b"\n", "/home/dev/shop", "/me")
    assert json.loads(line) == {**entry, "cwd": "/me", "a": "/me/x.py and /home/dev/shop-2/y and /x/home/dev/shop"}


def test_pulled_sessions_are_shown_with_whose_they_are(team: Team, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = teams.with_transcripts(home)
    teams.shipped(place)
    result = run("team", "pull", "--service", "dan", "--developer", "ann")
    assert result.exit_code == 0 and "ann  /home/dev/shop" in result.output
    monkeypatch.setenv("SESSIONLOG_HOME", str(home / ".cache/sessionlog/team/dan"))
    result = run("sessions", "--all")
    assert "sessions of ann on laptop" in result.stderr
    for words in (
        ["show", "s1", "--all"],
        ["verify", "--all"],
        ["export", "s1", "--all"],
        ["search", "折扣", "--all"],
        ["team", "show", "s1", "--service", "dan"],
    ):
        result = run(*words)
        assert result.exit_code == 0 and result.stdout, (words, result.output)
