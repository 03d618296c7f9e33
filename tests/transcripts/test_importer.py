"""Transcripts go to the archive of their project: all of them, to the byte, once."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sessionlog.agents.claude_code import prices, transcript_files
from sessionlog.agents.claude_code.transcript_lines import Reader
from sessionlog.archive import place as projects
from sessionlog.archive import read
from sessionlog.session import load
from sessionlog.transcripts import chunks, importer
from sessionlog.transcripts import store as transcript_store
from tests.conftest import PAYLOAD_FILES, ROOT, Hook, rows
from tests.helpers import transcript_files as made
from tests.helpers.transcript_files import answer, archived, line, shop, transcript

TABLES = (
    "transcripts",
    "transcript_chunks",
    "transcript_parts",
    "model_answers",
    "session_facts",
    "sessions",
    "subagent_facts",
)


def entries_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(text) for path in folder.rglob("*.jsonl") for text in path.read_text().splitlines()]


def contents(place: projects.Place, *tables: str) -> dict[str, list[dict[str, Any]]]:
    return {table: rows(place, f"SELECT * FROM {table}") for table in tables or TABLES}


def usage(place: projects.Place) -> dict[str, tuple[int, int, int, int]]:
    """Tokens of each session: in, out, read from and written to the cache."""
    return {
        row["session_id"]: (
            row["input_tokens"],
            row["output_tokens"],
            row["cache_read_tokens"],
            row["cache_write_tokens"],
        )
        for row in rows(place, "SELECT * FROM session_usage")
    }


# --- The recorded transcripts -----------------------------------------------------------------------------------------


def test_every_recorded_file_is_archived_to_the_byte(home: Path) -> None:
    folder = made.recorded(home)
    summary = importer.run()
    assert (summary.files, len(summary.sessions), summary.skips) == (8, 3, [])
    for path in folder.rglob("*.json*"):
        assert archived(shop(), path) == path.read_bytes(), path


@pytest.mark.parametrize("session_id", [made.SESSION, made.CLEARED])
def test_tokens_and_cost_are_those_that_the_client_counted(home: Path, session_id: str) -> None:
    made.recorded(home)
    importer.run()
    (facts,) = rows(shop(), "SELECT * FROM session_facts WHERE session_id = ?", session_id)
    (client,) = json.loads(facts["client_usage"]).values()
    keys = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")
    assert usage(shop())[session_id] == tuple(client[key] for key in keys)
    (cost,) = rows(shop(), "SELECT cost_usd FROM session_usage WHERE session_id = ?", session_id)
    assert cost["cost_usd"] == pytest.approx(client["costUSD"])
    assert facts["client_cost_usd"] == pytest.approx(client["costUSD"])


def test_calls_that_no_transcript_shows_are_known_by_the_clients_own_count(home: Path) -> None:
    """Compaction asks the model too, and leaves no answer in the file: its tokens are told apart, not made up."""
    made.recorded(home)
    importer.run()
    (costs,) = rows(shop(), "SELECT * FROM session_costs WHERE session_id = ?", made.COMPACTED)
    assert (costs["output_tokens"], costs["client_output_tokens"]) == (60, 120)
    assert (costs["cost_usd"], costs["client_cost_usd"]) == (0.00266, 0.00532)


def test_plain_adding_would_count_an_answer_for_each_of_its_lines(home: Path) -> None:
    folder = made.recorded(home)
    importer.run()
    entries = entries_of(folder)
    naive = sum(entry["message"]["usage"]["output_tokens"] for entry in entries if entry["type"] == "assistant")
    assert sum(tokens[1] for tokens in usage(shop()).values()) < naive


def test_a_session_has_its_branch_version_compactions_and_agents(home: Path) -> None:
    made.recorded(home)
    importer.run()
    by_session = {row["session_id"]: row for row in rows(shop(), "SELECT * FROM session_summary")}
    compacted = by_session[made.COMPACTED]
    assert (compacted["git_branch"], compacted["client_version"], compacted["compactions"]) == ("master", "2.1.325", 1)
    assert by_session[made.SESSION]["first_prompt"] == "please 请帮我写一个按钮组件"
    assert (by_session[made.SESSION]["tool_calls"], by_session[made.SESSION]["prompts"]) == (17, 1)
    calls = {row["tool_use_id"] for row in rows(shop(), "SELECT * FROM subagent_facts")}
    assert calls == {"toolu_0058_0", "toolu_0060_0"}


def test_entries_of_all_types_are_counted(home: Path) -> None:
    folder = made.recorded(home)
    importer.run()
    told = {row["type"]: row["n"] for row in rows(shop(), "SELECT type, sum(entries) AS n FROM entry_types GROUP BY 1")}
    told.pop("history")
    entries = entries_of(folder)
    assert told == {kind: sum(entry["type"] == kind for entry in entries) for kind in {e["type"] for e in entries}}


def test_a_message_leads_to_its_whole_entry(home: Path) -> None:
    folder = made.recorded(home)
    importer.run()
    wanted = {entry["uuid"]: entry for entry in entries_of(folder) if "uuid" in entry}
    with closing(sqlite3.connect(shop().db)) as connection:
        found = connection.execute(
            "SELECT id, uuid FROM transcript_parts WHERE uuid IS NOT NULL AND type <> 'queue-operation'"
        ).fetchall()
        assert len(found) > 100
        for message_id, uuid in found:
            assert transcript_store.entry(connection, message_id) == wanted[uuid]


def test_hook_events_and_messages_meet_in_one_timeline(home: Path, hook: Hook, place: projects.Place) -> None:
    folder = made.recorded(home)
    for path in PAYLOAD_FILES:
        payload = json.loads(path.read_text())
        if payload.get("session_id") == made.SESSION:
            hook(payload)
    importer.follow(place, str(folder / f"{made.SESSION}.jsonl"))
    with closing(read.connect(place)) as connection:
        entries = list(load.entries(connection, made.SESSION))
    ids = {f"e{row['id']}": row["tool_use_id"] for row in rows(place)}
    ids |= {f"m{row['id']}": row["tool_use_id"] for row in rows(place, "SELECT * FROM transcript_parts")}
    letters = {}
    for entry in entries:
        if entry.call:
            (tool_use_id,) = {ids[name] for name in entry.names}
            assert tool_use_id not in letters, "a call is one entry"
            letters[tool_use_id] = {name[0] for name in entry.names}
    assert len(letters) >= 17
    assert letters["toolu_0051_1"] == {"e", "m"}
    assert letters["toolu_0068_0"] == {"m"}  # a tool that the client refused: no hook ran


def test_the_history_of_prompts_goes_to_each_project(home: Path) -> None:
    made.recorded(home)
    history = home / ".claude" / "history.jsonl"
    other = {"display": "elsewhere", "timestamp": 1794793303979, "project": "/home/dev/other", "sessionId": "x"}
    history.write_bytes(history.read_bytes() + json.dumps(other).encode() + b"\nnot JSON\n")
    importer.run()
    query = "SELECT text FROM transcript_parts WHERE type = 'history' ORDER BY id"
    assert [row["text"] for row in rows(shop(), query)] == ["go", "/clear", "now", "/compact", "/model sonnet", "/exit"]
    elsewhere = projects.place("/home/dev/other")
    assert [row["text"] for row in rows(elsewhere, query)] == ["elsewhere"]
    assert b"elsewhere" not in made.everything(shop())
    assert rows(elsewhere, "SELECT * FROM sessions") == []
    assert importer.run().files == 0


# --- Twice is once, and what is new is added --------------------------------------------------------------------------


def test_twice_is_once(home: Path) -> None:
    made.recorded(home)
    importer.run()
    before = contents(shop())
    again = importer.run()
    assert (again.files, again.bytes, again.unchanged) == (0, 0, 8)
    for path in (home / ".claude").rglob("*.json*"):
        os.utime(path)  # touched, but the same: read again, and nothing added
    assert importer.run().messages == 0
    after = contents(shop())
    for row in before["transcripts"] + after["transcripts"]:
        del row["file_mtime_ns"], row["last_import_at"]
    assert after == before


@pytest.mark.parametrize("workers", [1, 2])
def test_chunks_and_processes_make_no_difference(home: Path, monkeypatch: pytest.MonkeyPatch, workers: int) -> None:
    made.recorded(home)
    importer.run()
    whole = contents(shop(), "transcript_parts", "model_answers", "session_facts", "sessions")
    shutil.rmtree(home / ".local")
    monkeypatch.setattr(chunks, "CHUNK", 3000)
    importer.run(workers=workers)
    assert len(rows(shop(), "SELECT * FROM transcript_chunks")) > 40
    assert contents(shop(), "transcript_parts", "model_answers", "session_facts", "sessions") == whole


def test_only_what_is_new_is_read_and_the_last_chunk_grows(home: Path) -> None:
    path = transcript(home, line("one"))
    importer.run()
    with path.open("ab") as file:
        file.write(line("two") + line("three"))
    summary = importer.run()
    assert (summary.messages, archived(shop(), path)) == (2, path.read_bytes())
    assert len(rows(shop(), "SELECT * FROM transcript_chunks")) == 1
    assert [row["line"] for row in rows(shop(), "SELECT line FROM transcript_parts ORDER BY id")] == [1, 2, 3]


def test_a_half_written_line_waits_for_its_end(home: Path) -> None:
    last = line("two")
    path = transcript(home, line("one"), last[:40])
    summary = importer.run()
    assert (summary.messages, summary.skips) == (1, [])
    assert archived(shop(), path) == path.read_bytes()[:-40]
    with path.open("ab") as file:
        file.write(last[40:-1])  # whole, but for its line feed
    assert importer.run().messages == 1
    with path.open("ab") as file:
        file.write(b"\n" + line("three"))
    assert importer.run().messages == 1
    assert archived(shop(), path) == path.read_bytes()


def test_the_last_line_of_a_writer_that_died_is_kept_in_the_end(home: Path) -> None:
    path = transcript(home, line("one"), b'{"type": "user", "mess')
    importer.run()
    long_ago = time.time() - 2 * importer.ABANDONED
    os.utime(path, (long_ago, long_ago))
    (skip,) = importer.run().skips
    assert (skip.path, skip.line) == (str(path), 2)
    assert archived(shop(), path) == path.read_bytes()
    assert importer.run().files == 0


def test_a_writer_appends_while_import_runs_again_and_again(home: Path) -> None:
    """A real writer in its own process, with lines cut anywhere, and two importers that fight over them."""
    path = transcript(home)
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)])
    runs = 0
    while writer.poll() is None or runs == 0:
        others = [subprocess.Popen([sys.executable, "-c", IMPORTER], cwd=ROOT) for _ in range(2)]
        importer.run()
        runs += 1
        assert [other.wait() for other in others] == [0, 0]
    importer.run()
    assert writer.returncode == 0
    assert archived(shop(), path) == path.read_bytes()
    texts = [row["text"] for row in rows(shop(), "SELECT text FROM transcript_parts ORDER BY line")]
    assert texts == [f"line {number}" for number in range(3000)]
    assert len(rows(shop(), "SELECT * FROM transcripts")) == 1


IMPORTER = "from sessionlog.transcripts import importer as transcripts; transcripts.run()"
WRITER = """
import json, os, random, sys, time
rng = random.Random(1)
data = b"".join(json.dumps({"type": "user", "uuid": str(n), "sessionId": "s", "cwd": "/home/dev/shop",
    "message": {"content": f"line {n}"}, "pad": "x" * rng.randint(0, 900)}).encode() + b"\\n" for n in range(3000))
with open(sys.argv[1], "ab", buffering=0) as file:
    while data:
        size = rng.randint(1, 20000)
        file.write(data[:size])
        data = data[size:]
        time.sleep(0.01)
"""


# --- Files that shrink, change, move and vanish -----------------------------------------------------------------------


@pytest.mark.parametrize("change", ["shrunk", "replaced", "edited in place"])
def test_a_file_that_changed_is_kept_in_both_versions(home: Path, change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "CHUNK", 500)
    path = transcript(home, *(line(f"number {number:03}") for number in range(10)))
    before = path.read_bytes()
    importer.run()
    time.sleep(0.01)
    after = {
        "shrunk": before[: before.index(b"\n", 900) + 1],
        "replaced": b"".join(line(f"another {number}") for number in range(20)),
        "edited in place": before.replace(b"number 005", b"number 555"),
    }[change]
    path.write_bytes(after)
    summary = importer.run()
    assert summary.replaced == 1
    assert archived(shop(), path, generation=1) == before
    assert archived(shop(), path, generation=2) == after
    uuids = [row["uuid"] for row in rows(shop(), "SELECT uuid FROM transcript_parts")]
    assert len(uuids) == len(set(uuids)) == (30 if change == "replaced" else 10)


def test_what_is_archived_stays_when_the_source_vanishes(home: Path) -> None:
    made.recorded(home)
    importer.run()
    before = contents(shop())
    shutil.rmtree(home / ".claude")
    assert importer.run().files == 0
    assert contents(shop()) == before


def test_files_that_vanish_during_an_import_are_reported_and_the_rest_is_imported(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "CHUNK", 1000)
    paths = [transcript(home, *(line(f"{name} {n}", name) for n in range(20)), session_id=name) for name in "abc"]

    def progress(done: int, total: int) -> None:
        paths[1].unlink(missing_ok=True)
        if paths[2].exists():
            os.truncate(paths[2], 1500)

    summary = importer.run(progress=progress)
    assert {skip.path for skip in summary.skips} == {str(paths[1])}
    assert archived(shop(), paths[0]) == paths[0].read_bytes()
    assert archived(shop(), paths[2]) in paths[2].read_bytes()
    importer.run()
    assert archived(shop(), paths[2]) == paths[2].read_bytes()[: paths[2].read_bytes().rindex(b"\n") + 1]


def test_a_file_that_moved_is_the_same_transcript(home: Path) -> None:
    path = transcript(home, line("one"))
    importer.run()
    moved = path.parent.with_name("-home-dev-renamed") / path.name
    moved.parent.mkdir()
    path.rename(moved)
    with moved.open("ab") as file:
        file.write(line("two"))
    assert importer.run().messages == 1
    (found,) = rows(shop(), "SELECT * FROM transcripts")
    assert (found["file"], found["generation"]) == (str(moved), 1)
    assert archived(shop(), moved) == moved.read_bytes()


# --- Which project ----------------------------------------------------------------------------------------------------


def test_the_project_is_where_the_entries_were_written_not_what_the_folder_is_called(home: Path) -> None:
    transcript(home, line(cwd="/home/dev/a-b", session_id="one"), session_id="one", folder="-home-dev-a-b")
    transcript(home, line(cwd="/home/dev/a.b", session_id="two"), session_id="two", folder="-home-dev-a-b")
    transcript(home, b'{"type":"summary","summary":"no cwd"}\n', session_id="three", folder="-srv-data")
    importer.run()
    for folder, session_id in (("/home/dev/a-b", "one"), ("/home/dev/a.b", "two"), ("/srv/data", "three")):
        (found,) = rows(projects.place(folder), "SELECT session_id FROM transcripts")
        assert found["session_id"] == session_id


@pytest.mark.parametrize("piece", [1, 10, 100, transcript_files.PIECE])
def test_a_session_that_was_moved_belongs_to_where_it_went(
    home: Path, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    monkeypatch.setattr(transcript_files, "PIECE", piece)
    moved = b'{"type":"relocated","relocatedCwd":"/home/dev/new","sessionId":"s"}\n'
    transcript(home, line("before"), moved, line("after", cwd="/home/dev/new"))
    importer.run()
    assert len(rows(projects.place("/home/dev/new"), "SELECT * FROM transcript_parts")) == 2


def test_a_session_goes_to_the_archive_that_its_hooks_wrote_to(home: Path, hook: Hook, project: Path) -> None:
    """Started below the top of a checkout, Claude Code names that folder as the project."""
    (project / ".git").mkdir()
    below = project / "backend"
    below.mkdir()
    hook({"session_id": "s", "hook_event_name": "Stop", "cwd": str(below)}, CLAUDE_PROJECT_DIR=str(below))
    transcript(home, line(cwd=str(below)))
    transcript(home, line(cwd=str(below), session_id="t"), session_id="t")
    importer.run()
    (found,) = rows(projects.place(str(below)), "SELECT session_id FROM transcripts")
    assert found["session_id"] == "s"
    (found,) = rows(projects.place(str(project)), "SELECT session_id FROM transcripts")
    assert found["session_id"] == "t"


def test_sub_agents_workflows_and_large_outputs_go_with_their_session(home: Path) -> None:
    path = transcript(home, line())
    beside = path.with_suffix("")
    files = {
        "subagents/agent-a1.jsonl": line(cwd="/home/dev/worktree", agentId="a1", isSidechain=True),
        "subagents/agent-a1.meta.json": b'{"agentType":"Explore","toolUseId":"toolu_1"}',
        "subagents/workflows/run1/agent-a2.jsonl": line(agentId="a2"),
        "subagents/workflows/run1/journal.jsonl": b'{"started":1}\n',
        "tool-results/toolu_1.txt": b"a long output\nwith no end",
        "custom-title.json": b'{"customTitle":"The button"}',
    }
    for name, data in files.items():
        (beside / name).parent.mkdir(parents=True, exist_ok=True)
        (beside / name).write_bytes(data)
    old = path.with_name("agent-old.jsonl")
    old.write_bytes(line(agentId="old"))
    (path.parent / "memory").mkdir()
    (path.parent / "memory" / "notes.jsonl").write_bytes(line())
    summary = importer.run()
    assert summary.skips == []
    for name, data in files.items():
        assert archived(shop(), beside / name) == data
    kinds = {row["kind"] for row in rows(shop(), "SELECT kind FROM transcripts WHERE session_id = 's'")}
    assert kinds == {"main", "subagent", "workflow", "workflow-journal", "agent-meta", "tool-result", "sidecar"}
    assert len(rows(shop(), "SELECT * FROM transcripts")) == 8
    assert {row["agent_id"] for row in rows(shop(), "SELECT agent_id FROM transcript_parts")} == {
        None,
        "a1",
        "a2",
        "old",
    }
    assert rows(shop(), "SELECT title FROM session_summary") == [{"title": "The button"}]


def test_links_that_lead_out_are_not_followed(home: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.jsonl"
    outside.write_bytes(line("outside"))
    path = transcript(home, line("inside"))
    path.with_name("link.jsonl").symlink_to(outside)
    (path.parent / "folder").symlink_to(tmp_path)
    importer.run()
    assert [row["text"] for row in rows(shop(), "SELECT text FROM transcript_parts")] == ["inside"]


# --- Lines that are not as they should be -----------------------------------------------------------------------------

BROKEN = [
    b"{",
    b"[1, 2]",
    b'"text"',
    b"null",
    b"\xff\xfe\x00",
    b'{"type": "user", "uuid": "x", "message": NaN}',
    b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
]


def test_broken_lines_are_reported_with_their_number_and_the_rest_is_imported(home: Path) -> None:
    lines = [item for broken in BROKEN for item in (line(), broken + b"\n", b"\n")]
    path = transcript(home, *lines)
    summary = importer.run()
    assert summary.messages == len(BROKEN)
    assert [(skip.path, skip.line) for skip in summary.skips] == [(str(path), 3 * n + 2) for n in range(len(BROKEN))]
    assert archived(shop(), path) == path.read_bytes()
    assert importer.run().skips == []


def test_odd_but_readable_lines_are_imported(home: Path) -> None:
    odd = [
        line("cycle", uuid="a", parentUuid="b"),
        line("cycle", uuid="b", parentUuid="a"),
        line("self", uuid="c", parentUuid="c"),
        line("half of a pair: SURROGATE", uuid="d").replace(b"SURROGATE", b"\\ud83d"),
        line("not UTF-8: BYTES", uuid="e").replace(b"BYTES", b"\xff\xfe"),
        line("nul: NUL", uuid="f").replace(b"NUL", b"\\u0000"),
        line("a big number", uuid="g", timestamp=10**40),
        line(uuid="h", message={"content": [1, None, {"type": 5}, {"type": "text", "text": []}], "usage": [], "id": 7}),
    ]
    path = transcript(home, *odd)
    summary = importer.run()
    assert (summary.skips, summary.messages) == ([], len(odd))
    assert archived(shop(), path) == path.read_bytes()
    texts = {row["uuid"]: row["text"] for row in rows(shop(), "SELECT uuid, text FROM transcript_parts")}
    assert texts["d"] == "half of a pair: ?"
    assert texts["e"] == "not UTF-8: \ufffd\ufffd"
    assert texts["f"] == "nul: \u2400"
    assert len(rows(shop(), "SELECT * FROM transcript_parts")) == len(odd)


def test_a_line_of_50_mb_is_imported(home: Path) -> None:
    block = {"type": "tool_result", "tool_use_id": "t", "content": "x" * 25_000_000}
    path = transcript(home, line("before"), line(message={"content": [block]}, more="y" * 25_000_000), line("after"))
    summary = importer.run()
    assert (summary.messages, summary.skips) == (3, [])
    assert archived(shop(), path) == path.read_bytes()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from(
    [
        "type",
        "uuid",
        "parentUuid",
        "sessionId",
        "message",
        "timestamp",
        "agentId",
        "gitBranch",
        "cwd",
        "forkedFrom",
        "usage",
        "attachment",
        "summary",
        "aiTitle",
        "customTitle",
        "modelUsage",
        "totalCostUSD",
        "isMeta",
        "subtype",
        "promptId",
        "toolUseResult",
        "requestId",
    ]
)
CONTENT = st.fixed_dictionaries(
    {"content": JSON | st.lists(st.dictionaries(FIELDS | st.just("text"), JSON)), "usage": JSON}
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(FIELDS, JSON | CONTENT), st.sampled_from(["user", "assistant", "system", "attachment", "ai-title"])
)
def test_whatever_the_fields_hold_a_line_is_read_or_skipped(entry: dict[str, Any], type_: str) -> None:
    data = json.dumps({"type": type_, "uuid": "u", **entry}).encode()
    reader = Reader("s", None)
    reader.read(chunks.parse(data), 0)
    with closing(sqlite3.connect(":memory:")) as connection:
        for row in reader.rows:
            connection.execute(f"SELECT {', '.join('?' * len(row))}", row).fetchone()
            assert all(value is None or isinstance(value, (str, int)) for value in row)


# --- Tokens once ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", ["fork", "original"])
def test_an_answer_counts_once_across_forks_copies_and_streaming(home: Path, first: str) -> None:
    """Streaming writes small numbers first; a fork copies all lines; the session that paid is the original."""
    early, late = answer("m1", 1, uuid="u1", requestId="r1"), answer("m1", 50, uuid="u2", requestId="r1")
    fork = [
        answer("m1", 50, "fork", uuid="u2", requestId="r1", forkedFrom={"sessionId": "s", "messageUuid": "u2"}),
        answer("m2", 7, "fork"),
    ]
    names = {"original": "s", "fork": "fork"}
    files = {"s": [early, late], "fork": fork}
    order = [names[first], *(name for name in names.values() if name != names[first])]
    for name in order:
        transcript(home, *files[name], session_id=name)
        importer.run()
    assert {session: tokens[1] for session, tokens in usage(shop()).items()} == {"s": 50, "fork": 7}
    (facts,) = rows(shop(), "SELECT forked_from FROM session_facts WHERE session_id = 'fork'")
    assert facts["forked_from"] == "s"


def test_costs_come_from_a_table_that_can_be_replaced_and_are_never_guessed(home: Path) -> None:
    transcript(home, answer("m1", 1_000_000), answer("m2", 5).replace(b"claude-opus-5-5", b"someone-elses-model"))
    importer.run()
    query = "SELECT model, output_tokens, cost_usd FROM session_usage ORDER BY model"
    known, unknown = rows(shop(), query)
    assert (known["cost_usd"], unknown["output_tokens"], unknown["cost_usd"]) == (20.00004, 5, None)
    price = dict.fromkeys(prices.KINDS, 1.0)
    own = {"date": "2026-01-01", "models": {"someone-elses-model": price}}
    (home / ".local/share/sessionlog/prices.json").write_text(json.dumps(own))
    transcript(home, line("more"), session_id="t")
    importer.run()
    known, unknown = rows(shop(), query)
    assert (known["cost_usd"], unknown["cost_usd"]) == (None, 15 / 1e6)


def test_no_branch_is_called_head(home: Path) -> None:
    """Claude Code says HEAD where there is no repository."""
    transcript(home, line("hello", gitBranch="HEAD"))
    importer.run()
    (row,) = rows(projects.place("/home/dev/shop"), "SELECT git_branch FROM session_facts")
    assert row["git_branch"] is None
