"""What is registered never blocks a session: with files gone, on a colleague's machine, with an old client."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from sessionlog.agents.claude_code.events import CORE, EVENTS, RECORDED
from sessionlog.archive.event import DENYING
from sessionlog.errors import SessionlogError
from sessionlog.install import commands
from sessionlog.install.commands import client_version, events_for, handlers, handlers_folder, hook_command, is_ours
from sessionlog.record import bundle

REPORTS_ITS_ARGUMENTS = "import sys; print(sys.argv[1:], sys.flags.isolated, sys.flags.no_site)"


def sh(command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", "-c", command], input="{}", capture_output=True, text=True, env=environment, check=False
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Handler scripts in a folder whose name needs quoting."""
    folder = tmp_path / "it's $HOME; `here`" / "hooks"
    folder.mkdir(parents=True)
    for script in ("any_event.py", "user_prompt_submit.py", "post_tool_use.py"):
        (folder / script).write_text(REPORTS_ITS_ARGUMENTS)
    monkeypatch.setattr(commands, "handlers_folder", lambda: folder)
    return folder


@pytest.mark.parametrize(
    ("event", "script", "arguments"),
    [
        (None, "any_event.py", []),
        ("Stop", "any_event.py", ["Stop"]),
        ("UserPromptSubmit", "user_prompt_submit.py", []),
        ("PostToolUse", "post_tool_use.py", []),
    ],
)
def test_each_event_reaches_its_handler(folder: Path, event: str | None, script: str, arguments: list[str]) -> None:
    command = hook_command(event)
    assert shlex.split(command)[:6] == [sys.executable, "-I", "-S", "-X", "utf8", str(folder / script)]
    assert sh(command).stdout == f"{arguments} 1 1\n"


def test_plain_paths_are_not_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "handlers_folder", lambda: Path("/opt/sessionlog/hooks"))
    monkeypatch.setattr(sys, "executable", "/usr/bin/python3")
    assert hook_command("Stop") == "/usr/bin/python3 -I -S -X utf8 /opt/sessionlog/hooks/any_event.py Stop || exit 1"


@pytest.mark.parametrize("event", [None, *EVENTS])
@pytest.mark.parametrize("quiet", [False, True])
def test_every_command_is_sound_shell_and_known_as_ours(event: str | None, quiet: bool) -> None:
    command = hook_command(event, quiet_if_missing=quiet)
    assert is_ours(command)
    subprocess.run(["/bin/sh", "-n", "-c", command], check=True)


@pytest.mark.parametrize("event", [None, "Stop", "UserPromptSubmit"])
def test_a_missing_script_never_ends_with_2(folder: Path, event: str | None) -> None:
    command = hook_command(event)
    for script in folder.iterdir():
        script.unlink()
    assert subprocess.run([sys.executable, folder / "any_event.py"], capture_output=True, check=False).returncode == 2
    assert sh(command).returncode == (0 if event is None else 1)


def test_a_missing_interpreter_never_ends_with_2(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/gone/bin/python3")
    assert sh(hook_command("Stop")).returncode == 1


@pytest.mark.parametrize("event", [None, *DENYING])
@pytest.mark.parametrize("quiet", [False, True])
def test_a_command_that_could_deny_a_tool_call_always_ends_with_0(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, event: str | None, quiet: bool
) -> None:
    """Copilot denies a tool call when its PreToolUse hook ends with anything but 0, Gemini at 127 with text on stderr."""
    for interpreter in ("/gone/bin/python3", "/bin/false", sys.executable):
        monkeypatch.setattr(sys, "executable", interpreter)
        given = (b"", b"no JSON", b'{"hook_event_name": "PreToolUse"')
        for stdin in given if interpreter == sys.executable else given[:1]:  # the others read nothing
            home = tmp_path / "a file in the way of every folder"
            home.touch()
            done = subprocess.run(
                ["/bin/sh", "-c", hook_command(event, quiet_if_missing=quiet)],
                input=stdin,
                capture_output=True,
                env={"PATH": "/usr/bin:/bin", "HOME": str(home), "TMPDIR": str(home)},
                check=False,
            )
            assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("event", RECORDED)
def test_the_plugin_ends_like_the_other_registrations(tmp_path: Path, event: str) -> None:
    done = sh(commands.plugin_command(event), CLAUDE_PLUGIN_ROOT=str(tmp_path / "gone"))
    assert done.returncode == (0 if event in DENYING else 1)
    assert done.stdout == "" and (event not in DENYING or done.stderr == "")


def test_an_interpreter_without_a_path_is_an_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "")
    with pytest.raises(SessionlogError, match="path"):
        hook_command("Stop")


def test_the_shared_command_names_no_path_of_this_machine() -> None:
    command = hook_command("Stop", quiet_if_missing=True)
    assert sys.executable not in command
    assert str(Path.home()) not in command


@pytest.mark.parametrize(
    ("on_path", "code"),
    [
        (None, 0),
        ("#!/gone/bin/python3\n", 0),
        ("#!/bin/sh\ncat >/dev/null\n", 0),
        ("#!/bin/sh\nexit 1\n", 1),
        ("#!/bin/sh\nexit 2\n", 0),
        ("#!/bin/sh\nkill -9 $$\n", 0),
    ],
    ids=["not installed", "interpreter gone", "records", "fails", "exits 2", "killed"],
)
def test_the_shared_command_does_no_harm(tmp_path: Path, on_path: str | None, code: int) -> None:
    if on_path:
        script = tmp_path / "sessionlog-hook"
        script.write_text(on_path)
        script.chmod(0o755)
    result = sh(hook_command("Stop", quiet_if_missing=True), PATH=f"{tmp_path}:/usr/bin:/bin")
    assert (result.returncode, result.stdout, result.stderr) == (code, "", "")


@pytest.mark.parametrize(
    ("command", "ours"),
    [
        ("/old/venv/bin/python -I -S /old/site-packages/sessionlog/hooks/any_event.py Stop || exit 1", True),
        ("'/a b/python' -I -S '/a b/hooks/post_tool_use.py' || exit 1", True),
        ("/new/bin/python -I -S -X utf8 /new/site-packages/sessionlog/hooks/any_event.py Stop || exit 1", True),
        ("/new/bin/python -I -S -X dev /new/site-packages/sessionlog/hooks/any_event.py Stop || exit 1", False),
        ("C:/Python/python.exe -I -S C:/x/sessionlog/hooks/any_event.py Stop || exit 1", True),
        ("sessionlog-hook Stop 2>/dev/null || [ $? -ne 1 ]", True),
        ("/x/python -I -S /x/hooks/any_event.py PreToolUse 2>/dev/null || exit 0", True),
        ("sessionlog-hook PreToolUse 2>/dev/null || exit 0", True),
        ("echo x > F; true -I -S x/hooks/any_event.py || exit 1", False),
        ("$(touch F) -I -S /x/hooks/any_event.py Stop || exit 1", False),
        ("/x/python -I -S /x/hooks/any_event.py;touch${IFS}F || exit 1", False),
        ("sessionlog-hook Stop 2>/dev/null; touch F || [ $? -ne 1 ]", False),
        ("uv run $CLAUDE_PROJECT_DIR/.claude/hooks/post_tool_use.py", False),
        ("python3 ~/sessionlog/hooks/any_event.py", False),
        ("echo sessionlog any_event.py || exit 1", False),
        ("sessionlog-hook-of-mine Stop", False),
        ("", False),
        (None, False),
        (["sessionlog-hook"], False),
    ],
)
def test_only_what_install_wrote_is_ours(command: object, ours: bool) -> None:
    assert is_ours(command) is ours


@pytest.mark.parametrize(
    ("module", "hooks"),
    [("sessionlog/sessionlog", "sessionlog/hooks"), ("site-packages/sessionlog", "site-packages/sessionlog/hooks")],
    ids=["a checkout that is called sessionlog", "an installed package"],
)
def test_the_scripts_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, hooks: str) -> None:
    (tmp_path / module).mkdir(parents=True)
    monkeypatch.setattr(bundle, "PACKAGE", tmp_path / module)
    with pytest.raises(SessionlogError, match="missing"):
        handlers_folder()
    (tmp_path / hooks).mkdir()
    (tmp_path / hooks / "any_event.py").touch()
    assert handlers_folder() == tmp_path / hooks


def test_session_end_asks_for_more_than_the_shared_budget_but_little() -> None:
    timeouts = {event: handler["timeout"] for event, handler in handlers(RECORDED).items()}
    assert timeouts.pop("SessionEnd") == 5
    assert set(timeouts.values()) == {10}


@pytest.mark.parametrize(
    ("choice", "version", "there", "not_there"),
    [
        ("core", None, set(CORE), {"StopFailure"}),
        ("all", None, set(CORE), {"StopFailure"}),
        ("core", (2, 1, 325), set(CORE), {"StopFailure"}),
        ("all", (2, 1, 325), set(RECORDED), {"WorktreeCreate", "PreModelSwitch", "MessageDisplay", "PostToolBatch"}),
        ("all", (2, 1, 197), {"StopFailure", "Stop"}, {"DirectoryAdded", "PostModelSwitch"}),
        ("all", (2, 1, 78), {"StopFailure"}, {"CwdChanged"}),
        ("all", (2, 1, 77), {"PostCompact"}, {"StopFailure"}),
        ("core", (2, 0, 50), {"Stop", "SubagentStart"}, {"TaskCompleted", "PostToolUseFailure"}),
        ("all", (3, 0, 0), set(RECORDED), set()),
    ],
)
def test_no_client_is_given_an_event_it_does_not_know(
    choice: str, version: tuple[int, int, int] | None, there: set[str], not_there: set[str]
) -> None:
    events = set(events_for(choice, version))
    assert there <= events
    assert not events & not_there
    assert version is None or all(EVENTS[event].since <= version for event in events)


@pytest.mark.parametrize(
    ("script", "version"),
    [
        ("echo '2.1.325 (Claude Code)'", (2, 1, 325)),
        ("echo 'Claude Code v2.1.9'", (2, 1, 9)),
        ("echo 'cannot say'; exit 1", None),
        ("printf '\\377'", None),
        (None, None),
    ],
)
def test_the_client_is_asked_for_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str | None, version: tuple[int, int, int] | None
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/usr/bin{os.pathsep}/bin")
    if script:
        (tmp_path / "claude").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "claude").chmod(0o755)
    else:
        monkeypatch.setenv("PATH", str(tmp_path))
    assert client_version() == version


@pytest.mark.parametrize("error", [subprocess.TimeoutExpired("claude", 5), PermissionError()])
def test_a_client_that_does_not_answer_has_no_known_version(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def run(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(commands.children, "program", lambda _: "/bin/claude")
    monkeypatch.setattr(commands.subprocess, "run", run)
    assert client_version() is None
