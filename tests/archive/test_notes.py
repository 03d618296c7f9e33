"""Pins, tags and notes: beside the archive, written whole, and never lost by accident."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path

import pytest

from sessionlog.archive import files, notes
from sessionlog.archive.notes import Annotation
from sessionlog.archive.place import Place
from sessionlog.errors import SessionlogError
from sessionlog.maintain import backup, prune, redact
from tests.helpers.archives import event, store

SECRET = "hunter2-hunter2"


@pytest.fixture(autouse=True)
def filled(place: Place) -> None:
    store(place, event("UserPromptSubmit", prompt=f"it is {SECRET}"), event("SessionEnd"))


def test_pins_tags_and_notes_come_and_go(place: Place) -> None:
    assert notes.load(place) == {}
    notes.change(place, "s1", pinned=True)
    notes.change(place, "s1", add_tags=["release 2", "  slow   one "], note=" to look at\n")
    notes.change(place, "s1", "e1", note="here it began")
    known = notes.load(place)
    assert known["s1", ""] == Annotation("s1", "", True, ("release 2", "slow one"), "to look at", known["s1", ""].at)
    assert known["s1", "e1"].note == "here it began"
    notes.change(place, "s1", pinned=False, remove_tags=["release 2", "slow one"], note="")
    notes.change(place, "s1", "e1", note="")
    assert notes.load(place) == {}
    path = notes.path_of(place)
    assert files.is_ours(os.path.basename(path)) and stat.S_IMODE(os.stat(path).st_mode) == 0o600


@pytest.mark.parametrize(
    "wrong",
    [
        lambda place: notes.change(place, "", pinned=True),
        lambda place: notes.change(place, "s1", "../etc", pinned=True),
        lambda place: notes.change(place, "s1", add_tags=["x" * 61]),
        lambda place: notes.change(place, "s1", add_tags=[" "]),
        lambda place: notes.change(place, "s1", note="x" * 10_001),
    ],
)
def test_what_is_no_annotation_is_refused(place: Place, wrong: Callable[[Place], None]) -> None:
    with pytest.raises(SessionlogError):
        wrong(place)
    assert notes.load(place) == {}


def test_a_broken_file_is_told_and_stays(place: Place) -> None:
    path = Path(notes.path_of(place))
    for content in ("{", '{"annotations": [{"session": 1}]}', "[]"):
        path.write_text(content)
        with pytest.raises(SessionlogError, match="cannot be read"):
            notes.change(place, "s1", pinned=True)
        assert path.read_text() == content


def test_many_writers_lose_nothing(place: Place) -> None:
    context = get_context("spawn")
    children = [context.Process(target=_tag, args=(place.home, place.project, place.db, n)) for n in range(4)]
    for child in children:
        child.start()
    for child in children:
        child.join(60)
        assert child.exitcode == 0
    assert notes.load(place)["s1", ""].tags == tuple(sorted(f"{n}-{m}" for n in range(4) for m in range(10)))


def _tag(home: str, project: str, db: str, number: int) -> None:
    for again in range(10):
        notes.change(Place(home, project, db), "s1", add_tags=[f"{number}-{again}"])


def test_redact_reaches_them_and_prune_and_backup_keep_them(place: Place, tmp_path: Path) -> None:
    notes.change(place, "s1", pinned=True, note=f"the password is {SECRET}", add_tags=[SECRET])
    rules = redact.GivenRules(place.home, values=[SECRET])
    assert redact.preview(place, rules).rows["notes"] == 2
    assert SECRET in Path(notes.path_of(place)).read_text()
    redact.run(place, rules)
    assert SECRET not in Path(notes.path_of(place)).read_text()
    assert notes.load(place)["s1", ""].pinned

    backup.backup(place, str(tmp_path / "copy.db"))
    copied = json.loads((tmp_path / "copy.db.notes").read_text())
    assert copied["annotations"][0]["session"] == "s1"
    before = notes.load(place)
    prune.run(prune.plan(place, prune.Which(named=frozenset({"s1"}))))
    assert notes.load(place) == before
