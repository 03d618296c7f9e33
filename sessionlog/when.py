"""A point in time as people type it, as the archive writes it: `7d`, `yesterday`, `2026-10-01`."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

from sessionlog.errors import SessionlogError

UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
FORMS = "7d, 24h, 2w, 30m, today, yesterday, 2026-10-01, 2026-10-01T14:30 or a time with a zone"

_AGO = re.compile(r"(\d{1,6})\s*([mhdw])")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def since(text: str, now: datetime | None = None) -> str:
    """The moment from which on: a day begins at midnight of this machine's clock."""
    return utc_text(_moment(text, now)[0])


def until(text: str, now: datetime | None = None) -> str:
    """The moment up to which: a day that is named counts to its end."""
    moment, is_day = _moment(text, now)
    return utc_text(_midnight(moment + timedelta(hours=36)) if is_day else moment)


def utc_text(moment: datetime) -> str:
    """A moment as the archive writes times: 2026-11-16T01:41:14.736Z."""
    return moment.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _moment(text: str, now: datetime | None) -> tuple[datetime, bool]:
    """The moment, and whether a whole day was meant."""
    now = (now or datetime.now()).astimezone()
    wanted = text.strip().lower()
    try:
        if wanted == "now":
            return now, False
        if wanted == "today":
            return _midnight(now), True
        if wanted == "yesterday":
            return _midnight(_midnight(now) - timedelta(hours=12)), True
        if ago := _AGO.fullmatch(wanted):
            return now - timedelta(**{UNITS[ago[2]]: int(ago[1])}), False
        # Python 3.10 reads no Z.
        return datetime.fromisoformat(wanted.upper().replace("Z", "+00:00")).astimezone(), bool(_DATE.fullmatch(wanted))
    except (ValueError, OverflowError, OSError) as error:
        raise SessionlogError(f"{text!r} is no time that sessionlog understands; try {FORMS}") from error


def _midnight(moment: datetime) -> datetime:
    """The start of the day; taken without its zone first, for a day with a change of clocks has 23 or 25 hours."""
    return moment.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None).astimezone()
