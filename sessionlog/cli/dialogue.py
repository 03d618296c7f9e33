"""What commands say to a person beside their output, and the question before something is written."""

from __future__ import annotations

import sys
from typing import Any

import click

from sessionlog.errors import SessionlogError


def note(text: str) -> None:
    """Print what the user should know, apart from the diff."""
    click.secho(f"Note: {text}", fg="yellow", err=True)


def progress_bar(label: str, length: int = 1, hidden: bool = False) -> Any:
    """A bar on stderr, which leaves stdout to the answer."""
    return click.progressbar(length=length, label=label, width=30, hidden=hidden, show_eta=True, file=sys.stderr)


def confirm(question: str, yes: bool) -> None:
    """Ask before something is written or removed; Enter alone is a no."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise SessionlogError("Nothing was changed: there is no terminal to ask on. Add --yes to go on without asking.")
    if not click.confirm(question, default=False, err=True):
        raise SessionlogError("Nothing was changed.")
