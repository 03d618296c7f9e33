"""Exports: JSONL comes back byte for byte; Markdown and HTML show everything and obey nothing."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tracemalloc
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from bench import corpus
from sessionlog.archive import counters, read
from sessionlog.archive import place as projects
from sessionlog.export import jsonl, jsonl_import, jsonl_records
from sessionlog.export import write as export
from sessionlog.fastlib import parse_json
from sessionlog.maintain import verify
from sessionlog.text import inert_markdown
from sessionlog.transcripts import importer
from tests.cli.test_cli import failing, printed, run
from tests.conftest import FIXTURES, PAYLOAD_FILES, Hook, empty_home, rows, thorough
from tests.helpers import forking
from tests.helpers.archives import event, store
from tests.helpers.chromium import CHROMIUM
from tests.helpers.payloads import FLAT, NESTED
from tests.helpers.recording import ATTACKS, hostile_session, record, use_archive
from tests.record.test_hook import prompt, tool

FORMATS = list(export.FORMATS)

# Payloads that no flat line can give back as they were, or nearly so.
ODD: list[dict[str, Any]] = [
    {"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "a NUL \0 and \ud800 half a pair"},
    {"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": 5, "sessionlog": {"version": 1}},
    {"session_id": 7, "hook_event_name": ["x"], "prompt": None},
    {"session_id": "", "hook_event_name": ""},
    {"session_id": "s\ud800", "hook_event_name": "Stop\0", "cwd": "\ud800"},
    {"event": "PostToolUse", "data": {"hook_event_name": "inner", "session_id": "s", "tool": "Edit", "tool_name": "x"}},
    {"event": 5, "session_id": "outer", "more": 1, "data": {"tool_result": None}},
    {
        "session_id": "s",
        "hook_event_name": "PreToolUse",
        "tool_name": "T",
        "tool_input": {"file_path": "\0", "x": 1e300},
    },
    {
        "session_id": "s",
        "hook_event_name": "PreToolUse",
        "tool_name": "T",
        "tool_input": [1, 2**80, -0.0],
        "file_path": "f",
    },
    {"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "T", "tool_input": None, "file_path": "a\0b"},
    {"session_id": "s", "hook_event_name": "X", "duration_ms": 2**70, "nested": {"prompt": 1, "session_id": 2}},
    {"session_id": "s", "hook_event_name": "X", "tool_input": {"nested": {"command": "c"}, "command": "d"}, "e": {}},
    {"session_id": "s", "hook_event_name": "X", "data": {"a": 1}, "event": "y", "tool": "t", "tool_result": "r"},
    {"session_id": "s", "hook_event_name": "X", "\u2028": "\u2028\x7f\x1f", "tool_response": "", "message": ""},
]


def exported(*arguments: str) -> bytes:
    done = run("export", *arguments)
    assert done.exit_code == 0, done.output
    return done.stdout_bytes


def content(place: projects.Place) -> list[dict[str, Any]]:
    """All that an export promises to carry: every column but the id and what chains it to the others."""
    found = rows(place, "SELECT * FROM events ORDER BY session_id, at, id")
    return [{name: value for name, value in row.items() if name not in ("id", "hash", "salt")} for row in found]


@pytest.fixture
def filled(place: projects.Place) -> list[dict[str, Any]]:
    payloads = [json.loads(path.read_bytes()) for path in PAYLOAD_FILES]
    payloads += [*FLAT, *NESTED, *ODD, *hostile_session()]
    payloads += [{"session_id": "s", "hook_event_name": "Notification", "message": "twice"}] * 2
    record(place, payloads, step_ms=0)
    return payloads


# --- JSONL ------------------------------------------------------------------------------------------------------------


def test_export_import_export_gives_the_same_bytes(
    filled: list[dict[str, Any]], place: projects.Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, before = exported(), content(place)
    assert len(first.splitlines()) == len(before) == len(filled)
    (tmp_path / "a.jsonl").write_bytes(first)
    use_archive(tmp_path / "other", monkeypatch)
    assert f"{len(filled)} events" in printed("import", str(tmp_path / "a.jsonl"))
    assert content(projects.place(place.project)) == before
    assert exported() == first


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
NAMES = [
    "session_id",
    "hook_event_name",
    "event",
    "data",
    "sessionlog",
    "tool",
    "tool_name",
    "tool_input",
    "tool_result",
]
NAMES += ["tool_response", "file_path", "command", "prompt", "cwd", "duration_ms", "agent_id", "version"]
OBJECTS = st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=5), JSON, max_size=6)
PAYLOADS = st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=5), JSON | OBJECTS, max_size=8)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(payload=PAYLOADS)
def test_any_payload_survives_a_line(payload: dict[str, Any]) -> None:
    from sessionlog.archive.event import normalise

    record_ = normalise(payload, at_ms=1, via="x")
    line = jsonl._line("/p", tuple(record_[name] for name in jsonl._ORDER))
    assert line.index(b"\n") == len(line) - 1 and line.startswith(b'{"sessionlog":{"version":')
    assert jsonl_records.row(line, None) == ("/p", tuple(record_.values()))


@given(payload=PAYLOADS)
def test_the_short_way_from_payload_to_row_gives_the_same_row(payload: dict[str, Any]) -> None:
    from sessionlog.archive.event import normalise

    try:
        payload = orjson.loads(orjson.dumps(payload)) | {"session_id": "s", "hook_event_name": "Stop"}
    except TypeError:  # a lone surrogate, or a number beyond 64 bits: not for the short way
        return
    if "\0" in repr(payload) or "\\x00" in repr(payload):
        return
    record_ = normalise(payload, at_ms=1, via="x", exact=True)
    values = jsonl_records._values(payload, record_["at"], "x", None)
    assert values is None or repr(values) == repr(tuple(record_.values()))


@pytest.mark.parametrize("name", ["prompt", "cwd", "duration_ms", "tool_input", "tool_response", "file_path"])
@pytest.mark.parametrize(
    "value", [None, True, 0, -1.5, 2**53, "x", "", [], [1.0, "é"], {}, {"a": None}, {"x": {"y": 1}}]
)
@pytest.mark.parametrize("inside", [False, True])
def test_the_short_way_knows_what_is_unusual(name: str, value: Any, inside: bool) -> None:
    from sessionlog.archive.event import normalise

    payload = {"a": 1, name: value, "session_id": "s", "hook_event_name": "Stop", "z": "z"}
    if inside:
        payload |= {"tool_input": {"a": 1, "command": "ls", name: value, "z": 2}}
    record_ = normalise(payload, at_ms=1, via="x", exact=True)
    values = jsonl_records._values(payload, record_["at"], "x", None)
    assert values is None or repr(values) == repr(tuple(record_.values()))
    assert values is not None or type(value) is not str or name == "duration_ms"


@pytest.mark.parametrize(
    "value",
    [
        *("0", "-0", "-0.0", "1.0", "1e5", "1E-7", "0.1", "9223372036854775807", "-9223372036854775809", "1" * 30),
        *("18446744073709551615", "18446744073709551616", "123456789012345678.5", "1e22", "5e-324", "2.5e307"),
        *(
            '"\\u0000"',
            '"\\ud800"',
            '"\\ud83d\\ude00"',
            '"a\tb"',
            '"a\0b"',
            '"\x7f"',
            '"é测"',
            '"\\\\u0041"',
            '{"a":1,"a":2}',
        ),
    ],
)
def test_both_readers_of_json_give_the_same_row(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    about = '{"version":1,"project":"/p","at":"2026-11-18T00:00:00.000Z","via":"x"}'
    names = ("prompt", "duration_ms", "tool_response", "extra")
    fields = "".join([f',"{name}":{value}' for name in names])
    line = f'{{"sessionlog":{about},"session_id":"s","hook_event_name":"Stop"{fields},"tool_input":{{"x":[{value}]}}}}'
    fast = jsonl_records.row(line.encode(), None)
    monkeypatch.setattr(jsonl_records, "_parsed", lambda line: (parse_json(line.decode()), False))
    assert repr(fast) == repr(jsonl_records.row(line.encode(), None))


def test_a_line_is_the_flat_payload_after_what_the_archive_knows(place: projects.Place) -> None:
    payloads = [json.loads(path.read_bytes()) for path in PAYLOAD_FILES]
    record(place, payloads)
    lines = [json.loads(line) for line in exported().splitlines()]
    known = [line.pop("sessionlog") for line in lines]
    assert sorted(lines, key=json.dumps) == sorted(payloads, key=json.dumps) or all(line in payloads for line in lines)
    assert {about["project"] for about in known} == {place.project}
    assert all(about.keys() >= {"version", "at", "via"} for about in known)


def test_importing_again_adds_nothing(filled: Any, place: projects.Place, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_bytes(exported())
    before = content(place)
    assert "Nothing new in 1 file" in printed("import", str(file))
    assert content(place) == before


def test_lines_that_are_there_are_found_in_any_order_and_block(
    filled: Any, place: projects.Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = exported().splitlines(keepends=True)
    file = tmp_path / "a.jsonl"
    changed = lines[0].replace(b'"via":"', b'"via":"other ')
    file.write_bytes(b"".join([*reversed(lines), changed, b"\n", lines[0].strip()]))
    monkeypatch.setattr(jsonl_import, "BLOCK", 2000)
    summary = importer.Summary()
    jsonl_import.run(str(file), summary)
    assert (summary.events, summary.skips) == (1, []) and len(rows(place)) == len(filled) + 1


@pytest.mark.parametrize("pool", [False, True])
def test_an_import_of_two_projects_is_chained(
    place: projects.Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pool: bool
) -> None:
    """Ids that blocks were prepared for are taken by other events: blocks hold both projects, and lines without one."""
    record(place, [prompt(f"{number} 组件", session_id=f"s{number % 3}") for number in range(50)])
    ours = exported().splitlines(keepends=True)
    other = f"{place.project}-other"
    theirs = [line.replace(place.project.encode(), other.encode(), 1) for line in ours]
    mixed = [line for pair in zip(ours, theirs, strict=True) for line in (*pair, b"{}\n")]
    file = tmp_path / "a.jsonl"
    file.write_bytes(b"".join([*mixed, *ours[:10], *theirs[:5]]))
    monkeypatch.setattr(jsonl_import, "WORTH_A_POOL", 0 if pool else 1 << 30)
    monkeypatch.setattr(jsonl_import, "BLOCK", 2000)
    monkeypatch.setattr(jsonl_import, "BATCH", 7)
    use_archive(tmp_path / "other", monkeypatch)
    summary = importer.Summary()
    jsonl_import.run(str(file), summary)
    assert (summary.events, len(summary.skips), summary.projects) == (115, 50, {place.project, other})
    for project, count in ((place.project, 60), (other, 55)):
        imported = projects.place(project)
        assert len(rows(imported)) == count and list(verify.Check(imported).findings()) == []


def test_a_line_that_is_too_long_is_passed_over(
    place: projects.Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(place, [prompt("short"), prompt("x" * 5000), prompt("also short")])
    lines = exported().splitlines(keepends=True)
    file = tmp_path / "a.jsonl"
    monkeypatch.setattr(jsonl_import, "SKIPPED", 100)
    for module in (jsonl_import, jsonl_records):
        monkeypatch.setattr(module, "LONGEST_LINE", 2000)
    use_archive(tmp_path / "other", monkeypatch)
    for block, end in ((len(lines[0]) + 10, b""), (100, b"\n")):
        file.write_bytes(b"".join([lines[1], *lines, lines[1].strip() + end]))
        monkeypatch.setattr(jsonl_import, "BLOCK", block)
        summary = importer.Summary()
        jsonl_import.run(str(file), summary)
        assert [skip.line for skip in summary.skips] == [1, 3, 5] and "longer than" in summary.skips[0].reason
        assert [row["prompt"] for row in rows(projects.place(place.project))] == ["short", "also short"]


def test_a_dry_run_of_an_import_writes_nothing(filled: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.jsonl"
    file.write_bytes(exported())
    use_archive(tmp_path / "other", monkeypatch)
    assert json.loads(printed("import", str(file), "--dry-run", "--json"))["events"] == len(filled)
    assert not (tmp_path / "other").exists()


def test_lines_that_are_no_events_are_named_and_the_others_imported(place: projects.Place, tmp_path: Path) -> None:
    record(place, [prompt("one")])
    good = exported()
    bad = [
        b"{}",
        b"nonsense",
        good.replace(b'"version":1', b'"version":99').strip(),
        b"\xff",
        b'{"sessionlog":{"version":1}}',
    ]
    file = tmp_path / "a.jsonl"
    file.write_bytes(good + b"\n".join(bad) + b"\n" + good.replace(b"one", b"two"))
    summary = json.loads(printed("import", str(file), "--json"))
    assert [skip["line"] for skip in summary["skips"]] == [2, 3, 4, 5, 6] and summary["events"] == 1
    assert {row["prompt"] for row in rows(place)} == {"one", "two"}


@pytest.mark.parametrize("pool", [False, True])
def test_a_large_export_is_imported_once_and_chained(
    place: projects.Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pool: bool
) -> None:
    """More events than go into one statement, one block or one transaction, and some that are equal."""
    twice = [event("Notification", "s1", message="twice")] * 2
    payloads = [prompt(f"{number} 组件", session_id=f"s{number % 3}") for number in range(50)]
    record(place, [*payloads[:25], *twice, ODD[0], *payloads[25:]], step_ms=0)
    good = exported()
    refused = json.loads(good.splitlines()[0])
    refused["sessionlog"]["columns"] = {"session_id": "s0", "event": "X", "message": [1]}
    file = tmp_path / "a.jsonl"
    file.write_bytes(good + json.dumps(refused).encode() + b"\n{}\n" + good.splitlines()[0])
    monkeypatch.setattr(jsonl_import, "WORTH_A_POOL", 0 if pool else 1 << 30)
    monkeypatch.setattr(jsonl_import, "BATCH", 30)
    monkeypatch.setattr(jsonl_import, "BLOCK", 3000)
    use_archive(tmp_path / "other", monkeypatch)
    for new in (54, 0):
        summary = importer.Summary()
        jsonl_import.run(str(file), summary)
        assert (summary.events, [skip.line for skip in summary.skips], len(summary.sessions)) == (new, [54, 55], 4)
    other = projects.place(place.project)
    assert exported() == good.replace(good.splitlines()[0], b"\n".join([good.splitlines()[0]] * 2), 1)
    assert list(verify.Check(other).findings()) == []
    with closing(read.connect(other)) as connection:
        assert list(counters.wrong(connection)) == []


def test_a_full_disk_is_called_by_its_name(
    place: projects.Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite takes the transaction back itself: it was said that there is none to take back, and not why."""
    record(place, [prompt("x" * 5000, session_id=f"s{number}") for number in range(100)])
    file = tmp_path / "a.jsonl"
    file.write_bytes(exported())
    use_archive(tmp_path / "other", monkeypatch)
    code = """
import resource, sys
from sessionlog.archive import bulk
from sessionlog.export import jsonl_import
from sessionlog.transcripts.importer import Summary

connect = bulk.connect

def with_little_room(place):
    connection = connect(place)
    connection.execute("PRAGMA cache_size = 10")
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
    return connection

bulk.connect = with_little_room
jsonl_import.run(sys.argv[1], Summary())
"""
    done = subprocess.run([sys.executable, "-c", code, str(file)], capture_output=True, text=True, check=False)
    assert re.search(r"OperationalError: (disk I/O error|database or disk is full)$", done.stderr.strip()), done.stderr


def test_secrets_in_a_foreign_export_are_taken_out(place: projects.Place, tmp_path: Path) -> None:
    record(place, [prompt("TOKEN")])
    file = tmp_path / "a.jsonl"
    file.write_bytes(exported().replace(b"TOKEN", b"ghp_" + b"0123456789abcdefghijABCDEFGHIJ012345"))
    printed("import", str(file))
    assert b"ghp_0123" not in Path(place.db).read_bytes() and "[redacted:github-token:" in rows(place)[-1]["prompt"]


def test_transcripts_are_left_to_restore_and_said_so(place: projects.Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SESSIONLOG_DB", place.db)
    importer.run([str(FIXTURES / "transcripts")], workers=1)
    record(place, [prompt("x", session_id="f0b8f9eb-e977-492a-9bcd-0e80389a7950")])
    done = run("export", "f0b8")
    assert len(done.stdout.splitlines()) == 1 and "sessionlog restore" in done.stderr


# --- What is exported, and where to -----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMATS)
def test_the_same_archive_gives_the_same_bytes(filled: Any, form: str) -> None:
    environment = {**os.environ, "TZ": "Asia/Tokyo"}
    other = forking.run("export", "--format", form, "--detail", "full", env=environment).stdout
    assert exported("--format", form, "--detail", "full") == other


def test_sessions_and_times_can_be_chosen(place: projects.Place) -> None:
    record(place, [prompt("old", session_id="aaa"), prompt("other", session_id="bbb")])
    record(place, [prompt("new", session_id="aaa")], start_ms=1_800_000_000_000)
    assert exported("aa").count(b"\n") == 2 and exported("aa", "bb").count(b"\n") == 3
    assert b"new" in exported("--since", "2026-01-01") and b"old" not in exported("--since", "2026-01-01")
    text = exported("--since", "2026-01-01", "--format", "markdown").decode()
    assert text.count("Prompt") == 1 and "bbb" not in text


def test_all_projects(hook: Hook, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        hook(prompt(f"from {name}", session_id=name), CLAUDE_PROJECT_DIR=str(tmp_path / name))
    assert exported("--all").count(b"\n") == 2
    page = exported("--all", "--format", "html").decode()
    assert page.count("<section") == 2 and page.count("</html>") == 1 and 'href="#two"' in page


def test_ids_that_are_no_names_get_files_of_their_own(place: projects.Place, tmp_path: Path) -> None:
    ids = ["a/b", "a_b", "a b", "a:b", "A_B", "x" * 300, "x" * 301]
    store(place, *(event("Stop", session_id) for session_id in ids))
    for _ in range(2):
        run("export", "-o", f"{tmp_path}/out/")
        files = list((tmp_path / "out").iterdir())
        assert sorted(json.loads(file.read_bytes())["session_id"] for file in files) == sorted(ids)


@pytest.mark.parametrize("form", FORMATS)
def test_a_file_or_a_folder(place: projects.Place, tmp_path: Path, form: str) -> None:
    record(place, [prompt("a", session_id="a/../b"), prompt("c", session_id="c")])
    file, folder = tmp_path / "out.x", tmp_path / "out"
    run("export", "--format", form, "-o", str(file))
    assert file.read_bytes() == exported("--format", form) and file.stat().st_mode & 0o077 == 0
    run("export", "--format", form, "-o", f"{folder}/")
    ending = export.FORMATS[form]
    odd, ordinary = sorted(path.name for path in folder.iterdir())
    assert re.fullmatch(rf"2025-11-16-a____b-[0-9a-f]{{12}}\{ending}", odd) and ordinary == f"2025-11-16-c{ending}"
    assert (folder / f"2025-11-16-c{ending}").read_bytes() == exported("c", "--format", form)


def test_a_file_for_each_session_reads_no_other_sessions(
    place: projects.Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(place, [prompt("a", session_id=f"s{number}") for number in range(3)])
    asked: list[list[str]] = []
    monkeypatch.setattr(export, "_sizes", lambda _, session_ids: asked.append(session_ids) or [0] * len(session_ids))
    chosen = export.choose([place])
    assert len(export.write(chosen, export.Options("markdown"), f"{tmp_path}/out/")) == 3
    assert not asked, "the sizes of all sessions are for those that are written in one file"
    export.write(chosen, export.Options("markdown"), f"{tmp_path}/one.md")
    assert len(asked) == 1


def test_an_error_says_what_to_do(
    place: projects.Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    assert "sessionlog" in failing(monkeypatch, capsys, "export")
    record(place, [prompt("a")])
    assert "cannot be written" in failing(monkeypatch, capsys, "export", "-o", str(tmp_path / "no" / "x.jsonl"))
    assert "nothing to export" in failing(monkeypatch, capsys, "export", "--since", "2099-01-01")
    assert not list(tmp_path.glob(".sessionlog-*"))


@pytest.mark.parametrize("form", FORMATS)
def test_redact_applies_todays_rules(place: projects.Place, home: Path, form: str) -> None:
    folder = home / ".local/share/sessionlog"
    secret = "ACME-0123456789abcdef"
    call = tool(1, tool_input={"command": f"login {secret}"}, tool_response={"stdout": secret, "n": 2**70})
    record(place, [prompt(f"use {secret}"), call])
    assert exported("--format", form).count(secret.encode()) >= 3
    rule = {"kind": "acme", "regex": "ACME-[0-9a-f]{16}", "contains": "ACME-"}
    (folder / "config.json").write_text(json.dumps({"redact": {"enabled": False, "patterns": [rule]}}))
    cleaned = exported("--format", form, "--redact")
    assert secret.encode() not in cleaned and b"redacted:acme:" in cleaned.replace(b"\\", b"")
    assert form != "jsonl" or str(2**70).encode() in cleaned


@pytest.mark.parametrize("form", ["markdown", "html"])
def test_detail(place: projects.Place, form: str) -> None:
    output = "\n".join(f"line {number} of the output" for number in range(500))
    call = tool(1, tool_response={"stdout": output, "stderr": ""})
    record(
        place, [prompt("do it"), call, {"session_id": "s1", "hook_event_name": "MessageDisplay", "x": "small print"}]
    )
    brief, normal, full = (
        exported("--format", form, "--detail", detail).decode() for detail in ("brief", "normal", "full")
    )
    assert "do it" in brief and "echo 1" in brief and "line 0" not in brief
    assert (
        "line 0 of" in normal and "line 499 of" not in normal and "more lines" in normal and "small print" not in normal
    )
    assert "line 499 of" in full and "small print" in full


@pytest.fixture(scope="session")
def small_and_large(tmp_path_factory: pytest.TempPathFactory) -> dict[int, projects.Place]:
    """Archives of so many events, for all tests that only read them."""
    folder = tmp_path_factory.mktemp("corpus")
    with pytest.MonkeyPatch.context() as patch:
        empty_home(patch, folder)  # that of a test is not there yet
        return {count: corpus.fill(folder / str(count), count, events_per_session=2000) for count in (300, 2000)}


@pytest.mark.parametrize("form", FORMATS)
def test_memory_does_not_grow_with_the_archive(small_and_large: dict[int, projects.Place], form: str) -> None:
    peaks = []
    for count, place in small_and_large.items():
        chosen = export.choose([place])
        list(zip(range(50), export.chunks(chosen, export.Options(form)), strict=False))  # what is imported on first use
        tracemalloc.start()
        size = sum(map(len, export.chunks(chosen, export.Options(form))))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert size > count * 500
    # Of each call its id is remembered, so that it is told once.
    assert peaks[1] < peaks[0] + 1_000_000, peaks


# --- Hostile content --------------------------------------------------------------------------------------------------


class Tags(HTMLParser):
    """What a browser would make of a page: elements, attributes, and the text in code blocks."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


INERT = "a article b blockquote body br code del details div em h1 h2 h3 h4 h5 h6 head header hr html li main meta nav ol p pre"
INERT += " s section span strong style summary table tbody td th thead time title tr ul"


def assert_inert(html: str) -> None:
    for tag, attributes in Tags(html).tags:
        assert tag in INERT.split(), (tag, attributes)
        assert attributes.get("id") != "pwned"
        assert not [name for name in attributes if name.startswith("on") or name in ("style", "src", "srcset")]
        href = attributes.get("href") or "#"
        assert href.startswith(("http://", "https://", "mailto:", "#")), href


@pytest.mark.parametrize("detail", export.DETAILS)
def test_markdown_of_hostile_content_is_inert(place: projects.Place, detail: str) -> None:
    record(place, hostile_session())
    text = exported("--format", "markdown", "--detail", detail).decode()
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200e\u200f]", text)
    html = MarkdownIt("gfm-like", {"html": True, "linkify": False}).render(text)  # as a viewer that lets HTML through
    assert_inert(html)
    assert not re.search(r"(?<![\w`])@octocat", re.sub(r"(?s)<(code|pre)\b.*?</\1>", "", html))
    assert html.count("<details>") == html.count("</details>")
    assert html.count("<h2>") == len(ATTACKS), "no text of a session became a heading"


@pytest.mark.parametrize("text", ATTACKS)
def test_words_of_models_stay_inert_markdown(text: str) -> None:
    assert_inert(MarkdownIt("gfm-like", {"html": True, "linkify": False}).render(inert_markdown.markdown(text)))


def test_markdown_of_a_model_keeps_its_form() -> None:
    text = (
        "# Title\n\nSome **bold**, *soft*, ~~gone~~ `co``de`, a [link](https://a.example/x_y) and <b>.\n\n- one\n  - two\n\n"
        "3. three\n4. four\n\n> said\n\n```py\nx = '```'\n```\n\n| a | b |\n|---|--:|\n| 1 \\| 2 | `c` |\n\n---\n\nend_of_it"
    )
    parser = inert_markdown.parser()
    again = inert_markdown.markdown(text)
    html = parser.render(again)
    assert html == parser.render(text.replace("# Title", "#### Title"))
    # A page of ours obeys no style in a text: the column is aligned by a class.
    assert '<td class="right">' in html and "style" not in html


@pytest.mark.parametrize("detail", export.DETAILS)
def test_html_of_hostile_content_is_inert(place: projects.Place, detail: str) -> None:
    record(place, hostile_session())
    page = exported("--format", "html", "--detail", detail).decode()
    assert_inert(page)
    assert "<script" not in page and not re.search("[\x1b\x9b\u202e\u2066]", page)
    assert Tags(page).tags[3][1]["content"].startswith("default-src 'none'; style-src 'sha256-")


@pytest.mark.skipif(CHROMIUM is None and not os.environ.get("CI"), reason="there is no Chromium on this machine")
def test_a_browser_runs_nothing_of_it(place: projects.Place, tmp_path: Path) -> None:
    def dom(page: Path) -> str:
        options = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
        options += " --disable-component-update --disable-sync --virtual-time-budget=2000 --dump-dom"
        command = [str(CHROMIUM), *options.split(), f"--user-data-dir={tmp_path}/browser", page.as_uri()]
        env = {**os.environ, "TMPDIR": "/tmp"}  # the name of its socket may not be long
        return subprocess.run(command, capture_output=True, check=True, timeout=120, env=env).stdout.decode()

    control = tmp_path / "control.html"
    control.write_text("<title>x</title>" + ATTACKS[1])
    assert "<title>pwned</title>" in dom(control), "the attack works where nothing stops it"

    record(place, hostile_session())
    page = tmp_path / "page.html"
    page.write_bytes(exported("--format", "html", "--detail", "full"))
    seen = dom(page)
    assert "<title>pwned</title>" not in seen and 'id="pwned"' not in seen.replace("&lt;b id=pwned&gt;", "")
    assert seen.count("<article") == page.read_text().count("<article")
    assert_inert(seen)


def test_a_line_of_ten_megabytes(place: projects.Place) -> None:
    times = 2_000_000 if thorough() else 400_000  # else a line of two
    long = "<b>&`" * times
    record(
        place, [prompt(long), tool(1, tool_response={"stdout": long, "stderr": ""}), {**tool(2), "tool_response": long}]
    )
    for form in FORMATS:
        assert len(exported("--format", form, "--detail", "full")) > 12 * times
    for form in ("markdown", "html"):
        assert len(exported("--format", form, "--detail", "brief")) > 2 * times, "words of people are never cut"
    assert len(printed("show", "s1")) < 10_000
