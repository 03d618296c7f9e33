"""Promises 1 and 2, through the real process: it never blocks, and it loses nothing."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from sessionlog.archive import place as projects
from sessionlog.archive import rebuild
from sessionlog.install.commands import hook_command
from tests.conftest import HANDLERS, PAYLOAD_FILES, PYTHON, ROOT, Hook, rejected, rows, thorough
from tests.helpers.payloads import FLAT, NESTED


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
    assert [rebuild.payload(row) for row in stored] == payloads
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
    assert [rebuild.payload(row) for row in rows(place)] == [payload]


def test_bytes_that_are_not_utf8_come_back_as_they_were(hook: Hook, place: projects.Place) -> None:
    assert hook(b'{"session_id":"s1","hook_event_name":"X","prompt":"caf\xe9 \xff"}').returncode == 0
    (row,) = rows(place)
    assert row["prompt"].startswith("caf")
    assert rebuild.payload(row)["prompt"].encode("utf-8", "surrogateescape") == b"caf\xe9 \xff"


def test_a_payload_of_20_mb_is_stored_whole(hook: Hook, place: projects.Place) -> None:
    payload = tool(1, tool_response={"stdout": "数据 data\n" * 1_500_000})
    assert hook(payload).returncode == 0
    assert rebuild.payload(rows(place)[0]) == payload


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
    if not thorough():
        payloads = [*{payload["hook_event_name"]: payload for payload in payloads}.values()]

    def both(payload: dict[str, Any]) -> None:
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda env: hook(payload, **env), ({}, {"CLAUDE_PLUGIN_ROOT": "/plugin"})))

    for payload in payloads:
        both(payload)
    assert [rebuild.payload(row) for row in rows(place)] == payloads


def test_the_same_tool_call_with_other_content_is_another_event(hook: Hook, place: projects.Place) -> None:
    hook(tool(1))
    hook(tool(1, tool_response={"stdout": "other"}))
    hook({**tool(1), "hook_event_name": "PreToolUse"})
    assert len(rows(place)) == 3


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
    "gone", ["nothing", "python", "hooks", "hooks/any_event.py", "sessionlog", "sessionlog/fastlib.py"]
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


def test_an_event_writes_no_page_that_it_need_not(hook: Hook, place: projects.Place) -> None:
    hook(tool(1))
    before = Path(f"{place.db}-wal").stat().st_size
    hook(tool(2))
    page = 4096 + 24
    # The event, its session, and four indexes: of the session, the kind, the kind and tool, the id of the call.
    assert (Path(f"{place.db}-wal").stat().st_size - before) / page <= 6


def test_the_wal_stays_short(hook: Hook, place: projects.Place) -> None:
    for number in range(12):
        hook(tool(number, tool_response={"stdout": "x" * 200_000}))
    wal = Path(f"{place.db}-wal")
    assert not wal.exists() or wal.stat().st_size < 1_500_000
    assert len(rows(place)) == 12


def test_a_large_event_is_stored_where_memory_is_short(project: Path, place: projects.Place) -> None:
    code = "from sessionlog.record import hook; hook.REUSED = 1 << 60; hook.main('PostToolUse')"
    data = json.dumps(tool(1, tool_response={"stdout": "x" * 200_000})).encode()
    done = subprocess.run([sys.executable, "-c", code], input=data, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert len(rows(place)) == 1


def test_two_ways_to_sqlite_and_json_store_the_same_rows(project: Path, place: projects.Place, tmp_path: Path) -> None:
    """The public modules take over where a C core is missing."""
    other = tmp_path / "other.db"
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "for name in sys.argv[3].split(): sys.modules[name] = None\n"
        "sys.argv[1:] = []\n"
        "from sessionlog.record.hook import main\nmain(None, 'any_event')"
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
