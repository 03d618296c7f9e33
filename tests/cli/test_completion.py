"""The Tab key: commands, options and session ids, through the shells' own protocol."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from sessionlog.archive import place as projects
from sessionlog.cli import completion
from sessionlog.cli.main import COMMANDS, cli
from tests.conftest import ROOT, Hook


@pytest.fixture(autouse=True)
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `sessionlog` on PATH."""
    script = tmp_path / "bin" / "sessionlog"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m sessionlog "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}:/usr/bin:/bin")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return script


@pytest.fixture
def recorded(hook: Hook) -> None:
    for session, prompt in (("aaa-1", "Fix the: login\nnow"), ("aab-2", ""), ("b-3", "x"), ("a$(reboot)", "x")):
        hook({"session_id": session, "hook_event_name": "UserPromptSubmit", "prompt": prompt})


def complete(shell: str, words: str, number: int) -> str:
    """What the completion script of a shell asks, and gets."""
    incomplete = (words + " ").split(" ")[number]
    environment = {**os.environ, "_SESSIONLOG_COMPLETE": f"{shell}_complete", "COMP_WORDS": words}
    environment["COMP_CWORD"] = incomplete if shell == "fish" else str(number)
    done = subprocess.run(["sessionlog"], env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.strip()


def test_commands_and_options(project: Path) -> None:
    names = complete("bash", "sessionlog ", 1).split()
    assert names == [f"plain,{name}" for name in sorted(COMMANDS)]
    assert complete("zsh", "sessionlog unin", 1) == f"plain\nuninstall\n{COMMANDS['uninstall'][1]}"
    assert "plain,--json" in complete("bash", "sessionlog show --", 2)
    assert complete("bash", "sessionlog completion ", 2).split() == ["plain,bash", "plain,zsh", "plain,fish"]


def test_to_name_the_commands_imports_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sessionlog.cli.main.importlib.import_module", lambda name: pytest.fail(f"imported {name}"))
    items = cli.shell_complete(click.Context(cli), "")
    assert {item.value: item.help for item in items} == {name: about for name, (_, about) in COMMANDS.items()}


def test_session_ids_with_their_first_prompt(recorded: None) -> None:
    assert complete("bash", "sessionlog show a", 2).split() == ["plain,aab-2", "plain,aaa-1"]  # newest first
    assert complete("bash", "sessionlog show ", 2).split()[0] == "plain,last"
    kind, value, about = complete("zsh", "sessionlog show aaa", 2).splitlines()
    assert (kind, value) == ("plain", "aaa-1")
    assert about.endswith(" Fix the: login now")
    assert complete("fish", "sessionlog show aaa", 2).startswith("plain,aaa-1\t2")


def test_session_ids_of_another_project_and_of_all(
    recorded: None, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CLAUDE_PROJECT_DIR")
    monkeypatch.chdir(tmp_path)
    assert complete("bash", "sessionlog show b", 2) == ""
    assert complete("bash", f"sessionlog show --project {project} b", 4) == "plain,b-3"
    assert complete("bash", "sessionlog show --all b", 3) == "plain,b-3"


def test_a_broken_archive_offers_nothing_and_says_nothing(place: projects.Place) -> None:
    Path(place.db).parent.mkdir(parents=True)
    Path(place.db).write_bytes(b"this is no database" * 100)
    assert complete("bash", "sessionlog show a", 2) == ""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_asks_in_the_way_of_its_shell(shell: str) -> None:
    done = CliRunner().invoke(completion.command, [shell])
    assert done.exit_code == 0
    assert f"_SESSIONLOG_COMPLETE={shell}_complete" in done.output


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash")
def test_bash_itself_completes(recorded: None) -> None:
    script = """
        source <(sessionlog completion bash)
        COMP_WORDS=(sessionlog show aaa) COMP_CWORD=2
        _sessionlog_completion sessionlog
        echo "${COMPREPLY[@]}"
    """
    done = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "aaa-1\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_whatever_has_values_is_completed(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    for parameter in command.params:
        if parameter.name in ("session", "sessions", "table", "tool", "branch", "client", "model") and name != "review":
            assert parameter._custom_shell_complete is not None, f"{name} {parameter.name}"


@pytest.mark.parametrize(
    ("words", "number", "wanted"),
    [
        ("sessionlog audit dang", 2, "dangerous-commands"),
        ("sessionlog schema tool_", 2, "tool_calls"),
        ("sessionlog restore aaa", 2, "aaa-1"),
        ("sessionlog prune --session aab", 3, "aab-2"),
        ("sessionlog sessions --client cla", 3, "claude-code"),
        ("sessionlog config record.ex", 2, "record.exclude"),
    ],
)
def test_values_are_completed(recorded: None, words: str, number: int, wanted: str) -> None:
    assert wanted in complete("bash", words, number)
