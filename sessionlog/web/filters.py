"""How numbers, times and archive text are written in pages: the filters of our templates."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

from markupsafe import Markup

from sessionlog.session import live
from sessionlog.text import plain as terminal
from sessionlog.times import moment as moment_of


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
    """12 min, 3.5 h; nothing where nothing was measured."""
    return terminal.duration(int(seconds * 1000)) if seconds else ""


def some(number: int | None, noun: str) -> str:
    """12 edits; nothing where there are none."""
    return terminal.counted(number, noun) if number else ""


def day(at: str | None) -> str:
    """Today, Yesterday, Mon 16 Nov 2026: the day of a time, on this machine's clock."""
    try:
        local = moment_of(at or "").astimezone().date()
    except (ValueError, OverflowError):
        return "Without a time"
    named = {0: "Today", 1: "Yesterday"}.get((date.today() - local).days)
    written = f"{local:%a} {local.day} {local:%b %Y}"
    return f"{named} · {written}" if named else written


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


_FIRST_TEXT = re.compile(r'\{\s*"[^"]{1,80}"\s*:\s*(?:\[\s*\{\s*"[^"]{1,80}"\s*:\s*)?"((?:[^"\\]|\\.)*)')


def argument(text: Any) -> str:
    """The first text of a tool's input where an audit has no other name for it: no JSON, which may be cut off."""
    match = _FIRST_TEXT.match(text) if isinstance(text, str) else None
    return str(match[1]).replace('\\"', '"') if match else str(text)


_REASONS = {
    "idle_prompt": "waits for you",
    "permission_prompt": "asks for permission",
    "elicitation_dialog": "asks a question",
    "agent_needs_input": "a sub-agent asks",
    "agent_completed": "a sub-agent is done",
    "auto": "automatic",
    "manual": "asked for",
    "prompt_input_exit": "left at the prompt",
    "logout": "logged out",
    "clear": "cleared",
}


def reason(name: str) -> str:
    """Why there was a notice, a compaction or an end, where the client's own name says too little."""
    return _REASONS.get(name, name.replace("_", " "))


FILTERS = {
    "plain": plain,
    "line": line,
    "number": number,
    "amount": amount,
    "dollars": dollars,
    "took": took,
    "some": some,
    "argument": argument,
    "reason": reason,
    "day": day,
    "moment": moment,
    "ago": ago,
    "counted": terminal.counted,
    "is_live": live.is_live,
}
