"""What a person sees in a terminal: colours, the pager, widths, characters, questions and Ctrl+C."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from sessionlog.archive.place import Place
from sessionlog.archive.time_limit import TookTooLong, limited
from sessionlog.cli.table import display_width
from tests.conftest import PAYLOAD_FILES, thorough
from tests.helpers import forking
from tests.helpers.recording import record
from tests.record.test_hook import prompt, tool

terminal = pytest.importorskip("tests.helpers.terminal", reason="needs a POSIX terminal", exc_type=ImportError)

RED, ESCAPE = "\x1b[31m", "\x1b["
ENDLESS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
WIDTHS = (50, 60, 80, 120, 250)


@pytest.fixture
def recorded(place: Place) -> Place:
    record(place, [json.loads(path.read_bytes()) for path in PAYLOAD_FILES])
    return place


@pytest.mark.parametrize(
    "command", ["sessions", "show f0b8", "search hello", "tail", "stats --since 2020-01-01", "audit"]
)
def test_colours_as_the_environment_asks(recorded: Place, command: str) -> None:
    words = command.split()
    assert ESCAPE in terminal.in_terminal(*words).text
    for environment in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert "\x1b[3" not in terminal.in_terminal(*words, **environment).text
    assert b"\x1b" not in forking.run(*words).stdout
    forced = forking.run(*words, env={**os.environ, "CLICOLOR_FORCE": "1"}).stdout
    assert ESCAPE.encode() in forced


@pytest.mark.skipif(not shutil.which("less"), reason="no less here")
def test_show_is_in_colour_through_less_and_its_options_stay_the_users(recorded: Place) -> None:
    assert RED in terminal.in_terminal("show", "f0b8", PAGER="less", columns=120).text
    assert RED not in terminal.in_terminal("show", "f0b8", PAGER="less", LESS="-FX", columns=120).text


@pytest.mark.parametrize(
    ("command", "columns"),
    [
        (command, columns)
        for number, command in enumerate(
            ("sessions --all", "tail --all", "stats --since 2020-01-01", "search 组件 --all")
        )
        for columns in (WIDTHS if thorough() else WIDTHS[number % 2 :: 2])
    ],
)
def test_no_line_is_wider_than_the_terminal(recorded: Place, command: str, columns: int) -> None:
    seen = terminal.in_terminal(*command.split(), columns=columns)
    assert seen.code == 0
    lines = [re.sub(r"\x1b\[[\d;]*m", "", line) for line in seen.text.replace("\r", "").split("\n")]
    assert max(map(display_width, lines)) <= columns, [line for line in lines if display_width(line) > columns]


@pytest.mark.parametrize(
    "command",
    [
        "sessions", "show f0b8", "show e5", "audit permissions", "audit failures", "schema events", "validate --rules",
        "prune --keep 0 --dry-run", "doctor", "verify", "demo", "pause 2h", "install --yes", "uninstall --yes",
    ],
)  # fmt: skip
def test_fifty_columns_are_enough(recorded: Place, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(recorded.project)  # else `uninstall` takes the server out of the .mcp.json of this repository
    with closing(sqlite3.connect(recorded.db)) as archive, archive:  # live: with every column
        archive.execute("UPDATE sessions SET last_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), ended_at = NULL")
    if "uninstall" in command:
        terminal.in_terminal("install", "--yes")
    seen = terminal.in_terminal(*command.split(), columns=50, PAGER="cat").text
    lines = [re.sub(r"\x1b\[[?\d;]*[a-z]", "", line) for line in re.split(r"[\r\n]+", seen)]
    # Paths and commands are whole, so that they can be copied.
    wide = [line for line in lines if display_width(line) > 50 and not re.search(r"/\S{30}", line)]
    assert lines and not wide


def test_long_code_in_blame_goes_on_below_the_code(recorded: Place) -> None:
    path = Path(recorded.project, "long.py")
    path.write_text(f"    total = {' + '.join(f'price_{number}' for number in range(20))}\n")
    for columns in (50, 80, 120):
        seen = terminal.in_terminal("blame", str(path), columns=columns, PAGER="cat", NO_COLOR="1").text
        lines = seen.replace("\r", "").splitlines()
        assert len(lines) > 1 and max(map(len, lines)) <= columns
        assert all(re.match(r" {8}|-{8} not recorded", line) for line in lines if line), lines


def test_an_exit_code_stays_on_its_line(hook: object, place: Place) -> None:
    failed = {**tool(1), "hook_event_name": "PostToolUseFailure", "error": "Exit code 7\nno", "duration_ms": 5800}
    hook(failed)  # type: ignore[operator]
    for columns in range(40, 60):
        seen = terminal.in_terminal("show", "last", columns=columns, PAGER="cat", NO_COLOR="1").text
        assert "exit 7" in seen and "5.8 s" in seen


def test_narrow_tail_shows_what_happened(recorded: Place) -> None:
    seen = terminal.in_terminal("tail", "--all", "-n", "50", columns=50, NO_COLOR="1").text
    assert re.search(r"^\d\d:\d\d:\d\d  e\d+ +\S+ +Bash +\$ \w{4}", seen, re.MULTILINE)


def test_show_breaks_lines_between_words(place: Place) -> None:
    said = "Every word of this prompt is whole, however narrow the terminal is, and none is lost. " * 3
    record(place, [prompt(said)])
    for columns in (60, 100):
        seen = terminal.in_terminal("show", "last", columns=columns, PAGER="cat", NO_COLOR="1").text
        lines = seen.replace("\r", "").partition("prompt  ")[2].split("\n")  # below the path of the project
        assert max(map(len, lines)) <= columns
        assert said.strip() in " ".join(seen.split())


def test_the_days_of_stats_have_their_weekday_on_80_columns(recorded: Place) -> None:
    seen = terminal.in_terminal("stats", "--since", "2020-01-01", "--by", "day", columns=80, NO_COLOR="1").text
    assert re.search(r"^20\d\d-\d\d-\d\d (Mon|Tue|Wed|Thu|Fri|Sat|Sun) ", seen, re.MULTILINE)


@pytest.mark.parametrize(
    "command", ["sessions", "show f0b8", "search 组件", "tail", "audit", "stats --since 2020-01-01"]
)
def test_any_locale_will_do(recorded: Place, command: str) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "iso-8859-1", "PYTHONUTF8": "0"}
    words = [terminal.SESSIONLOG, *command.split()]
    done = subprocess.run(words, env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    done = subprocess.run([*words, "--json"], env=environment, capture_output=True, check=False)
    first, _, rest = done.stdout.decode("ascii").partition("\n")
    json.loads(first if command == "tail" else first + rest)


def test_enter_alone_removes_nothing(recorded: Place) -> None:
    seen = terminal.in_terminal("prune", "--session", "f0b8", keys="\n")
    assert seen.code == 1 and "[y/N]" in seen.text and "Nothing was changed." in seen.text
    assert terminal.in_terminal("show", "f0b8", PAGER="cat").code == 0


def test_a_no_to_the_purge_does_not_deny_what_was_done(recorded: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(recorded.project)
    terminal.in_terminal("install", "--yes")
    running = terminal.Terminal(terminal.SESSIONLOG, "uninstall", "--purge")
    running.wait_for("[y/N]")
    running.type("y\n")
    running.wait_for("for good? [y/N]")
    running.type("\n")
    seen = running.end()
    assert seen.code == 1 and "Uninstalled from" in seen.text and Path(recorded.db).exists()
    assert "The archives were left as they are." in seen.text and "Nothing was changed" not in seen.text


def test_ctrl_c_ends_with_130_and_without_a_word(recorded: Place) -> None:
    for words, shown in (
        (["sql", ENDLESS], ""),
        (["prune", "--session", "f0b8"], "[y/N]"),
        (["browse", "--no-open"], "http"),
    ):
        running = terminal.Terminal(terminal.SESSIONLOG, *words)
        running.wait_for(shown) if shown else subprocess.run(["sleep", "1"], check=True)
        seen = running.interrupt()
        assert (seen.code, "Aborted" in seen.text, "Traceback" in seen.text) == (130, False, False), seen


def test_a_query_ends_by_its_limit_or_by_ctrl_c(recorded: Place) -> None:
    """`audit` counts one query after the other. After its limit the next one begins; Ctrl+C ends them all."""
    with closing(sqlite3.connect(recorded.db)) as connection, pytest.raises(TookTooLong), limited(connection, 0.1):
        connection.execute(ENDLESS).fetchone()
    code = f"""if True:
        import os, signal, sqlite3, sys, threading
        from sessionlog.archive.time_limit import limited
        signal.signal(signal.SIGINT, signal.default_int_handler)
        connection = sqlite3.connect(":memory:")
        try:
            with limited(connection, 60):
                threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
                connection.execute({ENDLESS!r}).fetchone()
        except KeyboardInterrupt:
            sys.exit(130)"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 130


def test_ctrl_c_before_the_command_begins_prints_no_traceback() -> None:
    code = """if True:
        import os, signal, sys
        from sessionlog.cli.start import main
        class Interrupted:
            def find_spec(self, name, *rest):
                if name == "sessionlog.cli.main":
                    os.kill(os.getpid(), signal.SIGINT)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.meta_path.insert(0, Interrupted())
        main()"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


def test_a_newline_in_the_name_of_a_folder_stays_in_its_line(hook: object, tmp_path: Path, place: Place) -> None:
    folder = tmp_path / "two\nlines"
    folder.mkdir()
    hook(prompt("hello"), CLAUDE_PROJECT_DIR=str(folder))  # type: ignore[operator]
    assert len(terminal.in_terminal("sessions", "--all").text.splitlines()) == 1
    for words in (["show", "last"], ["verify"], ["search", "hello"], ["report"], ["prune", "--keep", "0", "--dry-run"]):
        seen = terminal.in_terminal(*words, "--all", columns=250, PAGER="cat", NO_COLOR="1").text
        assert not re.search(r"^lines", seen, re.MULTILINE), words


def test_tail_tells_a_notification_from_a_prompt(hook: object, place: Place) -> None:
    note = "<task-notification><summary>the tests passed</summary></task-notification>"
    hook(prompt(note))  # type: ignore[operator]
    assert re.search(r" notice +the tests passed", terminal.in_terminal("tail", NO_COLOR="1").text)
