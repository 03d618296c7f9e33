"""The pages for looking at archives: a plugin of Datasette, which `sessionlog browse` starts with everything set up."""

from __future__ import annotations

from typing import Any

from datasette import hookimpl

from sessionlog.web import archives, audits, dashboard, files, guard, home, pages, search, session, sessions, words

PAGES = (home, sessions, session, search, files, dashboard, audits)


@hookimpl
def register_routes(datasette: Any) -> list[tuple[str, Any]]:
    """Our pages, if there is an archive to show: a Datasette with other databases stays as it is."""
    if not archives.of(datasette):
        return []
    return [(regex, pages.kind(view)) for module in PAGES for regex, view in module.routes(datasette)]


@hookimpl
def menu_links(datasette: Any) -> list[dict[str, str]]:
    """The way back from Datasette's own pages."""
    if not archives.of(datasette):
        return []
    return [{"href": href, "label": label} for href, label in pages.MENU]


@hookimpl
def extra_css_urls(datasette: Any, view_name: str) -> list[str]:
    """Datasette's own pages in our colours; our pages name their style sheets themselves."""
    if view_name.startswith("sessionlog") or not archives.of(datasette):
        return []
    return [pages.static("datasette.css")]


@hookimpl
def extra_template_vars(datasette: Any, request: Any) -> dict[str, Any]:
    """What allows the scripts in the page to run, and no others."""
    return {"csp_nonce": request.scope.get("csp_nonce", "") if request else ""}


@hookimpl
def prepare_jinja2_environment(env: Any, datasette: Any) -> None:
    """Filters of our pages, and a nonce for each script that a template of Datasette holds."""
    env.add_extension(guard.NonceForScripts)
    env.filters.update(words.FILTERS)


@hookimpl
def asgi_wrapper(datasette: Any) -> Any:
    """Who may ask, and what a browser may do with the answer."""
    return guard.wrapper(datasette)
