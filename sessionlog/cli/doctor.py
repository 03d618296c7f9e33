"""`sessionlog doctor`: is everything in order?"""

from __future__ import annotations

import shutil
import sys
import textwrap
from itertools import chain
from pathlib import Path

import click

from sessionlog.cli.common import json_option, print_json
from sessionlog.cli.main import example
from sessionlog.install.doctor import examine as doctor
from sessionlog.text.plain import counted, safe

_COLOURS = {"ok": "green", "note": "yellow", "problem": "red"}
_MARKS = {"ok": "✓", "note": "!", "problem": "✗"}
_PLAIN_MARKS = {"ok": "ok", "note": "!", "problem": "X"}
_NAMES = 13  # the width of the longest name and a space


@example("sessionlog doctor", "sessionlog doctor --fix", "sessionlog doctor --json")
@click.command("doctor")
@json_option
@click.option(
    "--fix",
    is_flag=True,
    help="First make files private, store waiting events, and restore the schema; deletes no data.",
)
@click.option("--full", is_flag=True, help="Check every page of big archives too.")
@click.pass_context
def command(ctx: click.Context, as_json: bool, fix: bool, full: bool) -> None:
    """Check that everything is in order, on one screen: paste it into an issue.

    Looks at versions, at the hooks and what is in their way (one is run, into a scratch archive), at the archives and
    who can read them, at what waits to be stored, and at the transcripts that Claude Code will delete. Ends with 1 if
    there are problems.
    """
    results = []
    for result in chain(doctor.repair() if fix else (), doctor.examine(Path.cwd(), full=full)):
        results.append(result)
        if not as_json:
            _show(result)
    if as_json:
        print_json([result._asdict() for result in results])
    else:
        click.echo(f"\n{_summary(results)}")
    ctx.exit(1 if any(result.level == "problem" for result in results) else 0)


def _show(result: doctor.Result) -> None:
    marks = _MARKS if _printable("✓✗") == "✓✗" else _PLAIN_MARKS
    mark = marks[result.level].ljust(max(map(len, marks.values())))
    margin = " " * (len(mark) + 1 + _NAMES)
    first, *more = _wrapped(result.text, len(margin))
    colour = _COLOURS[result.level]
    click.echo(f"{click.style(mark, fg=colour, bold=True)} {result.name:<{_NAMES}}{first}")
    for line in more:
        click.echo(margin + line)
    for line in _wrapped(result.advice, len(margin)):
        click.echo(margin + click.style(line, fg=colour))


def _wrapped(text: str, margin: int) -> list[str]:
    """The text in lines that fit beside the names; in one when it is not a terminal that shows it."""
    width = shutil.get_terminal_size().columns - margin if sys.stdout.isatty() else 10_000
    return textwrap.wrap(_printable(text), max(width, 30), break_long_words=False, break_on_hyphens=False)


def _printable(text: str) -> str:
    """The text as this terminal can show it."""
    encoding = sys.stdout.encoding or "ascii"
    return safe(text).encode(encoding, "replace").decode(encoding)


def _summary(results: list[doctor.Result]) -> str:
    levels = [result.level for result in results]
    counts = [counted(levels.count(level), level) for level in ("problem", "note") if level in levels]
    return f"{' and '.join(counts)}." if counts else "Everything is in order."
