"""The files that a session changed: the combined diff of each, with the calls that made it."""

from __future__ import annotations

import sqlite3
from bisect import bisect_right
from typing import Any, NamedTuple

from datasette.utils.asgi import NotFound, Response

from sessionlog.agents.claude_code import tags
from sessionlog.ask.provenance import landed as landing
from sessionlog.ask.provenance import target
from sessionlog.session import changed_files, header
from sessionlog.session.changed_files import ChangedFile
from sessionlog.session.merge import words
from sessionlog.session.outline import Item, Outline
from sessionlog.text import plain
from sessionlog.web import archives, diffs
from sessionlog.web import page as pages
from sessionlog.web.archives import Archive
from sessionlog.web.session_query import Choice

# Edits that are put together before the page is shown, and lines of diffs that are open then; the rest is opened by a
# click. Lines of one diff.
COUNTED, OPEN_LINES, LINES = 300, 600, 1_000


class Made(NamedTuple):
    """A call that made a part of a diff, and the prompt that it was for."""

    item: Item
    prompt: Item | None
    asked: str


class ShownPiece(NamedTuple):
    """A diff, and what made it."""

    diff: diffs.Diff | None
    made: list[Made]
    is_known: bool


class ShownFile(NamedTuple):
    """A file for the template; without pieces it is not looked at yet."""

    path: str
    calls: int
    pieces: list[ShownPiece] | None = None
    is_open: bool = False

    @property
    def added(self) -> int:
        return sum(piece.diff.added for piece in self.pieces or () if piece.diff)

    @property
    def removed(self) -> int:
        return sum(piece.diff.removed for piece in self.pieces or () if piece.diff)

    @property
    def lines(self) -> int:
        return sum(min(piece.diff.lines, LINES) for piece in self.pieces or () if piece.diff)


def listed(connection: sqlite3.Connection, session_id: str, outline: Outline, wanted: str) -> list[ShownFile]:
    """The files of a session; with `wanted`, that one is open, else the first ones."""
    found = changed_files.read(connection, session_id, outline)
    shown: list[ShownFile] = []
    counted, lines = 0, 0
    for file in found:
        counted += len(file.items)
        one = ShownFile(file.path, len(file.items))
        if counted <= COUNTED or file.path == wanted:
            one = one._replace(pieces=_pieces(connection, session_id, outline, file))
            lines += one.lines
            one = one._replace(is_open=file.path == wanted if wanted else lines <= OPEN_LINES or not shown)
        shown.append(one)
    return shown


def one_file(connection: sqlite3.Connection, session_id: str, outline: Outline, path: str) -> ShownFile:
    """One file, opened."""
    for file in changed_files.read(connection, session_id, outline):
        if file.path == path:
            return ShownFile(path, len(file.items), _pieces(connection, session_id, outline, file), True)
    raise NotFound("The session did not change this file.")


def _pieces(connection: sqlite3.Connection, session_id: str, outline: Outline, file: ChangedFile) -> list[ShownPiece]:
    prompts = [item for item in outline.items if item.kind == "prompt" and not item.agent_id]
    starts = [item.number for item in prompts]
    asked: dict[str, str] = {}

    def made(item: Item) -> Made:
        at = bisect_right(starts, item.number)
        prompt = prompts[at - 1] if at else None
        if prompt and prompt.name not in asked:
            asked[prompt.name] = plain.one_line(tags.without(words(connection, prompt, 400)), 120)
        return Made(item, prompt, asked[prompt.name] if prompt else "")

    return [
        ShownPiece(
            diffs.of_lines(piece.lines, file.path, most=LINES) if piece.lines else None,
            [made(file.items[number]) for number in piece.calls],
            piece.is_known,
        )
        for piece in changed_files.pieces(connection, session_id, file)
    ]


def landed(archive: Archive, connection: sqlite3.Connection, session_id: str, outline: Outline, path: str) -> list[Any]:
    """For each piece of a file and each of its hunks, the commit in which it landed."""
    file = next((one for one in changed_files.read(connection, session_id, outline) if one.path == path), None)
    if file is None or not path.startswith(f"{archive.place.project}/"):
        return []
    hunks: list[list[landing.Change]] = []
    for piece in changed_files.pieces(connection, session_id, file):
        at = min((file.items[number].at for number in piece.calls), default="")
        hunks.append([])
        for line in piece.lines:
            if line.startswith("@@") or not hunks[-1]:
                hunks[-1].append(landing.Change(at, []))
            if line.startswith("+"):
                hunks[-1][-1].lines.append(line[1:])
    found = iter(landing.find(target.locate(archive.place, path), [hunk for piece in hunks for hunk in piece]))
    return [[_landed(archive, next(found)) for _ in piece] for piece in hunks]


def _landed(archive: Archive, one: landing.Landed | None) -> dict[str, str] | None:
    if one is None:
        return None
    if one.commit is None:
        return {"text": "in no commit"}
    text = f"{'in' if one.is_whole else 'partly in'} {one.commit.id[:10]} {plain.one_line(one.commit.summary, 80)}"
    return {"text": text, "href": pages.address("commit", archive.name, one.commit.id)}


async def page(datasette: Any, request: Any, archive: Archive, session_id: str, read: Any) -> Response:
    """The tab, or with `part` one of its files; `read` gives the session and its outline."""
    wanted = request.args.get("path") or ""
    is_part = bool(request.args.get("part"))
    asks_landed = bool(request.args.get("landed"))

    def question(connection: sqlite3.Connection) -> dict[str, Any]:
        session, outline = read(connection)
        if asks_landed:
            return {"landed": landed(archive, connection, session_id, outline, wanted)}
        if is_part:
            return {"file": one_file(connection, session_id, outline, wanted)}
        about = header.load(connection, session, archive.place.project)
        return {"about": about, "outline": outline, "files": listed(connection, session_id, outline, wanted)}

    context = await archives.read(archive, question)
    if asks_landed:
        return Response.json(context["landed"])
    frame: dict[str, Any] = {
        "archive": archive,
        "session_id": session_id,
        "choice": Choice(),
        "relative": archives.relative,
    }
    if is_part:
        return pages.response(str(await pages.fragment(datasette, "_session_file", **frame, **context)))
    return await pages.render(datasette, request, "session_files", **frame, **context)
