"""What gets registered with Claude Code: which events, with which command and which timeout."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sessionlog.agents.claude_code.events import CORE, EVENTS, RECORDED, can_deny
from sessionlog.errors import SessionlogError
from sessionlog.record import bundle
from sessionlog.record.spawn_import import OPTIONS
from sessionlog.system import children

Version = tuple[int, int, int]
Handler = dict[str, Any]  # one entry of a settings file: {"type": "command", "command": …, "timeout": …}
Group = dict[str, Any]  # {"matcher": …, "hooks": [handlers]}

ANY_EVENT = "any_event.py"
OWN_HANDLER = {"UserPromptSubmit": "user_prompt_submit.py", "PostToolUse": "post_tool_use.py"}

# What the supervisor is asked about: the event, and which tool.
SUPERVISED = {"Stop": None, "PreToolUse": "AskUserQuestion"}
SUPERVISOR_TIMEOUT = 600  # seconds; the supervisor itself takes a little less, and says so when its time is up

# A word of a shell command as `shlex.quote` writes it: it can start nothing and redirect nothing.
_WORD = r"""(?:[^\s'"`$;&|<>()\\]|'[^']*'|"'")+"""
# Our entries are known by the form of their command, wherever an older version or another interpreter lived. The
# names of the scripts alone would not do: other people's hooks are called post_tool_use.py too.
_OURS = re.compile(
    rf"{_WORD} -I -S (-X utf8 )?(?=\S.*/hooks/(any_event|user_prompt_submit|post_tool_use|agent_event)\.py){_WORD}"
    r"( [\w-]+)?( \w+)?( 2>/dev/null)? \|\| exit [01]"
    r"|sessionlog-hook( \w+)? 2>/dev/null \|\| (\[ \$\? -ne 1 \]|exit 0)"
)
_SUPERVISOR = re.compile(
    rf"(?:{_WORD} -I -m sessionlog\.supervisor"
    r"|command -v sessionlog-supervisor >/dev/null 2>&1 \|\| exit 0; sessionlog-supervisor)"
    r" --reviewer (?P<reviewer>.+)",
    re.DOTALL,
)


def hook_command(event: str | None = None, *, quiet_if_missing: bool = False) -> str:
    """The shell command to register. Even if sessionlog is gone, it never ends with 2, which would erase the prompt.

    For an event that can deny something it always ends with 0, and prints nothing: some agents deny a tool call at any
    other exit code, or take what is printed for an answer. A command for no event in particular could be registered
    for such an event, so it always ends with 0 as well.
    """
    if quiet_if_missing:
        # For the settings file that a team shares. A path of one machine is wrong on every other one and would change
        # with each colleague who installs, so PATH finds the command (made by pip, it costs 11 ms more). No sessionlog
        # is no error: 127 (not found) and the like become 0. Only its own failure, 1, is reported.
        command = ["sessionlog-hook", *([event] if event else [])]
        return f"{shlex.join(command)} {_ending(event, otherwise='2>/dev/null || [ $? -ne 1 ]')}"
    script = OWN_HANDLER.get(event or "", ANY_EVENT)
    # The ending: `python missing.py` ends with 2.
    command = [interpreter(), *OPTIONS, (handlers_folder() / script).as_posix()]
    if event and script == ANY_EVENT:
        command.append(event)
    return f"{shlex.join(command)} {_ending(event)}"


def plugin_command(event: str) -> str:
    """The shell command that the plugin registers; the client knows where the plugin is."""
    # Some shells end with 2 when an update has removed the plugin under a session.
    return f'/bin/sh "${{CLAUDE_PLUGIN_ROOT}}/hooks/record.sh" {event} {_ending(event)}'


def _ending(event: str | None, otherwise: str = "|| exit 1") -> str:
    return "2>/dev/null || exit 0" if can_deny(event) else otherwise


def supervisor_command(reviewer: str, *, quiet_if_missing: bool = False) -> str:
    """The shell command that lets `reviewer` decide; without sessionlog it never ends with 2, which would block."""
    # Its own 2 and 124 must get through, so no `|| exit 1`: a module that is gone is 1 by itself, an interpreter 127.
    command = "command -v sessionlog-supervisor >/dev/null 2>&1 || exit 0; sessionlog-supervisor"
    if not quiet_if_missing:
        command = shlex.join([interpreter(), "-I", "-m", "sessionlog.supervisor"])
    return f"{command} --reviewer {shlex.quote(reviewer)}"


def supervisor_groups(reviewer: str, *, quiet_if_missing: bool = False) -> dict[str, Group]:
    """What to register for each event that is supervised."""
    if not reviewer.strip():
        raise SessionlogError("The supervisor needs the command of a reviewer, for instance `sessionlog review`.")
    command = supervisor_command(reviewer, quiet_if_missing=quiet_if_missing)
    handler: Handler = {"type": "command", "command": command, "timeout": SUPERVISOR_TIMEOUT}
    return {event: {**({"matcher": tool} if tool else {}), "hooks": [handler]} for event, tool in SUPERVISED.items()}


def reviewer_of(command: object) -> str | None:
    """The reviewer in a command that some version of `sessionlog install --supervisor` wrote; None: it is another."""
    found = _SUPERVISOR.fullmatch(command) if isinstance(command, str) else None
    if not found:
        return None
    try:
        return shlex.split(found["reviewer"])[0]
    except (ValueError, IndexError):
        return found["reviewer"]


def refuse_cache() -> None:
    """Raise SessionlogError if this installation lies in a cache (`uvx`, `pipx run`): hooks must outlive a clean-up."""
    folder = Path(sys.prefix)
    # The standard mark of a folder that may be deleted at any time. uv also puts one into each venv: that one is fine.
    if any((parent / "CACHEDIR.TAG").is_file() for parent in folder.parents):
        raise SessionlogError(
            f"this sessionlog runs from a cache ({folder}), and hooks would stop when the cache is cleaned.\n"
            "Install it first: uv tool install claude-sessionlog, or pipx install claude-sessionlog."
        )


def interpreter() -> str:
    """The Python that runs this."""
    if not sys.executable:
        raise SessionlogError("Python does not know its own path, so no hook command can name it.")
    return Path(sys.executable).as_posix()  # forward slashes, because on Windows the command runs in Git Bash


def handlers_folder() -> Path:
    """Where the handler scripts are: inside the installed package, or beside it in a source checkout."""
    folder = bundle.hooks_folder()
    if folder is None:
        raise SessionlogError(f"The hook scripts are missing beside {bundle.PACKAGE}. Install sessionlog again.")
    return folder


def is_ours(command: object) -> bool:
    """Whether this is a command that some version of `sessionlog install` wrote, to record."""
    return isinstance(command, str) and _OURS.fullmatch(command) is not None


def is_current(event: str, command: object) -> bool:
    """Whether this version, installed as it is here, would register this very command for the event."""
    scopes = (hook_command(event), hook_command(event, quiet_if_missing=True), plugin_command(event))
    return isinstance(command, str) and command in scopes


def is_current_supervisor(command: object) -> bool:
    """Whether this version, installed as it is here, would register this very command for its reviewer."""
    reviewer = reviewer_of(command)
    return reviewer is not None and command in (
        supervisor_command(reviewer),
        supervisor_command(reviewer, quiet_if_missing=True),
    )


def is_supervisor(command: object) -> bool:
    """Whether this is a command that some version of `sessionlog install --supervisor` wrote."""
    return reviewer_of(command) is not None


def handlers(events: Iterable[str], *, quiet_if_missing: bool = False) -> dict[str, Handler]:
    """The handler to register for each event."""
    return {
        event: {
            "type": "command",
            "command": hook_command(event, quiet_if_missing=quiet_if_missing),
            "timeout": timeout(event),
        }
        for event in events
    }


def timeout(event: str) -> int:
    """How many seconds Claude Code gives the hook before it kills it."""
    # A locked archive sends an event to the spool after 2 s, so 10 s are for very slow machines. All SessionEnd
    # hooks share 1.5 s unless one asks for more, and then a person waits at the prompt: 5 s.
    return 5 if event == "SessionEnd" else 10


def events_for(choice: str, version: Version | None) -> tuple[str, ...]:
    """The events to register with `--events core` or `--events all` for a client of this version."""
    # One unknown name made clients before 2.1.101 ignore the whole settings file: never name an event too new for
    # the client, and nothing beyond the specification to a client whose version is not known.
    if version is None:
        return CORE
    return tuple(name for name in (CORE if choice == "core" else RECORDED) if EVENTS[name].since <= version)


def client_version() -> Version | None:
    """The version of the `claude` on PATH, or None."""
    claude = children.program("claude")
    if claude is None:
        return None
    try:
        answer = subprocess.run(  # noqa: S603  the user's own client
            [claude, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=5,
            check=False,
            cwd=children.FOLDER,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return parse_version(answer.stdout.decode("utf-8", "replace"))


def parse_version(text: str) -> Version | None:
    """The first version number in a text such as `2.1.325 (Claude Code)`."""
    found = re.search(r"(\d+)\.(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2]), int(found[3])) if found else None
