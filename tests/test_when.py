"""Times as people type them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime

import pytest

from sessionlog import when
from sessionlog.errors import SessionlogError

NOW = datetime.fromisoformat("2026-03-29T12:00:00+00:00")


@pytest.fixture(autouse=True)
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A place whose clocks go forward on 29 March 2026, written so that no database of zones is needed."""
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("90m", "2026-03-29T10:30:00.000Z", "2026-03-29T10:30:00.000Z"),
        ("24h", "2026-03-28T12:00:00.000Z", "2026-03-28T12:00:00.000Z"),
        ("7 d", "2026-03-22T12:00:00.000Z", "2026-03-22T12:00:00.000Z"),
        ("2W", "2026-03-15T12:00:00.000Z", "2026-03-15T12:00:00.000Z"),
        ("now", "2026-03-29T12:00:00.000Z", "2026-03-29T12:00:00.000Z"),
        ("today", "2026-03-28T23:00:00.000Z", "2026-03-29T22:00:00.000Z"),
        ("yesterday", "2026-03-27T23:00:00.000Z", "2026-03-28T23:00:00.000Z"),
        (" 2026-02-01 ", "2026-01-31T23:00:00.000Z", "2026-02-01T23:00:00.000Z"),
        ("2026-02-01T12:30", "2026-02-01T11:30:00.000Z", "2026-02-01T11:30:00.000Z"),
        ("2026-02-01 12:30:15", "2026-02-01T11:30:15.000Z", "2026-02-01T11:30:15.000Z"),
        ("2026-02-01T12:30:15.250Z", "2026-02-01T12:30:15.250Z", "2026-02-01T12:30:15.250Z"),
        ("2026-02-01T12:30:00+08:00", "2026-02-01T04:30:00.000Z", "2026-02-01T04:30:00.000Z"),
    ],
)
def test_times_as_people_type_them(text: str, since: str, until: str) -> None:
    assert (when.since(text, NOW), when.until(text, NOW)) == (since, until)


@pytest.mark.parametrize("text", ["", "soon", "7", "d", "-1d", "7x", "2026-13-01", "99999999d", "999999w", "2026-1-1"])
def test_other_words_are_explained(text: str) -> None:
    with pytest.raises(SessionlogError, match="no time that sessionlog understands; try 7d"):
        when.since(text, NOW)
