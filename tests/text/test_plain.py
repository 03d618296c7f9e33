"""Numbers, sizes and times are written in one way everywhere."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from sessionlog.text import plain
from sessionlog.times import archive_text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (0.5, "0.5"),
        (940, "940"),
        (1000, "1k"),
        (1234, "1.2k"),
        (12_500, "12.5k"),
        (123_456, "123k"),
        (1_000_000, "1M"),
        (3_400_000_000, "3.4G"),
    ],
)
def test_amounts(number: float, text: str) -> None:
    assert plain.amount(number) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0 B"), (999, "999 B"), (1200, "1.2 KB"), (12_345, "12 KB"), (4_100_000, "4.1 MB"), (1.2e12, "1,200.0 GB")],
)
def test_sizes(number: int, text: str) -> None:
    assert plain.size(number) == text


@pytest.mark.parametrize(
    ("before", "text"),
    [
        ({"seconds": -5}, "just now"),
        ({"seconds": 59}, "just now"),
        ({"seconds": 61}, "1 minute ago"),
        ({"minutes": 59}, "59 minutes ago"),
        ({"hours": 3}, "3 hours ago"),
        ({"days": 13}, "13 days ago"),
    ],
)
def test_how_long_ago(before: dict[str, int], text: str) -> None:
    assert plain.ago(archive_text(datetime.now(timezone.utc) - timedelta(**before))) == text


def test_long_ago_is_a_day_and_nonsense_stays_as_it_is() -> None:
    assert plain.ago("2020-02-03T12:00:00.000Z") == "2020-02-03"
    assert plain.ago("yesterday") == "yesterday"
    assert plain.ago("2026-11-16") == "2026-11-16"


def test_counts_and_money() -> None:
    assert (plain.counted(1, "day"), plain.counted(1200, "day")) == ("1 day", "1,200 days")
    assert plain.dollars(1234.5) == "$1,234.50"
