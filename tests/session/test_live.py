"""What counts as live when the times are odd; tests/web/test_web_live.py has the ordinary ones."""

from __future__ import annotations

import pytest

from sessionlog.session import live


@pytest.mark.parametrize("last_at", ["yesterday", "", None, "2026-11-16", "0001-01-01T00:00:00+23:59"])
def test_a_time_that_is_none_is_not_live_and_not_removed(last_at: str | None) -> None:
    session = {"last_at": last_at, "ended_at": None}
    assert not live.is_live(session)
    assert not live.may_grow(session)
    if last_at is None or not last_at.startswith("0001"):
        assert live.may_be_continued(session)


def test_a_clock_that_was_set_back_makes_a_session_live() -> None:
    assert live.is_live({"last_at": "2999-01-01T00:00:00.000Z", "ended_at": None})
