"""The page: dashboard."""

from __future__ import annotations

from typing import Any

from datasette.utils.asgi import Response

from sessionlog.web import pages


def routes(datasette: Any) -> list[tuple[str, Any]]:
    return [(r"/-/dashboard$", page)]


async def page(datasette: Any, request: Any) -> Response:
    return await pages.render(datasette, request, "dashboard")
