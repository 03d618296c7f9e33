"""The dashboards: every query runs, and finds something."""

from __future__ import annotations

import json
from pathlib import Path

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


def test_citus_distributes_tables_that_exist_by_columns_of_their_keys(team: Team) -> None:
    """Citus itself is packaged nowhere: this is what can be checked without it."""
    from sessionlog.team.admin import FOLDER as SQL

    text = (SQL / "citus.sql").read_text()
    named = [line.split("'")[1::2] for line in text.splitlines() if line.startswith("SELECT create_")]
    assert len(named) > 10
    for table, *columns in named:
        assert team.ask("SELECT to_regclass(%s) IS NOT NULL", f"sessionlog.{table}") == [(True,)]
        for column in columns[:1]:
            keys = team.ask(
                "SELECT array_agg(attname::text) FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY (indkey) "
                "WHERE indrelid = to_regclass(%s) AND indisunique GROUP BY indexrelid",
                f"sessionlog.{table}",
            )
            assert keys and all(column in names for (names,) in keys), f"a unique key of {table} without {column}"
    assert team.ask(
        "SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal AND tgrelid::regclass::text LIKE 'sessionlog.%%'"
    ) == [(0,)]
    policies = team.ask(
        "SELECT coalesce(qual, '') || coalesce(with_check, '') FROM pg_policies WHERE schemaname = 'sessionlog'"
    )
    assert policies and not [text for (text,) in policies if "SELECT" in text.upper()], "no subqueries"
