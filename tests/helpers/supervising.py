"""The supervisor as Claude Code runs it: a process of its own, the event on stdin, a real reviewer beside it."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.helpers import forking

SUPERVISOR = [sys.executable, "-I", "-m", "sessionlog.supervisor"]
STOP = {"session_id": "s1", "stop_hook_active": False}
QUESTIONS = {"questions": [{"question": "Which one?", "header": "Choice", "options": [], "multiSelect": False}]}
ASK = {
    "session_id": "s1",
    "hook_event_name": "PreToolUse",
    "tool_name": "AskUserQuestion",
    "tool_input": QUESTIONS,
    "tool_use_id": "toolu_001",
}


def verdict(allow: bool, feedback: str = "") -> str:
    """A reviewer that says this."""
    return "printf %s " + shlex.quote(json.dumps({"allow_stop": allow, "feedback": feedback}))


def python(code: str) -> str:
    """A reviewer written in Python."""
    return shlex.join([sys.executable, "-c", code])


class Result:
    """How it ended; what is on stdout is JSON or nothing, always."""

    def __init__(self, done: subprocess.CompletedProcess[bytes]) -> None:
        self.code = done.returncode
        self.stderr = done.stderr.decode()
        self.output: dict[str, Any] | None = json.loads(done.stdout) if done.stdout else None
        assert self.code in (0, 1, 2, 124), self.stderr
        assert (self.output is not None) == (self.code == 0), (done.stdout, self.stderr)

    @property
    def allowed(self) -> bool:
        """Whether the session may stop, or ask."""
        assert self.output is not None, self.stderr
        inner = self.output.get("hookSpecificOutput")
        return inner["permissionDecision"] == "allow" if inner else "decision" not in self.output


def supervise(payload: Any, reviewer: str, *options: str, **more: Any) -> Result:
    """Run the supervisor on one event."""
    data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    words = ["--reviewer", reviewer, *options]
    environment = {**os.environ, **more.pop("env", {})}
    if not more:
        program = "sessionlog.supervisor.__main__"
        return Result(forking.run(*words, program=program, input=data, env=environment, timeout=120))
    words = [*SUPERVISOR, *words]
    done = subprocess.run(words, input=data, capture_output=True, env=environment, timeout=120, check=False, **more)
    return Result(done)


def start(payload: Any, reviewer: str, *options: str) -> subprocess.Popen[bytes]:
    """Start the supervisor, its event given; `finish` waits for it."""
    process = subprocess.Popen(
        [*SUPERVISOR, "--reviewer", reviewer, *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin
    process.stdin.write(json.dumps(payload).encode())
    process.stdin.close()
    process.stdin = None
    return process


def finish(process: subprocess.Popen[bytes]) -> Result:
    stdout, stderr = process.communicate(timeout=120)
    return Result(subprocess.CompletedProcess([], process.returncode, stdout, stderr))


def is_running(pid: int) -> bool:
    """Whether a process does anything; one that nobody has waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
