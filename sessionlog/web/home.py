"""Home: projects, recent sessions, what happened today and in the year."""

from __future__ import annotations

from typing import Any

from datasette.utils.asgi import Response
from datasette.views.index import IndexView

from sessionlog.web import archives, pages


def routes(datasette: Any) -> list[tuple[str, Any]]:
    # Beside databases of others Datasette's own list of all of them stays where it is.
    others = [name for name in datasette.databases if name not in archives.of(datasette) and not name.startswith("_")]
    return [(r"/-/home$" if others else r"/$", page), (r"/-/tables(\.(?P<format>json))?$", tables)]


async def page(datasette: Any, request: Any) -> Response:
    return await pages.render(datasette, request, "home")


async def tables(datasette: Any, request: Any) -> Response:
    """Datasette's own index."""
    response: Response = await IndexView(datasette).get(request)
    return response
