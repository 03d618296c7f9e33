"""Every command explains itself, its examples can be typed, and docs/cli.md repeats what it says."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from sessionlog.archive import place as projects
from sessionlog.cli.main import COMMANDS, cli
from tests.conftest import ROOT
from tests.helpers.archives import bash, store
from tools.generate import filled

ABOVE = cli.make_context("sessionlog", [], resilient_parsing=True)


def command_named(name: str) -> click.Command:
    command = cli.get_command(ABOVE, name)
    assert command
    return command


def examples(name: str) -> list[str]:
    heading, *lines = (command_named(name).epilog or "").removeprefix("\b\n").splitlines()
    assert heading == "Examples:"
    return [line.strip() for line in lines]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_says_what_it_does_and_shows_how(name: str) -> None:
    assert command_named(name).help, "a docstring is missing"
    assert examples(name), "@example(…) is missing"
    undocumented = [
        option.name
        for option in command_named(name).params
        if isinstance(option, click.Option) and not (option.help or option.hidden)
    ]
    assert not undocumented


def test_every_example_can_be_typed() -> None:
    for line in [line for name in COMMANDS for line in examples(name)]:
        called = re.findall(r"\bsessionlog ((?:'[^']*'|[^|<>)])+)", line)
        assert called, "the example does not show the command"
        for words in called:
            name, *arguments = shlex.split(words)
            with command_named(name).make_context(name, arguments, parent=ABOVE):  # a usage error is raised here
                pass


def test_the_sql_in_examples_runs(place: projects.Place) -> None:
    store(place, bash("false", name="PostToolUseFailure"))
    runner, ran = CliRunner(), 0
    for line in (line for name in COMMANDS for line in examples(name)):
        for words in re.findall(r"\bsessionlog (sql [^|<>)]*)", line):
            arguments = shlex.split(words)
            if "-" not in arguments:
                done = runner.invoke(cli, arguments)
                assert done.exit_code == 0, f"{line}: {done.exception}"
                ran += 1
    assert ran >= 3


def test_generated_files_are_fresh() -> None:
    # In a process of its own: click remembers -h and --help as the first caller of a command wanted them.
    words = [sys.executable, "tools/generate.py", "--check"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    text = (ROOT / "docs/cli.md").read_text(encoding="utf-8")
    assert all(f"## `sessionlog {name}`" in text for name in COMMANDS)


def test_text_around_a_generated_list_stays() -> None:
    page = filled("# Title\n<!-- list -->\nold\n<!-- /list -->\nThe end.\n", "list", "new\n")
    assert page == "# Title\n<!-- list -->\n\nnew\n\n<!-- /list -->\nThe end.\n"
    assert filled(page, "list", "new\n") == page
    with pytest.raises(SystemExit, match="missing"):
        filled("# Title\n", "list", "new")
