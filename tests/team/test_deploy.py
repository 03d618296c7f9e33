"""The dashboards: every query runs, and finds something."""

from __future__ import annotations

import json
import re
from pathlib import Path

import psycopg
import pytest
import yaml

from sessionlog.team.admin import FOLDER as SQL
from tests.conftest import ROOT
from tests.helpers import teams
from tests.team.conftest import Team

FOLDER = ROOT / "deploy" / "team"


def test_every_query_of_the_dashboards_runs(team: Team, home: Path) -> None:
    teams.shipped(teams.with_transcripts(home))
    panels = json.loads((FOLDER / "grafana.json").read_text())["panels"]
    cards = json.loads((FOLDER / "metabase.json").read_text())["cards"]
    queries = {panel["title"]: panel["targets"][0]["rawSql"] for panel in panels}
    for name, query in queries.items():
        asked = query.replace("$__timeFrom()", "'2020-01-01T00:00:00Z'").replace(
            "$__timeTo()", "'2030-01-01T00:00:00Z'"
        )
        assert team.ask(asked, user="dan"), name
    assert [card["name"] for card in cards] == list(queries)
    for card in cards:
        assert team.ask(card["dataset_query"]["native"]["query"].replace("{{since}}", "'2020-01-01'"), user="dan"), (
            card["name"]
        )


def test_the_dashboards_are_laid_out() -> None:
    """What Grafana and Metabase want of these files; neither is packaged for tests."""
    board = json.loads((FOLDER / "grafana.json").read_text())
    assert [variable["name"] for variable in board["templating"]["list"]] == ["datasource"]
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    cells = set()
    for panel in board["panels"]:
        assert {panel["datasource"]["uid"], panel["targets"][0]["datasource"]["uid"]} == {"${datasource}"}
        place = panel["gridPos"]
        covered = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not covered & cells and max(x for x, _ in covered) < 24, panel["title"]
        cells |= covered
    for card in json.loads((FOLDER / "metabase.json").read_text())["cards"]:
        native = card["dataset_query"]["native"]
        assert {"name", "display", "visualization_settings", "dataset_query"} <= set(card)
        assert set(re.findall(r"{{(\w+)}}", native["query"])) == set(native["template-tags"]), card["name"]


def test_docker_compose_starts_a_server_with_settings_that_exist(team: Team) -> None:
    service = yaml.safe_load((FOLDER / "docker-compose.yml").read_text())["services"]["postgres"]
    program, *options = service["command"]
    names = [option.partition("=")[0] for option in options if option != "-c"]
    assert program == "postgres" and options[::2] == ["-c"] * len(names)
    assert team.ask("SELECT count(*) FROM pg_settings WHERE name = ANY (%s)", names) == [(len(names),)]
    assert service["ports"] == ["127.0.0.1:5432:5432"], "this machine only"


# What Citus checks when it distributes a table, as far as our schema has to do with it: each unique key and each foreign
# key to another distributed table holds the column, there are no triggers, and policies ask no other table.
CITUS = """
CREATE TABLE placed (name regclass PRIMARY KEY, by text, beside regclass);
CREATE FUNCTION create_reference_table(name regclass) RETURNS void LANGUAGE sql AS
    'INSERT INTO placed VALUES (name, NULL, NULL)';
CREATE FUNCTION create_distributed_table(name regclass, by text, colocate_with regclass DEFAULT NULL) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    wanted smallint := (SELECT attnum FROM pg_attribute WHERE attrelid = name AND attname = by);
BEGIN
    ASSERT wanted IS NOT NULL, format('%s has no column %s', name, by);
    ASSERT NOT EXISTS (SELECT FROM pg_index WHERE indrelid = name AND indisunique AND wanted <> ALL (indkey)),
        format('a unique key of %s without %s', name, by);
    ASSERT NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = name AND NOT tgisinternal), format('a trigger of %s', name);
    ASSERT NOT EXISTS (SELECT FROM pg_policy WHERE polrelid = name
        AND coalesce(pg_get_expr(polqual, polrelid), '') || coalesce(pg_get_expr(polwithcheck, polrelid), '') ~* 'select'),
        format('a policy of %s with a subquery', name);
    ASSERT colocate_with IS NULL OR EXISTS (SELECT FROM placed WHERE placed.name = colocate_with AND placed.by IS NOT NULL);
    ASSERT NOT EXISTS (
        SELECT FROM pg_constraint LEFT JOIN placed ON placed.name = confrelid
        WHERE contype = 'f' AND conrelid = create_distributed_table.name AND (placed.name IS NULL OR (placed.by IS NOT NULL
            AND (wanted <> ALL (conkey) OR coalesce(placed.beside, placed.name) <> colocate_with)))
    ), format('a foreign key of %s to a table that lies elsewhere', name);
    INSERT INTO placed VALUES (name, by, colocate_with);
END $$;
"""


def test_citus_sql_runs_and_keeps_the_rules_of_citus(team: Team) -> None:
    """Citus itself is packaged nowhere: its two functions are played, with its rules."""
    with team.connect() as owner:
        owner.execute(CITUS)
        owner.execute((SQL / "citus.sql").read_text())
        with pytest.raises(psycopg.errors.AssertFailure, match="a unique key of archives without host"):
            owner.execute("SELECT create_distributed_table('archives', 'host')")
        placed = {name for (name,) in owner.execute("SELECT name::text FROM placed")}
    owned = set(team.ask("SELECT owned_tables()")[0][0])
    # Notes and shipments are few, and stay on the coordinator.
    assert owned - placed == {"shipments", "take_outs", "chain_notes", "chain_changes"}
