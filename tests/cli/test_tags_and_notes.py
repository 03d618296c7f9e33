"""Tags and notes on sessions and moments."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sessionlog.archive.place import Place
from tests.cli.test_cli import failing, printed, run
from tests.conftest import Hook
from tests.record.test_hook import prompt


@pytest.fixture
def two(hook: Hook, place: Place) -> Place:
    hook(prompt("mend the roof", session_id="aaaa"))
    hook(prompt("paint the shed", session_id="bbbb"))
    return place


def test_a_tag_is_a_name(two: Place) -> None:
    assert printed("tag", "aaaa", "release", "v1") == "release\nv1\n"
    assert "mend the roof" in printed("show", "release") and "#release #v1" in printed("show", "aaaa")
    assert printed("tag", "release", "v1", "--remove") == "release\n"
    assert printed("tag", "bbbb") == ""


def test_notes_are_shown_and_found(two: Place) -> None:
    printed("note", "aaaa", "ask", "Ann about the chimney")
    printed("note", "e2", "which colour?")
    assert printed("note", "aaaa") == "ask Ann about the chimney\n"
    assert "note  ask Ann" in printed("show", "aaaa") and "e2  note  which colour?" in printed("show", "bbbb")
    assert "ask Ann about the chimney" in printed("search", "CHIMNEY")
    (found,) = json.loads(printed("search", "chimney", "--json", "--fail-if-none"))
    assert (found["session_id"], found["snippet"], found["field"]) == ("aaaa", "ask Ann about the chimney", "note")
    assert "chimney" not in run("search", "chimney", "--tool", "Bash").stdout
    assert "Removed the note on session aaaa." in run("note", "aaaa", "--remove").stderr
    for words in (["note", "aaaa"], ["note", "aaaa", "--remove"]):  # nothing found, which is no error
        done = run(*words)
        assert (done.exit_code, done.stdout, done.stderr) == (0, "", "No note on session aaaa.\n")


@pytest.mark.parametrize("tag", ["last", "last~2", "today", "e12", "m3"])
def test_a_tag_that_could_never_be_used_is_refused(
    two: Place, tag: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    assert "choose another word" in failing(monkeypatch, capsys, "tag", "aaaa", tag)
