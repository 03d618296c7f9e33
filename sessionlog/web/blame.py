"""A file with its blame beside the text, the story of a line, and what stands behind a commit."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from typing import Any, NamedTuple

from datasette.utils.asgi import NotFound, Response
from markupsafe import Markup

from sessionlog.ask.provenance import blame, describe, story, target
from sessionlog.ask.provenance import commit as commits
from sessionlog.ask.provenance import open as provenance
from sessionlog.ask.provenance.blame import Line
from sessionlog.ask.provenance.describe import Described
from sessionlog.errors import SessionlogError
from sessionlog.system.git import Repository
from sessionlog.text import plain
from sessionlog.web import archives, background, highlight
from sessionlog.web import page as pages
from sessionlog.web.archives import Archive

# Lines that are shown at once.
LINES = 1000


class BlamedLine(NamedTuple):
    """A line as the page shows it; only the first of a run says where it comes from."""

    line: Line
    described: Described | None
    is_first: bool
    html: Markup


def routes(datasette: Any) -> list[tuple[str, Any]]:
    return [
        (r"/-/blame$", page),
        (r"/-/why$", why),
        (r"/-/commit/(?P<archive>[^/]+)/(?P<revision>[0-9a-f]{7,40})$", commit_page),
    ]


async def page(datasette: Any, request: Any) -> Response:
    """A file, line by line."""
    archive = archives.named(datasette, request.args.get("project") or "")
    path = request.args.get("path") or ""
    revision = request.args.get("rev") or None
    number = int(given) if (given := request.args.get("line") or "").isdigit() and len(given) < 8 else 0
    skip = max(0, (number - 1) // LINES * LINES) if number else _number(request.args.get("skip"))
    file = _inside(archive, path)

    def look(tell: background.Tell) -> tuple[Any, list[BlamedLine], int, Any]:
        with provenance.archive(archive.place) as (connection, indexed):
            meant = target.locate(archive.place, file, revision)
            if not _is_known(connection, meant, file):
                raise NotFound("No recorded edit and no commit has this file.")
            found = blame.of_file(connection, meant, indexed=indexed)
            describer = describe.Describer(connection)
            shown = list(_shown(found.lines[skip : skip + LINES], describer, highlight.for_file(file)))
            told = story.of_line(connection, found, number, describer) if 1 <= number <= len(found.lines) else None
            return meant, shown, len(found.lines), told

    job = await background.ask(("blame", archive.name, file, revision, number, skip), look)
    meant, shown, total, told = job.result if job.is_done else (None, [], 0, None)
    name = os.path.relpath(file, os.path.realpath(archive.place.project))
    return await pages.render(
        datasette, request, "blame", archive=archive, path=name, file=file,
        revision=revision, commit=meant.commit if meant else None, shown=shown, total=total, told=told,
        number=number, skip=skip, following=skip + LINES if skip + LINES < total else None, looking=not job.is_done,
    )  # fmt: skip


async def why(datasette: Any, request: Any) -> Response:
    """From a line of a diff to why it is there: its blame, if it is in the file today; else the edits that have it."""
    archive = archives.named(datasette, request.args.get("project") or "")
    path, text = request.args.get("path") or "", request.args.get("line") or ""
    numbers = await archives.read(archive, lambda connection: places_today(archive, connection, path, text))
    if len(numbers) == 1:
        name = os.path.relpath(os.path.realpath(path), os.path.realpath(archive.place.project))
        address = pages.address("blame", project=archive.name, path=name, line=numbers[0])
        return Response.redirect(f"{address}#L{numbers[0]}")
    return Response.redirect(pages.address("files", project=archive.name, path=path, line=text))


def places_today(archive: Archive, connection: sqlite3.Connection, path: str, text: str) -> list[int]:
    """Where a line is in the file as it is now; nowhere if the file may not be shown."""
    try:
        file = _inside(archive, path)
        meant = target.locate(archive.place, file)
        if not _is_known(connection, meant, file):
            return []
        lines = target.text_of(meant).split("\n")
    except (NotFound, SessionlogError):
        return []
    return [number for number, line in enumerate(lines, 1) if text.strip() and line.strip() == text.strip()]


async def commit_page(datasette: Any, request: Any) -> Response:
    """A commit: its lines by session, and the prompts behind them."""
    archive = archives.named(datasette, pages.part(request, "archive"))
    revision = pages.part(request, "revision")

    def look(tell: background.Tell) -> tuple[Any, Any, list[Any]]:
        with provenance.archive(archive.place) as (connection, indexed):
            repository = Repository(archive.place.project)
            (behind,) = commits.of_range(connection, archive.place, repository, revision, indexed=indexed)
            describer = describe.Describer(connection)
            return behind, commits.summary([behind], describer), behind.written(describer)

    job = await background.ask(("commit", archive.name, revision), look)
    behind, summary, written = job.result if job.is_done else (None, None, [])
    return await pages.render(
        datasette, request, "commit", archive=archive, revision=revision, behind=behind, summary=summary,
        written=written, looking=not job.is_done,
    )  # fmt: skip


def _number(given: str | None) -> int:
    return int(given) if given and given.isdigit() and len(given) < 8 else 0


def _inside(archive: Archive, path: str) -> str:
    """The file below the project that a path names. Whatever else is on the disk is none of this page's business."""
    project = os.path.realpath(archive.place.project)
    file = os.path.realpath(os.path.join(project, path))
    if not path or "\0" in path or not file.startswith(f"{project}/"):
        raise NotFound("This file is not in the project.")
    return file


def _is_known(connection: sqlite3.Connection, meant: target.Target, file: str) -> bool:
    """Whether the file was edited in a session, or is in a commit: others are not shown."""
    if connection.execute("SELECT 1 FROM events WHERE file_path = ? LIMIT 1", (file,)).fetchone():
        return True
    if meant.repository is None:
        return False
    commit = meant.commit.id if meant.commit else meant.repository.head
    return commit is not None and meant.repository.blob(commit, meant.path) is not None


def _shown(lines: list[Line], describer: describe.Describer, lexer: Any) -> Iterator[BlamedLine]:
    before: Any = None
    coloured = highlight.lines("\n".join(plain.safe(line.text) for line in lines), lexer)
    for line, words in zip(lines, coloured, strict=True):
        origin = (line.edit.name if line.edit else None, line.commit.id if line.commit and not line.edit else None)
        yield BlamedLine(line, describer(line.edit) if line.edit else None, origin != before, highlight.html(words))
        before = origin
