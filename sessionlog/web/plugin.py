"""The pages for looking at archives: a plugin of Datasette, which `sessionlog browse` starts with everything set up."""

from __future__ import annotations

from typing import Any

from datasette import hookimpl

from sessionlog.web import (
    archives,
    audits,
    blame,
    dashboard,
    datasette_pages,
    files,
    filters,
    guard,
    home,
    limits,
    palette,
    pins,
    search,
    session,
    sessions,
)
from sessionlog.web import page as pages

# Datasette looks for static/ and templates/ in the package of this name; before Python 3.12 it must be one.
__name__ = "sessionlog.web"

PAGES = (home, sessions, session, search, files, blame, dashboard, audits, palette, pins)


@hookimpl
def register_routes(datasette: Any) -> list[tuple[str, Any]]:
    """Our pages, if this server is about archives: a Datasette with other databases stays as it is."""
    if not archives.is_served(datasette):
        return []
    return [(regex, pages.with_error_page(view)) for module in PAGES for regex, view in module.routes(datasette)]


@hookimpl
def render_cell(row: Any, value: Any, column: str, database: str, datasette: Any) -> Any:
    """Short cells that open, times of this machine; the id of a session leads to the moment that the row is about."""
    if database not in archives.find(datasette):
        return None
    return datasette_pages.cell(row, value, column, database)


@hookimpl(optionalhook=True)  # Datasette 1.0 has none
def get_metadata(datasette: Any, key: str | None, database: str | None) -> dict[str, Any]:
    """Titles, descriptions and queries of archives; what other metadata says of them takes precedence."""
    return datasette_pages.described(datasette, key, database)


@hookimpl
def startup(datasette: Any) -> None:
    """Pages of big tables do not wait for the number of rows, and no query fills the memory."""
    for name in archives.find(datasette):
        datasette_pages.limit(datasette.databases[name])


@hookimpl
def prepare_connection(conn: Any, database: str, datasette: Any) -> None:
    """What a query of Datasette may use."""
    if database in archives.find(datasette):
        limits.prepare(conn)


@hookimpl
def prepare_jinja2_environment(env: Any, datasette: Any) -> None:
    """Filters and the frame of our pages, and a nonce for each script that a template of Datasette holds."""
    env.globals["frame"] = pages.Frame(datasette)
    env.add_extension(guard.NonceForScripts)
    env.globals["csp_nonce"] = guard.nonce.get
    env.filters.update(filters.FILTERS, headings=datasette_pages.headings)


@hookimpl
def asgi_wrapper(datasette: Any) -> Any:
    """Who may ask, and what a browser may do with the answer."""
    return guard.wrapper(datasette)
