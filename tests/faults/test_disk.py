"""The disk is full, read-only or gone; the database is locked."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sessionlog.archive import place as projects
from tests.conftest import rows
from tests.faults.conftest import Disk
from tests.faults.ledger import Fault, assert_sound, sessionlog
from tests.helpers.transcript_files import line, transcript

BIG = "x" * 20_000

# Every command that reads, and those that write: on a disk that takes nothing they say so and harm nothing.
READ = (
    ["sessions"],
    ["show", "last"],
    ["stats"],
    ["audit"],
    ["sql", "SELECT count(*) FROM events"],
    ["export", "last"],
)
WRITE = (
    ["import"],
    ["search", "echo"],
    ["prune", "--session", "s1", "--yes"],
    ["redact", "--value", "secret-value", "--yes"],
)


@pytest.fixture
def on_disk(disk: Disk, fault: Fault, project: Path, monkeypatch: pytest.MonkeyPatch) -> projects.Place:
    """The archive is on the small disk; the home directory is elsewhere."""
    disk.mount("size=700k")
    monkeypatch.setenv("SESSIONLOG_HOME", f"{disk.folder}/sessionlog")
    fault.place = projects.place(os.path.realpath(project))
    return fault.place


@pytest.mark.fault("disk full: the archive's")
def test_on_a_full_disk_events_wait_elsewhere(fault: Fault, disk: Disk, on_disk: projects.Place, home: Path) -> None:
    fault.hooks(5, at_once=1)
    before = rows(on_disk)
    filler = disk.folder / "filler"
    for _ in range(25):
        fault.hook(fault.payload(tool_response=BIG))
    assert any("disk is full" in said for said in fault.said), fault.said
    filler.write_bytes(b"")
    with pytest.raises(OSError), filler.open("ab") as file:
        while True:
            file.write(b"x" * 4096)
            file.flush()
    fault.hooks(8, at_once=1)
    assert rows(on_disk)[: len(before)] == before
    fault.is_told("waits in", "The next event stores them")
    transcript(home, *(line("word " * 2000) for _ in range(50)))
    for words in (*READ, *WRITE):
        sessionlog(*words)
    filler.unlink()
    disk.remount("size=16m")
    fault.hook()
    assert fault.check() == fault.kept, "all, and in order"
    assert_sound(on_disk)
    assert projects.waiting_spools(on_disk) == []


@pytest.mark.fault("disk full: every disk")
def test_when_there_is_no_room_anywhere_the_hook_says_so(
    fault: Fault, disk: Disk, on_disk: projects.Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(disk.folder / "home"))
    monkeypatch.setenv("TMPDIR", str(disk.folder / "tmp"))
    done = [fault.hook(fault.payload(tool_response=BIG)) for _ in range(40)]
    failed = [result for result in done if result.returncode]
    assert failed and all(b"no spool can be written" in result.stderr for result in failed)
    disk.remount("size=16m")
    assert fault.hook().returncode == 0
    fault.check()
    assert_sound(on_disk)


@pytest.mark.fault("disk full: a limit on file sizes")
def test_a_file_that_may_not_grow(fault: Fault) -> None:
    def limit(size: int) -> dict[str, object]:
        return {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))}

    fault.hook()
    done = fault.hook(fault.payload(tool_response="x" * 300_000), **limit(100_000))
    assert done.returncode == 1, "neither the database nor any spool can take it"
    done = fault.hook(fault.payload(tool_response="y" * 60_000), **limit(80_000))
    assert done.returncode == 0 and b"waits in" in done.stderr, "too much for the WAL, not for the spool"
    fault.hook()
    fault.check()
    assert_sound(fault.place)


@pytest.mark.fault("read-only file system")
@pytest.mark.parametrize("at_rest", [True, False], ids=["closed", "with a WAL"])
def test_on_a_read_only_disk_events_wait_and_all_can_be_read(
    fault: Fault, disk: Disk, on_disk: projects.Place, home: Path, at_rest: bool
) -> None:
    fault.hooks(6)
    if at_rest:
        rows(on_disk)  # who closes the last connection empties the WAL
    disk.remount("ro")
    before = {path: path.read_bytes() for path in disk.folder.rglob("*") if path.is_file()}
    fault.hooks(6)
    assert all("waits in" in said for said in fault.said)
    transcript(home, line("hello"))
    for words in READ:
        done = sessionlog(*words)
        assert done.returncode == 0, done.stderr
    assert "6" in sessionlog("sql", "SELECT count(*) FROM events").stdout
    assert len(json.loads(sessionlog("search", "echo", "--json").stdout)) == 6
    assert "cannot be written: new events wait elsewhere" in sessionlog("doctor").stdout
    for words in WRITE:
        sessionlog(*words)
    fault.is_told("events wait in")
    assert {path: path.read_bytes() for path in disk.folder.rglob("*") if path.is_file()} == before
    disk.remount("rw")
    fault.hook()
    assert len(fault.check()) == 13
    assert_sound(on_disk)


@pytest.mark.fault("folder removed mid-run")
def test_the_folder_is_removed_mid_run(fault: Fault, times: int) -> None:
    for _ in range(times):
        worker = threading.Thread(target=fault.hooks, args=(24,))
        worker.start()
        for _ in range(5):
            shutil.rmtree(fault.place.home, ignore_errors=True)
            time.sleep(0.05)
        worker.join()
        shutil.rmtree(fault.place.home)
        fault.kept.clear()  # what was in the folder went with it; from now on nothing may be missing
        fault.hooks(12)
        fault.check()
        assert_sound(fault.place)


@contextmanager
def locked(place: projects.Place, how: str) -> Iterator[None]:
    """Another process holds the lock, for as long as the block runs."""
    script = {
        "flock": "import fcntl; file = open(sys.argv[1], 'a'); fcntl.flock(file, fcntl.LOCK_EX)",
    }.get(how, f"import sqlite3; c = sqlite3.connect(sys.argv[1], isolation_level=None); c.execute('BEGIN {how}')")
    with subprocess.Popen(
        [sys.executable, "-c", f"import sys; {script}; print(flush=True); sys.stdin.read()", place.db],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout and process.stdout.readline() == b"\n"
        yield
        process.communicate()


@pytest.mark.fault("database locked (60 s with --faults-times 2)")
def test_a_locked_database_stops_nobody(fault: Fault, times: int) -> None:
    fault.hook()
    until = time.monotonic() + (60 if times > 1 else 0)
    with locked(fault.place, "IMMEDIATE"):
        fault.hooks(6, at_once=1)
        while time.monotonic() < until:
            fault.hooks(8)
        fault.is_told("waits in", "events wait in")
    fault.hook()
    fault.check()
    assert_sound(fault.place)


@pytest.mark.fault("lock files held by another process")
@pytest.mark.parametrize("name", ["lock", "spool"])
def test_a_lock_that_is_never_let_go(fault: Fault, name: str) -> None:
    Path(fault.place.home).mkdir(parents=True)
    with locked(projects.Place("", "", f"{fault.place.db}.{name}"), "flock"):
        if name == "spool":
            Path(f"{fault.place.db}.spool").write_bytes(b'{"spool":"0"}\n')
        fault.hooks(6)
    fault.hook()
    fault.check()
    assert_sound(fault.place)
