"""sessionlog commit."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import click

from sessionlog.archive import place as projects
from sessionlog.ask.provenance import commit as commits
from sessionlog.ask.provenance import notes
from sessionlog.ask.provenance import open as provenance
from sessionlog.ask.provenance.commit import Behind, Shares, Summary
from sessionlog.ask.provenance.describe import Describer
from sessionlog.cli.common import json_option, places, print_json, project_option
from sessionlog.cli.completion import offer, revisions
from sessionlog.cli.main import example
from sessionlog.cli.terminal import page
from sessionlog.errors import SessionlogError
from sessionlog.system.git import Repository
from sessionlog.text import inert_markdown, plain

PROMPTS = 5


@example(
    "sessionlog commit",
    "sessionlog commit main..HEAD --format markdown",
    "sessionlog commit HEAD --note",
    "sessionlog commit main..HEAD --agent-trace traces.jsonl",
)
@click.command()
@click.argument("revision", default="HEAD", metavar="[REV|RANGE]", shell_complete=offer(revisions))
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "markdown"]),
    default="text",
    show_default=True,
    help="markdown: for the description of a pull request.",
)
@click.option(
    "--note", is_flag=True, help="Write a Git AI note for each commit (refs/notes/ai); one that is there stays."
)
@click.option(
    "--agent-trace", metavar="FILE", type=click.Path(), help="Append Agent Trace records to FILE, a line each."
)
@project_option
@json_option
def command(revision: str, form: str, note: bool, agent_trace: str | None, project: str | None, as_json: bool) -> None:
    """Show the sessions and prompts behind a commit, or behind a range such as main..HEAD.

    The lines that the commit brought are counted: by agents, by people, unknown. A line that is not recorded is by
    people if no session was at work in the day before the commit, else it is unknown: a command may have written it.
    Nothing is written unless you ask for --note or --agent-trace.
    """
    (place,) = places(project, False)
    repository = _repository(project or os.getcwd())
    with provenance.archive(place) as (connection, indexed):
        describe = Describer(connection)
        found = list(commits.of_range(connection, place, repository, revision, indexed=indexed))
        if as_json:
            print_json({"project": place.project, "commits": [commits.as_json(one, describe) for one in found]})
        elif form == "markdown":
            for line in _markdown(found, commits.summary(found, describe)):
                click.echo(line)
        else:
            page(_told(found, commits.summary(found, describe)))
        if note:
            _write_notes(repository, found, describe)
        if agent_trace:
            _write_traces(agent_trace, found, describe)


def _repository(folder: str) -> Repository:
    start = os.path.realpath(folder)
    root = next((one for one in projects.ancestors(start) if os.path.exists(f"{one}/.git")), None)
    if root is None:
        raise SessionlogError(f"{folder} is in no git repository.")
    return Repository(root)


def _told(found: list[Behind], summary: Summary) -> Iterator[str]:
    for behind in found:
        commit = behind.commit
        head = click.style(commit.id[:10], fg="cyan")
        yield f"{head} {plain.one_line(commit.summary)}  {plain.one_line(commit.author, 40)}"
        yield f"  {_shares(behind.shares)}{_left_out(behind.left_out)}"
        for name in behind.committed_by:
            yield f"  {name} ran git commit"
    yield ""
    yield _shares(summary.shares)
    for session_id, prompts in summary.sessions.items():
        one = summary.described[session_id]
        who = " · ".join(filter(None, (one.client, one.model)))
        yield f"  session {plain.safe(session_id)}  {plain.one_line(who, 60)}  {plain.counted(prompts.total(), 'line')}"
        for asked, lines in prompts.most_common(PROMPTS):
            yield f"    {lines:>5}  {plain.one_line(asked or '(no prompt recorded)', 100)}"


def _shares(shares: Shares) -> str:
    if not shares.total:
        return "no lines"
    counted = plain.counted(shares.total, "line")
    return f"{counted}: {shares.agents} by agents, {shares.people} by people, {shares.unknown} unknown"


def _left_out(count: int) -> str:
    return f" ({plain.counted(count, 'file')} left out: not text, too large or too many)" if count else ""


def _markdown(found: list[Behind], summary: Summary) -> Iterator[str]:
    """Fit for the description of a pull request."""
    yield f"**Where the lines come from.** {_shares(summary.shares)}."
    if not summary.sessions:
        return
    yield ""
    yield "| Prompt | Lines | Agent | Session |"
    yield "|---|---:|---|---|"
    for session_id, prompts in summary.sessions.items():
        one = summary.described[session_id]
        who = " · ".join(filter(None, (one.client, one.model)))
        for asked, lines in prompts.most_common(PROMPTS):
            cells = [asked or "(no prompt recorded)", str(lines), who, session_id[:8]]
            yield f"| {' | '.join(_cell(cell) for cell in cells)} |"


def _cell(text: str) -> str:
    return inert_markdown.escaped(plain.one_line(text, 120))


def _write_notes(repository: Repository, found: list[Behind], describe: Describer) -> None:
    for behind in found:
        commit = behind.commit
        written = behind.written(describe)
        if written:
            text = notes.note(written, commit.id)
            done = notes.write_note(repository, commit.id, text, commit.author, commit.email)
            click.echo(
                f"{'Wrote' if done else 'There is already'} a note for {commit.id[:10]} in {notes.NOTES}.", err=True
            )


def _write_traces(path: str, found: list[Behind], describe: Describer) -> None:
    records = [notes.trace(behind.written(describe), behind.commit.id, behind.commit.committed_at) for behind in found]
    with open(path, "a", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records if record["files"])
    click.echo(
        f"Wrote {plain.counted(sum(bool(record['files']) for record in records), 'record')} to {path}.", err=True
    )
