"""`team init`: makes the team archive, and brings one that an older sessionlog made up to date."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from sessionlog.cli.main import cli
from sessionlog.errors import SessionlogError
from sessionlog.team import admin
from tests.helpers import archives, teams
from tests.helpers.postgres import Server
from tests.team.conftest import Team

# What version 1 had in other places, and how events came there.
VERSION_1 = """
DROP FUNCTION store_events; DROP TYPE new_event;
CREATE FUNCTION store_events(mine int, new_id bigint[], new_session_id text[]) RETURNS int LANGUAGE sql AS 'SELECT 0';
ALTER TABLE events DROP CONSTRAINT events_pkey, ADD PRIMARY KEY (session_id, id, at);
DROP INDEX events_session_id_tool_use_id_idx, events_at_idx, events_event_action_idx;
CREATE INDEX ON events (id);
CREATE INDEX ON events (event, action, at);
CREATE INDEX ON events (at);
CREATE INDEX ON events (tool_use_id) WHERE tool_use_id IS NOT NULL;
ALTER TABLE documents DROP CONSTRAINT documents_pkey, ADD PRIMARY KEY (session_id, id, is_message, at);
CREATE INDEX ON documents (id);
CREATE OR REPLACE FUNCTION taken(ids text[], mine int) RETURNS SETOF text LANGUAGE sql AS 'SELECT NULL::text';
UPDATE version SET number = 1;
"""


def catalogue(team: Team) -> dict[str, list[tuple[object, ...]]]:
    """All indexes and functions of a team archive, and who may run them."""
    return {
        "indexes": team.ask(
            r"SELECT tablename, regexp_replace(indexdef, 'INDEX \S+ ON', 'INDEX ON') FROM pg_indexes "
            "WHERE schemaname = 'sessionlog' ORDER BY 1, 2"
        ),
        "functions": team.ask(
            "SELECT oid::regprocedure::text, prosrc, prosecdef, proconfig, proacl::text FROM pg_proc "
            "WHERE pronamespace = 'sessionlog'::regnamespace ORDER BY 1"
        ),
        "columns": team.ask(
            "SELECT attrelid::regclass::text, attname, atttypid::regtype::text FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid "
            "WHERE relnamespace = 'sessionlog'::regnamespace AND relkind IN ('r', 'p', 'c') AND attnum > 0 AND NOT attisdropped "
            "ORDER BY 1, attnum"
        ),
    }


def init() -> str:
    """What the command says."""
    ran = CliRunner().invoke(cli, ["team", "init", "--service", "owner"])
    assert ran.exit_code == 0, ran.output
    return ran.output


def test_init_brings_an_older_archive_up_to_date(
    each_server: Server, make_team: Callable[[Server], Team], home: Path
) -> None:
    team = make_team(each_server)
    place = teams.project("ann")
    archives.store(place, *teams.session("ann-1"))
    teams.shipped(place, "ann")
    wanted, events = catalogue(team), team.ask("SELECT * FROM events ORDER BY id")
    team.ask(VERSION_1)
    assert catalogue(team) != wanted
    archives.store(place, *teams.session("ann-2"))
    with pytest.raises(SessionlogError, match="`sessionlog team init`"):
        teams.shipped(place, "ann")
    assert init() == "The team archive was brought up to date.\n"
    assert catalogue(team) == wanted
    assert team.ask("SELECT * FROM events ORDER BY id") == events
    teams.shipped(place, "ann")
    assert team.ask("SELECT session_id, count(*) FROM events GROUP BY 1 ORDER BY 1") == [("ann-1", 24), ("ann-2", 24)]
    assert init() == "There is a team archive already, and it is up to date.\n"
    assert catalogue(team) == wanted


def test_init_leaves_the_archive_of_a_newer_sessionlog_alone(team: Team) -> None:
    team.ask("INSERT INTO version VALUES (%s)", admin.VERSION + 1)
    with team.connect() as owner, pytest.raises(SessionlogError, match="newer sessionlog"):
        admin.init(owner)
