"""The ready-made reviewers, for the supervisor (brief on stdin) and for people (a session by its name)."""

from __future__ import annotations

from pathlib import Path

from sessionlog.archive import lookup
from sessionlog.archive.place import Place, home_folder
from sessionlog.errors import SessionlogError
from sessionlog.fastlib import parse_json
from sessionlog.supervisor import brief as briefs
from sessionlog.supervisor import claude, rules
from sessionlog.supervisor.brief import Brief
from sessionlog.supervisor.contract import HookInput
from sessionlog.supervisor.verdict import Verdict

TEXTS = ("session_id", "supervisor_id", "event", "archive", "project")


def of_session(places: list[Place], wanted: str) -> Brief:
    """The brief that a reviewer would get if this session were to stop now."""
    found = lookup.find_session(places, wanted)
    session_id = str(found.session["session_id"])
    payload = {key: found.session[key] for key in ("cwd", "transcript_path", "permission_mode")}
    return briefs.build(found.place, HookInput(session_id, "Stop", session_id, payload))


def of_stdin(data: bytes) -> Brief:
    """The brief that the supervisor wrote."""
    try:
        brief = parse_json(data.decode())
        if not all(isinstance(brief[key], str) for key in TEXTS) or brief["version"] != briefs.VERSION:
            raise ValueError("it is of another version")
    except (ValueError, KeyError, TypeError) as error:
        raise SessionlogError(
            f"there is no brief on stdin ({error}); name a session instead, for instance: sessionlog review last"
        ) from error
    return dict(brief)


def by_rules(brief: Brief, file: Path | None = None) -> Verdict:
    """What the rules say."""
    place = Place(home_folder(), brief["project"], brief["archive"])
    since = max((str(prompt["at"]) for prompt in brief["prompts"]), default="")
    earlier = [str(review["feedback"]) for review in brief["reviews"] if str(review["at"]) > since]
    return rules.judge(place, brief["session_id"], brief["event"], rules.load(file), earlier)


def by_claude(brief: Brief, model: str | None = None) -> Verdict:
    """What Claude says."""
    return claude.review(brief, model)
