"""However the search index is made, it is the same; while it is being made, answers say what they are of."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from sessionlog.archive import place as projects
from sessionlog.archive import read, sidecar
from sessionlog.archive.locks import open_private, try_lock
from sessionlog.ask import warm
from sessionlog.ask.search import build, build_rest, find, index, partial, slices
from sessionlog.cli.main import cli
from sessionlog.maintain import redact
from sessionlog.mcp.tools import Tools
from sessionlog.system import children
from tests.ask.test_search import CORPUS, fill
from tests.helpers.waiting import wait_for
from tests.record.test_hook import prompt, tool

EVENTS = 24
Content = list[list[Any]]


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "BATCH", 5)
    monkeypatch.setattr(build, "WORTH_A_POOL", 1)


@pytest.fixture
def archived(place: projects.Place) -> projects.Place:
    fill(place, [one for number in range(12) for one in (prompt(f"{CORPUS[number % 6]} {number}"), tool(number))])
    return place


def make(place: projects.Place, progress: build.Progress | None = None, **options: Any) -> Any:
    with closing(read.connect(place)) as archive:
        return build.catch_up(place, archive, progress, **options)


def content(place: projects.Place) -> Content:
    """Every document, every word with its positions, and what waits."""
    with closing(sqlite3.connect(index.path_of(place))) as made:
        made.execute("CREATE VIRTUAL TABLE temp.seen USING fts5vocab(main, words, instance)")
        tables = ("documents", "temp.seen", "progress", "waiting")
        return [made.execute(f"SELECT * FROM {table} ORDER BY 1, 2, 3").fetchall() for table in tables]


@pytest.fixture
def expected(archived: projects.Place, monkeypatch: pytest.MonkeyPatch) -> Content:
    """The index as one process makes it without any interruption."""
    with monkeypatch.context() as patched:
        patched.setattr(build, "WORTH_A_POOL", 1000)
        make(archived)
    made = content(archived)
    assert len(made[0]) == EVENTS and made[3] == []
    sidecar.forget(archived)
    return made


def stop(batches: int) -> build.Progress:
    """Ctrl+C after so many batches."""
    calls = -1  # the first one comes before the first batch

    def progress(done: int, total: int) -> None:
        nonlocal calls
        calls += 1
        if calls == batches:
            raise KeyboardInterrupt

    return progress


def part(place: projects.Place, batches: int = 1) -> None:
    """An index of which only the newest is there."""
    with suppress(KeyboardInterrupt), pytest.MonkeyPatch.context() as patched:
        patched.setattr(build, "WORTH_A_POOL", 1000)
        make(place, stop(batches))


def test_an_index_made_by_several_processes_is_the_same(archived: projects.Place, expected: Content) -> None:
    assert make(archived) is None
    assert content(archived) == expected


@pytest.mark.parametrize("length", [0, 100])
def test_slices_that_long_texts_end_early_leave_no_gap(
    archived: projects.Place, expected: Content, monkeypatch: pytest.MonkeyPatch, length: int
) -> None:
    monkeypatch.setattr(build, "WORTH_A_POOL", 1000)
    monkeypatch.setattr(slices, "LENGTH", length)
    monkeypatch.setattr(slices, "SEGMENTED", length // 4)
    steps: list[int] = []
    make(archived, lambda done, total: steps.append(done))
    assert content(archived) == expected
    assert len(steps) > EVENTS // build.BATCH + 2


def test_also_if_another_search_takes_in_the_rest(
    archived: projects.Place, expected: Content, monkeypatch: pytest.MonkeyPatch
) -> None:
    def take_in_the_rest(done: int, total: int) -> None:
        if 0 < done < total:
            monkeypatch.setattr(build, "WORTH_A_POOL", 1000)
            make(archived)

    make(archived, take_in_the_rest)
    assert content(archived) == expected


KILLED = """
import os, signal, sys
from contextlib import closing
from sessionlog.archive import read
from sessionlog.ask.search import build
build.BATCH, build.WORTH_A_POOL = 5, int(sys.argv[2])
place = read.place_at(sys.argv[1])
with closing(read.connect(place)) as archive:
    build.catch_up(place, archive, lambda done, total: 9 < done < total and os.kill(os.getpid(), signal.SIGKILL))
"""


@pytest.mark.parametrize("worth_a_pool", [1, 1000])
def test_a_build_that_was_killed_goes_on(archived: projects.Place, expected: Content, worth_a_pool: int) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, archived.db, str(worth_a_pool)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert 0 < len(content(archived)[0]) < EVENTS
    make(archived)
    assert content(archived) == expected


def test_what_is_written_when_it_is_killed_inside_of_a_transaction_is_not_half(
    archived: projects.Place, expected: Content
) -> None:
    script = KILLED.replace("with closing", "build.slices.write = lambda *given: os.kill(os.getpid(), 9)\nwith closing")
    subprocess.run([sys.executable, "-c", script, archived.db, "1000"], check=False)
    assert content(archived)[0] == []
    make(archived)
    assert content(archived) == expected


def test_the_newest_is_taken_in_first(archived: projects.Place) -> None:
    part(archived, 2)
    assert {event for _, event, _ in content(archived)[0]} == set(range(EVENTS - 9, EVENTS + 1))


def test_new_events_are_taken_in_before_the_old_rest(archived: projects.Place) -> None:
    part(archived)
    fill(archived, [prompt("meanwhile")])
    part(archived)
    ids = {event for _, event, _ in content(archived)[0]}
    assert EVENTS + 1 in ids and 1 not in ids
    make(archived)
    assert {event for _, event, _ in content(archived)[0]} == set(range(1, EVENTS + 2))


def test_events_that_come_while_it_is_made_are_not_lost(
    archived: projects.Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "NEW_AFTER", 2)

    def one_more(done: int, total: int) -> None:
        fill(archived, [prompt(f"meanwhile {done}")], start=1_794_900_000_000 + done)

    make(archived, one_more)
    make(archived)
    with closing(read.connect(archived)) as archive:
        ids = [row["id"] for row in archive.execute("SELECT id FROM events ORDER BY id")]
    assert len(ids) > EVENTS + 3
    assert sorted(event for _, event, _ in content(archived)[0]) == ids


def test_what_is_redacted_while_it_is_made_is_not_found(archived: projects.Place) -> None:
    changed = False

    def replace(done: int, total: int) -> None:
        nonlocal changed
        if done and not changed:
            changed = True
            redact.run(archived, redact.GivenRules(archived.home, values=["camelCaseName"]))

    make(archived, replace)
    assert changed
    assert list(find.find(archived, "camelCaseName")) == []
    assert len(list(find.find(archived, "mixed"))) == 2
    assert len(content(archived)[0]) == EVENTS
    assert b"camelcasename" not in Path(index.path_of(archived)).read_bytes().lower()


# --- Answers from a part ----------------------------------------------------------------------------------------------


@pytest.fixture
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partial, "PATIENCE", -1.0)
    monkeypatch.setenv("SESSIONLOG_NO_FOLLOW", "1")


def at(place: projects.Place, event: int) -> str:
    with closing(read.connect(place)) as archive:
        return str(archive.execute("SELECT at FROM events WHERE id = ?", (event,)).fetchone()["at"])


def test_coverage(archived: projects.Place) -> None:
    part(archived, 2)
    share, back_to = make(archived, until=0)
    assert share == pytest.approx(10 / EVENTS)
    assert back_to == at(archived, EVENTS - 10), "the newest that is missing"
    assert make(archived) is None


def test_coverage_of_what_was_imported_out_of_order(archived: projects.Place) -> None:
    """Event 3 happened after all others: only what is later is complete."""
    with closing(sqlite3.connect(archived.db)) as connection, connection:
        connection.execute("UPDATE events SET at = '2031-01-01T00:00:00.000Z' WHERE id = 3")
    part(archived)
    assert make(archived, until=0).back_to == "2031-01-01T00:00:00.000Z"


def search(*arguments: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(cli, ["search", *arguments], catch_exceptions=False)
    return done.exit_code, done.stdout, done.stderr


@pytest.mark.usefixtures("no_patience")
def test_a_command_says_what_it_has_searched(archived: projects.Place) -> None:
    part(archived, 2)
    for question, hits in (("echo", 5), ("nothing-like-this", 0)):
        code, stdout, stderr = search(question)
        assert (code, stdout.count("tool_1") + stdout.count("Bash")) == (0, hits)
        assert "(41 % of the archive). The rest is not indexed yet; add --wait to search all of it." in stderr
    (since, until) = (at(archived, EVENTS - 4), at(archived, EVENTS))
    assert "The rest" not in search("echo", "--since", since)[2], "all since then is indexed"
    assert "The rest" in search("echo", "--until", until)[2]


@pytest.mark.usefixtures("no_patience")
def test_programs_get_an_answer_from_all(archived: projects.Place) -> None:
    part(archived)
    (hit, *_) = json.loads(search("echo", "--json", "--no-wait")[1])
    assert hit["searched_back_to"] == at(archived, EVENTS - 5)
    assert search("按钮", "--no-wait", "--fail-if-none")[0] == 1
    assert search("按钮", "--fail-if-none")[0] == 0
    hits = json.loads(search("echo", "--json", "-n", "0")[1])
    assert len(hits) == 12 and "searched_back_to" not in hits[0]


@pytest.mark.usefixtures("no_patience")
def test_wait_searches_all(archived: projects.Place) -> None:
    code, stdout, stderr = search("echo", "-n", "0", "--wait")
    assert (code, stdout.count("Bash")) == (0, 12) and "The rest" not in stderr


@pytest.mark.usefixtures("no_patience")
def test_an_agent_hears_it_too(archived: projects.Place) -> None:
    part(archived)
    answer = Tools([archived]).search("echo")
    assert "(20 % of the archive). The rest is not indexed yet; ask again later for the rest." in answer
    make(archived)
    assert "The rest" not in Tools([archived]).search("echo")


def test_the_rest_is_indexed_in_the_background(
    archived: projects.Place, expected: Content, monkeypatch: pytest.MonkeyPatch
) -> None:
    part(archived)
    monkeypatch.setattr(partial, "PATIENCE", -1.0)
    monkeypatch.delenv("SESSIONLOG_NO_FOLLOW", raising=False)
    assert "The rest is being indexed in the background" in search("echo")[2]
    wait_for(lambda: content(archived) == expected)


def test_an_archive_that_cannot_be_indexed_does_not_keep_others_from_it(
    archived: projects.Place, expected: Content, monkeypatch: pytest.MonkeyPatch
) -> None:
    part(archived)
    broken = Path(archived.home, "broken.db")
    broken.write_bytes(b"no database" * 1000)
    monkeypatch.setattr(children, "given_words", lambda: [str(broken), archived.db])
    monkeypatch.setattr(children, "lower_priority", lambda: None)
    build_rest.main()
    assert content(archived) == expected


# --- More than one at a time ------------------------------------------------------------------------------------------


def test_what_another_process_is_at_is_left_to_it(archived: projects.Place, monkeypatch: pytest.MonkeyPatch) -> None:
    part(archived)
    descriptor = open_private(index.path_of(archived) + build.LOCK_ENDING, 0)
    assert try_lock(descriptor)
    before = content(archived)
    warm.bring_up_to_date(archived)
    assert content(archived) == before
    monkeypatch.setattr(build, "STALLED", 0.1)
    assert make(archived) is None, "it has been stopped: we go on without it"
    os.close(descriptor)


def test_the_background_import_goes_on(archived: projects.Place, expected: Content) -> None:
    part(archived)
    warm.bring_up_to_date(archived)
    assert content(archived) == expected
