"""sessionlog browse."""

from __future__ import annotations

import click

from sessionlog.archive import read
from sessionlog.archive.place import Place
from sessionlog.cli.common import places
from sessionlog.cli.main import example


@example("sessionlog browse", "sessionlog browse --project ~/code/shop", "sessionlog browse --no-open --port 9000")
@click.command()
@click.option("--project", metavar="DIR", type=click.Path(file_okay=False), help="Only the project in DIR.")
@click.option("--all", "everywhere", is_flag=True, help="All projects, which is the default.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), help="The port; 8417, or a free one, if none is given.")
@click.option("--no-open", is_flag=True, help="Do not open the browser.")
@click.option("--no-token", is_flag=True, help="Let everybody on this machine see the pages, other users too.")
def command(project: str | None, everywhere: bool, host: str, port: int | None, no_open: bool, no_token: bool) -> None:
    """Open everything that was recorded in the browser.

    Sessions as one reads them, search, what happened to a file, charts and audits; Datasette's tables, SQL, JSON and
    CSV are one click away. Nothing can be changed. Only this machine is answered, and only with the token in the
    address that is printed: your browser remembers it, and it stays the same. With another --host, others get in with
    a token that is good for this time.
    """
    from sessionlog.web import serve

    found = places(project, everywhere or project is None)
    again = read.all_places if project is None else None
    serve.serve(found, host, port, not no_open, _say_where, again, with_token=not no_token)


def browse(place: Place, session_id: str, moment: str) -> None:
    """Open the page of a session, at a moment of it if one is named, and serve until Ctrl+C."""
    from sessionlog.web import page, serve

    path = page.address("session", place.name, session_id, at=moment) + (f"#{moment}" if moment else "")
    serve.serve(read.all_places(), "127.0.0.1", None, True, _say_where, read.all_places, path=path)


def _say_where(address: str) -> None:
    click.echo(f"Browse at {click.style(address, bold=True)} (Ctrl+C stops)")
