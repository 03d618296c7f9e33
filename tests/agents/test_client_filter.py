"""`--client` and the pages' `client`: one agent's sessions, wherever something is listed, counted or found."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import Any

import pytest

from sessionlog.archive import one_client, read
from sessionlog.archive import place as projects
from sessionlog.ask import audit
from sessionlog.ask.search import facets, find, scan
from sessionlog.errors import SessionlogError
from tests.cli.test_cli import printed, run
from tests.helpers.archives import two_agents


@pytest.fixture
def two(place: projects.Place) -> projects.Place:
    two_agents(place)
    return place


def sessions_in(text: str) -> set[str]:
    return {name for name in ("claude1", "codex1") if name in text}


EVER = ("--since", "2020-01-01")


@pytest.mark.parametrize(
    "arguments",
    [
        ["sessions"],
        ["sessions", "--json"],
        ["search", "tidy"],
        ["search", "tidy", "--best", "--json"],
        ["search", "--substring", "Tidy"],
        ["search", "--regex", "T[i]dy"],
        ["audit", "dangerous-commands"],
        ["audit", "dangerous-commands", "--csv"],
        ["export"],
        ["export", "--format", "markdown"],
        ["show", "last"],
        ["show", "last", "--json"],
        ["tail"],
        ["tail", "--json"],
        ["report", *EVER],
    ],
)
def test_every_command_knows_the_filter(two: projects.Place, arguments: list[str]) -> None:
    unfiltered = {"codex1"} if "show" in arguments else {"claude1", "codex1"}
    assert sessions_in(printed(*arguments)) == unfiltered
    assert sessions_in(printed(*arguments, "--client", "codex")) == {"codex1"}
    assert sessions_in(printed(*arguments, "--client", "claude-code")) == {"claude1"}


def counted(*arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(printed("stats", *EVER, "--json", *arguments))
    return found


def test_statistics_of_one_agent(two: projects.Place) -> None:
    of_codex, of_claude = (counted("--client", client) for client in ("codex", "claude-code"))
    assert (of_codex["totals"]["tools"], of_claude["totals"]["tools"]) == (2, 4)
    assert [row["client"] for row in of_codex["by_client"]] == ["codex"]
    everything = counted()["totals"]
    for name in ("sessions", "prompts", "tools", "files"):
        assert everything[name] == of_codex["totals"][name] + of_claude["totals"][name] > 0
    # From the middle of a quarter of an hour on, which is counted in another way.
    later = json.loads(printed("stats", "--since", "2026-11-16T00:00:02Z", "--json", "--client", "claude-code"))
    assert (later["totals"]["prompts"], later["totals"]["tools"]) == (0, 3)
    assert "client" in printed("stats", *EVER) and "client" not in printed("stats", *EVER, "--client", "codex")


def test_lists_name_the_agent_where_there_are_several(two: projects.Place) -> None:
    for command in (["sessions"], ["search", "tidy"], ["audit", "dangerous-commands"]):
        assert "claude-code" in printed(*command) and "codex\n" in printed(*command).replace("codex  ", "codex\n")
    assert "by codex" in printed("show", "last") and "by `codex`" in printed("export", "last", "--format", "markdown")
    with closing(sqlite3.connect(two.db)) as connection:
        connection.execute("UPDATE sessions SET client = 'claude-code'")
        connection.commit()
    for command in (["sessions"], ["search", "tidy"], ["audit", "dangerous-commands"], ["show", "last"]):
        assert "claude-code" not in printed(*command)


def test_a_mistyped_agent(two: projects.Place) -> None:
    answer = run("sessions", "--client", "codx")
    assert answer.exit_code == 2 and "did you mean codex" in answer.output
    with pytest.raises(SessionlogError, match="no session of gemini"):
        run("audit", "--client", "gemini")
    with pytest.raises(SessionlogError, match="nothing of gemini"):
        run("show", "today", "--client", "gemini")


def test_an_agent_that_only_the_archive_knows(two: projects.Place) -> None:
    odd = "it's; DROP --"
    with closing(sqlite3.connect(two.db)) as connection:
        connection.execute("UPDATE sessions SET client = ? WHERE session_id = 'codex1'", (odd,))
        connection.commit()
    for command in (["sessions"], ["search", "tidy"], ["audit", "dangerous-commands"], ["show", "last"]):
        assert sessions_in(printed(*command, "--client", odd)) == {"codex1"}
    assert counted("--client", odd)["totals"]["tools"] == 2


@pytest.mark.parametrize("name", audit.audits())
def test_no_audit_breaks_or_finds_other_agents(two: projects.Place, name: str) -> None:
    """The rows of both agents are those of all, for audits of single sessions."""
    every, of_codex, of_claude = (
        audit.ask_all([two], audit.find(name), client=client) for client in (None, "codex", "claude-code")
    )
    if every and "session_id" in every[0]:
        assert sorted(map(repr, every)) == sorted(map(repr, of_codex + of_claude))
        assert {row["client"] for row in of_codex} <= {"codex"}
    else:
        assert bool(every) == bool(of_codex or of_claude)


def test_search_counts_and_the_index(two: projects.Place) -> None:
    """A filtered search leaves an index behind in which everything is found."""
    assert [hit.row["session_id"] for hit in find.find(two, "tidy", find.Filters(client="codex"))] == ["codex1"]
    assert {hit.row["session_id"] for hit in find.find(two, "tidy")} == {"claude1", "codex1"}
    found = facets.count(two, "tidy", find.Filters(client="codex"))
    assert found.total == 1 and dict(found.values["client"]) == {"claude-code": 1, "codex": 1}
    looked = scan.look(two, "Tidy", False, find.Filters(client="codex"), scan.START, 10, 30)
    assert [hit.row["session_id"] for hit in looked.hits] == ["codex1"]


def test_tables_and_views_are_narrowed_alike(two: projects.Place) -> None:
    with closing(one_client.connect(two, "codex")) as narrowed, closing(read.connect(two)) as whole:
        for name in ("sessions", "events", "tool_calls", "bash_commands", "prompts", "turns", "session_summary"):
            query = f"SELECT * FROM {name} ORDER BY 1, 2"
            of_codex = [row for row in whole.execute(query) if row["session_id"] == "codex1"]
            assert narrowed.execute(query).fetchall() == of_codex != [], name
