"""The report of a week."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sessionlog.archive.place import Place
from tests.cli.test_cli import failing, printed, run
from tests.conftest import Hook
from tests.helpers.recording import hostile_session, record
from tests.record.test_hook import prompt, tool

EDIT = {"file_path": "/p/cart.py", "old_string": "a", "new_string": "b"}


@pytest.fixture
def week(hook: Hook, place: Place) -> None:
    hook(prompt("make the *cart* faster"))
    hook(tool(1, tool_name="Edit", tool_input=EDIT))
    hook({**tool(2), "hook_event_name": "PostToolUseFailure", "error": "Exit code 2\nboom"})


def test_it_says_what_was_asked_done_and_failed(week: None) -> None:
    text = printed("report")
    assert "1 session · 1 prompt · 2 tool calls · 1 failed · 1 file changed" in text
    assert r"- make the \*cart\* faster" in text
    assert "Changed: `/p/cart.py`" in text
    assert "- `echo 2` (exit 2)" in text


def test_as_one_page(week: None, tmp_path: Path) -> None:
    printed("report", "--format", "html", "-o", str(tmp_path / "week.html"))
    page = (tmp_path / "week.html").read_text()
    assert "<li>make the *cart* faster</li>" in page and "Content-Security-Policy" in page


def test_a_file_that_cannot_be_written_is_called_by_its_name(
    week: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (["report", "-o"], ["backup"]):
        message = failing(monkeypatch, capsys, *words, str(tmp_path / "none" / "x.out"))
        assert "none/x.out: No such file or directory" in message
        assert "draft" not in message and "Errno" not in message


def test_nothing_in_it_acts(place: Place) -> None:
    record(place, hostile_session())
    page = printed("report", "--since", "2000-01-01", "--format", "html")
    assert "pwned" in page
    found = re.findall(r"<([a-z][a-z0-9]*)", page.split("</head>")[1])
    assert set(found) <= {"body", "main", "section", "h1", "h2", "h3", "p", "ul", "li", "code", "table"}


def test_a_week_without_work(place: Place) -> None:
    done = run("report")
    assert (done.exit_code, done.stdout) == (0, "") and "nothing has been recorded" in done.stderr.lower()
