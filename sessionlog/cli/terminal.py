"""What the terminal can show: colours, characters, its width, and the pager."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import click

from sessionlog.cli import table

WITHOUT_TERMINAL = 120  # columns
NARROWEST = 24  # columns beside a beginning
BELOW = 8  # columns of margin, where there are fewer
AT_ONCE = 50  # lines that are written at once where nobody watches


def wants_colour() -> bool | None:
    """What the environment asks for: NO_COLOR, TERM=dumb and CLICOLOR_FORCE; None leaves it to the output."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return True if os.environ.get("CLICOLOR_FORCE", "0") not in ("", "0") else None


def shows_colour() -> bool:
    """Whether stdout gets colours."""
    wanted = wants_colour()
    return sys.stdout.isatty() if wanted is None else wanted


def is_interactive() -> bool:
    """Whether a person sits at a terminal that can be drawn on."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def accept_every_character() -> None:
    """In a locale that is not UTF-8, show what it cannot write as ? on a terminal and as \\u2026 elsewhere."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace" if stream.isatty() else "backslashreplace")


def writes_unicode() -> bool:
    """Whether stdout can write every character."""
    return (sys.stdout.encoding or "ascii").lower().replace("-", "") in ("utf8", "utf16", "utf32")


def width() -> int:
    """How many columns there are; 120 where there is no terminal."""
    # As shutil.get_terminal_size, which imports compression modules.
    if (given := os.environ.get("COLUMNS", "")).isdigit() and int(given):
        return int(given)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno() if sys.__stdout__ else 1).columns or WITHOUT_TERMINAL
    except (OSError, ValueError):
        return WITHOUT_TERMINAL


def say(text: str, err: bool = True, **style: Any) -> None:
    """Print sentences, with lines that end between words where a terminal would break them anywhere."""
    if (sys.stderr if err else sys.stdout).isatty():
        text = "\n".join(_wrapped(line) for line in text.split("\n"))
    click.secho(text, err=err, **style)


def _wrapped(line: str) -> str:
    if len(line) <= width():
        return line
    import textwrap  # which only long sentences need

    return textwrap.fill(line, width(), break_long_words=False, break_on_hyphens=False, drop_whitespace=True)


def beside(start: str, text: str) -> Iterator[str]:
    """Lines of a text beside its beginning, which end between words; below it where the terminal is narrow."""
    if not sys.stdout.isatty() or table.display_width(click.unstyle(start + text)) <= width():
        yield f"{start}{text}"
        return
    from wcwidth import wrap  # importing it takes as long as a whole command

    margin = table.display_width(click.unstyle(start))
    if width() - margin < NARROWEST:
        yield start.rstrip()
        margin, start = BELOW, " " * BELOW
    for line in wrap(text, width() - margin, break_on_hyphens=False):
        yield f"{start}{line}"
        start = " " * margin


def print_line(line: str) -> None:
    """Print a line, cut to the width of the terminal; where no terminal is, all of it."""
    if sys.stdout.isatty():
        line = table.cut_styled(line, width())
    click.echo(line)


def print_parts(parts: list[str], between: str = " · ") -> None:
    """Print parts one after the other, on as many lines as the terminal needs."""
    line = ""
    for part in parts:
        if line and table.display_width(click.unstyle(f"{line}{between}{part}")) > width():
            click.echo(line)
            line = f"  {part}"
        else:
            line = f"{line}{between}{part}" if line else part
    click.echo(line)


def page(lines: Iterable[str]) -> None:
    """Through the pager on a terminal that has one; else as they come, some at a time: click flushes each time."""
    if not sys.stdout.isatty() or os.environ.get("TERM", "dumb") == "dumb":
        rest = iter(lines)
        while block := list(islice(rest, AT_ONCE)):
            text = "\n".join(block)
            click.echo(text, color=None if "\x1b" in text else True)  # else click looks for colours to remove
        return
    # As git does: colours, and no pager for what fits the screen. With its hyphen, because click looks for "-…R…".
    os.environ.setdefault("LESS", "-FRX")
    click.echo_via_pager((f"{line}\n" for line in lines), color=wants_colour())
