"""The reviewer that is Claude itself: `claude -p` in a fork of the session, which knows all that was said."""

from __future__ import annotations

import json
import os
import subprocess

from sessionlog.errors import SessionlogError
from sessionlog.supervisor import contract, verdict
from sessionlog.supervisor.brief import Brief
from sessionlog.system import children

# The fork has the conversation; of the recorded calls, the last ones are enough.
CALLS = 60

INSTRUCTIONS = """\
Step back from the work above: you are now its reviewer, strict and fair, and you do none of it yourself. {question}

Judge by what was asked for and what was really done, not by what was said about it:
- Is everything done that the user asked for, all of it, and nothing left as a stub or for later?
- Was it checked by running it? Did the last run of the tests pass? Is there a failure that nobody explained?
- Does the last answer claim anything that the record below does not bear out?
Read files if you must; change nothing. Do not ask for more than the user asked for. What an earlier review asked for
and was done is settled.

The record of the session, from its hooks:
{record}

Answer with one JSON object and nothing else:
{{"allow_stop": true or false, "feedback": "if false: what exactly is missing, as an instruction; else one sentence"}}
"""
STOP = "It wants to stop: may it (allow_stop)?"
ASK = (
    "It wants to ask the user the question in the record: may it (allow_stop)? Only if nobody but the user can answer "
    "it; if it can find out or decide by itself, say how it should go on."
)


def review(brief: Brief, model: str | None = None) -> verdict.Verdict:
    """What Claude says. It ends with this process: both are in one process group."""
    claude = children.program("claude")
    if claude is None:
        raise SessionlogError("claude is not found on the PATH")
    session_id = str(brief["session_id"])
    if session_id.startswith("-"):
        raise SessionlogError(f"{session_id} is no session that Claude could resume")
    words = [claude, "-p", "--resume", session_id, "--fork-session"]
    environment = os.environ | contract.environment(str(brief["supervisor_id"]))
    environment.pop("CLAUDECODE", None)  # with it, some clients refuse to run inside another one
    # A session is found from the folder that it was started in; the payload's cwd follows `cd`.
    folder = os.environ.get("CLAUDE_PROJECT_DIR") or brief.get("cwd")
    done = subprocess.run(  # noqa: S603 (the user's own client)
        [*words, *(["--model", model] if model else [])],
        input=prompt(brief).encode("utf-8", "replace"),
        capture_output=True,
        env=environment,
        cwd=folder if isinstance(folder, str) and os.path.isdir(folder) else None,
        check=False,
    )
    output = done.stdout.decode(errors="replace")
    if done.returncode:
        said = " ".join((done.stderr.decode(errors="replace") or output).split())[-500:]
        raise SessionlogError(f"claude ended with {done.returncode}: {said}")
    try:
        return verdict.parse(output)
    except verdict.NoVerdict as error:
        raise SessionlogError(str(error)) from error


def prompt(brief: Brief) -> str:
    """What Claude is asked."""
    keys = ("iteration", "max_iterations", "prompts", "tool_name", "tool_input", "last_answer", "reviews")
    record = {key: brief[key] for key in keys if key in brief}
    record["done"] = {**brief["done"], "calls": brief["done"]["calls"][-CALLS:]}
    question = ASK if brief["event"] == "PreToolUse" else STOP
    return INSTRUCTIONS.format(question=question, record=json.dumps(record, ensure_ascii=False, indent=1))
