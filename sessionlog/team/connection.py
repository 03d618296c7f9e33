"""Connections to a team archive, by the name of a service in PostgreSQL's service file.

Host, database, user and TLS stand in ~/.pg_service.conf, the password in ~/.pgpass. Neither is ever an argument.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sessionlog.errors import SessionlogError

if TYPE_CHECKING:
    import psycopg

EXTRA = "the team archive needs an extra; type: pip install 'claude-sessionlog[team]'"
OLDEST = 15
CONNECT_SECONDS = "10"

# What libpq needs from the service file or the environment: no certificate of the server, no connection.
SAFE = "verify-full"


@contextmanager
def connect(service: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection to the team archive of this service, with its schema on the search path."""
    psycopg = _psycopg()
    _check_tls(service)
    try:
        connection = psycopg.connect(service=service, autocommit=True, application_name="sessionlog")
    except psycopg.OperationalError as error:
        reason = _first_line(error)
        if "definition of service" in reason:
            reason = f"~/.pg_service.conf has no section [{service}]; add it, or name another with --service"
        raise SessionlogError(f"no connection to the team archive {service!r}: {reason}") from None
    try:
        with connection:
            if connection.info.server_version < OLDEST * 10_000:
                raise SessionlogError(f"the team archive needs PostgreSQL {OLDEST} or newer")
            # Compiling the plan of an audit takes longer than the audit.
            connection.execute("SET search_path = sessionlog; SET jit = off")
            yield connection
    except psycopg.OperationalError as error:
        raise SessionlogError(
            f"the connection to the team archive {service!r} was lost: {_first_line(error)}"
        ) from None
    except psycopg.errors.InsufficientPrivilege as error:
        raise SessionlogError(f"the team archive {service!r} refuses this: {_first_line(error)}") from None
    except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName) as error:
        raise SessionlogError(
            f"there is no team archive behind {service!r}, or you have no rights in it ({_first_line(error)}); "
            "its owner makes one with `sessionlog team init`, and adds people with `sessionlog team add`"
        ) from None


def service_name(given: str | None) -> str:
    """The service that is meant: the one that was given, else $PGSERVICE, else `sessionlog`."""
    return given or os.environ.get("PGSERVICE") or "sessionlog"


def _psycopg() -> Any:
    try:
        import psycopg
    except ImportError:
        raise SessionlogError(EXTRA) from None
    return psycopg


def _check_tls(service: str) -> None:
    """Refuse a server on the network whose certificate would not be checked, before anything is sent to it."""
    from psycopg import pq

    os.environ.setdefault("PGSSLMODE", SAFE)
    os.environ.setdefault("PGCONNECT_TIMEOUT", CONNECT_SECONDS)
    before = os.environ.get("PGSERVICE")
    os.environ["PGSERVICE"] = service  # libpq then shows what it has read from the service file
    try:
        options = {option.keyword: option.val or b"" for option in pq.Conninfo.get_defaults()}
    finally:
        os.environ.pop("PGSERVICE") if before is None else os.environ.update(PGSERVICE=before)
    hosts = (options.get(b"hostaddr") or options.get(b"host") or b"").decode().split(",")
    on_network = [host for host in hosts if host and not host.startswith(("/", "@"))]
    if on_network and options.get(b"sslmode") != SAFE.encode():
        raise SessionlogError(
            f"the service {service!r} would connect to {on_network[0]} without checking its certificate; "
            f"set sslmode={SAFE} and sslrootcert in its section of ~/.pg_service.conf"
        )


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
