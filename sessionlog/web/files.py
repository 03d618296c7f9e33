"""Files: which were touched, every change of one of them, and why a line is where it is."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from typing import Any, NamedTuple

from datasette.utils.asgi import Response

from sessionlog.ask import file_history
from sessionlog.ask.search import index
from sessionlog.session import call as calls
from sessionlog.web import archives, background, blame, diffs
from sessionlog.web import page as pages
from sessionlog.web import search as search_page
from sessionlog.web.archives import Archive

LISTED = 60
SHOWN = 20
LONGEST_LINE = 2000
# Places of a line in today's file that are named.
TODAY = 10


class Shown(NamedTuple):
    """A change, and what it is shown with."""

    change: file_history.Change
    archive: Archive
    path: str
    diff: diffs.Diff | None
    what: str = ""  # added or removed the line that is asked for


def routes(datasette: Any) -> list[tuple[str, Any]]:
    return [(r"/-/files$", page)]


async def page(datasette: Any, request: Any) -> Response:
    """One file, a line, or the list."""
    project = request.args.get("project") or ""
    path = request.args.get("path") or ""
    line = (request.args.get("line") or "").strip()[:LONGEST_LINE]
    if line:
        return await _line(datasette, request, project, path, line)
    if path:
        return await _file(datasette, request, archives.named(datasette, project), path)
    return await _list(datasette, request, project)


async def _list(datasette: Any, request: Any, project: str) -> Response:
    name = (request.args.get("name") or "").strip()[:LONGEST_LINE]
    often = request.args.get("sort") == "often"
    chosen = archives.chosen(datasette, [project])

    async def listed(archive: Archive) -> list[tuple[Archive, file_history.File]]:
        indexed = await _is_indexed(archive)

        def ask(connection: sqlite3.Connection) -> list[file_history.File]:
            found = {file.path: file for file in file_history.touched(connection, name, often=often, limit=LISTED + 1)}
            if indexed:
                index.attach(archive.place, connection)
                for file in file_history.only_in_transcripts(connection, name):
                    found.setdefault(file.path, file)
            return list(found.values())

        return [(archive, file) for file in await archives.read(archive, ask)]

    found = [pair for pairs in await asyncio.gather(*map(listed, chosen)) for pair in pairs]
    found.sort(key=lambda pair: (pair[1].changes + pair[1].reads if often else 0, pair[1].last_at), reverse=True)
    return await pages.render(
        datasette,
        request,
        "files",
        files=found[:LISTED],
        is_cut=len(found) > LISTED,
        name=name,
        often=often,
        project=project,
        relative=archives.relative,
    )


async def _file(datasette: Any, request: Any, archive: Archive, path: str) -> Response:
    skip = int(given) if (given := request.args.get("skip") or "").isdigit() and len(given) < 9 else 0
    indexed = await _is_indexed(archive)

    def ask(connection: sqlite3.Connection) -> tuple[int, list[Shown]]:
        if indexed:
            index.attach(archive.place, connection)
        rows = file_history.history(connection, path, indexed=indexed)
        some = file_history.changes(connection, rows[skip : skip + SHOWN])
        return len(rows), [Shown(change, archive, path, diffs.render(change.call)) for change in some]

    total, shown = await archives.read(archive, ask)
    following = pages.address("files", project=archive.name, path=path, skip=skip + SHOWN)
    return await pages.render(
        datasette,
        request,
        "file",
        archive=archive,
        path=path,
        relative=archives.relative,
        total=total,
        shown=shown,
        skip=skip,
        more=following if skip + SHOWN < total else None,
    )


async def _line(datasette: Any, request: Any, project: str, path: str, line: str) -> Response:
    chosen = archives.chosen(datasette, [project])
    indexed = [archive for archive in chosen if await _is_indexed(archive)]

    wanted = tuple(" ".join(one.split()) for one in line.splitlines() if one.strip())

    def look(tell: background.Tell) -> tuple[list[Shown], bool, list[int]]:
        today: list[int] = []
        if project and path:
            with closing(archives.connect(chosen[0])) as connection:
                today = blame.places_today(chosen[0], connection, path, line)
        shown: list[Shown] = []
        is_all = len(indexed) == len(chosen)
        for archive in indexed:
            with closing(archives.connect(archive)) as connection:
                index.attach(archive.place, connection)
                found, all_of_it = file_history.edits_with(connection, line, path=path, limit=SHOWN)
                is_all = is_all and all_of_it
                for what, change in found:
                    changed = calls.path(change.call)
                    shown.append(Shown(change, archive, changed, diffs.render(change.call, wanted), what))
        shown.sort(key=lambda one: one.change.at, reverse=True)
        return shown[:SHOWN], is_all and len(shown) <= SHOWN, today

    job = await background.ask(("line", project, path, line), look)
    shown, is_all, today = job.result if job.is_done else ([], False, [])
    return await pages.render(
        datasette,
        request,
        "line",
        line=line,
        path=path,
        project=project,
        relative=archives.relative,
        shown=shown,
        today=today[:TODAY],
        is_all=is_all,
        looking=not job.is_done,
    )


async def _is_indexed(archive: Archive) -> bool:
    return search_page.is_ready(archive, await search_page.catch_up(archive))
