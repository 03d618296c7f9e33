"""The page of a session: its timeline as one reads it, a part at a time, from any moment, and while it grows."""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from datasette.utils.asgi import AsgiStream, NotFound, Response

from sessionlog.export import write as export
from sessionlog.session import header, merge, pictures
from sessionlog.session.live import may_grow
from sessionlog.session.load import load, load_pictures
from sessionlog.session.outline import Outline
from sessionlog.text import plain
from sessionlog.web import archives, beside, entry_html, guard, highlight, pins, session_files
from sessionlog.web import page as pages
from sessionlog.web.archives import Archive
from sessionlog.web.session_query import Choice
from sessionlog.web.session_window import PART, PromptList, View

FORMATS = {"md": ("markdown", "text/markdown"), "jsonl": ("jsonl", "application/jsonl"), "html": ("html", "text/html")}
PRINT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# Characters that come at once when somebody wants to see more of a text.
PIECE = 200_000

_outlines: dict[tuple[str, str], tuple[tuple[int, ...], Outline]] = {}
KEPT = 8  # outlines of the sessions that were looked at last


def routes(datasette: Any) -> list[tuple[str, Any]]:
    here = r"/-/session/(?P<name>[^/]+)/(?P<session>[^/]+)"
    return [
        (rf"{here}$", page),
        (rf"{here}/part$", part),
        (rf"{here}/files$", files),
        (rf"{here}/beside$", neighbours),
        (rf"{here}/print$", printed),
        (rf"{here}/live$", live),
        (rf"{here}/outline$", outline),
        (rf"{here}/next$", following),
        (rf"{here}/inside/(?P<what>entry|agent|work)/(?P<moment>[em]\d{{1,18}})$", inside),
        (rf"{here}/picture/(?P<moment>[em]\d{{1,18}})/(?P<number>\d{{1,3}})$", picture),
        (rf"{here}/text/(?P<moment>[em]\d{{1,18}})/(?P<source>[a-z]+)$", text),
        (rf"{here}/export\.(?P<format>md|jsonl|html)$", download),
        (r"/-/code\.css$", style_sheet),
    ]


async def page(datasette: Any, request: Any) -> Response:
    """The whole page, with the part of the session that was asked for."""
    archive, session_id = _asked(datasette, request)
    choice = Choice.from_request(request)

    def question(connection: sqlite3.Connection) -> dict[str, Any]:
        session = _session(connection, session_id)
        view = View(connection, session, _outline(archive, connection, session_id), choice)
        stamp = _stamp(connection, session_id)
        about = header.load(connection, session, archive.place.project)
        around = beside.around(connection, session)
        return {"stamp": stamp, "window": view.window(), "around": around, **_around_it(view, about)}

    context = await archives.read(archive, question)
    return await pages.render(
        datasette,
        request,
        "session",
        folded="noscript",
        **_frame(datasette, archive, session_id, choice),
        **pins.of_session(archive, session_id),
        **context,
    )


def _around_it(view: View, about: header.Overview) -> dict[str, Any]:
    """What stands around the timeline, and changes with it."""
    return {
        "view": view,
        "about": about,
        "tokens": _tokens(about),
        "prompts": view.prompts(),
        "chips": view.chips(),
        "map": view.map(),
    }


async def part(datasette: Any, request: Any) -> Response:
    """More of the timeline, after scrolling to its edge."""
    archive, session_id = _asked(datasette, request)
    choice = Choice.from_request(request)

    def question(connection: sqlite3.Connection) -> dict[str, Any]:
        view = _view(connection, archive, session_id, choice)
        return {"view": view, "window": view.window(PART)}

    context = await archives.read(archive, question)
    frame = _frame(datasette, archive, session_id, choice)
    html = await pages.fragment(datasette, "session_timeline", **frame, **context)
    return pages.response(str(html))


async def live(datasette: Any, request: Any) -> Response:
    """What is new since `stamp`, from the block `after` on; nothing as long as nothing happened."""
    archive, session_id = _asked(datasette, request)
    choice = Choice.from_request(request)

    def question(connection: sqlite3.Connection) -> dict[str, Any] | None:
        stamp = _stamp(connection, session_id)
        session = _session(connection, session_id)
        if stamp == request.args.get("stamp") and may_grow(session):
            return None
        view = View(connection, session, _outline(archive, connection, session_id), choice)
        about = header.load(connection, session, archive.place.project)
        around = beside.around(connection, session)
        return {"stamp": stamp, "window": view.newest(), "around": around, **_around_it(view, about)}

    context = await archives.read(archive, question)
    if context is None:
        return pages.response("", 204)
    frame = _frame(datasette, archive, session_id, choice)
    html = await pages.fragment(datasette, "session_live", **frame, **context)
    return pages.response(str(html))


async def files(datasette: Any, request: Any) -> Response:
    """The files that the session changed."""
    archive, session_id = _asked(datasette, request)

    def read(connection: sqlite3.Connection) -> tuple[dict[str, Any], Outline]:
        return _session(connection, session_id), _outline(archive, connection, session_id)

    return await session_files.page(datasette, request, archive, session_id, read)


async def neighbours(datasette: Any, request: Any) -> Response:
    """The sessions of the project around this one, for screens that have room beside it."""
    archive, session_id = _asked(datasette, request)

    def question(connection: sqlite3.Connection) -> list[dict[str, Any]]:
        return beside.sessions(connection, session_id)

    found = await archives.read(archive, question)
    context = {"archive": archive, "session_id": session_id, "sessions": found}
    return pages.response(str(await pages.fragment(datasette, "session_beside", **context)))


async def outline(datasette: Any, request: Any) -> Response:
    """The prompts around a moment, after scrolling beyond those that are listed."""
    archive, session_id = _asked(datasette, request)
    choice = Choice.from_request(request)

    def question(connection: sqlite3.Connection) -> PromptList:
        return _view(connection, archive, session_id, choice).prompts()

    prompts = await archives.read(archive, question)
    frame = _frame(datasette, archive, session_id, choice)
    return pages.response(str(await pages.fragment(datasette, "session_outline", **frame, prompts=prompts)))


async def following(datasette: Any, request: Any) -> Response:
    """The name of the next or previous prompt or problem, however far away it is."""
    archive, session_id = _asked(datasette, request)
    choice = Choice.from_request(request)
    what, name = request.args.get("what") or "", request.args.get("from") or ""
    direction = -1 if request.args.get("back") else 1

    def question(connection: sqlite3.Connection) -> str:
        return _view(connection, archive, session_id, choice).following(name, what, direction)

    found = await archives.read(archive, question)
    return pages.response(found, content_type="text/plain; charset=utf-8")


async def inside(datasette: Any, request: Any) -> Response:
    """What a folded entry, sub-agent or line of work holds, once somebody opens it."""
    archive, session_id = _asked(datasette, request)
    choice = Choice.from_request(request)
    what, moment = request.url_vars["what"], request.url_vars["moment"]

    def question(connection: sqlite3.Connection) -> dict[str, Any]:
        view = _view(connection, archive, session_id, choice)
        if what == "work":
            return {"blocks": view.work(moment)}
        return {"entry": view.entry(moment)} if what == "entry" else {"block": view.block_of(moment)}

    found = await archives.read(archive, question)
    if not any(found.values()):
        raise NotFound("There is nothing like this in the session.")
    frame = _frame(datasette, archive, session_id, choice)
    return pages.response(str(await pages.fragment(datasette, "session_inside", **frame, **found)))


async def picture(datasette: Any, request: Any) -> Response:
    """A picture that a tool gave back or somebody pasted: only what a browser shows and does not run."""
    archive, session_id = _asked(datasette, request)
    moment, number = request.url_vars["moment"], int(request.url_vars["number"])

    def question(connection: sqlite3.Connection) -> pictures.Picture | None:
        item = _outline(archive, connection, session_id).by_name.get(moment)
        found = load_pictures(connection, session_id, item) if item else []
        return found[number] if number < len(found) else None

    found = await archives.read(archive, question)
    body = found.bytes if found else None
    if found is None or body is None:
        raise NotFound("There is no such picture.")
    headers = {"cache-control": "private, max-age=600", "content-security-policy": "default-src 'none'; sandbox"}
    return Response(body, 200, headers, found.content_type)


async def text(datasette: Any, request: Any) -> Response:
    """All of something that the page shows the beginning of; with `from`, a piece of it."""
    archive, session_id = _asked(datasette, request)
    moment, source = request.url_vars["moment"], request.url_vars["source"]

    def question(connection: sqlite3.Connection) -> str | None:
        item = _outline(archive, connection, session_id).by_name.get(moment)
        if item is None:
            return None
        (entry,) = load(connection, session_id, [item])
        return entry_html.part_text(entry, source)

    found = await archives.read(archive, question)
    if found is None:
        raise NotFound("There is no such text.")
    left = ""
    if (start := request.args.get("from") or "").isdigit():
        piece = found[int(start) : int(start) + PIECE]
        left = str(max(0, len(found) - int(start) - PIECE))
        found = plain.safe(piece)
    body = found.encode("utf-8", "replace").decode()
    answer = pages.response(body, content_type="text/plain; charset=utf-8")
    answer.headers["x-left"] = left
    return answer


async def printed(datasette: Any, request: Any) -> AsgiStream:
    """The whole session on one page, to print."""
    return await _written(datasette, request, "html", "inline")


async def download(datasette: Any, request: Any) -> AsgiStream:
    """The session as a file, written as it is read."""
    return await _written(datasette, request, request.url_vars["format"], "attachment")


async def _written(datasette: Any, request: Any, ending: str, disposition: str) -> AsgiStream:
    archive, session_id = _asked(datasette, request)
    await archives.read(archive, lambda connection: _session(connection, session_id))
    name, content_type = FORMATS[ending]
    chosen = [export.Chosen(archive.place, [session_id])]
    chunks = _gathered(export.chunks(chosen, export.Options(format=name)))
    file_name = f"session-{hashlib.sha256(session_id.encode()).hexdigest()[:8]}"
    if session_id.replace("-", "").isalnum() and session_id.isascii():
        file_name = f"session-{session_id[:60]}"

    async def stream(writer: Any) -> None:
        # One thread from start to end, as SQLite wants it: the server goes on meanwhile.
        with ThreadPoolExecutor(1) as thread:
            loop = asyncio.get_running_loop()
            try:
                while (chunk := await loop.run_in_executor(thread, next, chunks, None)) is not None:
                    await writer.send({"type": "http.response.body", "body": chunk, "more_body": True})
            finally:
                thread.submit(chunks.close)

    headers = {
        "content-disposition": f'{disposition}; filename="{file_name}.{ending}"',
        # The page brings its style along, and a policy of its own that is stricter.
        "content-security-policy": guard.POLICY if disposition == "attachment" else PRINT_POLICY,
        "cache-control": "no-store",
    }
    return AsgiStream(stream, headers=headers, content_type=f"{content_type}; charset=utf-8")


async def style_sheet(datasette: Any, request: Any) -> Response:
    """The colours of code."""
    answer = pages.response(highlight.style_sheet(), content_type="text/css; charset=utf-8")
    answer.headers["cache-control"] = "max-age=3600"
    return answer


# --- Helpers ----------------------------------------------------------------------------------------------------------


def _asked(datasette: Any, request: Any) -> tuple[Archive, str]:
    return archives.named(datasette, pages.part(request, "name")), pages.part(request, "session")


def _frame(datasette: Any, archive: Archive, session_id: str, choice: Choice) -> dict[str, Any]:
    """What all templates of the page want to know."""
    rows = {name: datasette.urls.table(archive.name, name) for name in ("events", "transcript_parts")}
    return {"archive": archive, "session_id": session_id, "choice": choice, "rows": rows}


def _view(connection: sqlite3.Connection, archive: Archive, session_id: str, choice: Choice) -> View:
    # Not its summary: a part of a long session takes half the time without it.
    session = _session(connection, session_id, "sessions")
    return View(connection, session, _outline(archive, connection, session_id), choice)


def _session(connection: sqlite3.Connection, session_id: str, table: str = "session_summary") -> dict[str, Any]:
    row: dict[str, Any] | None = connection.execute(
        f"SELECT * FROM {table} WHERE session_id = ?", (session_id,)
    ).fetchone()
    if row is None:
        raise NotFound("This archive has no such session. It may have been pruned, or belong to another project.")
    return row


def _outline(archive: Archive, connection: sqlite3.Connection, session_id: str) -> Outline:
    """Kept as long as the session stays as it is: reading 20,000 events takes a moment."""
    key = (archive.place.db, session_id)
    now = merge.stamp(connection, session_id)
    stamp, known = _outlines.pop(key, ((), None))
    found = known if known is not None and stamp == now else merge.read(connection, session_id)
    _outlines[key] = (now, found)
    while len(_outlines) > KEPT:
        _outlines.pop(next(iter(_outlines)), None)
    return found


def _stamp(connection: sqlite3.Connection, session_id: str) -> str:
    return "-".join(map(str, merge.stamp(connection, session_id)))


def _tokens(about: header.Overview) -> dict[str, Any]:
    """Tokens in and out, and their cost."""
    read = sum(row["input_tokens"] + row["cache_read_tokens"] + row["cache_write_tokens"] for row in about.usage)
    costs = [row["cost_usd"] for row in about.usage if row["cost_usd"] is not None]
    models = [row["model"] for row in about.usage] or [about.session["model"]]
    return {
        "in": read,
        "out": sum(row["output_tokens"] for row in about.usage),
        "cost": plain.cost(sum(costs) if costs else None, sum(row["unpriced_tokens"] for row in about.usage)),
        "models": [model for model in models if model],
    }


def _gathered(chunks: Iterator[bytes], size: int = 64_000) -> Generator[bytes, None, None]:
    waiting: list[bytes] = []
    for chunk in chunks:
        waiting.append(chunk)
        if sum(map(len, waiting)) > size:
            yield b"".join(waiting)
            waiting.clear()
    yield b"".join(waiting)
