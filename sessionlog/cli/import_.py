"""sessionlog import."""

from __future__ import annotations

import os
from typing import Any

import click

from sessionlog import times
from sessionlog.cli.common import json_option, print_json, since_option
from sessionlog.cli.dialogue import progress_bar
from sessionlog.cli.main import example
from sessionlog.export import jsonl_import
from sessionlog.text import plain
from sessionlog.transcripts import importer

# Skipped lines that are printed; --json lists all.
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
    with progress_bar("Importing", hidden=quiet or as_json) as bar:

        def progress(done: int, total: int) -> None:
            bar.length = total
            bar.update(done - bar.pos)

        exports = [path for path in map(os.path.abspath, paths) if jsonl_import.is_export(path)]
        others = [path for path in map(os.path.abspath, paths) if path not in exports]
        for path in others:  # before anything is written
            importer.refuse(path)
        summary = importer.Summary()
        for path in exports:
            jsonl_import.run(path, summary, dry_run)
        if others or not exports:
            time = times.moment(since).timestamp() if since else None
            importer.run(others, since=time, dry_run=dry_run, progress=progress, summary=summary)
        bar.update((bar.length or 0) - bar.pos)
    if as_json:
        print_json(_as_json(summary))
        return
    if not quiet:
        click.echo(_summary(summary, dry_run))
    for skip in summary.skips[:SHOWN_SKIPS]:
        where = skip.path if skip.line is None else f"{skip.path}:{skip.line}"
        click.secho(f"  skipped {plain.safe(where)}: {plain.one_line(skip.reason)}", fg="yellow", err=True)
    if len(summary.skips) > SHOWN_SKIPS:
        click.secho(f"  and {len(summary.skips) - SHOWN_SKIPS:,} more; --json lists them", fg="yellow", err=True)


# Below so many bytes a second there was too little to say how fast it was.
FAST = 1_000_000


def _summary(summary: importer.Summary, dry_run: bool) -> str:
    if not summary.files and not summary.unchanged:
        return "There are no transcripts here."
    if not summary.files:
        return f"Nothing new in {plain.counted(summary.unchanged, 'file')}."
    counts = (summary.files, "file"), (len(summary.sessions), "session"), (len(summary.projects), "project")
    named = [plain.counted(*count) for count in counts if count[0]]  # a history belongs to no session
    files = named[0] + "".join(f" {word} {count}" for word, count in zip(("of", "in"), named[1:], strict=False))
    if dry_run:
        return f"{plain.size(summary.bytes)} are new, in {files}."
    speed = int(summary.bytes / max(summary.seconds, 1e-3))
    parts = [
        f"Archived {plain.size(summary.bytes)}, {_counts(summary)}, from {files}",
        f"in {plain.duration(summary.seconds * 1000)}{f' ({plain.size(speed)}/s)' if speed >= FAST else ''}.",
    ]
    if summary.replacements:
        parts.append(f"{plain.counted(summary.replacements, 'secret')} redacted.")
    if summary.left_out:
        parts.append(f"{plain.counted(summary.left_out, 'line')} of pruned sessions left out.")
    if summary.replaced:
        parts.append(f"{plain.counted(summary.replaced, 'file')} had been replaced; the version before is kept.")
    return " ".join(parts)


def _counts(summary: importer.Summary) -> str:
    counts = (summary.messages, "message"), (summary.events, "event")
    return ", ".join(plain.counted(*count) for count in counts if count[0] or count[1] == "message")


def _as_json(summary: importer.Summary) -> dict[str, Any]:
    return {
        **vars(summary),
        "sessions": sorted(summary.sessions),
        "projects": sorted(summary.projects),
        "skips": [skip._asdict() for skip in summary.skips],
        "seconds": round(summary.seconds, 3),
    }
