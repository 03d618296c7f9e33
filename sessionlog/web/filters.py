"""How numbers, times and archive text are written in pages: the filters of our templates."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from sessionlog.session import live
from sessionlog.text import plain as terminal


def plain(text: Any) -> str:
    """Archive text without letters that control: the template escapes it, this takes out what would still act."""
    return terminal.safe(str(text)) if text is not None else ""


def line(text: Any, width: int = 160) -> str:
    """The same on one line, cut where it gets long."""
    return terminal.one_line(str(text), width) if text is not None else ""


def number(value: float | None) -> str:
    """1,234"""
    return f"{value:,}" if value is not None else ""


def amount(value: float | None) -> str:
    """1.2k, 3.4M: for counts of tokens."""
    return terminal.amount(value) if value is not None else ""


def dollars(value: float | None) -> str:
    """$1.23; nothing where no price is known."""
    return terminal.dollars(value) if value is not None else ""


def took(seconds: float | None) -> str:
    """12 min, 3.5 h"""
    return terminal.duration(int((seconds or 0) * 1000))


def moment(at: str | None, pattern: str = "%Y-%m-%d %H:%M") -> Markup:
    """A time of the archive in the time zone of this machine, for people and machines alike."""
    if not at:
        return Markup("")
    return Markup('<time datetime="{}" title="{}">{}</time>').format(at, at, terminal.local_time(at, pattern))


def ago(at: str | None) -> Markup:
    """5 minutes ago, 3 days ago; the exact time is the title."""
    if not at:
        return Markup("")
    return Markup('<time datetime="{}" title="{}">{}</time>').format(at, terminal.local_time(at), terminal.ago(at))


FILTERS = {
    "plain": plain,
    "line": line,
    "number": number,
    "amount": amount,
    "dollars": dollars,
    "took": took,
    "moment": moment,
    "ago": ago,
    "counted": terminal.counted,
    "is_live": live.is_live,
}
