"""sessionlog blame."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any

import click

from sessionlog.archive.place import Place
from sessionlog.ask.provenance import blame, describe, target
from sessionlog.ask.provenance import open as provenance
from sessionlog.ask.provenance.blame import NOT_RECORDED, Blame, Line
from sessionlog.ask.provenance.describe import Describer
from sessionlog.cli import table, terminal
from sessionlog.cli.common import file_place, json_option, print_json_lists, project_option
from sessionlog.cli.completion import offer, revisions
from sessionlog.cli.main import example
from sessionlog.cli.terminal import page
from sessionlog.errors import SessionlogError
from sessionlog.text import plain
from sessionlog.times import moment

# Widths of the columns: session or commit, who, what was asked.
NAME, WHO, ASKED = 8, 18, 32
# On a terminal, what was asked gives way to so many columns of code, down to this.
CODE, SHORTEST = 44, 12


@example(
    "sessionlog blame src/cart.py",
    "sessionlog blame src/cart.py -L 10,20",
    "sessionlog blame src/cart.py --rev HEAD~3",
    "sessionlog blame src/cart.py --json | jq '.lines[] | select(.source == \"edit\")'",
)
@click.command()
@click.argument("file", type=click.Path())
@click.option("-L", "ranges", metavar="FROM,TO", multiple=True, help="Only these lines: 10,20 or 10,+5 or 10.")
@click.option(
    "--rev",
    metavar="REV",
    shell_complete=offer(revisions),
    help="The file as it is in this commit, instead of the working copy.",
)
@click.option("--porcelain", is_flag=True, help="Print what `git blame --line-porcelain` prints, and the session.")
@project_option
@json_option
def command(
    file: str, ranges: tuple[str, ...], rev: str | None, porcelain: bool, project: str | None, as_json: bool
) -> None:
    """Show which session, or which commit, each line of FILE comes from.

    Lines keep their origin when they are moved, indented or formatted. A line that no recorded edit wrote has the
    commit that brought it; a line that was not committed either is "not recorded".
    """
    place = file_place(file, project)
    with provenance.archive(place) as (connection, indexed):
        found = blame.of_file(connection, target.locate(place, file, rev), indexed=indexed)
        lines = chosen(found.lines, ranges)
        describer = Describer(connection)
        if as_json:
            print_json_lists(_head(found, place), lines=(describe.as_json(line, describer) for line in lines))
        elif porcelain:
            for line in lines:
                click.echo("\n".join(_porcelain(found, line, describer)))
        else:
            page(_listed(lines, describer))


def chosen(lines: list[Line], ranges: tuple[str, ...]) -> list[Line]:
    """The lines that -L means; all of them without it."""
    if not ranges:
        return lines
    wanted: set[int] = set()
    for given in ranges:
        match = re.fullmatch(r"(\d{1,9})(?:,(\+?)(\d{1,9}))?", given)
        if not match:
            raise SessionlogError(f"-L {given}: write it as 10,20 or 10,+5 or 10.")
        first = int(match[1])
        last = first if not match[3] else first + int(match[3]) - 1 if match[2] else int(match[3])
        if not 1 <= first <= last or first > len(lines):
            raise SessionlogError(f"-L {given}: the file has {plain.counted(len(lines), 'line')}.")
        wanted.update(range(first, min(last, len(lines)) + 1))
    return [line for line in lines if line.number in wanted]


def _head(found: Blame, place: Place) -> dict[str, Any]:
    commit = found.target.commit
    return {"file": found.target.path, "revision": commit.id if commit else None, "project": place.project}


def _listed(lines: list[Line], describe: Describer) -> Iterator[str]:
    digits = len(str(lines[-1].number)) if lines else 1
    origins: dict[Any, tuple[str, str, str, str, str | None]] = {}  # many lines have the same one
    for line in lines:
        if (origin := _origin(line)) not in origins:
            origins[origin] = columns(line, describe)
    of_who, of_asked = WHO, ASKED
    if sys.stdout.isatty() and origins:
        of_who, of_asked = (
            max(table.display_width(found[place] or "") for found in origins.values()) for place in (1, 3)
        )
        room = terminal.width() - NAME - of_who - 10 - digits - 6 - CODE
        of_asked = min(of_asked, max(room, SHORTEST))
    heads = {
        origin: click.style(f"{name:{NAME}} {table.pad(who, of_who)} {at:10} {table.pad(asked, of_asked)}", fg=colour)
        for origin, (name, who, at, asked, colour) in origins.items()
    }
    for line in lines:
        yield from terminal.beside(f"{heads[_origin(line)]} {line.number:>{digits}}) ", plain.safe(line.text))


def _origin(line: Line) -> Any:
    return line.edit.name if line.edit else (line.attested, line.commit)


def columns(line: Line, describe: Describer) -> tuple[str, str, str, str, str | None]:
    """Who wrote a line: the session or commit, the agent or author, the day, the prompt or summary, a colour."""
    if line.edit:
        described = describe(line.edit)
        who = plain.one_line(described.model.removeprefix("claude-") or described.client, WHO)
        asked = plain.one_line(described.prompt.text if described.prompt else line.edit.name, ASKED)
        name = plain.safe(line.edit.session_id)[:NAME]
        return name, who, plain.local_time(line.edit.at, "%Y-%m-%d"), asked, "magenta"
    if line.attested and line.commit:
        said = line.attested
        who = plain.one_line(said.model or said.tool, WHO)
        day = plain.local_time(line.commit.authored_at, "%Y-%m-%d")
        return plain.one_line(said.session_id, NAME), who, day, plain.one_line(f"noted by {said.tool}", ASKED), "blue"
    if line.commit:
        commit = line.commit
        day = plain.local_time(commit.authored_at, "%Y-%m-%d")
        return commit.id[:NAME], plain.one_line(commit.author, WHO), day, plain.one_line(commit.summary, ASKED), "cyan"
    return "-" * NAME, NOT_RECORDED, "", "", "yellow"


def _porcelain(found: Blame, line: Line, describe: Describer) -> Iterator[str]:
    commit = line.commit
    number = line.stored.number if line.stored else line.number
    yield f"{commit.id if commit else '0' * 40} {number} {line.number} 1"
    author = commit.author if commit else "Not Committed Yet"
    yield f"author {plain.one_line(author)}"
    yield f"author-mail <{plain.one_line(commit.email if commit else 'not.committed.yet')}>"
    yield f"author-time {int(moment(commit.authored_at).timestamp()) if commit else 0}"
    yield "author-tz +0000"
    yield f"summary {plain.one_line(commit.summary if commit else found.target.path)}"
    yield f"source {line.source}"
    if line.edit:
        described = describe(line.edit)
        yield f"session {plain.safe(line.edit.session_id)}"
        yield f"event {line.edit.name}"
        yield f"event-time {line.edit.at}"
        yield f"agent {plain.one_line(described.client)}"
        yield f"model {plain.one_line(described.model)}"
        if described.prompt:
            yield f"prompt {described.prompt.name} {plain.one_line(described.prompt.text)}"
    yield f"filename {plain.safe(line.stored.path if line.stored else found.target.path)}"
    yield f"\t{plain.safe(line.text)}"
