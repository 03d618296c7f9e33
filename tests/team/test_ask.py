"""The questions of the team archive: the same answers as at home."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from sessionlog.archive.place import Place
from sessionlog.ask.search import find
from sessionlog.cli.main import cli
from sessionlog.cli.team import COMMANDS, command
from sessionlog.team import ask, connection, words
from tests.helpers import archives, teams
from tests.team.conftest import Team


def run(*arguments: str) -> Any:
    return CliRunner().invoke(cli, ["team", *arguments], catch_exceptions=False)


QUESTIONS = (
    "文件", "折扣", "错误", "购物车", "计算错误", "threading.Lock", "getUserName", "Name", "total", '"total = 0"', "cart*", "echo -rm",
    "rm OR curl", "保存", "create_issue", "claude", "shop -cart", '"install build"', "Done", "の", "がら", "한국",
)  # fmt: skip


def test_search_finds_what_the_local_search_finds(team: Team, home: Path) -> None:
    place = teams.with_transcripts(home)
    archives.store(place, archives.event("UserPromptSubmit", "cjk", prompt="日本語のがらくた café 한국어 x_y_z 文 件"))
    teams.shipped(place)
    with connection.connect("dan") as server:
        for question in QUESTIONS:
            here = {(hit.row["session_id"], hit.row["at"], hit.is_message) for hit in find.find(place, question)}
            there = {
                (hit.row["session_id"], hit.row["at"], hit.is_message)
                for hit, _ in ask.search(server, question, find.NO_FILTERS, ask.EVERYBODY, 0)
            }
            assert here - there == set(), question
            # A call is found by its end at home; here also by its start.
            assert len(there) <= len(here) * 2 + 2, question
        for filters in (
            find.Filters(tool="Bash"),
            find.Filters(failed=True),
            find.Filters(session="s1"),
            find.Filters(role="user"),
        ):
            here = {hit.row["at"] for hit in find.find(place, "购物车 OR rm OR 折扣", filters)}
            found = ask.search(server, "购物车 OR rm OR 折扣", filters, ask.EVERYBODY, 0)
            assert {hit.row["at"] for hit, _ in found} == here, filters


def test_two_characters_are_found_wherever_they_stand(team: Team) -> None:
    """Recall against a scan: no index, no tokenizer."""
    place = teams.project("shop")
    text = "文件权限磁带折扣计算错误请修复购物车保存"
    pairs = [text[number : number + 2] for number in range(0, len(text) - 1)]
    archives.store(place, *[
        archives.event("UserPromptSubmit", f"s{number % 7}", prompt=f"a{text[number % len(text) :]}b {'x' * number} {text[: number % 9]}，")
        for number in range(120)
    ])  # fmt: skip
    teams.shipped(place)
    with connection.connect("ann") as server:
        for pair in pairs:
            scan = {row[0] for row in team.ask("SELECT id FROM events WHERE strpos(prompt, %s) > 0", pair)}
            hits = {hit.row["id"] for hit, _ in ask.search(server, pair, find.NO_FILTERS, ask.EVERYBODY, 0)}
            assert hits == scan and scan, pair


def test_hits_of_all_months_come_newest_first(team: Team) -> None:
    """The newest month is asked before the others; years ago and next year are in no month's table."""
    place = teams.project("shop")
    now, year = int(time.time() * 1000), 365 * 86_400_000
    times = [1_000_000_000_000, *(now - number * year // 9 for number in range(9, -1, -1)), now + year]
    for number, start in enumerate(times):
        archives.store(
            place,
            *[archives.event("UserPromptSubmit", prompt=f"everywhere {number} {each}") for each in range(3)],
            start_ms=start,
        )
    teams.shipped(place)
    newest = [at for (at,) in team.ask("SELECT at FROM events ORDER BY at DESC, id DESC")]
    assert len(newest) == 36
    for most in (1, 3, 4, 5, 7, 35, 36, 100):
        found = team.ask("SELECT at FROM search('everywhere', most => %s)", most)
        assert [at for (at,) in found] == newest[:most]
    for until in (newest[4], newest[17], newest[34]):
        found = team.ask("SELECT at FROM search('everywhere', until => %s)", until)
        assert [at for (at,) in found] == [at for at in newest if at < until]
    with connection.connect("ann") as server:
        hits = [hit.row["at"] for hit, _ in ask.search(server, "everywhere", find.NO_FILTERS, ask.EVERYBODY, 0)]
    assert hits == newest


def test_words_hold_no_syntax(team: Team) -> None:
    place = teams.project("shop")
    archives.store(place, archives.event("UserPromptSubmit", prompt="it's a \\ back'slash & | ! ( ) : * <-> 'quoted'"))
    teams.shipped(place)
    with connection.connect("ann") as server:
        for question in ("it's", "back'slash", "a & b", "'", "\\", "(", "quoted':*", "!x", "a:*"):
            try:
                list(ask.search(server, question, find.NO_FILTERS, ask.EVERYBODY, 5))
            except Exception as error:
                assert "at least one word" in str(error), question


def test_long_texts_are_cut_into_as_many_words_as_fit(team: Team) -> None:
    place = teams.project("shop")
    archives.store(
        place,
        archives.event(
            "UserPromptSubmit", prompt="first " + " ".join(f"w{number:09}" for number in range(90_000)) + "x" * 5000
        ),
    )
    assert teams.shipped(place).events == 1
    assert len(team.ask("SELECT id FROM search('first')")) == 1


def test_the_commands(team: Team, home: Path) -> None:
    place: Place = teams.with_transcripts(home)
    teams.shipped(place, "ann")
    archives.store(teams.project("bob"), *teams.session("bob-1"))
    teams.shipped(teams.project("bob"), "bob")
    rows = json.loads(run("sessions", "--service", "dan", "--json", "-n", "0").output)
    assert {row["developer"] for row in rows} == {"ann", "bob"} and rows[0]["started_at"] >= rows[-1]["started_at"]
    assert "bob-1" in run("sessions", "--service", "dan", "--developer", "bob").output
    assert {row["developer"] for row in json.loads(run("sessions", "--service", "cat", "--json").output)} == {"ann"}
    hits = json.loads(run("search", "折扣", "--service", "dan", "--json").output)
    assert {hit["developer"] for hit in hits} == {"ann", "bob"}
    assert "(bob)" in run("search", "折扣", "--service", "dan", "--team", "search").output
    everything = json.loads(run("audit", "dangerous-commands", "--service", "dan", "--json").output)
    of_bob = json.loads(run("audit", "dangerous-commands", "--service", "dan", "--json", "--developer", "bob").output)
    assert {row["session_id"] for row in of_bob} == {"bob-1"} and len(everything) > len(of_bob) > 0
    for name in ("failures", "slow-tools", "costly-sessions", "prompts-per-day"):
        assert run("audit", name, "--service", "dan", "--team", "payments").exit_code == 0
    assert run("audit", "dangerous-commands", "--service", "dan", "--fail-if-any").exit_code == 1
    for by in ask.BY:
        rows = json.loads(run("stats", "--by", by, "--since", "2020-01-01", "--service", "dan", "--json").output)
        assert rows and by in rows[0]
    rows = json.loads(run("stats", "--by", "team", "--since", "2020-01-01", "--service", "dan", "--json").output)
    local = json.loads(CliRunner().invoke(cli, ["stats", "--all", "--since", "2020-01-01", "--json"]).output)["totals"]
    assert sum(row["tokens_out"] or 0 for row in rows) == local["output_tokens"]
    assert {row["team"] for row in rows} == {"payments", "search"}
    assert (
        json.loads(
            run("sql", "SELECT count(*) AS n FROM bash_commands WHERE failed", "--service", "dan", "--json").output
        )[0]["n"]
        >= 2
    )
    assert CliRunner().invoke(cli, ["team", "sql", "DELETE FROM sessions", "--service", "ann"]).exit_code == 1
    assert CliRunner().invoke(cli, ["team", "sessions", "--service", "eve"]).exit_code == 1


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_shows_how(name: str) -> None:
    context = click.Context(command, info_name="team")
    found = command.get_command(context, name)
    assert found and found.help and found.epilog
    for line in found.epilog.splitlines()[2:]:
        _, _, *arguments = __import__("shlex").split(line.split("|")[0].split(">")[0].split("<")[0])
        assert arguments[0] == name
        with found.make_context(name, arguments[1:], parent=context):
            pass


def test_words_of_a_phrase_are_checked_in_their_order() -> None:
    groups = find.words.terms('"total = 0" -"0 total"')
    document = find.index.Document({"said": "the total = 0", "code": ""}, [])
    assert words.holds(document, groups)
    assert not words.holds(find.index.Document({"said": "0 total = 0"}, []), groups)


def test_no_filter_asks_for_the_tags_that_are_not_shipped() -> None:
    filters = find.Filters(*("x" for _ in find.Filters._fields))._replace(failed=True)
    assert len(find.tags(filters)) == 6
    assert not [term for term in find.tags(filters) if f"{term.text} ".startswith(words.NO_FILTER)]
    document = find.index.Document({"said": "total"}, ["tool bash", "action run"])
    assert set(words.of_document(document)) == {"#tool_bash", "total", "bash"}
