"""What the terminal can show: colours, characters, its width, and the pager."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable

import click


def wants_colour() -> bool | None:
    """What the environment asks for: NO_COLOR, TERM=dumb and CLICOLOR_FORCE; None leaves it to the output."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return True if os.environ.get("CLICOLOR_FORCE", "0") not in ("", "0") else None


def accept_every_character() -> None:
    """In a locale that is not UTF-8, show what it cannot write as ? on a terminal and as \\u2026 elsewhere."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace" if stream.isatty() else "backslashreplace")


def writes_unicode() -> bool:
    """Whether stdout can write every character."""
    return (sys.stdout.encoding or "ascii").lower().replace("-", "") in ("utf8", "utf16", "utf32")


def width() -> int:
    """How many columns there are; 120 where nobody looks."""
    return shutil.get_terminal_size((120, 24)).columns


def page(lines: Iterable[str]) -> None:
    """Through the pager on a terminal; else line by line, as they come."""
    if not sys.stdout.isatty():
        for line in lines:
            click.echo(line)
        return
    # As git does: colours, and no pager for what fits the screen. With its hyphen, because click looks for "-…R…".
    os.environ.setdefault("LESS", "-FRX")
    click.echo_via_pager((f"{line}\n" for line in lines), color=wants_colour())
