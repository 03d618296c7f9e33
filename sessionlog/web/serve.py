"""Starting Datasette with all archives, our plugin and the descriptions of each table."""

from __future__ import annotations

import importlib
import os
import socket
import threading
import webbrowser
from collections.abc import Callable, Iterable

import uvicorn
from datasette.app import Datasette
from datasette.database import Database

from sessionlog.archive import place as projects
from sessionlog.archive import read
from sessionlog.archive.place import Place
from sessionlog.errors import SessionlogError
from sessionlog.web import archives, counting, datasette_pages, guard, limits, metadata
from sessionlog.web import token as tokens

PORT = 8417
PATIENCE = 3  # seconds for answers that are on their way when the server ends: a sleeping tab may never take one
# Audits look at everything there is; Datasette's own second is too short for a million events.
SETTINGS = {
    "sql_time_limit_ms": 10_000,
    "num_sql_threads": limits.THREADS,
    "suggest_facets": False,
    "truncate_cells_html": 300,
    "allow_facet": True,
    "default_cache_ttl": 0,
}


Places = Callable[[], Iterable[Place]]


def datasette(places: Iterable[Place], token: str = "", again: Places | None = None) -> Datasette:
    """A Datasette over these archives; `again` finds those that come later."""
    files = [place.db for place in places if os.path.exists(place.db)]
    described = metadata.for_databases([])  # our plugin describes each archive
    made = Datasette(files, metadata=described, settings=SETTINGS, pdb=False)
    if not files:
        made.remove_database("_memory")  # which Datasette makes when it has nothing else to show
    tokens.demand(made, token)

    def look() -> None:
        for place in again() if again else ():
            if place.name not in made.databases and archives.is_archive(place.db):
                database = made.add_database(Database(made, path=place.db, is_mutable=True), name=place.name)
                datasette_pages.limit(database)

    archives.found_by(made, look)
    return made


def serve(
    places: Iterable[Place],
    host: str,
    port: int | None,
    opened: bool,
    tell: Callable[[str], None],
    again: Places | None = None,
    with_token: bool = True,
    path: str = "/",
) -> None:
    """Serve until Ctrl-C; `tell` gets the address once the server answers."""
    # Where rich is installed, Datasette prints local variables with an error: recorded text, and tokens.
    vars(importlib.import_module("datasette.handle_exception"))["rich"] = None
    for place in (found := list(places)):
        read.bring_up_to_date(place)
    listening = _listen(host, port)
    is_local = guard.is_loopback(listening.getsockname()[0])
    if not with_token and not is_local:
        listening.close()
        raise SessionlogError("without a token, only this machine can be answered; leave out --host or --no-token")
    # One that others send over the network is good for this time only.
    token = "" if not with_token else tokens.of_machine(projects.home_folder()) if is_local else tokens.new()
    app = datasette(found, token, again)
    address = _address(listening, host, token, path)
    opened_address = _address(listening, host, tokens.ticket(app) if token else "", path)

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            tell(address)
            threading.Thread(target=_count_ahead, args=(found,), daemon=True).start()
            if opened:
                threading.Thread(target=webbrowser.open, args=(opened_address,), daemon=True).start()

    config = uvicorn.Config(
        app.app(),
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=PATIENCE,
    )
    with listening:
        Server(config).run([listening])


def _count_ahead(places: Iterable[Place]) -> None:
    """The first page need not wait until a big archive is counted for the first time."""
    for place in places:
        counting.start(place).future.exception()  # waits for its end; a page that needs it says what is wrong


def _listen(host: str, port: int | None) -> socket.socket:
    """The port asked for; if none was, the usual one or, when that is taken, a free one."""
    problem = ""
    for attempt in [PORT, 0] if port is None else [port]:
        listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, attempt))
        except OSError as error:
            listening.close()
            problem = f"cannot listen on {host}, port {attempt}: {error.strerror or error}"
        else:
            return listening
    raise SessionlogError(problem)


def _address(listening: socket.socket, host: str, token: str, path: str) -> str:
    # Nothing is bound here: an address that stands for all is replaced by a name that a browser can open.
    name = socket.gethostname() if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host  # noqa: S104
    address, mark, moment = f"http://{name}:{listening.getsockname()[1]}{path}".partition("#")
    return f"{address}{'&' if '?' in address else '?'}token={token}{mark}{moment}" if token else address + mark + moment
