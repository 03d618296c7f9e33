"""sessionlog why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from sessionlog.ask.provenance import blame, describe, story, target
from sessionlog.ask.provenance import open as provenance
from sessionlog.ask.provenance.blame import NOT_RECORDED
from sessionlog.ask.provenance.describe import Describer
from sessionlog.ask.provenance.story import Chapter, Story
from sessionlog.cli.common import file_place, json_option, print_json, project_option
from sessionlog.cli.completion import offer, revisions
from sessionlog.cli.main import example
from sessionlog.cli.terminal import page
from sessionlog.errors import SessionlogError
from sessionlog.session import call as calls
from sessionlog.session.load import Entry
from sessionlog.text import plain


@example(
    "sessionlog why src/cart.py:42", "sessionlog why src/cart.py:42 --rev v1.2", "sessionlog why src/cart.py:42 --json"
)
@click.command()
@click.argument("place", metavar="FILE:LINE")
@click.option(
    "--rev",
    metavar="REV",
    shell_complete=offer(revisions),
    help="The file as it is in this commit, instead of the working copy.",
)
@project_option
@json_option
def command(place: str, rev: str | None, project: str | None, as_json: bool) -> None:
    """Tell the story of one line: who asked for it, the edits that made it, what was run and said afterwards.

    The names in the margin, such as e123, go on: `sessionlog show e123`.
    """
    file, _, number = place.rpartition(":")
    if not file or not number.isdigit():
        raise click.UsageError("Name a line as FILE:LINE, such as src/cart.py:42.")
    archive = file_place(file, project)
    with provenance.archive(archive) as (connection, indexed):
        found = blame.of_file(connection, target.locate(archive, file, rev), indexed=indexed)
        if not 1 <= int(number) <= len(found.lines):
            raise SessionlogError(f"{file} has {plain.counted(len(found.lines), 'line')}.")
        describer = Describer(connection)
        told = story.of_line(connection, found, int(number), describer)
        if as_json:
            print_json({"file": found.target.path, **describe.as_json(told.line, describer), **_as_json(told)})
        else:
            page(_told(found.target.path, told))


def _told(path: str, told: Story) -> Iterator[str]:
    line = told.line
    yield f"{click.style(f'{plain.safe(path)}:{line.number}', bold=True)}  {plain.safe(line.text.strip())}"
    if line.commit:
        commit = line.commit
        day = plain.local_time(commit.authored_at)
        yield f"  commit {click.style(commit.id[:10], fg='cyan')}  {day}  {plain.one_line(commit.author, 40)}"
        yield f"    {plain.one_line(commit.summary)}"
    else:
        yield "  not committed"
    if not told.chapters:
        yield ""
        yield click.style(f"  {NOT_RECORDED}", fg="yellow") + ": no recorded edit wrote this line."
    if told.suspects:
        yield "  These commands name the file, and may have:"
    for ran in told.suspects:
        yield _entry(ran.name, plain.local_time(ran.at), plain.one_line(ran.command, 120))
    for chapter in told.chapters:
        yield ""
        yield from _chapter(chapter)


def _chapter(chapter: Chapter) -> Iterator[str]:
    edit, prompt = chapter.described.edit, chapter.described.prompt
    who = " · ".join(filter(None, (chapter.described.client, chapter.described.model)))
    yield f"  {plain.local_time(edit.at)}  session {plain.safe(edit.session_id)}  {plain.one_line(who, 60)}"
    if prompt:
        yield _entry(prompt.name, click.style("prompt", fg="blue"), plain.one_line(prompt.text, 200))
    yield _entry(edit.name, click.style(plain.safe(edit.tool), fg="yellow"), plain.one_line(edit.change.path))
    if chapter.before is not None:
        yield f"{'':12}{click.style(f'- {plain.safe(chapter.before.strip())}', fg='red')}"
    yield f"{'':12}{click.style(f'+ {plain.safe(chapter.line.strip())}', fg='green')}"
    for entry in chapter.commands:
        yield _entry(_name(entry), "then", f"{plain.one_line(command_of(entry), 120)}  {_ended(entry)}")
    if chapter.answer:
        yield _entry(
            _name(chapter.answer), click.style("answer", fg="magenta"), plain.one_line(chapter.answer.text, 200)
        )


def _entry(name: str, kind: str, text: str) -> str:
    return f"    {name:>7} {kind}  {text}"


def _name(entry: Entry) -> str:
    return entry.names[-1] if entry.names else ""


def command_of(entry: Entry) -> str:
    """What was run."""
    return calls.argument(entry.call) if entry.call else ""


def _ended(entry: Entry) -> str:
    call = entry.call
    if call is None or call.outcome == "ok":
        return click.style("ok", fg="green")
    code = calls.exit_code(call)
    return click.style(f"exit {code}" if code else call.outcome, fg="red")


def _as_json(told: Story) -> dict[str, Any]:
    return {
        "edits": [
            {
                "event": chapter.described.edit.name,
                "session_id": chapter.described.edit.session_id,
                "at": chapter.described.edit.at,
                "agent": chapter.described.client,
                "model": chapter.described.model,
                "tool": chapter.described.edit.tool,
                "prompt": chapter.described.prompt._asdict() if chapter.described.prompt else None,
                "before": chapter.before,
                "after": chapter.line,
                "commands": [
                    {
                        "event": _name(entry),
                        "command": command_of(entry),
                        "outcome": entry.call.outcome if entry.call else None,
                    }
                    for entry in chapter.commands
                ],
                "answer": {"event": _name(chapter.answer), "text": chapter.answer.text} if chapter.answer else None,
            }
            for chapter in told.chapters
        ],
        "commands_that_may_have": [ran._asdict() for ran in told.suspects],
    }
