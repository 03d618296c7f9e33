"""The contract of the supervisor's hook, to the letter: what comes in, what goes out, and the exit codes.

Where the contract leaves something open, docs/supervisor.md says what was chosen.
"""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple

from sessionlog.record import hook

# 1 and 124 let the session go on as if there were no supervisor; 2 is kept for input that is none.
SUCCESS, REVIEW_FAILED, BAD_INPUT, TIMED_OUT = 0, 1, 2, 124

# Claude Code gives the hook 600 s; it takes fewer, to say itself that time is up.
TIMEOUT = 590.0
MAX_ITERATIONS = 20

# The names of the contract, and our own beside them.
GUARDS = ("SESSIONLOG_SUPERVISOR_HOOK", "CCC_SUPERVISOR_HOOK")
IDS = ("SESSIONLOG_SUPERVISOR_ID", "CCC_SUPERVISOR_ID")


class InvalidInput(Exception):
    """What came in is no event that can be reviewed."""


class HookInput(NamedTuple):
    """The event that is to be reviewed."""

    session_id: str
    event: str
    supervisor_id: str
    payload: dict[str, Any]


class HookOutput(NamedTuple):
    """All that the hook says."""

    stdout: str
    stderr: str
    code: int


def is_guarded() -> bool:
    """Whether this is a session of a reviewer, which is not reviewed itself."""
    return any(os.environ.get(name) == "1" for name in GUARDS)


def environment(supervisor_id: str) -> dict[str, str]:
    """What a reviewer gets, so that the hooks of its own sessions do not review it."""
    return {**dict.fromkeys(GUARDS, "1"), **dict.fromkeys(IDS, supervisor_id)}


def read(data: bytes, session_id: str | None = None) -> HookInput:
    """The event on stdin; with a session's id from the command line, stdin is not looked at: it is a Stop."""
    named = next((os.environ[name] for name in IDS if os.environ.get(name)), "")
    if session_id:
        return HookInput(session_id, "Stop", named or session_id, {})
    try:
        payload = hook.parse(data)
    except ValueError as error:
        raise InvalidInput(str(error)) from error
    session_id = payload.get("session_id") or named
    if not session_id:
        raise InvalidInput("session_id is missing")
    if not isinstance(session_id, str):
        raise InvalidInput("session_id is no text")
    return HookInput(session_id, event_of(payload), named or session_id, payload)


def event_of(payload: dict[str, Any]) -> str:
    """The event's name; the old input has none, and is a Stop."""
    name = payload.get("hook_event_name")
    return name if isinstance(name, str) and name else "Stop"


def decided(event: str, allow: bool, reason: str) -> HookOutput:
    """A decision, in the form that the event wants."""
    output: dict[str, Any] = {"reason": reason}
    if event == "PreToolUse":
        output = {
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": "allow" if allow else "deny",
                "permissionDecisionReason": reason,
            }
        }
    elif not allow:
        output = {"decision": "block", **output}
    return HookOutput(json.dumps(output), "", SUCCESS)


def let_through(data: bytes) -> HookOutput:
    """The answer to an event that is not reviewed because a reviewer caused it; what it holds does not matter."""
    try:
        event = event_of(hook.parse(data))
    except ValueError:
        event = "Stop"
    return decided(event, True, "A reviewer's own session is not reviewed.")


def invalid(reason: object) -> HookOutput:
    """The input could not be read."""
    return HookOutput("", f"failed to parse hook input: {_line(reason)}", BAD_INPUT)


def failed(reason: object) -> HookOutput:
    """There is no verdict."""
    return HookOutput("", f"supervisor SDK failed: {_line(reason)}", REVIEW_FAILED)


def timed_out() -> HookOutput:
    """There is no verdict in time."""
    return HookOutput("", "hook execution timeout", TIMED_OUT)


def _line(reason: object) -> str:
    """Claude Code shows the first line."""
    return " ".join(str(reason).split())[:2000]
