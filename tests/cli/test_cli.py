"""The commands that look at what was recorded."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from sessionlog.archive import place as projects
from sessionlog.cli.main import COMMANDS, cli, main
from sessionlog.cli.table import display_width
from sessionlog.text import plain
from sessionlog.transcripts import importer
from tests.conftest import PAYLOAD_FILES, Hook
from tests.helpers.recording import record
from tests.helpers.transcript_files import line, transcript
from tests.record.test_hook import prompt, tool


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments, catch_exceptions=False)


def printed(*arguments: str) -> str:
    done = run(*arguments)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture
def recorded(place: projects.Place) -> None:
    record(place, [json.loads(path.read_bytes()) for path in PAYLOAD_FILES])


def test_path(place: projects.Place) -> None:
    assert printed("path") == f"{place.db}\n"
    assert json.loads(printed("path", "--json")) == {"project": place.project, "path": place.db, "exists": False}


def test_sessions_newest_first(recorded: None) -> None:
    rows = json.loads(printed("sessions", "--json"))
    assert len(rows) == 5
    assert [row["started_at"] for row in rows] == sorted((row["started_at"] for row in rows), reverse=True)
    text = printed("sessions")
    assert "f0b8f9eb" in text and "请帮我写一个按钮组件" in text and "2 failed" in text
    assert len(printed("sessions", "-n", "2").splitlines()) == 2


def test_sessions_of_all_projects(hook: Hook, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        hook(prompt(f"from {name}", session_id=f"session-{name}"), CLAUDE_PROJECT_DIR=str(tmp_path / name))
    text = printed("sessions", "--all")
    assert text.index("from two") < text.index("from one")
    assert [Path(row["project"]).name for row in json.loads(printed("sessions", "--all", "--json"))] == ["two", "one"]
    assert "from one" in printed("show", "session-one", "--all")
    assert "from one" in printed("show", "last", "--project", str(tmp_path / "one"))


@pytest.mark.parametrize("wanted", ["f0b8f9eb-e977-492a-9bcd-0e80389a7950", "f0b8", "f"])
def test_ids_may_be_shortened(recorded: None, wanted: str) -> None:
    text = printed("show", wanted)
    assert "session f0b8f9eb" in text
    for expected in (
        "please 请帮我写一个按钮组件",
        "$ python3 hello.py && ls -la",
        "hello.py (+1 -1)",
        "exit 3",
        "All done",
    ):
        assert expected in text


def test_show_json_holds_the_payloads_as_they_came(recorded: None) -> None:
    shown = json.loads(printed("show", "f0b8", "--json"))
    payloads = [json.loads(path.read_bytes()) for path in PAYLOAD_FILES]
    assert [item["payload"] for item in shown["events"]] == [
        payload for payload in payloads if payload["session_id"].startswith("f0b8")
    ]


def failing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    monkeypatch.setattr(sys, "argv", ["sessionlog", *arguments])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 1
    return capsys.readouterr().err


def test_an_ambiguous_id_is_explained(hook: Hook, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    hook(prompt("a", session_id="abc1"))
    hook(prompt("b", session_id="abc2"))
    message = failing(monkeypatch, capsys, "show", "abc")
    assert "2 sessions start with 'abc'" in message and "abc1" in message
    assert "no session starts with 'x'" in failing(monkeypatch, capsys, "show", "x")


def test_an_exact_id_wins_over_longer_ones(hook: Hook) -> None:
    hook(prompt("short", session_id="abc"))
    hook(prompt("long", session_id="abcd"))
    assert "short" in printed("show", "abc")


def test_an_empty_archive_says_what_to_do(project: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    message = failing(monkeypatch, capsys, "show", "last")
    assert message.startswith("Error: nothing has been recorded") and "sessionlog install" in message


@pytest.mark.parametrize("arguments", ["sessions", "search word", "tail", "stats", "stats --by tool"])
def test_nothing_found_is_no_error(arguments: str, project: Path, hook: Hook, tmp_path: Path) -> None:
    done = run(*arguments.split())
    assert (done.exit_code, done.stdout) == (0, "")
    assert "sessionlog install" in done.stderr and "--all" not in done.stderr
    hook(prompt("elsewhere"), CLAUDE_PROJECT_DIR=str(tmp_path))
    assert "1 other project has records: add --all." in run(*arguments.split()).stderr


@pytest.mark.parametrize("arguments", ["sessions", "search word", "tail"])
def test_scripts_can_ask_for_an_error_where_nothing_is_found(arguments: str, place: projects.Place) -> None:
    done = run(*arguments.split(), "--fail-if-none", "--json")
    assert (done.exit_code, done.stderr) == (1, "")
    assert done.stdout in ("[]\n", "")  # tail prints a line per event


def test_a_negative_limit_is_a_usage_error(recorded: None) -> None:
    for arguments in ("sessions -n -3", "search x -n -5", "tail -n -1", "search x -C -1"):
        assert run(*arguments.split()).exit_code == 2


def test_sessions_can_be_filtered(hook: Hook, place: projects.Place) -> None:
    hook(prompt("find the bug", session_id="one"))
    edit = {"file_path": "/p/cart.py", "old_string": "a", "new_string": "b"}
    hook(tool(1, session_id="one", tool_name="Edit", tool_input=edit))
    hook(prompt("write docs", session_id="two"))

    def ids(*options: str) -> list[str]:
        return [row["session_id"] for row in json.loads(printed("sessions", "--json", *options))]

    assert ids() == ["two", "one"]
    assert ids("--reverse") == ids("--sort", "title") == ["one", "two"]
    assert ids("--tool", "Edit") == ids("--file", "*.py") == ids("--text", "BUG") == ["one"]
    assert ids("--since", "1h", "--client", "claude-code") == ["two", "one"]
    for nothing in (["--until", "1h"], ["--client", "codex"], ["--failed"], ["--branch", "x"], ["--cost", ">1"]):
        assert ids(*nothing) == []
    assert "No sessions match." in run("sessions", "--failed").stderr
    for words in (["sessions"], ["search", "nowhere"]):
        assert run(*words, "--tool", "edt").stderr.endswith("there is no tool 'edt' here; did you mean Edit?\n")
    assert run("sessions", "--cost", "much").exit_code == 2


@pytest.mark.parametrize("columns", [50, 60, 80, 120, 250])
def test_a_session_is_one_line_at_every_width(recorded: None, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = printed("sessions").splitlines()
    assert len(lines) == 5 and max(map(display_width, lines)) <= columns


def test_sessions_have_names(hook: Hook, place: projects.Place) -> None:
    for name in ("a-first", "b-second", "c-third"):
        hook(prompt(name, session_id=name))
    for wanted, session_id in (
        ("last", "c-third"),
        ("last~1", "b-second"),
        ("last~2", "a-first"),
        ("today", "c-third"),
    ):
        assert f"session {session_id}" in printed("show", wanted)


def test_a_day_is_the_newest_session_that_went_on_then(place: projects.Place, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a-older", "b-newer"):
        record(place, [prompt(name, session_id=name)])
    with closing(sqlite3.connect(place.db)) as connection, connection:
        for name, began, ended in (("a-older", "-4 days", "0 days"), ("b-newer", "-3 days", "-2 days")):
            connection.execute(
                "UPDATE sessions SET started_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', ?), "
                "last_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', ?) WHERE session_id = ?",
                (began, ended, name),
            )
    assert "session a-older" in printed("show", "today")  # resumed, although another one began later
    assert "session a-older" in printed("show", "yesterday")


def test_what_is_mistyped_gets_a_suggestion(recorded: None, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    assert "did you mean sessions?" in run("sesions").stderr
    assert "did you mean sessions?" in run("team", "sesions").stderr
    assert "did you mean prune?" in run("rm").stderr
    assert "did you mean show last~1?" in run("last~1").stderr
    assert "did you mean Stop" in run("hook-command", "Stp").stderr
    assert "did you mean f0b8f9eb?" in failing(monkeypatch, capsys, "show", "f0b9f9eb")
    assert "there is no last~9: 5 sessions" in failing(monkeypatch, capsys, "show", "last~9")
    assert "there is no event e99999" in failing(monkeypatch, capsys, "show", "e99999")


def test_a_newer_or_damaged_archive_is_explained(
    hook: Hook, place: projects.Place, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    hook(prompt("x"))
    for ending in ("-wal", "-shm"):
        Path(place.db + ending).unlink(missing_ok=True)
    Path(place.db).write_bytes(b"garbage" * 1000)
    for words in (["sessions"], ["show", "last"], ["stats"], ["tail"], ["search", "x"]):
        message = failing(monkeypatch, capsys, *words)
        assert "cannot be read" in message and "`sessionlog doctor`" in message
    Path(place.db).unlink()
    with closing(sqlite3.connect(place.db)) as connection, connection:
        connection.execute("CREATE TABLE mine (x)")
    for words in (["sessions"], ["show", "last"], ["stats"], ["tail"], ["search", "x"]):
        assert "another program's database" in failing(monkeypatch, capsys, *words)


def test_damage_that_is_met_on_the_way_has_its_remedy(
    place: projects.Place, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    record(place, [prompt("x" * 900, session_id=f"s{number}") for number in range(300)])
    data = bytearray(Path(place.db).read_bytes())
    for page in range(8, len(data) // 4096):
        data[page * 4096 : page * 4096 + 64] = b"?" * 64
    Path(place.db).write_bytes(data)
    assert "`sessionlog doctor`" in failing(monkeypatch, capsys, "sessions")


def test_hostile_text_does_not_reach_the_terminal(hook: Hook) -> None:
    evil = "\x1b[31mred\x1b]0;title\x07 \u202egnp.exe\u2066 \x9b2J\r\n\x08"
    hook(prompt(f"prompt {evil}", session_id=f"s1{evil}"))
    hook(prompt(f"prompt {evil}"))
    hook({**tool(1), "tool_name": evil, "tool_input": {"command": evil, "description": evil}})
    hook({**tool(2), "hook_event_name": "PostToolUseFailure", "error": f"Exit code {evil}"})
    hook({"session_id": "s1", "hook_event_name": evil, "message": evil, "source": evil})
    hook({"session_id": "s1", "hook_event_name": "SessionStart", "source": evil, "model": evil})
    for arguments in (["show", "s1"], ["sessions"]):
        text = printed(*arguments)
        assert not set(text) & {"\x1b", "\x07", "\x08", "\x9b", "\r", "\u202e", "\u2066"}
        assert "\\x1b[31mred" in text


def test_nor_does_what_stands_where_a_time_belongs(hook: Hook, place: projects.Place, home: Path) -> None:
    evil = "\x1b]0;title\x07 \x9b2J\r\x08"
    session = f"s1{evil}"
    hook(prompt("hello", session_id=session))
    hook({**tool(1), "session_id": session, "tool_name": f"X{evil}", "tool_input": {"command": "hello"}})
    importer.follow(place, str(transcript(home, line("hello"))))
    with closing(sqlite3.connect(place.db)) as connection, connection:
        for table, columns in {"sessions": ("started_at", "last_at"), "events": ("at",)}.items():
            for column in columns:
                connection.execute(f"UPDATE {table} SET {column} = 'then {evil}' || {column}")
        connection.execute("UPDATE transcripts SET session_id = ? WHERE kind = 'main'", (session,))
    Path(place.home, "unreported").write_text(f"then {evil}\n")
    words = [
        ["show", session], ["show", "last"], ["sessions"], ["sessions", "--json"], ["search", "hello", "-C", "2"], ["tail"],
        ["stats"], ["verify"], ["audit"], ["doctor"], ["prune", "--keep", "0", "--dry-run"],
        ["restore", session, "--to", str(place.home)], ["export", session, "--format", "markdown"],
    ]  # fmt: skip
    for arguments in words:
        done = CliRunner().invoke(cli, arguments, color=True)
        text = re.sub(r"\x1b\[\d+(;\d+)*m", "", done.output)
        assert done.exception is None or isinstance(done.exception, SystemExit), (arguments, done.exception)
        assert not set(text) & {"\x1b", "\x07", "\x08", "\x9b", "\r"}, (arguments, text)


def test_colour_is_for_terminals_only(recorded: None) -> None:
    command = [sys.executable, "-m", "sessionlog", "sessions"]
    assert b"\x1b" not in subprocess.run(command, capture_output=True, check=True).stdout


def test_a_reader_that_leaves_early_is_no_error(recorded: None) -> None:
    command = f"{sys.executable} -m sessionlog show f0b8 --json | head -c 10"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, check=False)
    assert done.stderr == b""


def test_demo_records_through_the_real_hook() -> None:
    done = subprocess.run([sys.executable, "-m", "sessionlog", "demo"], capture_output=True, check=True)
    text = done.stdout.decode()
    for expected in ("折扣", "exit 2", "cart.py (+1 -1)", "[redacted:github-token:", "2 prompts"):
        assert expected in text
    assert "ghp_" not in text
    shown = subprocess.run([sys.executable, "-m", "sessionlog", "demo", "--json"], capture_output=True, check=True)
    sample = Path(plain.__file__).parents[1] / "cli" / "demo_session.jsonl"
    assert len(json.loads(shown.stdout)["events"]) == len(sample.read_text().splitlines())


def test_every_command_can_be_loaded_and_explains_itself() -> None:
    assert "Commands" in printed("--help")
    for name in COMMANDS:
        text = printed(name, "--help")
        assert "Usage: cli" in text or "Usage: sessionlog" in text
        assert "Examples:" in text, name


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0, "0 ms"),
        (165, "165 ms"),
        (999, "999 ms"),
        (4120, "4.1 s"),
        (59_000, "59 s"),
        (90_000, "1.5 min"),
        (7_200_000, "2.0 h"),
    ],
)
def test_durations(milliseconds: int, text: str) -> None:
    assert plain.duration(milliseconds) == text


def test_the_environment_is_read_when_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SESSIONLOG_HOME", "/changed")
    assert projects.home_folder() == "/changed"
    assert os.environ["SESSIONLOG_HOME"] == "/changed"
