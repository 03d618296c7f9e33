"""Promises 1 and 2, through the real process: it never blocks, and it loses nothing."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from sessionlog import event, projects
from sessionlog.registration import hook_command
from tests.conftest import HANDLERS, PAYLOAD_FILES, PYTHON, ROOT, Hook, rejected, rows
from tests.payloads import FLAT, NESTED


def prompt(text: str, session_id: str = "s1", **more: Any) -> dict[str, Any]:
    return {"session_id": session_id, "hook_event_name": "UserPromptSubmit", "prompt": text, **more}


def tool(number: int, session_id: str = "s1", **more: Any) -> dict[str, Any]:
    return {
        "session_id": session_id,
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": f"echo {number}"},
        "tool_response": {"stdout": str(number)},
        "tool_use_id": f"toolu_{number}",
        **more,
    }


def test_every_fixture_and_example_is_recorded_and_can_be_rebuilt(hook: Hook, place: projects.Place) -> None:
    payloads = [*(json.loads(path.read_bytes()) for path in PAYLOAD_FILES), *FLAT, *NESTED]
    for payload in payloads:
        assert hook(payload).returncode == 0
    stored = rows(place)
    assert [event.rebuild(row) for row in stored] == payloads
    assert not rejected(Path(os.environ["HOME"]))


@pytest.mark.parametrize(
    ("handler", "expected"), [("user_prompt_submit.py", "UserPromptSubmit"), ("post_tool_use.py", "PostToolUse")]
)
def test_a_handler_says_which_event_it_is_when_the_payload_does_not(
    hook: Hook, place: projects.Place, handler: str, expected: str
) -> None:
    assert hook({"session_id": "s1"}, handler=handler).returncode == 0
    assert hook({"session_id": "s1", "hook_event_name": "Stop"}, handler=handler).returncode == 0
    assert [row["event"] for row in rows(place)] == [expected, "Stop"]


def test_any_event_takes_the_name_as_an_argument_and_ignores_the_rest(hook: Hook, place: projects.Place) -> None:
    assert hook({"session_id": "s1"}, "PreCompact", "--unknown-option").returncode == 0
    assert [row["event"] for row in rows(place)] == ["PreCompact"]


DEEP = 10_000
HARD_INPUTS: dict[str, bytes] = {
    "empty": b"",
    "white space": b" \n\t",
    "half a JSON": b'{"session_id": "s1", "prompt": "hal',
    "two JSONs": b'{"session_id": "s1"}{"session_id": "s1"}',
    "an array": b'[{"session_id": "s1"}]',
    "a string": b'"session"',
    "a number": b"12",
    "null": b"null",
    "not JSON": b"hello",
    "NaN": b'{"session_id": "s1", "n": NaN}',
    "beyond doubles": b'{"session_id": "s1", "n": 1e999}',
    "too many digits": b'{"session_id": "s1", "n": ' + b"9" * 5000 + b"}",
    "UTF-16": '{"session_id": "s1"}'.encode("utf-16"),
    "deep": b'{"session_id": "s1", "x": ' + b"[" * DEEP + b"]" * DEEP + b"}",
    "deep objects": b'{"session_id": "s1", "x": ' + b'{"a":' * DEEP + b"1" + b"}" * DEEP + b"}",
}


@pytest.mark.parametrize("name", HARD_INPUTS)
def test_what_is_no_event_is_kept_and_the_next_event_works(hook: Hook, place: projects.Place, name: str) -> None:
    data = HARD_INPUTS[name]
    done = hook(data)
    kept = rejected(Path(os.environ["HOME"]))
    if done.returncode == 0:
        assert len(rows(place)) == 1
    elif data.strip():
        assert [path.read_bytes() for path in kept] == [data]
        assert str(kept[0]).encode() in done.stderr
        assert stat.S_IMODE(kept[0].stat().st_mode) == 0o600
    assert hook(prompt("next")).returncode == 0
    assert rows(place)[-1]["prompt"] == "next"


KEPT_INPUTS: dict[str, Any] = {
    "lone surrogate": {"session_id": "s1", "hook_event_name": "X", "prompt": "a\ud800b"},
    "NUL": {"session_id": "s1", "hook_event_name": "X", "prompt": "a\0b", "tool_input": {"command": "\0"}},
    "numbers beyond 64 bits": {
        "session_id": "s1",
        "hook_event_name": "X",
        "duration_ms": 2**80,
        "n": [-(2**64), 10**30],
    },
    "wrong types": {
        "session_id": 7,
        "hook_event_name": ["x"],
        "prompt": {},
        "tool_input": "a string",
        "cwd": 1,
        "tool_name": None,
    },
    "no session": {"hook_event_name": "Stop"},
    "nothing": {},
    "unknown": {"session_id": "s1", "hook_event_name": "Brand🆕New", "field": {"deep": [1, {"x": None}]}},
    "nested 900 deep": {"session_id": "s1", "hook_event_name": "SessionStart", "x": json.loads("[" * 900 + "]" * 900)},
}


@pytest.mark.parametrize("name", KEPT_INPUTS)
def test_odd_events_are_stored_exactly(hook: Hook, place: projects.Place, name: str) -> None:
    payload = KEPT_INPUTS[name]
    assert hook(json.dumps(payload).encode()).returncode == 0
    assert [event.rebuild(row) for row in rows(place)] == [payload]


def test_bytes_that_are_not_utf8_come_back_as_they_were(hook: Hook, place: projects.Place) -> None:
    assert hook(b'{"session_id":"s1","hook_event_name":"X","prompt":"caf\xe9 \xff"}').returncode == 0
    (row,) = rows(place)
    assert row["prompt"].startswith("caf")
    assert event.rebuild(row)["prompt"].encode("utf-8", "surrogateescape") == b"caf\xe9 \xff"


def test_a_payload_of_20_mb_is_stored_whole(hook: Hook, place: projects.Place) -> None:
    payload = tool(1, tool_response={"stdout": "数据 data\n" * 1_500_000})
    assert hook(payload).returncode == 0
    assert event.rebuild(rows(place)[0]) == payload


# --- stdin ----------------------------------------------------------------------------------------------------------


def start_hook() -> subprocess.Popen[bytes]:
    command = [*PYTHON, str(HANDLERS / "any_event.py")]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)


def write(process: subprocess.Popen[bytes], data: bytes) -> None:
    assert process.stdin
    process.stdin.write(data)


def test_stdin_that_is_never_closed(project: Path, place: projects.Place) -> None:
    with start_hook() as process:
        write(process, json.dumps(prompt("open end")).encode() + b"\n")
        assert process.wait(timeout=30) == 0
    assert [row["prompt"] for row in rows(place)] == ["open end"]


def test_stdin_that_stays_silent_ends_with_1(project: Path) -> None:
    with start_hook() as process:
        assert process.wait(timeout=30) == 1


def test_half_an_object_on_an_open_stdin_is_kept(project: Path, home: Path) -> None:
    with start_hook() as process:
        write(process, b'{"session_id": "s1", "tool_input": {}')
        assert process.wait(timeout=30) == 1
    assert [path.read_bytes() for path in rejected(home)] == [b'{"session_id": "s1", "tool_input": {}']


def test_stdin_in_pieces(project: Path, place: projects.Place) -> None:
    with start_hook() as process:
        for piece in (
            b'{"session_id":"s1",',
            b'"hook_event_name":"X",',
            b'"tool_input":{"a":1}',
            b',"prompt":"',
            b'done"}',
        ):
            write(process, piece)
            time.sleep(0.05)
        process.communicate(timeout=30)
    assert process.returncode == 0
    assert rows(place)[0]["prompt"] == "done"


def test_a_closed_stdin_ends_with_1(project: Path) -> None:
    command = f"{hook_command('Stop')} <&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (1, b"")


def test_closed_output_changes_nothing(project: Path, place: projects.Place) -> None:
    data = json.dumps(prompt("quiet")).encode()
    assert subprocess.run(["sh", "-c", f"{hook_command()} >&- 2>&-"], input=data, check=False).returncode == 0
    assert subprocess.run(["sh", "-c", f"{hook_command()} >&- 2>&-"], input=b"no", check=False).returncode == 1
    assert len(rows(place)) == 1


# --- the same event twice -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("payload", [tool(1), prompt("hi", prompt_id="p1")], ids=["tool call", "prompt with an id"])
def test_an_event_with_an_id_of_its_own_is_stored_once(
    hook: Hook, place: projects.Place, payload: dict[str, Any]
) -> None:
    for _ in range(3):
        assert hook(payload).returncode == 0
    assert hook(payload, CLAUDE_PLUGIN_ROOT="/plugin").returncode == 0
    assert len(rows(place)) == 1
    assert rows(place, "SELECT events FROM sessions") == [{"events": 1}]


def test_two_equal_events_of_one_registration_are_two(hook: Hook, place: projects.Place) -> None:
    notification = {"session_id": "s1", "hook_event_name": "Notification", "message": "waiting", "prompt_id": "p1"}
    for payload in (prompt("continue"), notification):
        for _ in range(2):
            assert hook(payload).returncode == 0
    assert len(rows(place)) == 4


def test_registered_as_plugin_and_in_settings_each_event_is_stored_once(hook: Hook, place: projects.Place) -> None:
    payloads = [json.loads(path.read_bytes()) for path in PAYLOAD_FILES]

    def both(payload: dict[str, Any]) -> None:
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda env: hook(payload, **env), ({}, {"CLAUDE_PLUGIN_ROOT": "/plugin"})))

    for payload in payloads:
        both(payload)
    assert [event.rebuild(row) for row in rows(place)] == payloads


def test_the_same_tool_call_with_other_content_is_another_event(hook: Hook, place: projects.Place) -> None:
    hook(tool(1))
    hook(tool(1, tool_response={"stdout": "other"}))
    hook({**tool(1), "hook_event_name": "PreToolUse"})
    assert len(rows(place)) == 3


# --- many at once ---------------------------------------------------------------------------------------------------


def test_64_hooks_at_once_on_a_database_that_does_not_exist(hook: Hook, place: projects.Place) -> None:
    with ThreadPoolExecutor(64) as pool:
        done = list(pool.map(lambda number: hook(tool(number, session_id=f"s{number % 5}")), range(64)))
    assert [result.stderr for result in done if result.stderr] == []
    stored = rows(place)
    assert sorted(row["tool_use_id"] for row in stored) == sorted(f"toolu_{number}" for number in range(64))
    assert rows(place, "SELECT count(*) AS n FROM archive") == [{"n": 1}]
    assert rows(place, "PRAGMA integrity_check") == [{"integrity_check": "ok"}]
    assert sum(row["events"] for row in rows(place, "SELECT events FROM sessions")) == 64


def test_killed_hooks_leave_the_database_whole_and_every_reported_event_in_it_once(
    project: Path, place: projects.Place
) -> None:
    rng = random.Random(0)
    safe: list[int] = []
    started = time.monotonic()
    with start_hook() as process:
        process.communicate(json.dumps(tool(1001)).encode())
    usual = time.monotonic() - started  # of one hook; eight at once take longer

    def one(number: int) -> None:
        with start_hook() as process:
            write(process, json.dumps(tool(number)).encode())
            time.sleep(rng.uniform(0, 12 * usual))
            process.kill()
        if process.returncode == 0:
            safe.append(number)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(one, range(500)))
    assert 0 < len(safe) < 500, "the kills must hit some hooks and miss others"
    done = subprocess.run(
        [*PYTHON, str(HANDLERS / "any_event.py")],
        input=json.dumps(tool(1000)).encode(),
        capture_output=True,
        check=True,
    )
    assert done.stderr == b""
    assert rows(place, "PRAGMA integrity_check") == [{"integrity_check": "ok"}]
    stored = [row["tool_use_id"] for row in rows(place)]
    assert len(stored) == len(set(stored)), "nothing is there twice"
    assert {f"toolu_{number}" for number in (*safe, 1000)} <= set(stored)
    assert sum(row["events"] for row in rows(place, "SELECT events FROM sessions")) == len(stored)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_session_does_not_lose_the_event(project: Path, place: projects.Place, number: int) -> None:
    with start_hook() as process:
        write(process, b'{"session_id":"s1","hook_event_name":"X",')
        time.sleep(0.4)  # by now it reads
        process.send_signal(number)
        process.communicate(b'"prompt":"kept"}', timeout=30)
    assert process.returncode == 0
    assert rows(place)[0]["prompt"] == "kept"


# --- when something is gone -----------------------------------------------------------------------------------------


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Another installation: a copy of the handlers and the package, and an interpreter that can be taken away."""
    folder = tmp_path / "sessionlog"  # a checkout may well be called like the package
    for name in ("hooks", "sessionlog"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "python").symlink_to(sys.executable)
    return folder


def shell(copy: Path, payload: dict[str, Any]) -> subprocess.CompletedProcess[bytes]:
    command = hook_command("Stop").replace(sys.executable, str(copy / "python")).replace(str(ROOT), str(copy))
    return subprocess.run(["sh", "-c", command], input=json.dumps(payload).encode(), capture_output=True, check=False)


@pytest.mark.parametrize(
    "gone", ["nothing", "python", "hooks", "hooks/any_event.py", "sessionlog", "sessionlog/lean.py"]
)
def test_the_command_never_ends_with_2(copy: Path, project: Path, gone: str) -> None:
    path = copy / gone
    if path.is_dir():
        shutil.rmtree(path)
    elif gone != "nothing":
        path.unlink()
    done = shell(copy, prompt("x"))
    assert done.returncode == (0 if gone == "nothing" else 1)
    assert done.stdout == b""


def test_the_archive_folder_may_vanish(copy: Path, project: Path, place: projects.Place) -> None:
    assert shell(copy, prompt("one")).returncode == 0
    shutil.rmtree(place.home)
    assert shell(copy, prompt("two")).returncode == 0
    assert [row["prompt"] for row in rows(place)] == ["two"]


def test_a_wheel_finds_its_own_hooks(tmp_path: Path, project: Path, place: projects.Place) -> None:
    """In a wheel the handlers lie inside the package."""
    package = tmp_path / "site-packages" / "sessionlog"
    shutil.copytree(ROOT / "sessionlog", package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(HANDLERS, package / "hooks")
    done = subprocess.run(
        [*PYTHON, str(package / "hooks" / "any_event.py")], input=json.dumps(prompt("x")).encode(), check=False
    )
    assert done.returncode == 0
    assert len(rows(place)) == 1


# --- cost and privacy -----------------------------------------------------------------------------------------------


def test_an_ordinary_event_imports_nothing_heavy(hook: Hook, project: Path, place: projects.Place) -> None:
    hook(prompt("the first one makes the database"))
    done = subprocess.run(
        [*PYTHON, "-X", "importtime", str(HANDLERS / "any_event.py")],
        input=json.dumps(tool(1)).encode(),
        capture_output=True,
        check=True,
    )
    imported = {line.rpartition(b"|")[2].strip().decode() for line in done.stderr.splitlines()}
    assert "sessionlog.hook" in imported
    assert not imported & {
        "os",
        "re",
        "json",
        "sqlite3",
        "typing",
        "functools",
        "pathlib",
        "hashlib",
        "sessionlog.errors",
    }


def test_files_are_private(hook: Hook, place: projects.Place) -> None:
    hook(prompt("x"))
    hook(b"rejected")
    assert stat.S_IMODE(Path(place.home).stat().st_mode) == 0o700
    for path in Path(place.home).rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_a_secret_is_written_nowhere(hook: Hook, place: projects.Place) -> None:
    secret = "ghp_" + "Zq3T8vXw1LbN6rKd0YcHs5MfJ2uGpA9eVi7o"
    hook(prompt(f"use {secret}"))
    hook({**tool(1), "tool_input": {"command": f"curl -H 'Authorization: Bearer {secret}' x"}})
    hook(f'{{"broken": "{secret}'.encode())
    assert "[redacted:github-token:" in rows(place)[0]["prompt"]
    for path in Path(place.home).rglob("*"):
        assert path.is_dir() or secret.encode() not in path.read_bytes(), path


def test_the_wal_stays_short(hook: Hook, place: projects.Place) -> None:
    for number in range(12):
        hook(tool(number, tool_response={"stdout": "x" * 200_000}))
    wal = Path(f"{place.db}-wal")
    assert not wal.exists() or wal.stat().st_size < 1_500_000
    assert len(rows(place)) == 12


def test_two_ways_to_sqlite_and_json_store_the_same_rows(project: Path, place: projects.Place, tmp_path: Path) -> None:
    """The public modules take over where a C core is missing."""
    other = tmp_path / "other.db"
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "for name in sys.argv[3].split(): sys.modules[name] = None\n"
        "sys.argv[1:] = []\n"
        "from sessionlog.hook import main\nmain(None, 'any_event')"
    )
    for path in PAYLOAD_FILES[:12]:
        for db, missing in ((place.db, ""), (str(other), "_json")):
            done = subprocess.run(
                [*PYTHON, "-c", script, str(ROOT), "", missing],
                input=path.read_bytes(),
                env={**os.environ, "SESSIONLOG_DB": db},
                check=False,
            )
            assert done.returncode == 0
    differs = dict.fromkeys(("at", "salt", "hash"))
    stored = [[{**row, **differs} for row in rows(projects.Place("", "", db))] for db in (place.db, str(other))]
    assert stored[0] == stored[1] and len(stored[0]) == 12


def test_sqlite_is_new_enough_for_strict_tables() -> None:
    assert sqlite3.sqlite_version_info >= (3, 37)
