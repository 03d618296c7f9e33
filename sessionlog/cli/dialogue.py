"""What commands say to a person beside their output, and the question before something is written."""

from __future__ import annotations

import sys
from typing import Any

import click

from sessionlog.cli import terminal
from sessionlog.errors import SessionlogError

BAR = 30  # columns
# Brackets, percents and the time that is left.
BESIDE_BAR = 24


def note(text: str) -> None:
    """Print what the user should know, apart from the diff."""
    terminal.say(f"Note: {text}", fg="yellow")


def progress_bar(label: str, length: int = 1, hidden: bool = False) -> Any:
    """A bar on stderr, which leaves stdout to the answer."""
    width = max(min(BAR, terminal.width() - len(label) - BESIDE_BAR), 5)
    return click.progressbar(length=length, label=label, width=width, hidden=hidden, show_eta=True, file=sys.stderr)


def confirm(question: str, yes: bool, refused: str = "Nothing was changed") -> None:
    """Ask before something is written or removed; Enter alone is a no."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise SessionlogError(f"{refused}: there is no terminal to ask on. Add --yes to go on without asking.")
    if not click.confirm(question, default=False, err=True):
        raise SessionlogError(f"{refused}.")
