"""While people work, their transcripts are archived by a process that nobody waits for and that ends by itself."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sessionlog.archive import place as projects
from sessionlog.record import spawn_import
from tests.conftest import Hook, rows
from tests.helpers import transcript_files as made

pytestmark = pytest.mark.skipif(not hasattr(os, "posix_spawn"), reason="no importer is started on this system")

FOLLOWING = {"SESSIONLOG_NO_FOLLOW": ""}


def stop(path: Path, event: str = "Stop", **more: Any) -> dict[str, Any]:
    return {"session_id": made.SESSION, "hook_event_name": event, "transcript_path": str(path), "cwd": "/", **more}


def wait_for_import(place: projects.Place, files: int) -> None:
    """The importer has come and gone: its stamp is away and its rows are there."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if rows(place, "SELECT count(*) AS n FROM transcripts WHERE file_size")[0]["n"] >= files:
            return
        time.sleep(0.1)
    raise AssertionError("nothing was imported")


def wait_until_warm(place: projects.Place) -> None:
    """The search index and the counts know all of the archive, though nobody has asked."""
    newest = rows(place, "SELECT (SELECT max(id) FROM events) AS e, (SELECT max(id) FROM transcript_parts) AS m")[0]
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with suppress(sqlite3.Error):
            known = [
                sqlite3.connect(f"file:{place.db}{ending}?mode=ro", uri=True)
                .execute("SELECT event_id, message_id FROM progress")
                .fetchone()
                for ending in (".search", ".digest")
            ]
            if known == [(newest["e"], newest["m"])] * 2:
                return
        time.sleep(0.1)
    raise AssertionError("nothing was brought up to date")


def stamps(home: Path) -> list[Path]:
    return list((home / ".local/share/sessionlog/following").glob("*"))


@pytest.mark.parametrize("event", ["Stop", "SubagentStop", "PreCompact", "SessionEnd"])
def test_the_transcript_and_its_sub_agents_are_in_the_archive_soon(
    event: str, home: Path, hook: Hook, place: projects.Place
) -> None:
    """The importer has the standard library alone, and writes where the hooks write."""
    path = made.recorded(home) / f"{made.SESSION}.jsonl"
    hook(stop(path, event), **FOLLOWING)
    assert len(stamps(home)) == 1
    wait_for_import(place, 5)
    assert stamps(home) == []
    assert made.archived(place, path) == path.read_bytes()
    assert {row["session_id"] for row in rows(place, "SELECT session_id FROM transcript_parts")} == {made.SESSION}
    wait_until_warm(place)


def test_many_events_cost_one_import_and_later_ones_another(home: Path, hook: Hook, place: projects.Place) -> None:
    path = made.recorded(home) / f"{made.SESSION}.jsonl"
    for number in range(5):
        hook(stop(path, last_assistant_message=str(number)), **FOLLOWING)
    assert len(stamps(home)) == 1
    wait_for_import(place, 5)
    with path.open("ab") as file:
        file.write(made.line("more", made.SESSION))
    hook(stop(path, "SessionEnd"), **FOLLOWING)
    deadline = time.monotonic() + 60
    while made.archived(place, path) != path.read_bytes() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert made.archived(place, path) == path.read_bytes()


@pytest.mark.parametrize("how", ["environment", "config", "no transcript", "other event"])
def test_no_importer_is_started_where_none_is_wanted(how: str, home: Path, hook: Hook, place: projects.Place) -> None:
    path = made.recorded(home) / f"{made.SESSION}.jsonl"
    environment = {} if how == "environment" else FOLLOWING
    if how == "config":
        folder = home / ".local/share/sessionlog"
        folder.mkdir(parents=True)
        (folder / "config.json").write_text(json.dumps({"transcripts": {"follow": False}}))
    payload = stop(path if how != "no transcript" else path.with_name("gone.jsonl"))
    hook(payload | ({"hook_event_name": "Notification"} if how == "other event" else {}), **environment)
    assert len(rows(place)) == 1
    assert stamps(home) == []


@pytest.mark.parametrize(
    "age", [2 * spawn_import.STALE, -2 * spawn_import.STALE], ids=["old", "after the clock stepped back"]
)
def test_a_stamp_that_a_dead_importer_left_is_taken_over(
    home: Path, place: projects.Place, monkeypatch: pytest.MonkeyPatch, age: float
) -> None:
    monkeypatch.delenv("SESSIONLOG_NO_FOLLOW")
    started: list[list[str]] = []
    monkeypatch.setattr(spawn_import, "_spawn", started.append)
    path = made.recorded(home) / f"{made.SESSION}.jsonl"
    assert (
        spawn_import.start(place, "../../evil", str(path)) is False
    )  # no folder of the archive yet: nothing was recorded
    os.makedirs(place.home)
    assert spawn_import.start(place, "../../evil", str(path)) is True
    assert [stamp.name for stamp in stamps(home)] == ["evil"]
    assert spawn_import.start(place, "../../evil", str(path)) is False
    then = time.time() - age
    os.utime(stamps(home)[0], (then, then))
    assert spawn_import.start(place, "../../evil", str(path)) is True
    assert len(started) == 2
