"""What is to go is gone, what is to stay is there, and the hooks notice nothing of it."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import stat
import threading
import time
import zlib
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from sessionlog.archive import append, migrate, notes, read, spool
from sessionlog.archive import place as projects
from sessionlog.archive.event import INPUT_TEXTS, PAYLOAD_TEXTS, normalise
from sessionlog.archive.rebuild import payload as rebuild
from sessionlog.ask.search import build, index
from sessionlog.cli.main import cli
from sessionlog.errors import SessionlogError
from sessionlog.install.doctor import privacy
from sessionlog.maintain import backup, batches, merge, prune, redact
from sessionlog.transcripts import importer
from tests.conftest import FIXTURES, PAYLOAD_FILES, Hook, rows, thorough
from tests.record.test_hook import prompt, tool

DAY = 86_400_000
COUNTS = "SELECT session_id, events, prompts, tool_calls, edits, failures FROM sessions ORDER BY session_id"
TABLES = (
    "sessions",
    "events",
    "transcript_parts",
    "transcript_chunks",
    "model_answers",
    "session_facts",
    "subagent_facts",
)


def fill(place: projects.Place, payloads: list[dict[str, Any]], days_ago: float = 0, via: str = "test") -> None:
    """Record the events, a second after another, the last of them so many days ago."""
    end = time.time_ns() // 1_000_000 - int(days_ago * DAY)
    with closing(append.open_for_writing(place)) as connection:
        for number, payload in enumerate(payloads):
            at_ms = end - (len(payloads) - number) * 1000
            append.append(connection, normalise(payload, at_ms=at_ms, via=via), at_ms)


def ask(*words: str, code: int = 0) -> Result:
    done = CliRunner().invoke(cli, list(words))
    if isinstance(done.exception, SessionlogError):
        assert code, done.exception
        return done
    assert done.exit_code == code, (done.output, done.exception)
    return done


def size_of(place: projects.Place) -> int:
    return sum(os.stat(place.db + ending).st_size for ending in ("", "-wal") if os.path.exists(place.db + ending))


def counts(place: projects.Place) -> dict[str, int]:
    found = {table: rows(place, f"SELECT count(*) AS n FROM {table}")[0]["n"] for table in TABLES}
    if "transcript_chunks" in found:  # of one that was pruned, place and hash stay
        query = "SELECT count(*) AS n FROM transcript_chunks WHERE length(data) > 8"
        found["transcript_chunks"] = rows(place, query)[0]["n"]
    return found


def assert_sound(place: projects.Place) -> None:
    assert [row["integrity_check"] for row in rows(place, "PRAGMA integrity_check")] == ["ok"]
    for row in rows(place, COUNTS):
        (truth,) = rows(
            place,
            "SELECT count(*) AS events, ifnull(sum(event = 'UserPromptSubmit'), 0) AS prompts, "
            "ifnull(sum(event IN ('PostToolUse', 'PostToolUseFailure')), 0) AS tool_calls FROM events WHERE session_id = ?",
            row["session_id"],
        )
        assert truth.items() <= row.items()


@pytest.fixture
def transcript_home(home: Path, monkeypatch: pytest.MonkeyPatch, place: projects.Place) -> Path:
    """Claude Code's folder with the sample transcripts, imported into the archive of the project."""
    folder = home / ".claude" / "projects" / "-home-dev-shop"
    shutil.copytree(FIXTURES / "transcripts" / "-home-dev-shop", folder)
    for path in sorted(folder.glob("*.jsonl")):
        importer.follow(place, str(path))
    assert counts(place)["transcript_parts"] and counts(place)["transcript_chunks"]
    return folder


# --- prune ------------------------------------------------------------------------------------------------------------


def old_and_new(place: projects.Place) -> None:
    for number, (session, days) in enumerate((("old", 200), ("ended", 120), ("new", 5), ("running", 0))):
        fill(place, [prompt("hi", session), *(tool(number * 1000 + n, session) for n in range(50))], days)


def all_by_name(place: projects.Place) -> list[str]:
    sessions = [row["session_id"] for row in rows(place, "SELECT session_id FROM sessions")]
    return [word for session in sessions for word in ("--session", session)]


@pytest.mark.parametrize(
    ("words", "left"),
    [
        (["--older-than", "90d"], {"new", "running"}),
        (["--older-than", "150d"], {"ended", "new", "running"}),
        (["--older-than", "0d"], {"running"}),
        (["--keep", "3"], {"ended", "new", "running"}),
        (["--keep", "0"], {"running"}),
        (["--session", "old", "--session", "run"], {"ended", "new"}),
        (["--older-than", "999d"], {"old", "ended", "new", "running"}),
    ],
)
def test_prune_removes_the_sessions_that_are_meant(place: projects.Place, words: list[str], left: set[str]) -> None:
    old_and_new(place)
    before = counts(place)
    ask("prune", *words, "--dry-run")
    assert counts(place) == before, "a dry run changes nothing"
    ask("prune", *words, "--yes")
    assert {row["session_id"] for row in rows(place, "SELECT session_id FROM sessions")} == left
    assert {row["session_id"] for row in rows(place)} == left
    assert_sound(place)


@pytest.mark.parametrize(
    "words", [[], ["--keep", "1", "--older-than", "3d"], ["--keep", "-1"], ["--older-than", "soon"]]
)
def test_prune_wants_to_know_which(place: projects.Place, words: list[str]) -> None:
    old_and_new(place)
    ask("prune", *words, "--yes", code=2)
    assert counts(place)["sessions"] == 4


def test_without_a_terminal_nothing_is_removed_unasked(place: projects.Place) -> None:
    old_and_new(place)
    done = ask("prune", "--older-than", "90d", code=1)
    assert "2 sessions, 102 rows" in done.output
    assert "--yes" in str(done.exception)
    assert counts(place)["sessions"] == 4


def test_prune_gives_the_space_back(place: projects.Place) -> None:
    fill(place, [tool(n, "old", tool_response={"stdout": os.urandom(50_000).hex()}) for n in range(40)], 100)
    fill(place, [prompt("new", "new")])
    with closing(read.connect(place)) as connection:
        build.catch_up(place, connection)
    assert size_of(place) > 4_000_000 and os.path.exists(index.path_of(place))
    ask("prune", "--older-than", "90d", "--yes")
    assert size_of(place) < 300_000
    assert not os.path.exists(index.path_of(place))


def test_prune_takes_the_transcripts_too_and_import_does_not_bring_them_back(
    place: projects.Place, transcript_home: Path
) -> None:
    sessions = [row["session_id"] for row in rows(place, "SELECT session_id FROM sessions")]
    ask("prune", *all_by_name(place), "--yes")
    assert not any(counts(place).values())
    for path in transcript_home.glob("*.jsonl"):
        importer.follow(place, str(path))
    assert not any(counts(place).values()), "the files are still there, and known"
    with closing(read.connect(place)) as connection, pytest.raises(SessionlogError, match="no transcript"):
        from sessionlog.transcripts.restore import restore

        restore(connection, sessions[0])


def test_prune_leaves_the_prompts_of_others_in_the_history(place: projects.Place, project: Path, home: Path) -> None:
    lines = [
        {
            "display": f"typed in {session}",
            "sessionId": session,
            "project": str(project),
            "timestamp": 1_794_793_274_000,
        }
        for session in ("gone", "stays")
    ]
    (home / ".claude").mkdir()
    (home / ".claude" / "history.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    importer.run([str(home / ".claude" / "history.jsonl")])
    fill(place, [prompt("hi", "gone"), prompt("hi", "stays")], 3)
    ask("prune", "--session", "gone", "--yes")
    assert [row["text"] for row in rows(place, "SELECT text FROM transcript_parts")] == ["typed in stays"]
    (chunk,) = rows(place, "SELECT data FROM transcript_chunks")
    assert zlib.decompress(chunk["data"]).decode() == "\n" + json.dumps(lines[1]) + "\n"


def test_an_archive_that_stays_locked_is_told(place: projects.Place, monkeypatch: pytest.MonkeyPatch) -> None:
    old_and_new(place)
    monkeypatch.setattr("sessionlog.archive.bulk.LOCK_WAIT", 0.1)
    with closing(sqlite3.connect(place.db, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        done = ask("prune", "--keep", "2", "--yes", code=1)
    assert "run the same command again" in str(done.exception)
    assert counts(place)["sessions"] == 4


def test_only_tool_output_leaves_everything_else(place: projects.Place, transcript_home: Path) -> None:
    for path in PAYLOAD_FILES:
        fill(place, [json.loads(path.read_bytes())], 100)
    nested = {"event": "PostToolUse", "data": {"session_id": "n", "tool": "Bash", "tool_result": {"stdout": "NOISE"}}}
    fill(place, [nested, tool(1, "n", tool_response={"stdout": "NOISE " * 100})], 100)
    before, counted, events = counts(place), rows(place, COUNTS), rows(place)
    ask("prune", *all_by_name(place), "--only", "tool-output", "--yes")
    assert counts(place) | {"transcript_chunks": 0} == before | {"transcript_chunks": 0}
    assert rows(place, COUNTS) == counted
    for old, new in zip(events, rows(place), strict=True):
        assert new | {name: old[name] for name in ("tool_response", "salt")} == old
        assert new["tool_response"] == (old["tool_response"] and '"[pruned]"')
        payload = rebuild(new)
        assert payload.get("data", payload).keys() == rebuild(old).get("data", rebuild(old)).keys()
    assert b"NOISE" not in Path(place.db).read_bytes()
    for row in rows(place, "SELECT data FROM transcript_chunks"):
        for line in zlib.decompress(row["data"]).splitlines():
            entry = json.loads(line)
            assert entry.get("toolUseResult") in (None, "[pruned]")
    again = ask("prune", *all_by_name(place), "--only", "tool-output", "--yes")
    assert "nothing to prune" in again.output


def test_hooks_go_on_recording_while_sessions_are_pruned(place: projects.Place, hook: Hook) -> None:
    big = {"stdout": "x" * 60_000}
    fill(place, [tool(n, "old", tool_response=big) for n in range(1500 if thorough() else 600)], 100)
    stop = threading.Event()
    written = 0

    def write() -> None:
        nonlocal written
        while not stop.is_set():
            hook(prompt(f"prompt {written}", "now"))
            written += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        prune.run(prune.plan(place, prune.Which(named=frozenset({"old"}))))
    finally:
        stop.set()
        writer.join()
    hook(prompt("the last", "now"))
    read.bring_up_to_date(place)
    texts = [row["prompt"] for row in rows(place)]
    assert texts == [*(f"prompt {number}" for number in range(written)), "the last"]
    assert_sound(place)


def test_an_event_during_vacuum_waits_in_the_spool(place: projects.Place, hook: Hook) -> None:
    fill(place, [prompt("first")])
    with closing(sqlite3.connect(place.db, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")  # as VACUUM does, for as long as it takes
        hook(prompt("meanwhile"))
        assert projects.waiting_spools(place)
        connection.execute("ROLLBACK")
    ask("prune", "--keep", "0", "--yes")
    assert [row["prompt"] for row in rows(place)] == ["first", "meanwhile"]


def test_a_session_that_went_on_after_the_preview_stays(place: projects.Place) -> None:
    old_and_new(place)
    plan = prune.plan(place, prune.Which(keep=2))
    fill(place, [prompt("back again", "old")])
    prune.run(plan)
    assert {row["session_id"] for row in rows(place, COUNTS)} == {"old", "new", "running"}


def test_a_reader_that_never_ends_is_named(place: projects.Place, monkeypatch: pytest.MonkeyPatch) -> None:
    old_and_new(place)
    monkeypatch.setattr(batches, "ATTEMPTS", 2)
    real = batches.open_archive

    def impatient(place: projects.Place) -> sqlite3.Connection:
        connection = real(place)
        connection.execute("PRAGMA busy_timeout = 100")
        return connection

    monkeypatch.setattr(batches, "open_archive", impatient)
    with closing(sqlite3.connect(place.db)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM events").fetchone()
        done = ask("prune", "--keep", "2", "--yes", code=1)
    assert "another program is reading" in str(done.exception)
    assert counts(place)["sessions"] == 2


# --- redact -----------------------------------------------------------------------------------------------------------

SECRET = "Zebra-Crossing-77"
GITHUB = "gh" + "p_" + "aZ3kQ9xLm2Rt7Vw1Bc5Yd8Np4Hs6Gf0JuEoT"


def holding(place: projects.Place, *secrets: str) -> list[str]:
    """The files of the archive folder in which `grep -a` finds it, and the chunks in which it would after zlib."""
    found = [
        f"{path.name}: {secret}"
        for path in sorted(Path(place.home).rglob("*"))
        for secret in secrets
        if path.is_file() and secret.encode() in path.read_bytes()
    ]
    for row in rows(place, "SELECT transcript_id, data FROM transcript_chunks"):
        found += [f"chunk {row['transcript_id']}" for s in secrets if s.encode() in zlib.decompress(row["data"])]
    return found


def everywhere(place: projects.Place, secret: str) -> None:
    """Put it into every text column of every table; the hook would not have."""
    with closing(sqlite3.connect(place.db, isolation_level=None)) as connection:
        for table in (*TABLES, "transcripts"):
            for _, column, kind, *_ in connection.execute(f"PRAGMA table_info({table})").fetchall():
                if kind == "TEXT" and column not in ("entry_types", "tool_input", "tool_response", "extra", "envelope"):
                    connection.execute(
                        f"UPDATE {table} SET {column} = ifnull({column}, '') || ' ' || ? "
                        f"WHERE rowid = (SELECT max(rowid) FROM {table})",
                        (secret,),
                    )


def full_payload(secret: str) -> dict[str, Any]:
    texts = {key: f"{key} {secret}" for key in PAYLOAD_TEXTS}
    inputs = {key: f"{key}: {secret}" for key in INPUT_TEXTS}
    deep = {"list": [secret, {secret: 1}], "quoted": json.dumps({"inner": secret})}
    answer = {"stdout": secret, "deep": deep}
    return {"session_id": "s1", "hook_event_name": "PostToolUse", **texts, "tool_input": {**inputs, **deep},
            "tool_response": answer, "something_new": deep}  # fmt: skip


def test_after_redact_the_secret_is_in_no_file(
    place: projects.Place, transcript_home: Path, hook: Hook, home: Path
) -> None:
    path = max(transcript_home.glob("*.jsonl"), key=os.path.getsize)
    message = {"role": "user", "content": [{"type": "text", "text": f"it is {SECRET}"}]}
    entry = {"type": "user", "uuid": "u1", "sessionId": path.stem, "timestamp": "2026-11-16T01:41:14.736Z"}
    with path.open("a") as file:
        file.write(json.dumps({**entry, "message": message}) + "\n")
    importer.follow(place, str(path))
    nested = {"event": "PostToolUse", "more": SECRET, "data": {"session_id": "s1", "tool_result": SECRET, "tool": "X"}}
    fill(place, [prompt("harmless", "s2"), full_payload(SECRET), nested, tool(9, "s1", tool_response=SECRET)])
    everywhere(place, SECRET)
    fill(place, [prompt(SECRET * 500, "gone") for _ in range(50)])
    with closing(sqlite3.connect(place.db)) as connection, connection:
        connection.execute("DELETE FROM events WHERE session_id = 'gone'")  # its bytes stay in free pages
        connection.execute("DELETE FROM sessions WHERE session_id = 'gone'")
    with closing(read.connect(place)) as connection:
        build.catch_up(place, connection)
    hook(b"no event, but " + SECRET.encode())
    before = counts(place)
    harmless = rows(place, "SELECT * FROM events WHERE session_id = 's2'")
    held = holding(place, SECRET)
    assert len(harmless) == 1 and len(held) == 3, "the archive, a chunk, a rejected payload"

    preview = ask("redact", "--value", SECRET, "--dry-run").output
    assert "× value" in preview and "in events" in preview and "in transcripts" in preview
    assert holding(place, SECRET) == held, "a dry run changes nothing"

    before |= {"events": before["events"] + 1, "sessions": before["sessions"] + 1}
    with closing(sqlite3.connect(place.db)) as idle:  # another program that has it open, so that there is a WAL
        idle.execute("SELECT * FROM archive").fetchall()
        hook(prompt(f"in the WAL: {SECRET}", "s3"))
        assert SECRET.encode() in Path(f"{place.db}-wal").read_bytes()
        ask("redact", "--value", SECRET, "--yes")
        assert holding(place, SECRET) == []
    assert counts(place) == before
    assert rows(place, "SELECT * FROM events WHERE session_id = 's2'") == harmless
    rebuilt = [json.dumps(rebuild(row)) for row in rows(place)]
    assert sum(text.count("[redacted:value:") for text in rebuilt) > 20
    assert SECRET in path.read_text(), "Claude Code's own file is not ours"
    seen = ask("redact", "--value", SECRET, "--dry-run").output
    assert "× value" not in seen and "0 rows of 1 project would change" in seen
    importer.follow(place, str(path))
    assert holding(place, SECRET) == [], "import knows the file as it was"


@pytest.mark.parametrize(
    ("words", "secret", "kind"),
    [
        ([], GITHUB, "github-token"),
        (["--pattern", r"ACME-\d+"], "ACME-123456", "pattern"),
        (["--pattern", r"acct (?P<secret>\d+)"], "98765432", "pattern"),
        (["--value", 'quo"ted\\and\nmore'], 'quo"ted\\and\nmore', "value"),
        (["--value", "密码是七七"], "密码是七七", "value"),
        (["--value", "😀smile"], "😀smile", "value"),
    ],
)
def test_redact_by_rule_pattern_and_value(place: projects.Place, words: list[str], secret: str, kind: str) -> None:
    said = f"acct {secret} and {'more ' * 3}"
    fill(place, [prompt(said, "s1"), tool(1, "s1", tool_response={"a": said, "b": [said]}), prompt("stays", "s1")])
    ask("redact", *words, "--yes")
    events = rows(place)
    assert f"[redacted:{kind}:" in events[0]["prompt"]
    assert events[1]["tool_response"].count(f"[redacted:{kind}:") == 2
    assert events[2]["prompt"] == "stays"
    assert holding(place, secret, json.dumps(secret)[1:-1]) == []
    assert_sound(place)


@pytest.mark.parametrize("config", [{"enabled": False}, {"allow": [SECRET]}])
def test_what_is_named_goes_whatever_the_config_says(place: projects.Place, config: dict[str, Any]) -> None:
    fill(place, [prompt(f"it is {SECRET} and {GITHUB}")])
    (Path(place.home) / "config.json").write_text(json.dumps({"redact": config}))
    ask("redact", "--value", SECRET, "--yes")
    (row,) = rows(place)
    assert SECRET not in row["prompt"]
    assert (GITHUB in row["prompt"]) == ("enabled" in config)


def test_a_number_in_json_becomes_a_text(place: projects.Place) -> None:
    fill(place, [tool(1, "s1", tool_response={"pin": 55512345, "other": 7})])
    ask("redact", "--value", "55512345", "--yes")
    answer = json.loads(rows(place)[0]["tool_response"])
    assert answer["pin"].startswith("[redacted:value:") and answer["other"] == 7


def test_a_secret_at_the_edge_of_an_excerpt_leaves_no_beginning(place: projects.Place, transcript_home: Path) -> None:
    path = max(transcript_home.glob("*.jsonl"), key=os.path.getsize)
    output = "x" * 490 + SECRET
    block = {"type": "tool_result", "tool_use_id": "toolu_x", "content": output}
    entry = {"type": "user", "uuid": "u1", "sessionId": path.stem, "message": {"role": "user", "content": [block]}}
    with path.open("a") as file:
        file.write(json.dumps(entry) + "\n")
    importer.follow(place, str(path))
    ask("redact", "--value", SECRET, "--yes")
    assert holding(place, SECRET, SECRET[:10]) == []


def test_the_secret_need_not_stand_on_the_command_line(place: projects.Place) -> None:
    fill(place, [prompt(f"it is {SECRET}")])
    done = CliRunner().invoke(cli, ["redact", "--value", "-", "--yes"], input=f"{SECRET}\n")
    assert done.exit_code == 0 and holding(place, SECRET) == []


@pytest.mark.parametrize("words", [["--pattern", "("], ["--value", "abc"]])
def test_redact_refuses_what_cannot_be_meant(place: projects.Place, words: list[str]) -> None:
    fill(place, [prompt("abc (")])
    ask("redact", *words, "--yes", code=1)
    assert rows(place)[0]["prompt"] == "abc ("


def test_copies_that_may_still_hold_it_are_named(place: projects.Place) -> None:
    fill(place, [prompt(SECRET)])
    shutil.copy(place.db, f"{place.db}.damaged-2026-11-16")
    shutil.copy(place.db, f"{place.db}.bak")
    shutil.copy(place.db, f"{place.home}/a copy")
    done = ask("redact", "--value", SECRET, "--yes")
    assert f"{place.home}/a copy was not cleaned" in done.output
    assert done.output.count("was not cleaned") == 3
    assert f"{place.db}.damaged-2026-11-16 was not cleaned" in done.output
    assert f"{place.db}.bak was not cleaned" in done.output


@pytest.mark.parametrize("where", ["home", "state"])
def test_events_that_wait_for_an_archive_are_cleaned_too(place: projects.Place, home: Path, where: str) -> None:
    folder = Path(place.home) if where == "home" else home / ".local" / "state" / "sessionlog"
    folder.mkdir(parents=True)
    waiting = folder / "gone-0123456789abcdef.db.spool"
    spool._append_line(str(waiting), b'[1,"x",null,null,{"session_id":"s","prompt":"my-secret-word"}]\n', 1)
    spool._append_line(str(waiting), b'[2,"x",null,null,{"session_id":"s","prompt":"other"}]\n', 1)
    before = waiting.read_bytes()
    seen = ask("redact", "--all", "--dry-run", "--value", "my-secret-word")
    assert "1 in waiting events" in seen.output and waiting.read_bytes() == before
    done = ask("redact", "--all", "--yes", "--value", "my-secret-word")
    assert str(waiting) in done.output
    after = waiting.read_bytes()
    assert b"my-secret-word" not in after and b"[redacted:value:" in after
    assert after.splitlines()[0] == before.splitlines()[0] and after.splitlines()[2] == before.splitlines()[2]
    assert [path.name for path in folder.iterdir() if "spool" in path.name] == [waiting.name]
    assert json.loads(after.splitlines()[1])[4]["session_id"] == "s"


def test_redact_while_hooks_write_loses_nothing(place: projects.Place, hook: Hook) -> None:
    count = 400 if thorough() else 150
    fill(place, [tool(n, "s1", tool_response={"stdout": f"{SECRET} " * 500}) for n in range(count)])
    writer = threading.Thread(target=lambda: [hook(prompt(f"prompt {n}", "now")) for n in range(15)])
    writer.start()
    redact.run(place, redact.GivenRules(place.home, values=[SECRET]))
    writer.join()
    read.bring_up_to_date(place)
    assert [row["prompt"] for row in rows(place) if row["prompt"]] == [f"prompt {n}" for n in range(15)]
    assert holding(place, SECRET) == []
    assert_sound(place)


# --- backup -----------------------------------------------------------------------------------------------------------


def content(db: Path | str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(db)) as connection:
        assert connection.execute("PRAGMA quick_check").fetchone() == ("ok",)
        return [row for table in TABLES for row in connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2")]


def test_a_backup_is_the_archive_wal_included(
    place: projects.Place, transcript_home: Path, hook: Hook, tmp_path: Path
) -> None:
    hook(prompt("only in the WAL"))
    copy = tmp_path / "copy.db"
    assert "Copied" in ask("backup", str(copy)).output
    assert content(copy) == content(place.db)
    assert copy.stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.glob("copy*")) == ["copy.db"]


def test_a_backup_never_replaces_a_file_unasked(place: projects.Place, tmp_path: Path) -> None:
    fill(place, [prompt("one")])
    copy = tmp_path / "copy.db"
    copy.write_text("precious")
    assert "--force" in str(ask("backup", str(copy), code=1).exception)
    assert copy.read_text() == "precious"
    ask("backup", "--force", str(copy))
    assert content(copy) == content(place.db)
    for target in (place.db, str(tmp_path)):
        ask("backup", "--force", target, code=1)
    assert [row["prompt"] for row in rows(place)] == ["one"]


@pytest.mark.parametrize("kind", ["device", "link", "pipe"])
def test_a_backup_replaces_nothing_but_files(place: projects.Place, tmp_path: Path, kind: str) -> None:
    fill(place, [prompt("one")])
    target = tmp_path / "target"
    match kind:
        case "device":
            try:
                os.mknod(target, stat.S_IFCHR | 0o666, os.makedev(1, 3))  # another /dev/null
            except PermissionError:
                pytest.skip("only root can make a device")
        case "link":
            (tmp_path / "precious").write_text("mine")
            target.symlink_to(tmp_path / "precious")
        case "pipe":
            os.mkfifo(target)
    before = target.lstat()
    assert "only a file is replaced" in str(ask("backup", "--force", str(target), code=1).exception)
    assert (target.lstat().st_ino, target.lstat().st_mode) == (before.st_ino, before.st_mode)


def test_a_backup_of_all_projects_is_a_folder(place: projects.Place, tmp_path: Path) -> None:
    other = projects.place(str(tmp_path / "other"))
    fill(place, [prompt("one")])
    fill(other, [prompt("two")])
    ask("backup", "--all", str(tmp_path / "folder"))
    for each in (place, other):
        assert content(tmp_path / "folder" / os.path.basename(each.db)) == content(each.db)


def test_a_damaged_archive_makes_no_backup(place: projects.Place, tmp_path: Path) -> None:
    fill(place, [prompt("x" * 900, f"s{n}") for n in range(300)])
    data = bytearray(Path(place.db).read_bytes())
    for page in range(8, len(data) // 4096, 2):
        data[page * 4096 : page * 4096 + 64] = os.urandom(64)
    Path(place.db).write_bytes(data)
    assert "damaged" in str(ask("backup", str(tmp_path / "copy.db"), code=1).exception)
    assert list(tmp_path.glob("copy*")) == []


def test_a_backup_while_hooks_write_is_one_moment(place: projects.Place, hook: Hook, tmp_path: Path) -> None:
    fill(place, [prompt(f"prompt {n}") for n in range(3)])
    writer = threading.Thread(target=lambda: [hook(prompt(f"prompt {n}")) for n in range(3, 18)])
    writer.start()
    number = 0
    while writer.is_alive():
        copy = tmp_path / f"{number}.db"
        backup.backup(place, str(copy))
        with closing(sqlite3.connect(copy)) as connection:
            texts = [row[0] for row in connection.execute("SELECT prompt FROM events ORDER BY id")]
            assert connection.execute("SELECT events FROM sessions").fetchone() == (len(texts),)
        assert texts == [f"prompt {n}" for n in range(len(texts))]
        number += 1
    writer.join()
    assert not projects.waiting_spools(place), "no hook had to wait"


# --- merge ------------------------------------------------------------------------------------------------------------

EVENTS = "SELECT * FROM events ORDER BY at, session_id, tool_use_id, prompt"
MESSAGES = "SELECT * FROM transcript_parts ORDER BY session_id, uuid, line, part"


def without(table: list[dict[str, Any]], *columns: str) -> list[dict[str, Any]]:
    return [{key: value for key, value in row.items() if key not in columns} for row in table]


@pytest.fixture
def other(tmp_path: Path) -> projects.Place:
    """An archive of another machine."""
    home = tmp_path / "laptop"
    return projects.Place(str(home), "/home/me/shop", str(home / "shop-abcdef.db"))


def test_merge_into_nothing_is_a_copy(place: projects.Place, transcript_home: Path, tmp_path: Path) -> None:
    for path in PAYLOAD_FILES:
        fill(place, [json.loads(path.read_bytes())], 100)
    into = tmp_path / "moved"
    into.mkdir()
    target = projects.place(os.path.realpath(into))
    ask("merge", place.db, "--into", str(into), "--dry-run")
    assert not os.path.exists(target.db)
    ask("merge", place.db, "--into", str(into), "--yes")
    assert counts(target) == counts(place)
    for query in (
        EVENTS,
        MESSAGES,
        COUNTS,
        "SELECT * FROM sessions ORDER BY 1",
        "SELECT * FROM session_facts ORDER BY 1",
    ):
        # An import counts what only transcripts have; here the events came after it.
        renewed = ("id", "transcript_id", "hash", "salt", "head_hash", "tool_calls", "failures", "edits", "prompts")
        assert without(rows(target, query), *renewed) == without(rows(place, query), *renewed)
    assert rows(target, "SELECT * FROM session_usage") == rows(place, "SELECT * FROM session_usage")
    assert_sound(target)
    assert list(Path(target.home).glob(".merging*")) == []


def test_twice_is_once(place: projects.Place, other: projects.Place, transcript_home: Path) -> None:
    fill(place, [prompt("mine", "s1")])
    shutil.copytree(place.home, other.home)
    shutil.move(Path(other.home) / Path(place.db).name, other.db)
    fill(other, [prompt("theirs", "s2"), prompt("more", "s1"), {"hook_event_name": "Notification", "session_id": "s2"}])
    summary = merge.run(place, [other.db])[0]
    assert summary == {"events": 3, "sessions": 1}
    after = counts(place)
    assert merge.run(place, [other.db, other.db]) == [{}, {}]
    assert counts(place) == after
    assert "nothing new" in ask("merge", other.db, "--yes").output
    assert "nothing new" in ask("merge", place.db, "--yes").output, "the archive itself, caught by a *.db"
    assert_sound(place)


def test_pins_and_notes_come_along(place: projects.Place, other: projects.Place) -> None:
    fill(place, [prompt("mine", "s1"), prompt("more", "s1")])
    fill(other, [prompt("theirs", "s2"), prompt("both", "s3")])
    fill(place, [prompt("both", "s3")])
    notes.change(other, "s2", "e1", pinned=True, note="look here")
    notes.change(other, "s3", note="theirs", add_tags=["b"])
    notes.change(place, "s3", note="ours", add_tags=["a"])
    notes.change(other, "gone", pinned=True)
    assert merge.preview(place, [other.db])[0]["notes"] == 2
    assert set(notes.load(place)) == {("s3", "")}
    assert merge.run(place, [other.db])[0]["notes"] == 2
    found = notes.load(place)
    (moment,) = rows(place, "SELECT id FROM events WHERE session_id = 's2'")
    assert found["s2", f"e{moment['id']}"].pinned and moment["id"] > 1, "the event has another number here"
    assert (found["s3", ""].note, found["s3", ""].tags) == ("ours\n\ntheirs", ("a", "b"))
    assert set(found) == {("s2", f"e{moment['id']}"), ("s3", "")}
    assert merge.run(place, [other.db]) == [{}]


def test_the_same_event_by_another_way_is_the_same(place: projects.Place, other: projects.Place) -> None:
    at_ms = 1_794_793_274_000
    for where, via in ((place, "plugin"), (other, "user")):
        with closing(append.open_for_writing(where)) as connection:
            for number in range(3):
                payload = prompt("again" if number else "and", "s1")
                append.append(connection, normalise(payload, at_ms=at_ms + number, via=via), at_ms)
    assert merge.run(place, [other.db]) == [{}]
    assert len(rows(place)) == 3


def test_what_ended_stays_ended(place: projects.Place, other: projects.Place) -> None:
    start = {"hook_event_name": "SessionStart", "session_id": "s1", "source": "startup", "model": "old"}
    again = {**start, "source": "resume", "model": "new"}
    fill(other, [start, prompt("one")], 3)
    fill(place, [again, prompt("two"), {"hook_event_name": "SessionEnd", "session_id": "s1", "reason": "exit"}], 1)
    (before,) = rows(place, "SELECT * FROM sessions")
    merge.run(place, [other.db])
    (after,) = rows(place, "SELECT * FROM sessions")
    assert after["ended_at"] == before["ended_at"] and after["end_reason"] == "exit"
    assert after["model"] == "new" and after["start_reason"] == "startup" and after["events"] == 5
    assert after["started_at"] < before["started_at"] and after["last_at"] == before["last_at"]


def test_a_transcript_that_went_on_elsewhere_is_continued(
    place: projects.Place, other: projects.Place, transcript_home: Path
) -> None:
    path = max(transcript_home.glob("*.jsonl"), key=os.path.getsize)
    shutil.copytree(place.home, other.home)
    shutil.move(Path(other.home) / Path(place.db).name, other.db)
    message = {"role": "user", "content": "and on it goes"}
    with path.open("a") as file:
        file.write(json.dumps({"type": "user", "uuid": "u9", "sessionId": path.stem, "message": message}) + "\n")
    importer.follow(other, str(path))
    for target, source in ((place, other), (other, place)):  # the longer one wins, whichever is merged into which
        merge.run(target, [source.db])
        stored = rows(
            target,
            "SELECT data FROM transcript_chunks JOIN transcripts ON id = transcript_id WHERE file = ? ORDER BY sequence",
            str(path),
        )
        assert b"".join(zlib.decompress(row["data"]) for row in stored).endswith(path.read_bytes()[-60:])
        assert counts(target)["transcript_parts"] == counts(source)["transcript_parts"]
        assert len(rows(target, "SELECT * FROM transcripts")) == len(rows(source, "SELECT * FROM transcripts"))


def test_another_file_of_the_same_name_is_kept_beside(
    place: projects.Place, other: projects.Place, transcript_home: Path
) -> None:
    path = min(transcript_home.glob("*.jsonl"), key=os.path.getsize)
    path.write_text(json.dumps({"type": "summary", "summary": "another machine's", "leafUuid": "x"}) + "\n")
    importer.follow(other, str(path))
    before = counts(place)
    assert merge.run(place, [other.db])[0]["transcripts"] == 1
    assert counts(place)["transcript_chunks"] == before["transcript_chunks"] + 1
    assert merge.run(place, [other.db]) == [{}]


def test_an_archive_of_an_older_version_is_merged_and_not_touched(place: projects.Place, other: projects.Place) -> None:
    os.makedirs(other.home)
    with closing(sqlite3.connect(other.db, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        for statement in migrate.statements(migrate.migrations()[0][1]):
            connection.execute(statement)
        connection.execute("INSERT INTO archive VALUES (1, '/home/me/shop', '2026-01-01T00:00:00.000Z')")
        connection.execute(f"PRAGMA application_id = {migrate.APPLICATION_ID}")
        connection.execute("PRAGMA user_version = 1")
        old = normalise(prompt("old"), at_ms=1_794_793_274_000, via="x")
        connection.execute(f"INSERT INTO events ({', '.join(old)}) VALUES (:{', :'.join(old)})", old)
    before = Path(other.db).read_bytes()
    assert os.listdir(other.home) == [Path(other.db).name]
    assert merge.run(place, [other.db]) == [{"events": 1, "sessions": 1}]
    assert Path(other.db).read_bytes() == before
    assert os.listdir(other.home) == [Path(other.db).name]


@pytest.mark.parametrize("kind", ["missing", "text", "foreign", "newer"])
def test_what_is_no_archive_is_refused(place: projects.Place, tmp_path: Path, kind: str) -> None:
    fill(place, [prompt("one")])
    path = tmp_path / "x.db"
    if kind == "text":
        path.write_text("hello " * 1000)
    elif kind in ("foreign", "newer"):
        if kind == "newer":
            shutil.copy(place.db, path)
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE t (x)")
            connection.execute("PRAGMA user_version = 999")
    ask("merge", str(path), "--yes", code=1)
    assert [row["prompt"] for row in rows(place)] == ["one"]
    assert list(Path(place.home).glob(".merging*")) == []


@pytest.mark.parametrize("table", ["sessions", "events", "subagent_facts"])
def test_an_archive_with_an_endless_view_is_refused(place: projects.Place, other: projects.Place, table: str) -> None:
    fill(place, [prompt("mine")])
    fill(other, [prompt("theirs")])
    with closing(sqlite3.connect(other.db)) as connection, connection:
        connection.execute("PRAGMA legacy_alter_table = ON")
        names = ", ".join(row[1] for row in connection.execute(f"PRAGMA table_info({table})").fetchall())
        connection.execute(f"ALTER TABLE {table} RENAME TO was_{table}")
        connection.execute(
            f"CREATE VIEW {table} AS WITH RECURSIVE c(x) AS (VALUES(1) UNION ALL SELECT x + 1 FROM c) "
            f"SELECT {names} FROM was_{table}, c"
        )
    assert f"no table {table}" in str(ask("merge", other.db, "--yes", code=1).exception)
    assert [row["prompt"] for row in rows(place)] == ["mine"]


def test_hooks_go_on_recording_while_archives_are_merged(
    place: projects.Place, other: projects.Place, hook: Hook
) -> None:
    fill(other, [tool(n, "theirs") for n in range(1500)], 3)
    fill(place, [prompt("first", "now")])
    writer = threading.Thread(target=lambda: [hook(prompt(f"prompt {n}", "now")) for n in range(10)])
    writer.start()
    summary = merge.run(place, [other.db])[0]
    writer.join()
    read.bring_up_to_date(place)
    assert summary["events"] == 1500 and len(rows(place)) == 1511
    assert_sound(place)


# --- redact --test, and what merge takes in ---------------------------------------------------------------------------

MADE_UP = "gh" + "p_" + "aZ3kQ9xLm2Rt7Vw1Bc5Yd8Np4Hs6Gf0JuEoT"


def test_redact_test_shows_what_would_go_and_why(tmp_path: Path, place: projects.Place) -> None:
    file = tmp_path / "settings.env"
    file.write_text(f"# mine\nDB_PASSWORD_PROD=Zx9kQw7Lp1\n\nTOKEN={MADE_UP}\n")
    before = file.read_bytes()
    output = ask("redact", "--test", str(file)).output
    assert "2 secrets would be taken out" in output
    assert re.search(r"line 2 +password +Zx… \(10 characters\)", output)
    assert re.search(r"line 4 +github-token +ghp_… \(40 characters\)", output)
    assert "the value of a telling name, DB_PASSWORD_PROD" in output
    assert "begins with ghp_" in output
    assert "Zx9kQw7Lp1" not in output and MADE_UP not in output
    assert file.read_bytes() == before
    assert not os.path.exists(place.db)


def test_redact_test_reads_stdin_and_json_as_the_hook_does() -> None:
    for text, line in (
        (json.dumps({"a": 1, "password": 93847261550}), "line 1"),
        (f'{{"a": 1}}\n{{"env": [{{"name": "API_TOKEN", "value": "{MADE_UP[4:28]}"}}]}}\n', "line 2"),
    ):
        done = CliRunner().invoke(cli, ["redact", "--test", "-"], input=text)
        assert done.exit_code == 0, done.output
        assert "1 secret would be taken out of stdin" in done.output and line in done.output
        assert "93847261550" not in done.output and MADE_UP[4:28] not in done.output
    done = CliRunner().invoke(cli, ["redact", "--test", "-"], input="password = getpass()\n")
    assert done.output == "Nothing would be taken out of stdin.\n"


def test_redact_test_knows_what_is_named_and_takes_no_archive(tmp_path: Path) -> None:
    file = tmp_path / "x.txt"
    file.write_text("one ACME-1234 two\n")
    assert "Nothing" in ask("redact", "--test", str(file)).output
    assert "1 secret" in ask("redact", "--test", str(file), "--pattern", "ACME-[0-9]{4}").output
    assert "no archive" in ask("redact", "--test", str(file), "--all", code=2).output


def test_what_is_merged_is_redacted_by_the_rules_of_here(
    place: projects.Place, other: projects.Place, transcript_home: Path
) -> None:
    """The other machine had older rules, or none."""
    path = min(transcript_home.glob("*.jsonl"), key=os.path.getsize)
    message = {"role": "user", "content": f"DB_PASSWORD_PROD=Zx9kQw7Lp1 {MADE_UP}"}
    path.write_text(json.dumps({"type": "user", "uuid": "u9", "sessionId": "s9", "message": message}) + "\n")
    os.makedirs(other.home)
    (Path(other.home) / "config.json").write_text('{"redact": {"enabled": false}}')
    importer.follow(other, str(path))
    fill(other, [prompt(f"use {MADE_UP}", "s1"), tool(1, tool_input={"command": "curl -u me:Zx9kQw7Lp1 x"})])
    assert MADE_UP.encode() in b"".join(file.read_bytes() for file in Path(other.home).glob("*.db*"))
    summary = merge.run(place, [other.db])[0]
    assert summary["events"] == 2
    told = json.dumps([rows(place), rows(place, "SELECT * FROM transcript_parts")], default=str)
    chunks = b"".join(zlib.decompress(row["data"]) for row in rows(place, "SELECT data FROM transcript_chunks"))
    for secret in (MADE_UP, "Zx9kQw7Lp1"):
        assert secret not in told and secret.encode() not in chunks
    assert "[redacted:github-token:" in told and b"[redacted:" in chunks
    assert merge.run(place, [other.db]) == [{}], "twice is once, also for what was redacted on its way"
    assert_sound(place)


def test_copies_of_a_merge_are_for_our_eyes_only_and_the_doctor_names_them(
    place: projects.Place, other: projects.Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(place, [prompt("mine")])
    fill(other, [prompt("theirs")])
    modes = {}

    def killed(connection: sqlite3.Connection, *_: Any) -> None:
        for folder in Path(place.home).glob(".merging-*"):
            modes.update({path.name: stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.rglob("*"))})
        raise KeyboardInterrupt

    old = os.umask(0o022)
    try:
        monkeypatch.setattr(batches, "in_turns", killed)
        with pytest.raises(KeyboardInterrupt):
            merge.preview(place, [other.db])
    finally:
        os.umask(old)
    assert {"target.db", "other.db"} <= {*modes}
    assert {mode & 0o077 for mode in modes.values()} == {0}

    left = Path(place.home) / ".merging-abc"
    left.mkdir(mode=0o700)
    assert [(result.level, "has its copies" in result.text) for result in privacy.left_behind()] == [("note", True)]
    os.utime(left, (0, 0))
    (result,) = privacy.left_behind()
    assert result.level == "problem" and ".merging-abc" in result.text and "rm -r" in result.advice
