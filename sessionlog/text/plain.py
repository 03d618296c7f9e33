"""How text, numbers and times are written for people: in a terminal, on pages and in exports."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, timedelta, timezone

from sessionlog.times import moment

# Characters that move the cursor, change colours or reorder text, and halves of surrogate pairs, which none can write:
# shown, not obeyed. A regex, as most texts have none of them: str.translate takes ten times as long to find out.
# Compiled when a text is not printable: that takes as long as importing this module.
_UNSAFE = "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"


def safe(text: str) -> str:
    """Text from an archive that a terminal shows and does not obey."""
    if text.isprintable() or text.replace("\n", "").isprintable():
        return text
    return re.sub(_UNSAFE, _spelled_out, text)


def path(text: str) -> str:
    """A path on one line, all of it: the name of a folder may hold a newline."""
    return safe(text).replace("\n", "\\n")


def one_line(text: str, width: int = 100) -> str:
    """The text on one line, cut to a width."""
    some = text[: 16 * width + 256]  # it may be megabytes, and all of its beginning may be blanks
    flat = safe(" ".join(some.split()))
    return flat if len(flat) <= width and len(some) == len(text) else flat[: width - 1] + "…"


def local_time(at: str, form: str = "%Y-%m-%d %H:%M") -> str:
    """A time of the archive (UTC) on this machine's clock; any other text, made harmless."""
    try:
        return moment(at).astimezone().strftime(form)
    except (ValueError, OverflowError):
        return one_line(at, 25)


def local_clock(at: str) -> str:
    """The local time of day (14:03:59). Faster than strftime: a session has thousands of times."""
    try:
        return moment(at).astimezone().time().isoformat("seconds")
    except (ValueError, OverflowError):
        return one_line(at, 25)


def ago(at: str) -> str:
    """just now, 5 minutes ago, 3 days ago; after two weeks, the day."""
    try:
        seconds = (datetime.now(timezone.utc) - moment(at)).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return one_line(str(at), 25)
    if seconds < 60:
        return "just now"
    for length, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if length <= seconds < 14 * 86400:
            return f"{counted(int(seconds // length), unit)} ago"
    return local_time(at, "%Y-%m-%d")


def duration(milliseconds: float) -> str:
    """165 ms, 4.1 s, 12 min, 3.5 h."""
    for limit, size, unit in ((1000, 1, "ms"), (60_000, 1000, "s"), (3_600_000, 60_000, "min")):
        if milliseconds < limit:
            value = milliseconds / size
            return f"{value:.0f} {unit}" if unit == "ms" or value >= 10 else f"{value:.1f} {unit}"
    return f"{milliseconds / 3_600_000:.1f} h"


def length(time: timedelta) -> str:
    """45 s, 12 min, 1 h 20 min, 3 d 4 h: how long something still takes."""
    seconds = int(time.total_seconds())
    parts = (seconds // 86400, "d"), (seconds // 3600 % 24, "h"), (seconds // 60 % 60, "min"), (seconds % 60, "s")
    first = next((place for place, part in enumerate(parts) if part[0]), 3)
    two = parts[first : first + 2 if first < 2 else first + 1]
    return " ".join(f"{count} {unit}" for place, (count, unit) in enumerate(two) if count or not place)


def size(count: int) -> str:
    """340 B, 12 KB, 4.1 MB, 1.2 GB."""
    for limit, unit, divisor in ((1e3, "B", 1), (1e6, "KB", 1e3), (1e9, "MB", 1e6)):
        if count < limit:
            value = count / divisor
            return f"{value:.0f} {unit}" if value >= 10 or unit == "B" else f"{value:.1f} {unit}"
    return f"{count / 1e9:,.1f} GB"


def amount(number: float) -> str:
    """940, 1.2k, 12.3k, 123k, 4M: counts of tokens and the like."""
    for limit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= limit:
            value = number / limit
            return (f"{value:.1f}".removesuffix(".0") if value < 100 else f"{value:.0f}") + letter
    return f"{number:g}"


def dollars(number: float) -> str:
    """$1,234.50"""
    return f"${number:,.2f}"


def cost(number: float | None, unpriced_tokens: int | None = 0) -> str:
    """$1.20, or $1.20+ if answers without a known price have a part in it; nothing if no price is known."""
    return "" if number is None else f"{dollars(number)}{'+' if unpriced_tokens else ''}"


def counted(number: int, noun: str) -> str:
    """1 prompt, 2 prompts."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def did_you_mean(wanted: str, names: Iterable[str]) -> str:
    """The end of an error message: "; did you mean X?" if a name is much like what was typed, else nothing."""
    from difflib import get_close_matches  # 5 ms, which only a mistyped command pays

    known = {name.lower(): name for name in sorted(names)}
    begun = [name for name in known if len(wanted) > 2 and name.startswith(wanted.lower())]
    close = [known[name] for name in begun[:2] or get_close_matches(wanted.lower(), known, n=2)]
    return f"; did you mean {' or '.join(close)}?" if close else ""


def _spelled_out(match: re.Match[str]) -> str:
    code = ord(match[0])
    return "    " if code == 9 else f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
