"""Bytes of the archive are wrong, cut off or gone."""

from __future__ import annotations

import os
import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from sessionlog.archive import files, read
from sessionlog.archive import place as projects
from tests.faults.ledger import Fault, assert_sound
from tests.helpers.archives import store
from tests.record.test_hook import tool


def fill(place: projects.Place, count: int) -> list[str]:
    """Events that were there before the fault, and nobody has the archive open."""
    store(place, *(tool(-number, tool_response="x" * (number % 9 * 500)) for number in range(1, count + 1)))
    Path(f"{place.db}.lock").unlink()
    assert sorted(os.listdir(place.home)) == [f"{place.name}.db"]
    return [f"toolu_{-number}" for number in range(1, count + 1)]


def readable(db: str) -> list[str]:
    """The three newest tool calls of an archive; what lies before them need not be readable."""
    with closing(sqlite3.connect(db)) as connection:
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        query = "SELECT tool_use_id FROM events NOT INDEXED ORDER BY id DESC LIMIT 3"
        return [name for (name,) in connection.execute(query)]


def spoiled(data: bytes, dice: random.Random) -> bytes:
    """As a failing disk gives it back: some bytes, a sector or a page are not what they were."""
    damaged = bytearray(data)
    kind = dice.choice(["bits", "bits", "sector", "zeros", "header"])
    for _ in range(dice.choice([1, 4, 30]) if kind in ("bits", "header") else dice.choice([1, 3])):
        match kind:
            case "bits":
                damaged[dice.randrange(len(damaged))] ^= 1 << dice.randrange(8)
            case "header":
                damaged[dice.randrange(100)] ^= 1 << dice.randrange(8)
            case "sector" | "zeros":
                start = dice.randrange(len(damaged) // 512) * 512
                damaged[start : start + 512] = dice.randbytes(512) if kind == "sector" else bytes(512)
    return bytes(damaged)


@pytest.mark.fault("database corrupted at random offsets")
def test_a_database_with_wrong_bytes(fault: Fault, dice: random.Random, times: int) -> None:
    """SQLite does not see every wrong bit; what it does see costs no event, and the damaged file stays."""
    place = fault.place
    fill(place, 120)
    sound = Path(place.db).read_bytes()
    for _ in range(10 * times):
        for path in Path(place.home).iterdir():
            path.unlink()
        Path(place.db).write_bytes(damaged := spoiled(sound, dice))
        fault.kept.clear()
        fault.said.clear()
        for _ in range(3):
            assert fault.hook().returncode == 0
        aside = files.damaged(place.db)
        waiting = projects.waiting_spools(place)
        stored: list[str] = []
        if not waiting:
            stored = readable(place.db)
        for path in waiting:
            lines = Path(path).read_text().splitlines()[1:]
            stored += [name for name in fault.kept if any(name in line for line in lines)]
            assert fault.said, "a hook that cannot store says so"
        for path in aside:
            assert Path(path).read_bytes()[: len(damaged)] == damaged or Path(f"{path}-wal").exists(), "kept as it was"
            assert any(path in notice for notice in read.notices(place))
        fault.account_for(stored + [name for path in aside for name in _old(path) if name in fault.kept])


def _old(path: str) -> list[str]:
    try:
        return readable(path)
    except sqlite3.DatabaseError:
        return []


@pytest.mark.fault("database damaged beyond use")
@pytest.mark.parametrize("damage", ["header", "every page", "truncated"])
def test_a_damaged_database_is_set_aside_and_a_new_one_starts(fault: Fault, damage: str) -> None:
    place = fault.place
    fill(place, 60)
    data = bytearray(Path(place.db).read_bytes())
    match damage:
        case "header":
            data[:100] = b"not a database at all".ljust(100)
        case "every page":
            for start in range(4096, len(data), 4096):
                data[start : start + 4096] = os.urandom(4096)
        case "truncated":
            del data[len(data) // 4096 // 2 * 4096 :]
    Path(place.db).write_bytes(data)
    fault.hook()
    (aside,) = files.damaged(place.db)
    assert Path(aside).read_bytes()[: len(data)] == bytes(data), "never changed, never deleted"
    fault.is_told(aside, "was set aside")
    assert fault.hook().stderr == b""
    assert fault.check() == fault.kept
    assert_sound(place)


@pytest.mark.fault("database damaged beyond use")
def test_many_hooks_on_a_damaged_database_set_it_aside_once(fault: Fault) -> None:
    fill(fault.place, 1)
    Path(fault.place.db).write_bytes(b"garbage" * 2000)
    done = fault.hooks(16, at_once=16)
    assert {result.returncode for result in done} == {0}
    fault.hook()
    assert len(files.damaged(fault.place.db)) == 1
    assert len(fault.check()) == 17


def recorded(fault: Fault, count: int) -> list[str]:
    """Events that are in the WAL, one after the other."""
    fault.kept.clear()
    for _ in range(count):
        fault.hook()
    names, fault.kept = fault.kept, []
    return names


@pytest.mark.fault("truncated WAL")
def test_a_wal_that_was_cut_off(fault: Fault, dice: random.Random, times: int) -> None:
    """What the cut took is gone; all before it and all after it is there, and the archive is sound."""
    place = fault.place
    for _ in range(3 * times):
        before = recorded(fault, 4)
        wal = Path(f"{place.db}-wal")
        os.truncate(wal, dice.randrange(wal.stat().st_size))
        fault.hooks(3)
        stored = fault.check()
        assert_sound(place)
        survived = [name for name in stored if name in before]
        assert survived == before[: len(survived)]
        for path in Path(place.home).iterdir():
            path.unlink()


@pytest.mark.fault("truncated WAL")
def test_a_wal_that_is_cut_off_under_a_reader(fault: Fault) -> None:
    """A page in a browser has the archive open: it holds on to what is no longer there, and hooks must not trip."""
    recorded(fault, 4)
    with closing(sqlite3.connect(fault.place.db)) as reader:
        reader.execute("SELECT count(*) FROM events").fetchone()
        wal = Path(f"{fault.place.db}-wal")
        os.truncate(wal, wal.stat().st_size // 2)
        fault.hooks(3)
    fault.hook()
    fault.check()
    assert_sound(fault.place)


@pytest.mark.fault("deleted -shm")
@pytest.mark.parametrize("reader", [False, True], ids=["at rest", "under a reader"])
def test_the_shared_memory_file_is_deleted(fault: Fault, times: int, reader: bool) -> None:
    """Readers open the archive read-only: one that could write would, with what it remembers, undo what hooks wrote."""
    place = fault.place
    fault.hook()
    connection = read.connect(place)
    if not reader:
        connection.close()
    for _ in range(2 * times):
        fault.hooks(4)
        if reader:
            connection.execute("SELECT count(*) FROM events").fetchone()
        Path(f"{place.db}-shm").unlink(missing_ok=True)
        fault.hooks(4)
    connection.close()
    fault.hook()
    assert set(fault.check()) == set(fault.kept)
    assert_sound(place)
