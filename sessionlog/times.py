"""Points in time: as the archive writes them, as people type them."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

from sessionlog.errors import SessionlogError

# The end of what has none; the archive compares times as text.
FOREVER = "9999-12-31T23:59:59.999Z"

_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def moment(at: str) -> datetime:
    """A time of the archive, such as 2026-11-16T01:41:14.736Z. Raises ValueError for anything else."""
    return datetime.fromisoformat(at.replace("Z", "+00:00"))


def archive_text(time: datetime) -> str:
    """A point in time as the archive writes it; texts of this form sort as the times do."""
    utc = time.astimezone(timezone.utc)
    return f"{utc:%Y-%m-%dT%H:%M:%S}.{utc.microsecond // 1000:03}Z"


def parse(text: str, now: datetime | None = None) -> str:
    """What a person means by `90m`, `24h`, `7d`, `2w`, `today`, `yesterday` or a date, on this machine's clock."""
    now = (now or datetime.now()).astimezone()
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    match = re.fullmatch(r"(\d{1,6})\s*([mhdw])", text.strip().lower())
    try:
        if match:
            return archive_text(now - timedelta(**{_UNITS[match[2]]: int(match[1])}))
        if text in ("today", "yesterday"):
            return archive_text(today - timedelta(days=text == "yesterday"))
        return archive_text(moment(text).astimezone())
    except (ValueError, OverflowError):
        raise SessionlogError(
            f"{text!r} is no time; try 24h, 7d, 2w, today, yesterday, 2026-11-16 or 2026-11-16T09:30"
        ) from None
