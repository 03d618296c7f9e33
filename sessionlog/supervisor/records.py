"""The supervisor's own events in the archive: a review that began, which is what is counted, and what was decided."""

from __future__ import annotations

import json
import time
from contextlib import closing
from typing import Any

from sessionlog.archive import append, spool
from sessionlog.archive import place as projects
from sessionlog.archive.event import normalise
from sessionlog.archive.place import Place
from sessionlog.archive.transaction import writing
from sessionlog.record import fallback
from sessionlog.redact.rules import Rules
from sessionlog.supervisor.contract import HookInput

REVIEW, DECISION = "SupervisorReview", "SupervisorDecision"
VIA = "supervisor"

# A review takes seconds to minutes, so it can wait longer for another writer than a recording hook.
LOCK_WAIT = 5.0

# From the few events of this name, not from the many of the session: the unary plus decides it.
_COUNT = f"SELECT count(*) FROM events WHERE event = '{REVIEW}' AND +session_id = ?"


def begin(place: Place, about: HookInput, reviewer: str, limit: int, wait: float = LOCK_WAIT) -> int:
    """Count and record that a review begins, in one transaction; returns which of the session it is, from 1 on."""
    at_ms = time.time_ns() // 1_000_000
    payload = clean(place, {**_common(about), "reviewer": reviewer, "max_iterations": limit})
    try:
        with closing(append.open_for_writing(place, wait)) as connection:
            if projects.waiting_spools(place):  # some of them may be reviews
                spool.bring_home(place, connection)
            session_id = normalise(payload, at_ms=at_ms, via=VIA)["session_id"]
            with writing(connection):
                iteration: int = connection.execute(_COUNT, (session_id,)).fetchone()[0] + 1
                record = normalise({**payload, "hook_event_name": REVIEW, "iteration": iteration}, at_ms=at_ms, via=VIA)
                append.append(connection, record, at_ms)
            return iteration
    except Exception as error:
        raise append.unavailable(place, error) from error


def decide(place: Place, about: HookInput, decision: dict[str, Any], wait: float = LOCK_WAIT) -> str:
    """Record what was decided, in the archive or in the spool; returns what to tell if that cannot be done."""
    payload = clean(place, {**_common(about), **decision, "hook_event_name": DECISION})
    entry: spool.Entry = (time.time_ns() // 1_000_000, VIA, None, None, payload, None)
    try:
        if projects.waiting_spools(place):
            return fallback.queue(place, entry)
        try:
            with closing(append.open_for_writing(place, wait)) as connection:
                spool.store(connection, entry)
        except Exception as error:
            return fallback.spool_it(place, entry, error)
    except Exception as error:
        return f"the decision was not recorded: {error}"
    return ""


def clean(place: Place, value: dict[str, Any]) -> dict[str, Any]:
    """The value without secrets, as the archive would hold it."""
    rules = Rules(place.home)
    suspects = rules.suspects(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    cleaned: dict[str, Any] = rules.clean(value, suspects) if suspects else value
    return cleaned


def _common(about: HookInput) -> dict[str, Any]:
    """What both events say of the event that they are about."""
    payload = about.payload
    keys = ("prompt_id", "agent_id", "agent_type", "cwd")
    fields = {
        "session_id": about.session_id,
        "supervisor_id": about.supervisor_id,
        "about": about.event,
        "about_tool": payload.get("tool_name"),
        "about_tool_use_id": payload.get("tool_use_id"),
        **{str(key): payload.get(key) for key in keys},
    }
    return {key: value for key, value in fields.items() if value is not None}
