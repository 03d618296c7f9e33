"""Promise 2: what cannot reach the database waits in a file, and comes home in order, once."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from sessionlog.archive import place as projects
from sessionlog.archive import read
from tests.conftest import HANDLERS, PYTHON, Hook, rejected, rows
from tests.record.test_hook import prompt, tool


def prompts(place: projects.Place) -> list[str]:
    return [row["prompt"] for row in rows(place)]


@pytest.fixture
def spool_file(place: projects.Place) -> Path:
    return Path(f"{place.db}.spool")


class Locked:
    """Another process's write lock on the archive."""

    def __init__(self, place: projects.Place) -> None:
        self.connection = sqlite3.connect(place.db, isolation_level=None, check_same_thread=False)

    def __enter__(self) -> None:
        self.connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, *_: object) -> None:
        self.connection.execute("ROLLBACK")
        self.connection.close()


def timed(hook: Hook, payload: dict[str, Any]) -> tuple[subprocess.CompletedProcess[bytes], float]:
    started = time.monotonic()
    done = hook(payload)
    return done, time.monotonic() - started


def test_a_locked_database_delays_a_session_shortly_and_only_once(
    hook: Hook, place: projects.Place, spool_file: Path
) -> None:
    hook(prompt("one"))
    with Locked(place):
        done, first_wait = timed(hook, prompt("two"))
        later_waits = [timed(hook, prompt(text))[1] for text in ("three", "four", "five")]
    assert done.returncode == 0 and b"waits in" in done.stderr
    assert min(later_waits) < first_wait < 60, "a busy machine holds up some of them, but not all"
    assert len(spool_file.read_text().splitlines()) == 5  # a header and four events
    assert hook(prompt("six")).stderr == b""
    assert prompts(place) == ["one", "two", "three", "four", "five", "six"]
    assert spool_file.read_bytes() == b""
    at = [row["at"] for row in rows(place)]
    assert at == sorted(at), "an event keeps the time at which it happened"


def test_what_waits_comes_home_with_the_next_command_too(hook: Hook, place: projects.Place, spool_file: Path) -> None:
    hook(prompt("one"))
    with Locked(place):
        hook(prompt("two"))
    read.connect(place).close()
    assert prompts(place) == ["one", "two"]
    assert spool_file.read_bytes() == b""


def test_many_writers_share_a_spool(hook: Hook, place: projects.Place, spool_file: Path) -> None:
    hook(prompt("one"))
    with Locked(place), ThreadPoolExecutor(32) as pool:
        list(pool.map(lambda number: hook(tool(number, tool_response="x" * 100_000)), range(32)))
    lines = spool_file.read_bytes().splitlines()
    assert len(lines) == 33
    assert all(json.loads(line) for line in lines)
    for _ in range(3):  # one hook brings home only so much
        hook(prompt("more"))
    assert sorted(row["tool_use_id"] for row in rows(place) if row["tool_use_id"]) == sorted(
        f"toolu_{number}" for number in range(32)
    )
    assert spool_file.read_bytes() == b""


def test_a_process_killed_between_commit_and_clean_up_brings_nothing_home_twice(
    hook: Hook, place: projects.Place, spool_file: Path
) -> None:
    hook(prompt("one"))
    with Locked(place):
        hook(prompt("two"))
        hook(prompt("two"))  # equal prompts are two events
    saved = spool_file.read_bytes()
    read.connect(place).close()
    assert prompts(place) == ["one", "two", "two"]
    spool_file.write_bytes(saved)  # as if the process had died after the commit, before it emptied the spool
    hook(prompt("three"))
    hook(prompt("four"))
    assert prompts(place) == ["one", "two", "two", "three", "four"]


def test_a_torn_line_is_kept_and_harms_nothing(hook: Hook, place: projects.Place, spool_file: Path, home: Path) -> None:
    hook(prompt("one"))
    with Locked(place):
        hook(prompt("two"))
        with spool_file.open("ab") as file:
            file.write(b'[1794793274736,"any_ev')  # a writer was killed here
        hook(prompt("three"))
    hook(prompt("four"))
    assert prompts(place) == ["one", "two", "three", "four"]
    assert [path.read_bytes() for path in rejected(home)] == [b'[1794793274736,"any_ev\n']


@pytest.mark.parametrize(
    "line", [b"{}", b"[]", b"[1,2,3,4,5]", b'[1,"v",null,null,"no object"]', b'["x","v",null,null,{}]']
)
def test_foreign_lines_in_a_spool_are_rejected(
    hook: Hook, place: projects.Place, spool_file: Path, home: Path, line: bytes
) -> None:
    hook(prompt("one"))
    spool_file.write_bytes(b'{"spool":"0123"}\n' + line + b"\n")
    hook(prompt("two"))
    assert prompts(place) == ["one", "two"]
    assert [path.read_bytes().strip() for path in rejected(home)] == [line]


def test_when_the_archive_folder_cannot_be_used_the_event_waits_elsewhere(
    hook: Hook, place: projects.Place, home: Path
) -> None:
    folder = Path(place.home)
    folder.parent.mkdir(parents=True)
    folder.write_text("a file where the folder should be")
    done = hook(prompt("one"))
    assert done.returncode == 0
    assert (home / ".local/state/sessionlog" / f"{place.name}.db.spool").exists()
    folder.unlink()
    hook(prompt("two"))
    assert prompts(place) == ["one", "two"]


def test_without_any_place_to_write_the_hook_says_so_and_ends_with_1(hook: Hook, tmp_path: Path) -> None:
    file = tmp_path / "a file"
    file.touch()
    done = hook(prompt("x"), HOME=str(file), TMPDIR=str(file))
    assert done.returncode == 1
    assert b"no spool can be written" in done.stderr


def test_spool_paths_belong_to_one_project_each(tmp_path: Path) -> None:
    places = [projects.place(str(tmp_path / name)) for name in ("a/shop", "b/shop")]
    assert not set(projects.spool_paths(places[0])) & set(projects.spool_paths(places[1]))


def test_a_line_is_whole_or_not_there(place: projects.Place, tmp_path: Path) -> None:
    """Half a line would be taken for a torn one; a failed write takes back what it wrote."""
    path = tmp_path / "spool"
    script = (
        "import resource, sys; sys.path.insert(0, sys.argv[1]); from sessionlog.archive import spool\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))\n"
        "spool._append_line(sys.argv[2], b'a' * 3000 + b'\\n', 1)\n"
        "try: spool._append_line(sys.argv[2], b'b' * 3000 + b'\\n', 1)\n"
        "except OSError: sys.exit(7)"
    )
    done = subprocess.run([*PYTHON, "-c", script, str(HANDLERS.parent), str(path)], check=False)
    assert done.returncode == 7
    assert b"b" not in path.read_bytes().split(b"\n", 1)[1]
    assert path.read_bytes().endswith(b"a\n")
