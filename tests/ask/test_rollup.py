"""The digest counts what is in the archive, whatever has happened to it."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

from sessionlog import times as when
from sessionlog.archive import append, migrate, read, sidecar
from sessionlog.archive import place as projects
from sessionlog.archive.place import Place
from sessionlog.ask.rollup import build, count_rest, stats
from sessionlog.ask.rollup import open as rollup
from sessionlog.ask.rollup import sessions as listing
from sessionlog.ask.search import find as search
from sessionlog.cli import counting
from sessionlog.cli.progress import Bar
from sessionlog.errors import SessionlogError
from sessionlog.install.doctor import privacy
from sessionlog.maintain import backup, merge, prune, redact
from sessionlog.system import children
from sessionlog.transcripts import importer
from sessionlog.web import counting as web_counting
from tests.conftest import Hook, rows, thorough
from tests.faults.ledger import sessionlog
from tests.helpers import forking
from tests.helpers import transcript_files as made
from tests.helpers.archives import START_MS, bash, call, event, store
from tests.helpers.waiting import wait_for

DAY_MS = 86_400_000
EDITING = ("Edit", "MultiEdit", "NotebookEdit", "Write")


# Days begin at another time in each of these places; in one of them, at a quarter of an hour.
everywhere = pytest.mark.parametrize("clock", ["CST-8", "NPT-5:45", "EST5EDT"], indirect=True)


@pytest.fixture(autouse=True)
def clock(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", getattr(request, "param", "CST-8"))
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def local_day(at: str | None) -> str:
    return str(when.moment(at).astimezone().date()) if at else ""


def truth(place: Place, since: str = "") -> dict[str, Any]:
    """The same counts, by looking at every row."""
    days: dict[str, Counter[str]] = defaultdict(Counter)
    active: dict[str, set[str]] = defaultdict(set)
    tools: dict[str, Counter[str]] = defaultdict(Counter)
    files: Counter[str] = Counter()

    def count(row: dict[str, Any], prompt: bool, tool: bool, failure: bool, edit: bool, path: Any) -> None:
        day = local_day(row["at"])
        active[day].add(row["session_id"])
        days[day].update(prompts=int(prompt), tools=int(tool), failures=int(failure), edits=int(edit))
        if row["tool_name"] is not None:
            tools[row["tool_name"]].update(
                calls=int(tool), failures=int(failure), milliseconds=row.get("duration_ms") or 0
            )
        if edit and isinstance(path, str):
            files[path] += 1

    for row in rows(place):
        name, edit = row["event"], row["event"] == "PostToolUse" and row["tool_name"] in EDITING
        if row["at"] < since or name not in (
            "SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "StopFailure"
        ):  # fmt: skip
            continue
        path = row["file_path"] or json.loads(row["tool_input"] or "{}").get("notebook_path")
        tool, failure = name.startswith("PostToolUse"), name in ("PostToolUseFailure", "StopFailure")
        count(row, bool(row["is_typed"]), tool, failure, edit, path)
    hooks = rows(place)
    ended = {(row["session_id"], row["tool_use_id"]) for row in hooks if row["event"] == "PostToolUse"}
    broken = {(row["session_id"], row["tool_use_id"]) for row in hooks if row["event"] == "PostToolUseFailure"}
    repeated = set()
    ids = {(row["session_id"], row["prompt_id"]) for row in hooks if row["event"] == "UserPromptSubmit"}
    words = {
        (row["session_id"], row["prompt"]): row["prompt_id"] for row in hooks if row["event"] == "UserPromptSubmit"
    }
    failed = {(row["session_id"], row["last_assistant_message"]) for row in hooks if row["event"] == "StopFailure"}
    for row in rows(place, "SELECT * FROM transcript_parts"):
        kind, session_id = row["kind"], row["session_id"]
        said = (session_id, row["text"])
        if kind == "prompt":
            by_words = said in words and not (words[said] and row["prompt_id"])
            known = (row["prompt_id"] and (session_id, row["prompt_id"]) in ids) or by_words
        elif kind == "tool_result" and not row["is_denied"] and row["tool_use_id"]:
            call = (session_id, row["tool_use_id"])
            known = call in broken or call in repeated or (call in ended and not row["is_error"])
            repeated.add(call)
        else:
            known = kind != "api_error" or row["type"] != "assistant" or said in failed
        if not known and (row["at"] or "") >= since:
            failure = bool(row["is_error"]) if kind == "tool_result" else kind == "api_error"
            edit = kind == "tool_result" and not failure and row["tool_name"] in EDITING
            is_call = kind == "tool_result" and (session_id, row["tool_use_id"]) not in ended
            count(row, kind == "prompt", is_call, failure, edit, row["file_path"])
    usage: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for row in rows(place, "SELECT * FROM model_answers"):
        if (row["at"] or "") >= since:
            usage[local_day(row["at"]), row["model"]].update(
                answers=1, output_tokens=row["output_tokens"], input_tokens=row["input_tokens"]
            )
    return {
        "days": {day: {**counts, "sessions": len(active[day])} for day, counts in days.items()},
        "tools": {tool: dict(counts) for tool, counts in tools.items()},
        "files": dict(files),
        "usage": {key: dict(counts) for key, counts in usage.items()},
    }


def told(place: Place, since: str = "") -> dict[str, Any]:
    """What the digest says."""
    with stats.Counted([place], since) as counted:
        names = ("answers", "output_tokens", "input_tokens")
        return {
            "days": stats.activity(counted),
            "tools": {
                row["tool"]: {name: row[name] for name in ("calls", "failures", "milliseconds")}
                for row in stats.tools(counted)
            },
            "files": {row["path"]: row["edits"] for row in stats.by_file(counted, 1000)},
            "usage": {key: {name: row[name] for name in names} for key, row in stats.by_day_and_model(counted).items()},
        }


def sessions(place: Place) -> list[dict[str, Any]]:
    with closing(rollup.connect(place)) as connection:
        return connection.execute("SELECT * FROM sessions ORDER BY session_id").fetchall()


def assert_right(place: Place) -> None:
    """The digest is what one counts, and what a digest made anew would be."""
    found, listed = told(place), sessions(place)
    assert found == truth(place)
    summary = rows(place, "SELECT * FROM session_summary ORDER BY session_id")
    for name in ("session_id", "started_at", "ended_at", "seconds", "first_prompt", "prompts", "tool_calls", "edits"):
        assert [row[name] for row in listed] == [row[name] for row in summary], name
    sidecar.forget(place)
    without_numbers = [{**row, "number": 0} for row in listed]
    assert [{**row, "number": 0} for row in sessions(place)] == without_numbers
    assert told(place) == found


def odd_events(session_id: str) -> list[dict[str, Any]]:
    return [
        event("SessionStart", session_id, source="startup", model="claude-opus-5-5"),
        event("UserPromptSubmit", session_id, prompt="按钮 <script>alert(1)</script>"),
        bash("ls", session_id),
        {**bash("make", session_id, "PostToolUseFailure"), "error": "Exit code 2", "duration_ms": 90_000},
        call("Edit", session_id, file_path="/p/ä b.py", old_string="a", new_string="b"),
        call("Edit", session_id, file_path="/p/ä b.py", old_string="b", new_string="c"),
        call("NotebookEdit", session_id, notebook_path="/p/n.ipynb", new_source="x"),
        call("Write", session_id, content="no path"),
        call("mcp__" + "x" * 300 + "'\"%", session_id),
        event("PostToolUse", session_id, tool_input={}),
        event("StopFailure", session_id, error="overloaded"),
        event("SomethingNew", session_id, tool_name="Edit", tool_input={"file_path": "/p/not.py"}),
        event("Stop", session_id),
    ]


@pytest.fixture
def mixed(home: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Sessions that hooks saw, and sessions that only transcripts know."""
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", "/home/dev/shop")
    made.recorded(home)
    importer.run()
    place = made.shop()
    for number in range(4):
        store(place, *odd_events(f"s{number}"), start_ms=START_MS + number * DAY_MS * 3 // 2)
    return place


@everywhere
def test_odd_data_is_counted_as_it_is(mixed: Place) -> None:
    found = told(mixed)
    assert found == truth(mixed)
    assert "/p/n.ipynb" in found["files"] and len(found["usage"]) > 0 and len(found["days"]) > 3
    assert_right(mixed)


@everywhere
def test_from_any_moment_on(mixed: Place) -> None:
    for seconds in (0, 1, 3, 4, 450, 899, 900, 86_400, 200_000):
        since = when.archive_text(datetime.fromtimestamp(START_MS / 1000 + seconds).astimezone())
        found, wanted = told(mixed, since), truth(mixed, since)
        assert found == wanted, seconds


def test_what_comes_bit_by_bit_adds_up(place: Place) -> None:
    chance = random.Random(1)
    for number in range(12):
        session_id = f"s{chance.randrange(4)}"
        late = chance.randrange(-20, 20) * DAY_MS
        store(place, *chance.sample(odd_events(session_id), 6), start_ms=START_MS + late)
        assert told(place) == truth(place), number
    assert_right(place)


def test_a_session_known_by_its_transcript_is_then_seen_by_hooks(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", "/home/dev/shop")
    made.recorded(home)
    importer.run()
    place = made.shop()
    assert told(place) == truth(place)
    store(place, *odd_events(made.SESSION))
    assert told(place) == truth(place)
    assert_right(place)


def test_an_import_of_older_sessions_counts(place: Place, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", "/home/dev/shop")
    place = made.shop()
    store(place, *odd_events("new"), start_ms=START_MS + 30 * DAY_MS)
    assert told(place) == truth(place)
    first = made.transcript(home, made.line("old"), made.answer("m1", 7))
    importer.run()
    assert told(place) == truth(place)
    with first.open("ab") as file:
        file.write(made.line("older", timestamp="2025-01-01T00:00:00.000Z") + made.answer("m1", 9))
    importer.run()
    assert_right(place)
    assert sum(row["output_tokens"] for row in told(place)["usage"].values()) == 9


def test_a_fork_gives_back_what_its_origin_paid(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", "/home/dev/shop")
    place = made.shop()
    copied = {"forkedFrom": {"sessionId": "s", "messageUuid": "u"}}
    made.transcript(
        home, made.line("go", "fork", **copied), made.answer("m1", 100, "fork", **copied), session_id="fork"
    )
    importer.run()
    assert {row["session_id"]: row["tokens"] for row in sessions(place)} == {"fork": 110}
    made.transcript(home, made.line("go"), made.answer("m1", 100))
    importer.run()
    assert {row["session_id"]: row["tokens"] for row in sessions(place)} == {"fork": 0, "s": 110}
    assert_right(place)


def test_a_title_a_branch_and_a_price_may_come_later(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", "/home/dev/shop")
    place = made.shop()
    made.transcript(home, made.line("go", gitBranch="main"), made.answer("m1", 1_000_000))
    importer.run()
    (before,) = sessions(place)
    assert before["title"] is None and before["git_branch"] == "main" and before["cost_usd"] == pytest.approx(20.00004)
    with closing(sqlite3.connect(place.db)) as connection:
        connection.execute("UPDATE session_facts SET custom_title = 'Later'")
        connection.execute("UPDATE model_answers SET cost_usd = cost_usd - 19")
        connection.execute("UPDATE archive SET prices = 'others'")
        connection.commit()
    (after,) = sessions(place)
    assert after["title"] == "Later" and after["cost_usd"] == pytest.approx(1.00004)


@pytest.mark.parametrize("command", ["prune", "prune output", "redact", "merge", "backup"])
def test_what_is_done_to_the_archive_is_done_to_its_digest(mixed: Place, tmp_path: Path, command: str) -> None:
    assert told(mixed) == truth(mixed)
    if command == "prune":
        prune.run(prune.plan(mixed, prune.Which(named=frozenset({"s1", made.SESSION}))))
    elif command == "prune output":
        prune.run(prune.plan(mixed, prune.Which(named=frozenset({"s1"})), only_output=True))
    elif command == "redact":
        redact.run(mixed, redact.GivenRules(mixed.home, values=["按钮 <script>", "/p/ä b.py"]))
        assert not any("按钮 <script>" in (row["first_prompt"] or "") for row in sessions(mixed))
        assert "按钮 <script>".encode() not in Path(rollup.KIND.path(mixed)).read_bytes()
    elif command == "merge":
        other = Place(mixed.home, mixed.project, str(tmp_path / "other.db"))
        store(other, *odd_events("s9"), start_ms=START_MS - 9 * DAY_MS)
        store(other, *odd_events("s1"), start_ms=START_MS - 8 * DAY_MS)
        merge.run(mixed, [other.db])
    else:
        backup.backup(mixed, str(tmp_path / "copy.db"))
        copy = read.place_at(str(tmp_path / "copy.db"))
        assert told(copy) == truth(copy)
    assert_right(mixed)
    assert not redact.out_of_reach(mixed)


def test_an_archive_put_back_from_a_backup_is_counted_anew(place: Place, tmp_path: Path) -> None:
    store(place, *odd_events("s1"))
    backup.backup(place, str(tmp_path / "copy.db"))
    store(place, *odd_events("s2"), *odd_events("s1"), start_ms=START_MS + DAY_MS)
    told(place)
    for ending in ("-wal", "-shm"):
        Path(place.db + ending).unlink(missing_ok=True)
    shutil.copy(tmp_path / "copy.db", place.db)
    assert_right(place)
    store(place, *odd_events("s3"))
    assert_right(place)


def test_rows_that_went_unseen_are_noticed(place: Place) -> None:
    """By what the archive says of each session: `prune` keeps these counts, too."""
    for number in range(3):
        store(place, *odd_events(f"s{number}"))
    told(place)
    with closing(sqlite3.connect(place.db)) as connection:
        connection.execute(prune._KEEP_COUNTS)
        connection.execute("DELETE FROM events WHERE session_id = 's1' AND tool_name = 'Edit'")
        connection.commit()
    assert_right(place)


@pytest.mark.parametrize("damage", ["deleted", "garbage", "another version", "another archive"])
def test_a_digest_that_does_not_fit_is_made_anew(place: Place, damage: str) -> None:
    store(place, *odd_events("s1"))
    told(place)
    path = Path(rollup.KIND.path(place))
    if damage == "deleted":
        path.unlink()
    elif damage == "garbage":
        path.write_bytes(b"garbage" * 5000)
    elif damage == "another version":
        subprocess.run(["sqlite3", str(path), "PRAGMA user_version = 99"], check=True)
    else:
        for ending in ("", "-wal", "-shm"):
            Path(place.db + ending).unlink(missing_ok=True)
        migrate.open_new_or_outdated(place, 1).close()
        store(place, *odd_events("s2")[:3])
    assert_right(place)


def test_where_no_digest_can_be_written_it_is_made_in_memory(place: Place) -> None:
    store(place, *odd_events("s1"))
    Path(rollup.KIND.path(place)).mkdir()
    assert told(place) == truth(place)
    assert Path(rollup.KIND.path(place)).is_dir()


def test_nothing_is_counted_when_nothing_is_new(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    store(place, *odd_events("s1"))
    told(place)
    time.sleep(rollup.UNSURE / 1e9 + 0.05)
    told(place)
    counted = told(place)
    monkeypatch.setattr(build, "catch_up", lambda connection: pytest.fail("it was counted again"))
    assert told(place) == counted
    monkeypatch.undo()
    store(place, *odd_events("s1"))
    assert told(place) == truth(place) != counted


def count(place: Place, *most: int) -> subprocess.CompletedProcess[bytes]:
    return forking.run(place.db, *map(str, most), program="tests.ask.counting")


def test_many_at_once_count_everything_once(place: Place) -> None:
    many = [bash("ls", f"s{number % 50}") for number in range(4000 if thorough() else 1500)]
    store(place, *many)
    for _ in range(2):
        with ThreadPoolExecutor(4) as threads:
            counted = list(threads.map(lambda _: count(place), range(4)))
        assert {int(done.stdout.split()[0]) for done in counted} == {len(rows(place))}
        store(place, bash("one more"), start_ms=START_MS + 10 * DAY_MS)
    assert_right(place)


@pytest.mark.parametrize("counted_before", [False, True])
def test_killed_in_its_midst_it_is_right_the_next_time(place: Place, tmp_path: Path, counted_before: bool) -> None:
    store(place, *(bash("ls", f"s{number % 30}") for number in range(300)))
    if counted_before:
        told(place)
        store(place, *(bash("pwd", f"t{number % 30}") for number in range(300)), start_ms=START_MS + DAY_MS)
    folder, wanted = Path(place.db).parent, truth(place)
    shutil.copytree(folder, tmp_path / "before")

    def as_before() -> None:
        shutil.rmtree(folder)
        shutil.copytree(tmp_path / "before", folder)

    statements = int(count(place, 10**9).stdout.split()[1])
    assert statements > 100, "there are several transactions"
    parts = set()
    for most in range(1, statements, 1 if thorough() else statements // 25):
        as_before()
        assert count(place, most).returncode == -signal.SIGKILL
        with suppress(sqlite3.Error), closing(sqlite3.connect(rollup.KIND.path(place))) as digest:
            parts |= set(digest.execute(rollup._COUNTED).fetchone())
        assert told(place) == wanted, most
    assert len(parts) > 3, "between transactions, too"


def test_a_hook_never_waits_for_the_digest(hook: Hook, place: Place) -> None:
    store(place, *odd_events("s1"))
    with closing(rollup.connect(place)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("SELECT count(*) FROM archive.events").fetchall()
        done = hook(event("UserPromptSubmit", "s2", prompt="meanwhile"))
        assert done.returncode == 0 and not projects.waiting_spools(place)
    assert_right(place)


def test_the_digest_is_private_and_no_archive(place: Place) -> None:
    store(place, *odd_events("s1"))
    told(place)
    assert os.stat(rollup.KIND.path(place)).st_mode & 0o777 == 0o600
    assert [found.db for found in read.all_places()] == [place.db]


def test_how_long_calls_take(place: Place) -> None:
    calls = [{**bash("x"), "duration_ms": duration} for duration in [*range(1, 100), 5_000_000]]
    store(place, *calls)
    with stats.Counted([place]) as counted:
        (row,) = stats.tools(counted)
    assert (row["calls"], row["slowest"], row["average"]) == (100, 5_000_000, (99 * 50 + 5_000_000) / 100)
    assert 45 <= row["median"] <= 55 and 90 <= row["p95"] <= 100


@pytest.fixture(scope="session")
def two_made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of two archives, made once; each test works on a copy."""
    folder = tmp_path_factory.mktemp("two") / "archives"
    chance = random.Random(2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SESSIONLOG_HOME", str(folder))
        places = [projects.place("/srv/one"), projects.place("/srv/two")]
    for place in places:
        for number in range(37):
            session_id = f"s{number}" if number % 5 else "shared"
            store(
                place,
                event("UserPromptSubmit", session_id, prompt=chance.choice(["Aa", "aB", "按钮", "z", "_", ""])),
                *(chance.choice(odd_events(session_id)) for _ in range(chance.randrange(6))),
                start_ms=START_MS + chance.randrange(4) * DAY_MS,
            )
    return folder


@pytest.fixture
def two(two_made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Place]:
    shutil.copytree(two_made, tmp_path / "archives")
    monkeypatch.setenv("SESSIONLOG_HOME", str(tmp_path / "archives"))
    return [projects.place("/srv/one"), projects.place("/srv/two")]


@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize("by", sorted(build.SORTS))
def test_pages_of_a_list_make_the_whole_list(two: list[Place], by: str, descending: bool) -> None:
    with stats.Counted(two) as counted:
        sources = [listing.Source(place.name, connection) for place, connection in counted.connections]
        order, none = listing.Order(by, descending), listing.Filters()
        whole = listing.page(sources, none, order, None, 1000)
        assert whole.next is None and len(whole.rows) == listing.count(sources, none) == 60
        paged, after = [], None
        while True:
            page = listing.page(sources, none, order, after, 7)
            paged += page.rows
            after = page.next
            if after is None:
                break
        assert paged == whole.rows
        values = [str(row["sorted_by"]).lower() if by == "title" else row["sorted_by"] for row in paged]
        assert values == sorted(values, reverse=descending)


def test_a_page_is_read_from_an_index(two: list[Place]) -> None:
    with closing(rollup.connect(two[0])) as connection:
        for by, value in build.SORTS.items():
            plan = connection.execute(
                f"EXPLAIN QUERY PLAN SELECT * FROM sessions WHERE {value} <= 'x' ORDER BY {value} DESC, session_id DESC LIMIT 9"
            ).fetchall()
            assert [row["detail"] for row in plan if "TEMP B-TREE" in row["detail"]] == [], by
            assert f"sessions_{by}" in plan[0]["detail"]


@everywhere
def test_filters(two: list[Place]) -> None:
    with stats.Counted(two) as counted:
        sources = [listing.Source(place.name, connection) for place, connection in counted.connections]

        def listed(**filters: Any) -> set[tuple[str, str]]:
            page = listing.page(sources, listing.Filters(**filters), listing.Order(), None, 1000)
            assert len(page.rows) == listing.count(sources, listing.Filters(**filters))
            return {(row["project"], row["session_id"]) for row in page.rows}

        def wanted(condition: str) -> set[tuple[str, str]]:
            return {
                (place.name, row["session_id"])
                for place in two
                for row in rows(place, f"SELECT DISTINCT session_id FROM events WHERE {condition}")
            }

        assert listed(tool="NotebookEdit") == wanted("tool_name = 'NotebookEdit' AND event = 'PostToolUse'") != set()
        assert listed(file="ä B.PY") == wanted("file_path = '/p/ä b.py' AND event = 'PostToolUse'") != set()
        assert listed(file="*.py") == listed(file="ä b.py") == listed(file="/p/ä*")
        assert listed(failed=True) == wanted("event IN ('StopFailure', 'PostToolUseFailure')")
        assert listed(text="按钮") >= listed(text="按钮", failed=True)
        assert listed(text="shar") == {(place.name, "shared") for place in two}
        assert listed(tool="nothing") == listed(file="%") == listed(branch="x") == listed(model="x") == set()
        for day in {local_day(row["at"]) for place in two for row in rows(place)}:
            assert listed(since=day, until=day) >= {
                (place.name, row["session_id"])
                for place in two
                for row in rows(place, "SELECT * FROM events WHERE event = 'UserPromptSubmit'")
                if local_day(row["at"]) == day
            }
        assert listed(since="2000-01-01") == listed(until="2100-01-01") == listed()
        assert listed(until="2000-01-01") == set()
        assert set(listing.choices(sources)["tool"]) == {
            row["tool_name"]
            for place in two
            for row in rows(place)
            if row["tool_name"] and row["event"] != "SomethingNew"
        }


@pytest.mark.parametrize("after", ["", "x", "[]", "[1, 2]", "[[], 1, 2]", "null", "[" * 5000])
def test_a_wrong_place_in_a_list_is_told(place: Place, after: str) -> None:
    store(place, *odd_events("s1"))
    with closing(rollup.connect(place)) as connection:
        source = listing.Source("x", connection)
        if after:
            with pytest.raises(SessionlogError):
                listing.page([source], listing.Filters(), listing.Order(), after, 5)
        with pytest.raises(SessionlogError):
            listing.page([source], listing.Filters(since="soon"), listing.Order(), None, 5)
        with pytest.raises(SessionlogError):
            listing.page([source], listing.Filters(), listing.Order("number; DROP"), None, 5)


@everywhere
def test_today(place: Place) -> None:
    now = int(time.time() * 1000)
    store(place, bash("ls"), bash("ls"), start_ms=now)
    with stats.Counted([place]) as counted:
        assert sum(stats.hours_of(counted, date.today()).values()) >= 1
        assert stats.hours_of(counted, date(2020, 1, 1)) == {}
        assert stats.ever(counted)["tools"] == 2
        week = stats.by_hour(counted)
        assert sum(row["tools"] for row in week.values()) == 2
        assert all(0 <= weekday < 7 and 0 <= hour < 24 for weekday, hour in week)


def test_times_that_cannot_be_are_no_day(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", "/home/dev/shop")
    times = ("0000-01-01T00:00:00Z", "-4713-01-01", "soon", "99999-01-01T00:00:00Z", "", "2026-11-16T01:00:00.000Z")
    made.transcript(home, *(made.line("go", timestamp=at) + made.answer(f"m{at}", 1, timestamp=at) for at in times))
    importer.run()
    place = made.shop()
    with closing(sqlite3.connect(place.db)) as connection:
        connection.execute("UPDATE transcript_parts SET at = '-0001-01-01' WHERE id = 1")
        connection.commit()
    found = told(place)
    assert {day: row["prompts"] for day, row in found["days"].items()} == {"": 5, "2026-11-16": 1}
    with stats.Counted([place]) as counted:
        assert stats.totals(counted)["answers"] == 6


def test_an_empty_archive(place: Place) -> None:
    append.open_for_writing(place).close()
    assert told(place) == {"days": {}, "tools": {}, "files": {}, "usage": {}}
    with stats.Counted([place]) as counted:
        assert stats.ever(counted)["sessions"] == 0 and stats.ever(counted)["last_at"] is None


def test_the_doctor_closes_what_lies_beside_an_archive(place: Place) -> None:
    store(place, *odd_events("s1"))
    told(place)
    list(search.find(place, "ls"))
    folder = Path(place.db).parent
    beside = [path for path in folder.iterdir() if ".digest" in path.name or ".search" in path.name]
    assert len(beside) >= 4
    for path in (folder, *beside):
        path.chmod(0o755)
    assert [result.level for result in privacy.make_private()] == ["ok"]
    assert {path.stat().st_mode & 0o077 for path in (folder, *beside)} == {0}


def test_whoever_asks_while_another_counts_is_told(mixed: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rollup, "STALLED", 0.1)
    with rollup.KIND.lock(mixed), pytest.raises(SessionlogError, match="being counted"):
        rollup.connect(mixed)


def test_those_who_count_at_the_same_time_take_turns(mixed: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "AT_ONCE", 1)
    monkeypatch.setattr(rollup, "TURN", 0)
    waits, catch_up = threading.Event(), build.catch_up
    turns: list[tuple[int, bool]] = []

    def counted(connection: sqlite3.Connection) -> bool:
        is_all = catch_up(connection)
        turns.append((threading.get_ident(), is_all))
        assert waits.wait(60)
        return is_all

    monkeypatch.setattr(build, "catch_up", counted)
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(lambda: told(mixed))
        wait_for(lambda: turns)
        second = threads.submit(lambda: rollup.connect(mixed, tell=lambda done, total: waits.set()).close())
        second.result(60)
        found = first.result(60)
    assert found == truth(mixed)
    assert len({who for who, is_all in turns if not is_all}) == 2, "both counted a part"
    assert len(turns) <= len(sessions(mixed)) + 2, "nothing was counted twice"
    assert_right(mixed)


def test_who_waits_for_its_turn_hears_how_far_the_others_are(mixed: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rollup, "LOOK", 0.01)
    heard: list[tuple[int, int]] = []
    with ThreadPoolExecutor(1) as threads:
        with rollup.KIND.lock(mixed):
            waiting = threads.submit(
                lambda: rollup.connect(mixed, tell=lambda done, total: heard.append((done, total))).close()
            )
            wait_for(lambda: len(heard) > 3)
            assert {done for done, _ in heard} == {0}
        waiting.result(60)
    assert heard[-1][0] == heard[-1][1] == heard[0][1] > 0


def test_counts_may_be_thrown_away_while_they_are_made(mixed: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "AT_ONCE", 1)
    monkeypatch.setattr(rollup, "TURN", 0)
    catch_up, begun, counts = build.catch_up, threading.Event(), []

    def counted(connection: sqlite3.Connection) -> bool:
        is_all = catch_up(connection)
        counts.append(connection.execute("SELECT count(*) FROM sessions").fetchone()[0])
        begun.set()
        return is_all

    monkeypatch.setattr(build, "catch_up", counted)
    with ThreadPoolExecutor(1) as threads:
        found = threads.submit(lambda: told(mixed))
        assert begun.wait(60)
        sidecar.forget(mixed)
        assert found.result(60) == truth(mixed)
    assert counts.count(1) == 2, "they were begun again"
    assert_right(mixed)


def test_there_are_not_too_many_transactions(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each looks at all sessions."""
    store(place, *(bash("ls", f"s{number % 90}") for number in range(270)))
    monkeypatch.setattr(build, "AT_ONCE", 1)
    catch_up, parts = build.catch_up, []
    monkeypatch.setattr(build, "catch_up", lambda connection: [parts.append(1), catch_up(connection)][1])
    assert told(place) == truth(place)
    assert build.TRANSACTIONS / 2 < len(parts) <= build.TRANSACTIONS
    assert_right(place)


def test_patches_of_several_files_are_counted_in_the_transaction_of_their_session(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    edits = [{"file_path": f"/p/{name}.py"} for name in "abc"]
    for number in range(10):
        session_id = f"s{number}"
        patch = call("apply_patch", session_id, file_path="/p/a.py", edits=edits)
        store(place, patch, *(bash("ls", session_id) for _ in range(600)))
    with closing(sqlite3.connect(place.db)) as connection:
        connection.execute("UPDATE sessions SET client = 'codex'")
        connection.commit()
    steps: list[int] = []
    catch_up = build.catch_up

    def counted(connection: sqlite3.Connection) -> bool:
        connection.set_progress_handler(lambda: steps.append(1), 10)
        return catch_up(connection)

    def files() -> dict[str, int]:
        with stats.Counted([place]) as found:
            return {row["path"]: row["edits"] for row in stats.by_file(found, 10)}

    monkeypatch.setattr(build, "catch_up", counted)
    monkeypatch.setattr(build, "AT_ONCE", 1)
    assert files() == dict.fromkeys(("/p/a.py", "/p/b.py", "/p/c.py"), 10)
    steps.clear()
    store(place, call("apply_patch", "s7", file_path="/p/a.py", edits=edits))
    assert files() == dict.fromkeys(("/p/a.py", "/p/b.py", "/p/c.py"), 11)
    assert 10 * len(steps) < 2 * 6000, "the events that were counted before are not read again"


def test_the_first_time_is_counted_in_parts_and_what_is_counted_stays(
    mixed: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = told(mixed)
    sidecar.forget(mixed, [rollup.KIND.ending])
    monkeypatch.setattr(build, "AT_ONCE", 7)
    heard: list[tuple[int, int]] = []

    def interrupt(done: int, total: int) -> None:
        heard.append((done, total))
        if len(heard) % 2 == 0 and done < total:
            raise KeyboardInterrupt

    for _ in range(100):
        with suppress(KeyboardInterrupt):
            rollup.connect(mixed, tell=interrupt).close()
            break
        with pytest.raises(rollup.StillCounting):
            rollup.connect(mixed, most=0)
    (total,) = {total for _, total in heard}
    done = [done for done, _ in heard]
    assert done == sorted(done) and len(set(done)) > 3 and 0 in done, "each goes on where the one before it ended"
    assert done[-1] == total
    with closing(rollup.connect(mixed, most=0)) as digest:
        assert digest.execute("SELECT sum(events + messages) AS counted FROM sessions").fetchone()["counted"] == total
    assert told(mixed) == wanted == truth(mixed)


def test_the_sessions_are_there_before_anything_is_counted(mixed: Place) -> None:
    with pytest.raises(rollup.StillCounting):
        rollup.connect(mixed, most=3)
    later = ("tokens", "cost_usd", "unpriced_tokens", "number")
    with closing(rollup.preview(mixed)) as early, closing(rollup.connect(mixed)) as whole:
        assert rollup.is_preview(early) and not rollup.is_preview(whole)
        sides = [
            [
                {name: value for name, value in row.items() if name not in later}
                for row in connection.execute("SELECT * FROM sessions ORDER BY session_id").fetchall()
            ]
            for connection in (early, whole)
        ]
        assert sides[0] == sides[1] and len(sides[0]) > 1
        assert early.execute("SELECT count(*) AS number FROM spans").fetchone()["number"] == 0
    # What is counted already is not in the way; and it is not waited for a lock.
    rollup.connect(mixed, most=3).close()
    store(mixed, *(bash(f"ls {number}", "news") for number in range(4)))
    with pytest.raises(rollup.StillCounting):
        rollup.connect(mixed, most=3)
    rollup.connect(mixed, most=4).close()


def test_only_long_work_has_a_progress_bar(mixed: Place) -> None:
    make_large(mixed)
    assert "Counting shop" in sessionlog("stats", "--since", "2000-01-01").stderr
    store(mixed, bash("ls", "new"))
    for words in (["stats", "--since", "2000-01-01"], ["report", "--since", "2000-01-01"], ["sessions", "--json"]):
        assert sessionlog(*words).stderr == ""


def test_a_progress_bar_begins_with_what_is_left(mixed: Place, capsys: pytest.CaptureFixture[str]) -> None:
    bar = Bar("Counting", mixed)
    for done in (20_000, 25_000, 30_000):
        bar.show(done, 30_000)
        assert bar.bar.pct == (done - 20_000) / 10_000
    bar.finish()
    bar = Bar("Counting", mixed)
    bar.show(29_999, 30_000)
    assert bar.bar is None


def make_large(place: Place) -> None:
    """As if there were as many events as nobody waits for."""
    with closing(sqlite3.connect(place.db)) as connection:
        connection.execute(
            "UPDATE sessions SET events = events + 30000 WHERE last_at = (SELECT max(last_at) FROM sessions)"
        )
        connection.commit()


def is_counted(place: Place) -> bool:
    with closing(read.connect(place)) as archive:
        so_far = rollup._so_far(place, archive, sidecar.identity(archive))
    return so_far is not None and so_far[0] == so_far[1] and not rollup.is_being_made(place)


def test_a_list_does_not_wait_for_the_first_count(mixed: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    make_large(mixed)
    digest = Path(rollup.KIND.path(mixed))
    listed = sessionlog("sessions")
    assert "s3" in listed.stdout
    assert "Costs are missing: not all events are counted yet. Add --wait" in listed.stderr
    for words in (["--branch", "nowhere"], ["--sort", "active"]):
        assert "Costs are missing" in sessionlog("sessions", *words).stderr
    none = sessionlog("sessions", "--tool", "Bash", "--no-wait", "--fail-if-none")
    assert none.returncode == 1 and "Sessions may be missing: not all events are counted" in none.stderr
    assert not digest.exists()
    with monkeypatch.context() as patch:
        patch.setenv("SESSIONLOG_NO_FOLLOW", "")
        said = sessionlog("sessions", "--branch", "nowhere", "--no-wait", "--fail-if-none").stderr
    assert "Costs are missing: events are still being counted in the background. Add --wait" in said
    wait_for(lambda: digest.exists() and is_counted(mixed))
    assert sessionlog("sessions").stderr == ""
    digest.unlink()
    for words in (["--wait"], ["--json"], ["--cost", ">0"], ["--tool", "Bash"], ["-n", "0"]):
        assert "missing" not in sessionlog("sessions", *words).stderr
        assert digest.exists()
        sidecar.forget(mixed, [rollup.KIND.ending])
    assert sessionlog("stats", "--since", "2000-01-01").returncode == 0 and digest.exists()


def test_every_session_of_a_list_has_its_first_prompt_before_anything_is_counted(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(9):
        opened = event("UserPromptSubmit", f"s{number}", prompt=f"prompt {number}")
        store(place, opened, start_ms=START_MS + number * DAY_MS)
    make_large(place)
    monkeypatch.setattr(rollup, "PREVIEW_PROMPTS", 3)
    with closing(rollup.preview(place)) as connection:
        sources = [listing.Source("one", connection)]
        for descending, numbers in ((True, [8, 7, 6]), (False, [0, 1, 2])):
            page = listing.page(sources, listing.Filters(), listing.Order("started", descending), None, 3)
            assert [row["first_prompt"] for row in page.rows] == [f"prompt {number}" for number in numbers]
            after = listing.page(sources, listing.Filters(), listing.Order("started", descending), page.next, 3)
            assert [row["first_prompt"] for row in after.rows] == ["prompt 5", "prompt 4", "prompt 3"][
                :: 1 if descending else -1
            ]


def test_a_list_before_anything_is_counted_may_be_of_one_agent(mixed: Place) -> None:
    with closing(sqlite3.connect(mixed.db)) as connection:
        connection.execute("UPDATE sessions SET client = 'codex' WHERE session_id = 's2'")
        connection.commit()
    make_large(mixed)
    for connect in (counting.WithoutWaiting().connect, web_counting.connect):
        with closing(connect(mixed, "", "codex")) as connection:
            assert rollup.is_preview(connection)
            assert [row["session_id"] for row in connection.execute("SELECT session_id FROM sessions")] == ["s2"]
    web_counting.start(mixed).future.result(60)


def test_archives_are_counted_in_the_background_where_that_is_of_use(
    two: list[Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(children, "start_detached", lambda module, words: started.append(words))
    one, other = two
    with rollup.KIND.lock(one):  # as one who is counting
        assert count_rest.start(two)
        assert count_rest.start([one])
    assert started == [[other.db]]
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # as in a folder that is read-only
    assert not count_rest.start(two)
    assert len(started) == 1


def test_an_archive_that_cannot_be_counted_does_not_keep_others_from_it(
    two: list[Place], place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(place, *odd_events("s1"))
    one, other = two
    Path(rollup.KIND.path(one)).mkdir()  # its counts cannot be kept
    Path(place.home, "broken.db").write_bytes(b"no database" * 1000)
    dbs = [str(Path(place.home, "broken.db")), one.db, place.db, other.db]
    monkeypatch.setattr(children, "given_words", lambda: dbs)
    monkeypatch.setattr(children, "lower_priority", lambda: None)
    monkeypatch.setattr(rollup, "_with_archive", counted_once := CountsCalls(rollup._with_archive))
    with rollup.KIND.lock(place):  # as one who is counting
        count_rest.main()
    assert counted_once.calls == 1, "neither in memory nor while another does it"
    assert is_counted(other) and not is_counted(place)


class CountsCalls:
    """A function, and how often it was called."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.calls = function, 0

    def __call__(self, *arguments: Any) -> Any:
        self.calls += 1
        return self.function(*arguments)
