"""What all pages share: the frame, the menu, addresses, and kind words when something is wrong."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlencode

from datasette.utils.asgi import NotFound, Response
from markupsafe import Markup

from sessionlog import __version__
from sessionlog.errors import SessionlogError
from sessionlog.web import archives, guard

STATIC = Path(__file__).parent / "static"

MENU = (
    ("/", "Home"),
    ("/-/sessions", "Sessions"),
    ("/-/search", "Search"),
    ("/-/files", "Files"),
    ("/-/dashboard", "Dashboard"),
    ("/-/audits", "Audits"),
    ("/-/tables", "Tables"),
)

View = Callable[..., Awaitable[Response]]


class Frame:
    """What the frame of every page shows, Datasette's own and its error pages included."""

    menu = MENU
    version = __version__

    def __init__(self, datasette: Any) -> None:
        self._datasette = datasette

    def is_needed(self) -> bool:
        """Whether this server is about archives: a Datasette with other databases only stays as it is."""
        return archives.is_served(self._datasette)

    def label(self, database: str) -> str:
        """The name of a database as people know it."""
        found = archives.find(self._datasette).get(database)
        return found.label if found else database

    @staticmethod
    def current(path: str) -> str:
        """Which page of the menu an address belongs to; empty if none."""
        if path in ("", "/", "/-/home"):
            return "/" if path else ""
        if path.startswith("/-/session/"):
            return "/-/sessions"
        if path.startswith(("/-/blame", "/-/commit/")):
            return "/-/files"
        own = next((href for href, _ in MENU[1:] if path == href or path.startswith((f"{href}/", f"{href}."))), "")
        return own or ("" if path.startswith("/-/") else "/-/tables")

    @staticmethod
    def static(name: str) -> str:
        return static(name)


async def render(datasette: Any, request: Any, template: str, *, status: int = 200, **context: Any) -> Response:
    """A page of ours: `template` within the frame."""
    shared = {
        "archives": archives.find(datasette),
        "static": static,
        "version": __version__,
        "question": request.args.get("q") or "",
        "url": address,
    }
    html = await datasette.render_template(
        f"sessionlog/{template}.html", {**shared, **context}, request=request, view_name=f"sessionlog-{template}"
    )
    return response(html, status=status)


async def fragment(datasette: Any, template: str, **context: Any) -> Markup:
    """A part of a page, without the frame."""
    html = await datasette.render_template(
        f"sessionlog/{template}.html", {"url": address, **context}, view_name=f"sessionlog-{template}"
    )
    return Markup(html)  # noqa: S704 (rendered by a template, which escaped it)


def response(body: str, status: int = 200, content_type: str = "text/html; charset=utf-8", **headers: str) -> Response:
    """An answer that is never kept by a browser, and holds no script."""
    more = {"cache-control": "no-store", "content-security-policy": guard.POLICY}
    return Response(body, status, {**more, **headers}, content_type)


def address(*parts: str, **query: Any) -> str:
    """An address within this server: address("session", name, id, q="x") is /-/session/name/id?q=x."""
    path = "/-/" + "/".join(quote(part, safe="", errors="replace") for part in parts)
    asked = urlencode([(name, value) for name, value in query.items() if value not in (None, "")], errors="replace")
    return f"{path}?{asked}" if asked else path


def part(request: Any, name: str) -> str:
    """A part of the address, as it was before `address` made it fit."""
    return unquote(request.url_vars[name])


def static(name: str) -> str:
    """The address of a file of ours; it changes with the file, so that no browser shows an old one."""
    changed = int((STATIC / name).stat().st_mtime)
    return f"/-/static-plugins/claude-sessionlog/{name}?{changed:x}"


def with_error_page(view: View) -> View:
    """What goes wrong in a page becomes a page that says what to do."""

    @functools.wraps(view)
    async def guarded(datasette: Any, request: Any) -> Response:
        try:
            return await view(datasette, request)
        except NotFound as error:
            return await render(datasette, request, "problem", status=404, message=str(error))
        except SessionlogError as error:
            return await render(datasette, request, "problem", status=400, message=str(error))

    return guarded
