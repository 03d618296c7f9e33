"""The pages for looking at archives: a plugin of Datasette, which `sessionlog browse` starts with everything set up."""

from __future__ import annotations

from typing import Any

from datasette import hookimpl

from sessionlog.web import (
    archives,
    audits,
    dashboard,
    datasette_pages,
    files,
    filters,
    guard,
    home,
    limits,
    search,
    session,
    sessions,
)
from sessionlog.web import page as pages

# Datasette looks for static/ and templates/ in the package of this name; before Python 3.12 it must be one.
__name__ = "sessionlog.web"

PAGES = (home, sessions, session, search, files, dashboard, audits)


@hookimpl
def register_routes(datasette: Any) -> list[tuple[str, Any]]:
    """Our pages, if there is an archive to show: a Datasette with other databases stays as it is."""
    if not archives.find(datasette):
        return []
    return [(regex, pages.with_error_page(view)) for module in PAGES for regex, view in module.routes(datasette)]


@hookimpl
def menu_links(datasette: Any) -> list[dict[str, str]]:
    """The way back from Datasette's own pages."""
    if not archives.find(datasette):
        return []
    return [{"href": href, "label": label} for href, label in pages.MENU]


def _is_ours(view_name: str | None) -> bool:
    """Whether a page is one of ours. A page that says that something is forbidden has no name."""
    return (view_name or "").startswith("sessionlog")


@hookimpl
def extra_css_urls(datasette: Any, view_name: str | None) -> list[str]:
    """Datasette's own pages in our colours; our pages name their style sheets themselves."""
    if _is_ours(view_name) or not archives.find(datasette):
        return []
    return [pages.static("base.css"), pages.static("datasette.css")]


@hookimpl
def extra_js_urls(datasette: Any, view_name: str | None) -> list[str]:
    """Our menu above Datasette's own pages."""
    if _is_ours(view_name) or not archives.find(datasette):
        return []
    return [pages.static("datasette.js")]


@hookimpl
def render_cell(row: Any, value: Any, column: str, database: str, datasette: Any) -> Any:
    """The id of a session leads to its page, at the moment that the row is about."""
    if column != "session_id" or database not in archives.find(datasette):
        return None
    return datasette_pages.session(row, value, database)


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
    """Filters of our pages, and a nonce for each script that a template of Datasette holds."""
    env.add_extension(guard.NonceForScripts)
    env.globals["csp_nonce"] = guard.nonce.get
    env.filters.update(filters.FILTERS)


@hookimpl
def asgi_wrapper(datasette: Any) -> Any:
    """Who may ask, and what a browser may do with the answer."""
    return guard.wrapper(datasette)
