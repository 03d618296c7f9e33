"""Whether a session is live: the one answer for pages and commands. Each function takes a row with its times."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

from sessionlog.times import moment

# Long enough for a build or a person who reads the answer.
LIVE = timedelta(minutes=15)
# What a transcript says of the last moments is imported a little after the session's end.
AFTERWARDS = timedelta(seconds=20)
# Somebody who went to bed may continue in the morning: that is not live, but nobody wants to lose it.
RECENT = timedelta(days=1)


def is_live(session: Mapping[str, Any]) -> bool:
    """It has not ended, and something happened in the last 15 minutes."""
    age = _age(session)
    return session["ended_at"] is None and age is not None and age <= LIVE


def may_grow(session: Mapping[str, Any]) -> bool:
    """Whether to look for more of it: while it is live, and for a moment after its end."""
    age = _age(session)
    return is_live(session) or (age is not None and age <= AFTERWARDS)


def may_be_continued(session: Mapping[str, Any]) -> bool:
    """It has not ended, and something happened in the last day. When in doubt, yes: then nothing is removed."""
    age = _age(session)
    return session["ended_at"] is None and (age is None or age <= RECENT)


def _age(session: Mapping[str, Any]) -> timedelta | None:
    """The time since its last event; a transcript may say anything."""
    try:
        return datetime.now(timezone.utc) - moment(session["last_at"])
    except (ValueError, TypeError, OverflowError, AttributeError):
        return None
