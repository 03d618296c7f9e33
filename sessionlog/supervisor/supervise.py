"""The supervisor: lets a reviewer decide whether a session may stop, or may ask its user a question.

The one hook of sessionlog that can block, and so it is installed only by name.
"""

from __future__ import annotations

import os
import time
from typing import Any

from sessionlog import config
from sessionlog.archive import place as projects
from sessionlog.archive import whose
from sessionlog.archive.place import Place
from sessionlog.errors import SessionlogError
from sessionlog.record import hook
from sessionlog.supervisor import brief, contract, records, run_command, verdict
from sessionlog.supervisor.contract import HookInput, HookOutput

__all__ = ["HookOutput", "supervise"]


def supervise(
    command: str, *, session_id: str | None = None, max_iterations: int | None = None, timeout: float = contract.TIMEOUT
) -> HookOutput:
    """Review the event on stdin. Whatever goes wrong has the exit code that the contract gives it."""
    deadline = time.monotonic() + timeout
    data = b"" if session_id else hook.read_stdin()
    if contract.is_guarded():
        return contract.let_through(data)
    try:
        about = contract.read(data, session_id)
    except contract.InvalidInput as error:
        return contract.invalid(error)
    try:
        place = whose.place(projects.of_environment(hook.working_directory(about.payload), os.path.realpath))
        limit = config.max_iterations(place.home) if max_iterations is None else max_iterations
        return _review(place, about, command, contract.MAX_ITERATIONS if limit is None else limit, deadline)
    except Exception as error:  # without a count a session might be kept from stopping for ever: let it stop
        return contract.failed(_explained(error))


def _review(place: Place, about: HookInput, command: str, limit: int, deadline: float) -> HookOutput:
    started = time.monotonic()
    wait = min(records.LOCK_WAIT, max(deadline - started, 0))
    iteration = records.begin(place, about, command, limit, wait)
    outcome: dict[str, Any] = {"reviewer": command, "iteration": iteration, "max_iterations": limit}
    if iteration > limit:
        outcome |= {"decision": "allow", "message": f"The limit of {limit} reviews in one session is reached."}
        answer = contract.decided(about.event, True, outcome["message"])
    else:
        try:
            found = _ask(place, about, command, iteration, limit, deadline)
            answer = contract.decided(about.event, found.allow_stop, found.reason)
            outcome |= {"decision": "allow" if found.allow_stop else "block", "message": found.reason}
        except run_command.TimedOut:
            answer = contract.timed_out()
            outcome |= {"decision": "none", "error": "the reviewer took too long"}
        except Exception as error:
            answer = contract.failed(_explained(error))
            outcome |= {"decision": "none", "error": _explained(error)}
    outcome["duration_ms"] = round((time.monotonic() - started) * 1000)
    trouble = records.decide(place, about, outcome)
    return answer._replace(stderr="\n".join(filter(None, (answer.stderr, trouble))))


def _ask(place: Place, about: HookInput, command: str, iteration: int, limit: int, deadline: float) -> verdict.Verdict:
    cwd = about.payload.get("cwd")
    output = run_command.run(
        command,
        brief.encode(brief.build(place, about, iteration, limit)),
        cwd=cwd if isinstance(cwd, str) and os.path.isdir(cwd) else None,
        more=contract.environment(about.supervisor_id),
        deadline=deadline,
    )
    return verdict.parse(output)


def _explained(error: Exception) -> str:
    expected = (run_command.ReviewerFailed, verdict.NoVerdict, SessionlogError)
    return str(error) if isinstance(error, expected) else f"{type(error).__name__}: {error}"
