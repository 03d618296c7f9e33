"""How much was done, and what it cost."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from sessionlog.archive import place as projects
from sessionlog.ask.rollup import stats
from sessionlog.cli import table
from sessionlog.transcripts import importer
from tests.cli.test_cli import printed
from tests.helpers import transcript_files as made
from tests.helpers.archives import START_MS, bash, call, event, store

DAY_MS = 86_400_000
EVER = ["--since", "2000-01-01"]


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Eight hours east of Greenwich: a day there begins at 16:00 UTC."""
    monkeypatch.setenv("TZ", "CST-8")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def worked(place: projects.Place) -> projects.Place:
    failed = {**bash("make", name="PostToolUseFailure"), "error": "Exit code 2"}
    edit = call("Edit", file_path="/p/a.py", old_string="a", new_string="b")
    store(
        place,
        event("UserPromptSubmit", prompt="go"),
        bash("ls"),
        failed,
        edit,
        call("Write", file_path="/p/a.py", content=""),
    )
    later = [
        event("UserPromptSubmit", "s2", prompt="on"),
        bash("pwd", "s2"),
        call("Write", "s2", file_path="/p/b.py", content=""),
    ]
    store(place, *later, start_ms=START_MS + 2 * DAY_MS + 20 * 3_600_000)
    return place


def shown(*arguments: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(printed("stats", *EVER, "--json", *arguments))
    return rows


def test_by_week_month_branch_and_client(worked: projects.Place) -> None:
    for by in ("week", "month", "branch", "client"):
        rows = shown("--by", by)
        assert sum(row["tools"] for row in rows) == 6 and all(set(row) >= {by, "sessions", "cost_usd"} for row in rows)
        assert printed("stats", *EVER, "--by", by)
    assert [row["client"] for row in shown("--by", "client")] == ["claude-code"]
    assert all(date.fromisoformat(row["week"]).isoweekday() == 1 for row in shown("--by", "week"))


def test_by_day_of_this_clock(worked: projects.Place) -> None:
    rows = shown("--by", "day")
    assert [tuple(row[name] for name in ("day", *stats.ACTIVITY)) for row in rows] == [
        ("2026-11-16", 1, 1, 4, 1, 1),
        ("2026-11-19", 1, 1, 2, 0, 1),
    ]
    assert rows[0]["cost_usd"] is None
    text = printed("stats", *EVER, "--by", "day").splitlines()
    assert [line.split()[0] for line in text[1:]] == ["2026-11-16", "2026-11-17", "2026-11-18", "2026-11-19"]


def test_by_tool(worked: projects.Place) -> None:
    assert [(row["tool"], row["tools"], row["failures"], row["sessions"]) for row in shown("--by", "tool")] == [
        ("Bash", 3, 1, 2),
        ("Write", 2, 0, 2),
        ("Edit", 1, 0, 1),
    ]


def test_since(worked: projects.Place) -> None:
    rows = json.loads(printed("stats", "--since", "2026-11-18", "--by", "tool", "--json"))
    assert [(row["tool"], row["tools"]) for row in rows] == [("Bash", 1), ("Write", 1)]


def test_tokens_and_cost_come_from_transcripts(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", "/home/dev/shop")
    unknown = {
        "usage": {"input_tokens": 5, "output_tokens": 7},
        "id": "m2",
        "role": "assistant",
        "model": "mystery-1",
        "content": [],
    }
    lines = [made.line("go"), made.answer("m1", 1_000_000), made.line(type_="assistant", message=unknown)]
    made.transcript(home, *lines)
    importer.run()
    by_model = {row["model"]: row for row in shown("--by", "model")}
    assert by_model["claude-opus-5-5"]["cost_usd"] == pytest.approx(
        20.00004
    )  # 10 tokens in at $4, a million out at $20
    assert by_model["mystery-1"]["cost_usd"] is None and by_model["mystery-1"]["output_tokens"] == 7
    (day,) = shown("--by", "day")
    assert (day["prompts"], day["sessions"], day["unpriced_tokens"]) == (1, 1, 12)
    text = printed("stats", *EVER)
    assert "$20.00+" in text and "1M tokens" in text
    assert any(line.startswith("mystery-1") and "$" not in line for line in text.splitlines())


def test_what_was_recorded_is_counted_as_the_sessions_say(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", "/home/dev/shop")
    made.recorded(home)
    importer.run()
    sessions = json.loads(printed("sessions", "--json"))
    total = json.loads(printed("stats", *EVER, "--json"))["totals"]
    for name, column in (("prompts", "prompts"), ("tools", "tool_calls"), ("failures", "failures")):
        assert total[name] == sum(row[column] for row in sessions), name
    costs = json.loads(
        printed("sql", "SELECT sum(cost_usd) AS usd, sum(output_tokens) AS out FROM session_usage", "--json")
    )
    assert (total["cost_usd"], total["output_tokens"]) == (pytest.approx(costs[0]["usd"], abs=1e-4), costs[0]["out"])


def test_all_projects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SESSIONLOG_HOME", str(tmp_path / "archives"))
    store(projects.place("/srv/one"), bash("ls"))
    store(projects.place("/srv/two"), bash("ls"), bash("pwd"))
    assert [(row["project"], row["tools"]) for row in shown("--all", "--by", "project")] == [
        ("/srv/two", 2),
        ("/srv/one", 1),
    ]
    assert [row["tools"] for row in shown("--all", "--by", "day")] == [3]
    assert "/srv/two" in printed("stats", "--all", *EVER)


def test_the_overview_fits_the_terminal(worked: projects.Place, monkeypatch: pytest.MonkeyPatch) -> None:
    store(worked, call("mcp__" + "long" * 30), start_ms=START_MS + DAY_MS)
    for width in ("60", "80", "200"):
        monkeypatch.setenv("COLUMNS", width)
        text = printed("stats", *EVER)
        in_one_line = text.replace("\n ", " ·").replace("· ·", "·")
        assert "2 sessions · 2 prompts · 7 tool calls · 1 failed · 2 files changed" in in_one_line
        assert max(map(table.display_width, text.splitlines()[2:])) <= max(int(width), 75), text


def test_bars_without_blocks(worked: projects.Place) -> None:
    command = [sys.executable, "-m", "sessionlog", "stats", *EVER, "--by", "tool"]
    for encoding, mark in (("ascii", "###"), ("utf-8", "███")):
        done = subprocess.run(
            ["env", f"PYTHONIOENCODING={encoding}", *command], capture_output=True, check=True, encoding=encoding
        )
        assert mark in done.stdout


def test_an_empty_archive_says_what_to_do(project: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    assert shown("--by", "day") == []
