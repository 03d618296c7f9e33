"""How much SQLite has to do for a question grows with the archive, and not with its square."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing

import pytest

from sessionlog.archive import append, read
from sessionlog.archive import place as projects
from sessionlog.archive.event import normalise
from sessionlog.ask import audit
from sessionlog.ask.provenance import open as provenance
from sessionlog.ask.provenance import recorded
from sessionlog.ask.provenance.recorded import Names
from sessionlog.fastlib import utc_text
from tests.helpers.archives import START_MS as FIRST_MS
from tests.helpers.archives import bash, call, event, store
from tests.record.test_hook import prompt, tool

CALLS, SESSIONS = 1500, 15
START_MS = 1_790_000_000_000
# Instructions of SQLite's machine for an event. With a call that is looked for among all of its kind, it is thousands, and
# more with each event.
ENOUGH = 800


@pytest.fixture
def busy(place: projects.Place) -> Iterator[sqlite3.Connection]:
    """An archive in which every call has a beginning, a permission and an end, and a line in a transcript."""
    fill(place, [number % SESSIONS for number in range(CALLS)])
    with closing(read.connect(place)) as connection:
        yield connection


def fill(place: projects.Place, sessions: Iterable[int]) -> None:
    """A call in each of these sessions, one after the other."""
    with closing(append.open_for_writing(place)) as connection:
        connection.execute("BEGIN")
        for number, session in enumerate(sessions):
            session_id, at_ms = f"s{session}", START_MS + number * 1000
            agent = {"agent_id": f"a{session}", "agent_type": "Explore"} if number % 10 == 0 else {}
            call = (
                tool(number, session_id, tool_input={"file_path": f"/elsewhere/{number}", "command": "curl x"}) | agent
            )
            started = {**call, "hook_event_name": "PreToolUse"}
            asked = {**started, "hook_event_name": "PermissionRequest", "tool_use_id": None}
            for payload in (prompt(str(number), session_id), started, asked, call):
                append.append(connection, normalise(payload, at_ms=at_ms, via="x"), at_ms)
            connection.execute(
                "INSERT INTO transcript_parts (transcript_id, line, part, session_id, type, kind, tool_name, tool_use_id, "
                "is_sidechain, text, at) VALUES (1, ?, 0, ?, 'assistant', 'tool_use', 'Read', ?, 0, ?, ?)",
                (number, session_id, f"toolu_{number}", '{"file_path":"/elsewhere/y"}', utc_text(at_ms)),
            )
        connection.execute("COMMIT")


def steps_for_each_event(
    connection: sqlite3.Connection, ask: str | audit.Audit, since: str = "", at_once: int = 1000
) -> float:
    """How many instructions the question takes; it is given up when that is far too much."""
    taken = 0

    def count() -> int:
        nonlocal taken
        taken += at_once
        return taken > 20 * ENOUGH * 4 * CALLS

    connection.set_progress_handler(count, at_once)
    try:
        connection.execute(ask).fetchall() if isinstance(ask, str) else audit.ask(connection, ask, since)
    except sqlite3.OperationalError:
        pass  # given up
    finally:
        connection.set_progress_handler(None, 0)
    return taken / (4 * CALLS)


def test_no_question_goes_through_all_events_for_each_of_them(busy: sqlite3.Connection) -> None:
    views = [row["name"] for row in busy.execute("SELECT name FROM sqlite_master WHERE type = 'view'").fetchall()]
    taken = {view: steps_for_each_event(busy, f"SELECT * FROM {view}") for view in views}
    taken |= {name: steps_for_each_event(busy, query) for name, query in audit.audits().items()}
    assert {name: steps for name, steps in taken.items() if steps > ENOUGH} == {}
    # What happened lately is found without reading what was before.
    since = utc_text(START_MS + (CALLS - 10) * 1000)
    names = (
        "api-errors bypassed edited-files failures gaps mcp-tools outside-project secrets sensitive-files slow-tools"
    )
    both = {
        name: [steps_for_each_event(busy, audit.find(name), moment, 100) for moment in (since, "")]
        for name in names.split()
    }
    assert {name: steps for name, steps in both.items() if 4 * steps[0] > steps[1]} == {}


# Their views join what belongs together in all of the archive, before anything can be said of its time.
OF_ALL_TIME = {"permissions", "retried-after-denial", "subagents"}


def test_since_reads_only_that_time(place: projects.Place) -> None:
    fill(place, [number // 50 for number in range(CALLS)])
    since = utc_text(START_MS + (CALLS - 10) * 1000)
    with closing(read.connect(place)) as connection:
        both = {
            name: [steps_for_each_event(connection, query, moment, 100) for moment in (since, "")]
            for name, query in audit.audits().items()
        }
    assert {name for name, steps in both.items() if 4 * steps[0] > steps[1]} == OF_ALL_TIME


PATCH = """*** Begin Patch
*** Update File: other.py
@@
-a
+b
*** Update File: cart.py
@@
-one
+two
*** End Patch"""


def test_the_edits_of_a_file_are_found_without_reading_all_others(place: projects.Place) -> None:
    """Also those of agents whose patches name several files, of which the row has the first."""
    root = place.project
    names = Names(root, {root: root}, {"cart.py": "~"})
    store(place, call("apply_patch", "codex", command=PATCH) | {"cwd": root})
    with closing(append.open_for_writing(place)) as connection:
        connection.execute("UPDATE sessions SET client = 'codex'")
        connection.commit()

    def steps() -> int:
        taken = 0

        def count() -> int:
            nonlocal taken
            taken += 1
            return 0

        with provenance.archive(place) as (connection, indexed):
            assert indexed
            connection.set_progress_handler(count, 1)
            try:
                found, _ = recorded.find(connection, names, indexed=True)
            finally:
                connection.set_progress_handler(None, 0)
            without, _ = recorded.find(connection, names, indexed=False)
        assert [edit.change.replacements[0].new for edit in found] == ["two"] and without == found
        return taken

    before = steps()
    for number in range(10):
        more = [event("Stop", "codex"), bash("ls", "codex"), call("apply_patch", "codex", command=f"*** {number}")]
        store(place, *more * 20, start_ms=FIRST_MS + 100_000 * (number + 1))
    assert steps() < 1.5 * before
