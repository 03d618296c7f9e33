"""How numbers, times and archive text are written in pages: the filters of our templates."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from markupsafe import Markup, escape

from sessionlog import terminal


def plain(text: Any) -> str:
    """Archive text without letters that control: the template escapes it, this takes out what would still act."""
    return terminal.safe(str(text)) if text is not None else ""


def line(text: Any, width: int = 160) -> str:
    """The same on one line, cut where it gets long."""
    return terminal.one_line(str(text), width) if text is not None else ""


def number(value: float | None) -> str:
    """1,234"""
    return f"{value:,}" if value is not None else ""


def short(value: float | None) -> str:
    """1.2k, 3.4M: for counts of tokens."""
    if value is None:
        return ""
    for size, letter in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if value >= size:
            digits = f"{value / size:.1f}".removesuffix(".0") if value < 100 * size else f"{value / size:.0f}"
            return digits + letter
    return f"{value:g}"


def dollars(value: float | None) -> str:
    """$1.23; nothing where no price is known."""
    return f"${value:,.2f}" if value is not None else ""


def took(seconds: float | None) -> str:
    """1m 20s"""
    return terminal.duration(int((seconds or 0) * 1000))


def moment(at: str | None, pattern: str = "%Y-%m-%d %H:%M") -> Markup:
    """A time of the archive in the time zone of this machine, for people and machines alike."""
    if not at:
        return Markup("")
    return Markup('<time datetime="{}" title="{}">{}</time>').format(at, at, terminal.local_time(at, pattern))


def ago(at: str | None) -> Markup:
    """5 min ago, 3 days ago; the exact time is the title."""
    if not at:
        return Markup("")
    try:
        then = datetime.fromisoformat(at.replace("Z", "+00:00"))
    except ValueError:
        return escape(at)
    seconds = (datetime.now(timezone.utc) - then).total_seconds()
    text = terminal.local_time(at, "%Y-%m-%d")
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if size <= seconds < 14 * 86400:
            text = f"{terminal.counted(int(seconds // size), unit)} ago"
            break
    if seconds < 60:
        text = "just now"
    return Markup('<time datetime="{}" title="{}">{}</time>').format(at, terminal.local_time(at), text)


FILTERS = {
    "plain": plain,
    "line": line,
    "number": number,
    "short": short,
    "dollars": dollars,
    "took": took,
    "moment": moment,
    "ago": ago,
    "counted": terminal.counted,
}
