"""A sidecar file is brought up to date where that can be done, and built again where it cannot."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from sessionlog.archive.place import Place
from sessionlog.archive.sidecar import Sidecar
from tests.helpers.archives import event, store

FIRST = "CREATE TABLE progress (archive TEXT, seen INTEGER);\nCREATE TABLE counts (name TEXT, number INTEGER);"
SECOND = "CREATE INDEX counts_name ON counts (name);\nUPDATE counts SET number = number + 1;"
OLD = Sidecar(".search", "WAL", {1: FIRST}, "0")
NEW = OLD._replace(steps={1: FIRST, 2: SECOND})


@pytest.fixture
def filled(place: Place) -> Place:
    os.makedirs(place.home)
    with closing(OLD.open(place, "mine")) as file:
        file.execute("INSERT INTO counts VALUES ('events', 7)")
    return place


def numbers(sidecar: Sidecar, place: Place, identity: str = "mine") -> list[int]:
    with closing(sidecar.open(place, identity)) as file:
        assert file.execute("SELECT * FROM progress").fetchall() == [(identity, 0)]
        return [number for (number,) in file.execute("SELECT number FROM counts")]


def test_it_stays_as_it_is(filled: Place) -> None:
    assert numbers(OLD, filled) == [7]


def test_a_new_version_keeps_what_is_there_and_takes_its_step_once(filled: Place) -> None:
    assert numbers(NEW, filled) == [8]
    assert numbers(NEW, filled) == [8]
    with closing(NEW.open(filled, "mine")) as file:
        assert file.execute("SELECT name FROM pragma_index_list('counts')").fetchall() == [("counts_name",)]


def test_a_new_file_takes_all_steps(place: Place) -> None:
    os.makedirs(place.home)
    assert numbers(NEW, place) == []
    assert os.stat(NEW.path(place)).st_mode & 0o777 == 0o600


def test_a_step_that_fails_leaves_nothing_of_itself_and_the_file_is_built_again(filled: Place) -> None:
    broken = NEW._replace(steps={1: FIRST, 2: "UPDATE counts SET number = 99;\nUPDATE nothing SET x = 1;"})
    with pytest.raises(Exception, match="cannot be made"):
        broken.open(filled, "mine")
    assert numbers(NEW, filled) == []


def test_a_killed_migration_is_finished(filled: Place) -> None:
    with closing(OLD.open(filled, "mine")) as file:  # as if it had been killed before it wrote the version
        file.execute("PRAGMA user_version = 0")
    assert numbers(NEW, filled) == [8]


def test_one_of_a_newer_version_or_another_archive_is_built_again(filled: Place) -> None:
    assert numbers(NEW, filled) == [8]
    assert numbers(OLD, filled) == []
    assert numbers(OLD, filled, "another") == []


@pytest.mark.parametrize("command", [["search", "begin"], ["sessions"], ["stats"], ["show", "last"]])
def test_a_warm_command_does_not_pay_for_sqlite_utils(place: Place, command: list[str], tmp_path: Path) -> None:
    store(place, event("UserPromptSubmit", prompt="Begin"))
    run = "import sys; from sessionlog.cli.main import cli; cli(sys.argv[1:], standalone_mode=False); "
    look = run + "print('sqlite_utils' in sys.modules, file=sys.stderr)"
    found = [
        subprocess.run([sys.executable, "-c", look, *command], capture_output=True, text=True, check=True).stderr
        for _ in range(2)
    ]
    assert found[1] == "False\n"
