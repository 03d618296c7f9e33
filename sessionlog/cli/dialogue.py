"""What commands say to a person beside their output, and the question before something is written."""

from __future__ import annotations

import sys

import click

from sessionlog.errors import SessionlogError


def note(text: str) -> None:
    """Print what the user should know, apart from the diff."""
    click.secho(f"Note: {text}", fg="yellow", err=True)


def confirm(question: str, yes: bool) -> None:
    """Ask; stop where nobody can answer or the answer is no."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise SessionlogError("Nothing was written, for there is no terminal to ask on. Add --yes to write it.")
    click.confirm(question, default=True, abort=True)
