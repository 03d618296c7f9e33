"""The Tab key: commands, options and session ids, through the shells' own protocol."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from sessionlog.archive import notes
from sessionlog.archive import place as projects
from sessionlog.cli import completion
from sessionlog.cli.main import COMMANDS, cli
from sessionlog.install import config_json
from tests.conftest import ROOT, Hook
from tests.record.test_hook import tool


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


def test_a_project_that_is_not_there_offers_nothing_and_says_nothing() -> None:
    for option in ("--branch", "--tool", "--client"):
        assert complete("bash", f"sessionlog sessions --project /no/such {option} ", 5) == ""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_asks_in_the_way_of_its_shell(shell: str) -> None:
    done = CliRunner().invoke(completion.command, [shell])
    assert done.exit_code == 0
    assert f"_SESSIONLOG_COMPLETE={shell}_complete" in done.output


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_real_shell_completes(shell: str, recorded: None, home: Path) -> None:
    """A shell as people have it, with the Tab key pressed."""
    terminal = pytest.importorskip("tests.helpers.terminal", reason="needs a POSIX terminal", exc_type=ImportError)
    if not shutil.which(shell):
        pytest.skip(f"no {shell}")
    starts = {"bash": ".bashrc", "zsh": ".zshrc"}
    begin = "" if shell == "bash" else "autoload -Uz compinit && compinit -u\n"
    (home / starts[shell]).write_text(f"PS1='ready '\n{begin}source <(sessionlog completion {shell})\n")
    typing = terminal.Terminal(shell, "-i")
    typing.wait_for("ready ")
    typing.type("sessionlog show aaa\t")
    typing.wait_for("show aaa-1")
    typing.type("--tools \x15sessionlog audit dang\t")
    typing.wait_for("audit dangerous-commands")
    typing.type("\x15exit\r")
    assert typing.end().code == 0


# Words of the person's own, and what only another machine knows: a Tab key does not ask it.
FREE = """backup target; blame -L; browse --host; install --supervisor; install --client-version; note text
redact --pattern; redact --value; search query; search --file; sessions --file; sessions --cost; sessions --text; sql query
sql -p; supervise --reviewer; supervise --session-id; why place; team add developer; team add --team
team audit --developer; team audit --team; team hold developer; team pull --developer; team pull --team; team pull --session
team reader role; team reader --team; team remove developer; team resume session; team search question
team search --developer; team search --team; team search --session; team search --tool; team search --file
team sessions --developer; team sessions --team; team show session; team sql query; team stats --developer
team stats --team; team verify --developer; team verify --team"""


@pytest.mark.parametrize("name", COMMANDS)
def test_whatever_has_values_is_completed(name: str) -> None:
    free = {" ".join(entry.split()) for entry in FREE.replace("\n", ";").split(";")}
    for command, parameter in parameters(name, cli.get_command(click.Context(cli), name)):
        # Numbers have no values to choose from; choices and paths are completed by click.
        itself = isinstance(parameter.type, click.Choice | click.Path | click.IntRange | click.FloatRange)
        itself |= parameter.type is click.INT or bool(getattr(parameter, "is_flag", False))
        custom = parameter._custom_shell_complete is not None
        custom |= type(parameter.type).shell_complete is not click.ParamType.shell_complete
        assert itself or custom or f"{command} {parameter.opts[0]}" in free, f"{command} {parameter.opts}"


def parameters(name: str, command: click.Command | None) -> Iterator[tuple[str, click.Parameter]]:
    assert command is not None
    if isinstance(command, click.Group):
        context = click.Context(command)
        for inner in command.list_commands(context):
            yield from parameters(f"{name} {inner}", command.get_command(context, inner))
    yield from ((name, parameter) for parameter in command.params)


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("audit dang", "dangerous-commands"),
        ("schema tool_", "tool_calls"),
        ("restore aaa", "aaa-1"),
        ("prune --session aab", "aab-2"),
        ("sessions --client cla", "claude-code"),
        ("config record.ex", "record.exclude"),
        ("config record.tool_output f", "false"),
        ("sessions --since yes", "yesterday"),
        ("pause 3", "30m"),
        ("show rel", "release"),
        ("tag aaa-1 rel", "release"),
        ("show last --tools Edit,Ba", "Edit,Bash"),
        ("search x --event Sto", "StopFailure"),
        ("hook-command --agent gemini Before", "BeforeTool"),
        ("exclude --remove *", "*.pem"),
        ("team sessions --service te", "team-archive"),
        ("commit HE", "HEAD"),
    ],
)
def test_values_are_completed(
    recorded: None,
    place: projects.Place,
    home: Path,
    words: str,
    wanted: str,
    hook: Hook,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if "--tools" in words:
        hook(tool(1))
    notes.change(place, "aaa-1", "", add_tags=["release"])
    config_json.change("record.exclude", lambda _: ["*.pem"])
    (home / ".pg_service.conf").write_text("[team-archive]\nhost=db\n")
    subprocess.run(["git", "init", "-q", place.project], check=True)
    monkeypatch.chdir(place.project)
    *before, incomplete = words.split()
    offered = ShellComplete(cli, {}, "sessionlog", "_SESSIONLOG_COMPLETE").get_completions(before, incomplete)
    assert wanted in [item.value for item in offered]
