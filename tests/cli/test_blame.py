"""`sessionlog blame` and `sessionlog why` as they are typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from sessionlog.archive.place import Place
from sessionlog.cli.main import cli
from tests.helpers.archives import call, event, store


@pytest.fixture
def file(place: Place) -> str:
    """A file with a line of a session and one of nobody."""
    path = f"{place.project}/cart.py"
    Path(path).write_text("total = 0\n# by hand \x1b[31m\n")
    store(
        place,
        event("SessionStart", source="startup", model="claude-opus-5-5"),
        event("UserPromptSubmit", prompt="Count from zero", prompt_id="p1"),
        call("Write", file_path=path, content="total = 0\n"),
    )
    return path


def run(*arguments: str) -> str:
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_blame_names_session_model_and_prompt(file: str) -> None:
    first, second = run("blame", file).splitlines()
    assert (
        first.startswith("s1 ")
        and "opus-5-5" in first
        and "Count from zero" in first
        and first.endswith("1) total = 0")
    )
    assert "not recorded" in second and "\x1b" not in second


def test_blame_for_machines(file: str) -> None:
    found = json.loads(run("blame", file, "--json", "-L", "1"))
    (line,) = found["lines"]
    assert (line["source"], line["event"], line["session_id"], line["agent"]) == ("edit", "e3", "s1", "claude-code")
    assert line["prompt"]["text"] == "Count from zero"
    lines = run("blame", file, "--porcelain", "-L", "1,+1").splitlines()
    assert lines[0] == f"{'0' * 40} 1 1 1" and "session s1" in lines and lines[-1] == "\ttotal = 0"


def test_why_tells_the_story(file: str) -> None:
    told = run("why", f"{file}:1")
    assert "e2 prompt  Count from zero" in told and "e3 Write" in told and "+ total = 0" in told
    assert "not recorded" in run("why", f"{file}:2")
    assert json.loads(run("why", f"{file}:1", "--json"))["edits"][0]["event"] == "e3"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["blame", "{}", "-L", "9"], "the file has 2 lines"),
        (["blame", "{}", "-L", "x"], "write it as"),
        (["blame", "{}", "--rev", "HEAD"], "in no git repository"),
        (["blame", "{}.gone"], "cannot be read"),
        (["why", "{}:9"], "has 2 lines"),
        (["why", "{}"], "FILE:LINE"),
    ],
)
def test_what_is_wrong_is_said(file: str, arguments: list[str], said: str) -> None:
    done = CliRunner().invoke(cli, [argument.format(file) for argument in arguments])
    assert done.exit_code != 0 and said in f"{done.output}{done.exception}"
