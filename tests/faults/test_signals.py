"""KILL, TERM and INT at random moments: of the hook, and of all that works on an archive."""

from __future__ import annotations

import fcntl
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from sessionlog.archive import append, migrate
from sessionlog.archive import place as projects
from sessionlog.archive.event import COLUMNS
from sessionlog.install.commands import hook_command
from tests.conftest import HANDLERS, PYTHON, rows
from tests.faults.ledger import Fault, assert_sound, sessionlog
from tests.helpers import forking
from tests.helpers import transcript_files as made
from tests.helpers.archives import START_MS, event, store
from tests.record.test_hook import tool

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
SECRET = "correct-horse-battery-staple"


# --- the hook ---------------------------------------------------------------------------------------------------------


def interrupted(fault: Fault, number: int, delay: float) -> None:
    """A hook that gets a signal after so many seconds, unless it has ended by then."""
    payload = fault.payload()
    command = [*PYTHON, str(HANDLERS / "any_event.py")] if number == signal.SIGKILL else ["sh", "-c", hook_command()]
    started = time.monotonic()
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stdin
        process.stdin.write(json.dumps(payload).encode())
        process.stdin.close()
        process.stdin = None
        try:
            process.wait(delay)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, number)  # as Ctrl+C does; the process is there until it is waited for
        stdout, stderr = process.communicate(timeout=60)
    assert process.returncode != 2
    fault.judge(payload, process.returncode, stdout, stderr, time.monotonic() - started, killed=True)


@pytest.mark.fault("signals: hook")
def test_killed_hooks_leave_the_archive_sound_and_every_reported_event_in_it_once(
    fault: Fault, dice: random.Random, times: int
) -> None:
    def duration(_: int) -> float:
        started = time.monotonic()
        fault.hook()
        return time.monotonic() - started

    with ThreadPoolExecutor(8) as pool:
        usual = statistics.median(pool.map(duration, range(16)))  # beside others, as those that are interrupted
        before = len(fault.kept)
        moments = [(dice.choice(SIGNALS), dice.uniform(0, 2.5 * usual)) for _ in range(50 * times)]
        moments += [(signal.SIGKILL, 0), (signal.SIGKILL, 60)]  # however busy the machine is by now
        list(pool.map(lambda moment: interrupted(fault, *moment), moments))
    assert before < len(fault.kept) < before + len(moments), "the signals must hit some hooks and miss others"
    assert fault.hook().stderr == b""
    fault.check()
    assert_sound(fault.place)


def waits_in(pipe: BinaryIO) -> bool:
    """Whether there is something that the other end has not read."""
    return any(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))


@pytest.mark.fault("signals: hook")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_session_does_not_lose_the_event(fault: Fault, number: int) -> None:
    payload = fault.payload()
    half, rest = (data := json.dumps(payload).encode())[:20], data[20:]
    started = time.monotonic()
    command = [*PYTHON, str(HANDLERS / "any_event.py")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, bufsize=0, **pipes) as process:  # type: ignore[call-overload]
        process.stdin.write(half)
        time.sleep(0.2)
        while sys.platform == "linux" and waits_in(process.stdin):
            time.sleep(0.02)  # a busy machine: it does not read yet
        process.send_signal(number)
        stdout, stderr = process.communicate(rest, timeout=120)
    assert process.returncode == 0
    fault.judge(payload, process.returncode, stdout, stderr, time.monotonic() - started)
    fault.check()


@pytest.mark.fault("signals: migration")
def test_a_killed_migration_leaves_one_version_or_the_next(fault: Fault, dice: random.Random, times: int) -> None:
    place = fault.place
    for version in [*range(append.SCHEMA_VERSION)] * times:
        shutil.rmtree(place.home, ignore_errors=True)
        Path(place.home).mkdir(parents=True)
        fault.kept.clear()
        if version:
            _older_archive(place, version)
        interrupted(fault, signal.SIGKILL, dice.uniform(0.01, 0.07))
        with closing(sqlite3.connect(place.db)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            (reached,) = connection.execute("PRAGMA user_version").fetchone()
        assert version <= reached <= append.SCHEMA_VERSION
        assert fault.hook().stderr == b""
        stored = fault.check()
        assert set(stored) >= {"toolu_before"} if version else True
        assert_sound(place)


def _older_archive(place: projects.Place, version: int) -> None:
    """An archive as an earlier sessionlog made it, with an event in it."""
    with closing(sqlite3.connect(place.db, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        for number, script in migrate.migrations()[:version]:
            connection.executescript(script)
            connection.execute(f"PRAGMA application_id = {migrate.APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {number}")
        connection.execute("INSERT INTO archive (only_row, project, created_at) VALUES (1, ?, '')", (place.project,))
        connection.execute(
            "INSERT INTO events (session_id, event, at, via, tool_use_id) VALUES ('s', 'X', '2026', 'test', 'toolu_before')"
        )


# --- commands ---------------------------------------------------------------------------------------------------------


class Work:
    """A command, what it works on, and how the archive looks when it is done."""

    def __init__(self, words: list[str], prepare: Callable[[projects.Place, Path], None], result: Callable[..., Any]):
        self.words, self.prepare, self.result = words, prepare, result


def _two_sessions(place: projects.Place, _home: Path) -> None:
    big = {"stdout": f"{SECRET} {'word ' * 1000}"}
    store(place, *(tool(-n, "old", tool_response=big) for n in range(1, 200)), start_ms=START_MS - 10**10)
    store(place, event("UserPromptSubmit", "new", prompt="stays"))


def _many_words(place: projects.Place, _home: Path) -> None:
    store(place, *(tool(-n, "old", tool_response={"stdout": f"needle {n} " * 40}) for n in range(1, 800)))


def _transcripts(_place: projects.Place, home: Path) -> None:
    made.recorded(home)
    for number in range(10):
        session = f"imported-{number}"  # not s1, which the hooks of another project have
        lines = [made.line(f"{'word ' * 200} {n}", session) for n in range(150)]
        made.transcript(home, *lines, session_id=session)


def _archived_transcript(_place: projects.Place, home: Path) -> None:
    made.transcript(
        home, *(made.line("".join(map(chr, range(97, 123))) * 400, "big") for _ in range(600)), session_id="big"
    )
    assert sessionlog("import").returncode == 0
    shutil.move(home / ".claude", home / "before")


def _events(place: projects.Place, _home: Path) -> Any:
    assert sessionlog("verify").returncode == 0, "the chain knows what was done"
    columns = ", ".join(column for column in COLUMNS if column not in ("hash", "salt"))
    events = rows(place, f"SELECT {columns} FROM events WHERE session_id <> 's1' ORDER BY id")
    return [
        re.sub(r"\[redacted:value:\w+\]", "[redacted]", str(row)) for row in events
    ]  # each copy has a key of its own


def _messages(_place: projects.Place, home: Path) -> Any:
    shop = made.shop()
    files = sorted((home / ".claude/projects").rglob("*.jsonl"))
    for path in files:
        assert made.archived(shop, path) == path.read_bytes()
    query = (
        "SELECT session_id, line, part, uuid, text FROM transcript_parts ORDER BY session_id, transcript_id, line, part"
    )
    return rows(shop, query), rows(shop, "SELECT * FROM session_usage ORDER BY session_id, model")


def _found(_place: projects.Place, _home: Path) -> Any:
    done = sessionlog("search", "needle", "--json", "-n", "0")
    assert done.returncode == 0, done.stderr
    return len(json.loads(done.stdout))


def _restored(_place: projects.Place, home: Path) -> Any:
    found = {path.name: path.read_bytes() for path in (home / ".claude").rglob("*.jsonl")}
    before = {path.name: path.read_bytes() for path in (home / "before").rglob("*.jsonl")}
    assert all(before[name] == data for name, data in found.items()), "half a transcript never looks like one"
    return sorted(found)


WORK = {
    "import": Work(["import"], _transcripts, _messages),
    "index": Work(["search", "needle"], _many_words, _found),
    "prune": Work(["prune", "--keep", "1", "--yes"], _two_sessions, _events),
    "redact": Work(["redact", "--value", SECRET, "--yes"], _two_sessions, _events),
    "restore": Work(["restore", "big", "--all"], _archived_transcript, _restored),
}


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.fault(f"signals: {name}")) for name in WORK])
def test_a_killed_command_leaves_a_sound_archive_and_the_next_one_finishes(
    fault: Fault, home: Path, tmp_path: Path, dice: random.Random, times: int, name: str
) -> None:
    work, place = WORK[name], fault.place
    work.prepare(place, home)
    fault.hook()
    shutil.copytree(home, tmp_path / "prepared")
    started = time.monotonic()
    done = sessionlog(*work.words)
    usual = time.monotonic() - started
    assert done.returncode == 0, done.stderr
    expected = work.result(place, home)
    for number in SIGNALS * times if times > 1 else (dice.choice(SIGNALS),):
        shutil.rmtree(home)
        shutil.copytree(tmp_path / "prepared", home)
        fault.line.times += 1
        _interrupt(work.words, number, dice.uniform(0.2, 1) * usual)
        fault.hook()
        for db in Path(place.home).glob("*.db"):
            if rows(one := projects.Place("", "", str(db)), "PRAGMA user_version") != [{"user_version": 0}]:
                assert_sound(one)  # else it was killed before its first table was there, which the next one makes
        if name == "restore":
            work.result(place, home)
        done = sessionlog(*work.words)
        assert done.returncode == 0, done.stderr
        assert work.result(place, home) == expected
        del fault.kept[1:-1]  # those of earlier rounds went with their copy of the archive
        fault.check()


def _interrupt(words: list[str], number: int, delay: float) -> None:
    stderr = forking.run(*words, interrupt=(number, delay)).stderr
    early = stderr.rstrip().endswith(b"KeyboardInterrupt")  # before our own code runs
    assert early or b"Traceback" not in stderr, stderr.decode()
