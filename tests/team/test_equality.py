"""Every view and every audit gives the same answer on SQLite and on PostgreSQL, over the same data."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from sessionlog.archive import describe
from sessionlog.ask import audit
from sessionlog.team import ask
from sessionlog.team.tables import BITS
from tests.helpers import teams
from tests.helpers.postgres import Server
from tests.team.conftest import Team

VIEWS = [name for name, table in describe.tables().items() if table.kind == "view"]
SINCES = ("", "2026-11-16T00:00:08")


@pytest.fixture
def filled(each_server: Server, make_team: Callable[[Server], Team], home: Path) -> tuple[Team, str]:
    """A team archive with one archive in it, on the machine's PostgreSQL and on the one from PyPI."""
    team = make_team(each_server)
    place = teams.with_transcripts(home)
    teams.shipped(place)
    return team, place.db


def test_views_and_audits_answer_as_on_sqlite(filled: tuple[Team, str]) -> None:
    team, db = filled
    different = []
    empty = set(audit.audits())
    with closing(sqlite3.connect(db)) as local, team.connect("dan") as connection:
        archive = connection.execute("SELECT archive FROM archives").fetchone()[0]
        for view in VIEWS:
            columns = ", ".join(f'"{column.name}"' for column in describe.tables()[view].columns)
            query = f"SELECT {columns} FROM {view}"
            here = same(local.execute(query).fetchall(), 0)
            there = same(connection.execute(query).fetchall(), archive)
            if here != there:
                different.append((view, difference(here, there)))
            assert here, f"nothing to compare in {view}"
        for name, query in audit.audits().items():
            for since in SINCES:
                here = same([tuple(row.values()) for row in audit.ask(local, query, since)], 0)
                there = same([tuple(row.values()) for row in ask.audit(connection, name, since)], archive)
                if here != there:
                    different.append((name, since, difference(here, there)))
                if here:
                    empty.discard(name)
    assert different == []
    assert empty == set(), "audits without a row compare nothing"


def same(rows: list[tuple[Any, ...]], archive: int) -> list[tuple[str, ...]]:
    """Rows in any order, as both engines can write them."""
    return sorted(tuple(_value(value, archive) for value in row) for row in rows)


def _value(value: Any, archive: int) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, float):
        return f"{value:.9g}"
    if isinstance(value, int) and archive and abs(value) >> BITS == archive:  # an id
        value = value - (archive << BITS) if value > 0 else value + (archive << BITS)
    if isinstance(value, str) and "," in value:  # group_concat: in no certain order
        return ",".join(sorted(value.split(",")))
    return repr(value) if not isinstance(value, str) else value


def difference(here: list[Any], there: list[Any]) -> str:
    only_here = [row for row in here if row not in there][:2]
    only_there = [row for row in there if row not in here][:2]
    return f"{len(here)} and {len(there)} rows; only SQLite {only_here}; only PostgreSQL {only_there}"
