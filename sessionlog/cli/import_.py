"""sessionlog import."""

from __future__ import annotations

from typing import Any

import click

from sessionlog import terminal, transcripts, when
from sessionlog.cli import example
from sessionlog.cli.common import json_option, print_json, since_option

# Trouble with single lines fills no screen: --json tells of all.
SHOWN_SKIPS = 20


@example(
    "sessionlog import",
    "sessionlog import --dry-run",
    "sessionlog import ~/backup/.claude/projects --since 2w",
    "sessionlog import exported.jsonl",
)
@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH]…", type=click.Path())
@since_option
@click.option("--dry-run", is_flag=True, help="Tell what is new, and archive nothing.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing unless something was skipped.")
@json_option
def command(paths: tuple[str, ...], since: str | None, dry_run: bool, quiet: bool, as_json: bool) -> None:
    """Archive Claude Code's transcripts, before it deletes them.

    Without PATH, all of $CLAUDE_CONFIG_DIR or ~/.claude; else these files and folders. Each session goes to the archive
    of its own project. Run it as often as you like: only what is new is read. A file that `sessionlog export`
    wrote gives its events back.
    """
    with click.progressbar(length=1, label="Importing", width=30, hidden=quiet or as_json, show_eta=True) as bar:

        def progress(done: int, total: int) -> None:
            bar.length = total
            bar.update(done - bar.pos)

        summary = transcripts.run(
            paths, since=when.moment(since).timestamp() if since else None, dry_run=dry_run, progress=progress
        )
        bar.update((bar.length or 0) - bar.pos)
    if as_json:
        print_json(_as_json(summary))
        return
    if not quiet:
        click.echo(_told(summary, dry_run))
    for skip in summary.skips[:SHOWN_SKIPS]:
        where = skip.path if skip.line is None else f"{skip.path}:{skip.line}"
        click.secho(f"  skipped {terminal.safe(where)}: {terminal.one_line(skip.reason)}", fg="yellow", err=True)
    if len(summary.skips) > SHOWN_SKIPS:
        click.secho(f"  and {len(summary.skips) - SHOWN_SKIPS:,} more; --json lists them", fg="yellow", err=True)


def _told(summary: transcripts.Summary, dry_run: bool) -> str:
    if not summary.files and not summary.unchanged:
        return "There are no transcripts here."
    if not summary.files:
        return f"Nothing new in {terminal.counted(summary.unchanged, 'file')}."
    megabytes = summary.bytes / 1e6
    counts = (summary.files, "file"), (len(summary.sessions), "session"), (len(summary.projects), "project")
    files = "{} of {} in {}".format(*(terminal.counted(*count) for count in counts))
    if dry_run:
        return f"{megabytes:,.1f} MB are new, in {files}."
    parts = [
        f"Archived {megabytes:,.1f} MB, {_counts(summary)}, from {files}",
        f"in {terminal.duration(summary.seconds * 1000)} ({megabytes / max(summary.seconds, 1e-3):,.0f} MB/s).",
    ]
    if summary.replacements:
        parts.append(f"{terminal.counted(summary.replacements, 'secret')} redacted.")
    if summary.replaced:
        parts.append(f"{terminal.counted(summary.replaced, 'file')} had been replaced; the version before is kept.")
    return " ".join(parts)


def _counts(summary: transcripts.Summary) -> str:
    counts = (summary.messages, "message"), (summary.events, "event")
    return ", ".join(terminal.counted(*count) for count in counts if count[0] or count[1] == "message")


def _as_json(summary: transcripts.Summary) -> dict[str, Any]:
    return {
        **vars(summary),
        "sessions": sorted(summary.sessions),
        "projects": sorted(summary.projects),
        "skips": [skip._asdict() for skip in summary.skips],
        "seconds": round(summary.seconds, 3),
    }
