"""`sessionlog` without arguments, in a real terminal."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from sessionlog.archive import notes
from sessionlog.archive.place import Place
from sessionlog.ask.rollup import open as rollup
from tests.conftest import Hook
from tests.helpers.waiting import wait_for
from tests.record.test_hook import prompt, tool

terminal = pytest.importorskip("tests.helpers.terminal", reason="needs a POSIX terminal", exc_type=ImportError)


@pytest.fixture
def two_sessions(hook: Hook, place: Place) -> Place:
    hook(prompt("paint the shed", session_id="aaaa-shed"))
    hook(tool(1, session_id="aaaa-shed", tool_response={"stdout": "a word that only the output has: zanzibar"}))
    hook(prompt("mend the roof", session_id="bbbb-roof", cwd=place.project))
    return place


def opened(columns: int = 120, PAGER: str = "cat", **environment: str) -> terminal.Terminal:
    picker = terminal.Terminal(terminal.SESSIONLOG, columns=columns, rows=30, PAGER=PAGER, **environment)
    picker.wait_for("mend the roof")
    return picker


def test_typing_finds_and_enter_shows(two_sessions: Place) -> None:
    picker = opened()
    picker.wait_for("session bbbb-roof")  # the preview
    picker.type("shed")
    picker.wait_for("session aaaa-shed")
    picker.type("\r")
    seen = picker.end()
    assert seen.code == 0 and "$ echo 1" in seen.text.rpartition("session aaaa-shed")[2]


def test_typing_searches_all_that_was_recorded(two_sessions: Place) -> None:
    picker = opened()
    picker.type("zanzibar")
    picker.wait_for("session aaaa-shed")
    picker.type("\x1b")
    assert picker.end().code == 0


def opened_beside_client(folder: Path) -> terminal.Terminal:
    """A picker that finds the agent's command on its PATH."""
    client = folder / "bin" / "claude"
    client.parent.mkdir()
    client.write_text('#!/bin/sh\necho "resumed: $@ in $(pwd)"\n')
    client.chmod(0o755)
    return opened(PATH=f"{client.parent}:{os.environ['PATH']}")


def test_resume_becomes_the_client_in_the_folder_of_the_session(two_sessions: Place, tmp_path: Path) -> None:
    picker = opened_beside_client(tmp_path)
    picker.type("\x12")
    assert f"resumed: --resume bbbb-roof in {two_sessions.project}" in picker.end().text


def test_export_writes_a_page(two_sessions: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    picker = opened(columns=60, PAGER="less")  # without a preview
    picker.type("\r")
    picker.wait_for("(END)")
    picker.type("q")  # back to the list
    picker.type("\x05")
    picker.end()
    assert "mend the roof" in (tmp_path / "session-bbbb-roo.html").read_text()


def test_a_large_archive_is_counted_meanwhile(two_sessions: Place) -> None:
    with closing(sqlite3.connect(two_sessions.db)) as connection:  # as if there were as many as nobody waits for
        connection.execute("UPDATE sessions SET events = events + 30000 WHERE session_id = 'bbbb-roof'")
        connection.commit()
    picker = opened(columns=80, SESSIONLOG_NO_FOLLOW="")
    picker.wait_for("Not all events are counted yet: older sessions have no first prompt here.")
    wait_for(lambda: Path(rollup.KIND.path(two_sessions)).exists() and not rollup.is_being_made(two_sessions))
    picker.type("\x1b")
    assert picker.end().code == 0
    with closing(rollup.connect(two_sessions, most=0)) as connection:
        assert not rollup.is_preview(connection)


def test_without_a_terminal_it_is_the_help(two_sessions: Place) -> None:
    done = subprocess.run([terminal.SESSIONLOG], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Usage: sessionlog")


def test_nothing_recorded_says_what_to_do(place: Place) -> None:
    picker = terminal.Terminal(terminal.SESSIONLOG, columns=120, rows=30)
    picker.wait_for("sessionlog install")
    picker.type("\x03")
    seen = picker.end()
    assert seen.code == 130 and "Traceback" not in seen.text and "Aborted" not in seen.text


def test_tags_and_notes_are_found_and_shown(two_sessions: Place) -> None:
    notes.change(two_sessions, "aaaa-shed", add_tags=["garden"], note="ask Ann about the colour")
    picker = opened()
    picker.type("garden ann")
    picker.wait_for("ask Ann about the colour")
    picker.type("\x1b")
    assert picker.end().code == 0


def test_another_project_is_a_tab_away(
    two_sessions: Place, tmp_path: Path, hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CLAUDE_PROJECT_DIR", raising=False)
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    picker = opened()
    picker.type("\t")
    picker.wait_for("press Tab")
    picker.type("\x1b")
    assert picker.end().code == 0


def test_resume_where_the_folder_is_gone_says_so(two_sessions: Place, tmp_path: Path) -> None:
    picker = opened_beside_client(tmp_path)
    Path(two_sessions.project).rename(tmp_path / "moved")
    picker.type("\x12")
    seen = picker.end()
    assert seen.code == 1 and "out of reach" in seen.text and "claude --resume bbbb-roof" in seen.text
