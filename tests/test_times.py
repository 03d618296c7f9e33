"""Points in time as people type them."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from sessionlog import times
from sessionlog.errors import SessionlogError

NOW = datetime(2026, 11, 16, 12, 0, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90m", "2026-11-16T10:30:00.000Z"),
        ("24h", "2026-11-15T12:00:00.000Z"),
        ("7d", "2026-11-09T12:00:00.000Z"),
        ("2W", "2026-11-02T12:00:00.000Z"),
        ("2026-11-16T01:41:14.736Z", "2026-11-16T01:41:14.736Z"),
        ("2026-11-16T03:00:00+02:00", "2026-11-16T01:00:00.000Z"),
    ],
)
def test_times(text: str, expected: str) -> None:
    assert times.parse(text, NOW) == expected


def test_dates_are_those_of_this_machines_clock() -> None:
    midnight = datetime(2026, 11, 16).astimezone()
    assert times.parse("2026-11-16", NOW) == times.archive_text(midnight)
    assert times.parse("today", midnight.replace(hour=15)) == times.archive_text(midnight)
    assert times.parse("yesterday", midnight.replace(hour=15)) < times.parse("today", midnight.replace(hour=15))


@pytest.mark.parametrize("text", ["", "soon", "7x", "2026-13-01", "999999w", "d"])
def test_anything_else_is_explained(text: str) -> None:
    with pytest.raises(SessionlogError, match="is no time"):
        times.parse(text, NOW)
