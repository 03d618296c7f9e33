"""No input takes over 1 GB of memory or 5 s of a processor, and what is over a limit is kept and shown as such."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
import zlib
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from sessionlog import config
from sessionlog.archive import place as projects
from sessionlog.archive import read, spool
from sessionlog.redact.rules import Rules
from sessionlog.transcripts import importer, store
from sessionlog.web import highlight
from tests.conftest import HANDLERS, PYTHON, ROOT, rows, thorough
from tests.helpers import archives, forking
from tests.helpers.transcript_files import line, transcript
from tests.record.test_hook import prompt

SESSIONLOG = Path(sys.executable).parent / "sessionlog"
MEASURE = ROOT / "tests" / "helpers" / "measure.py"
MEGABYTES, SECONDS = 1000, 5.0
# What takes FIXED_SECONDS of a processor where SECONDS is the limit. A slower or busier machine gets more.
FIXED_WORK = """
text = b'some words, or 32 ' * 400_000
for _ in range(12): text.translate(None, b'aeiou').count(b'w')
for number in range(1_500_000): number % 7
"""
FIXED_SECONDS = 0.3


class Done(NamedTuple):
    """How a process ended, what it printed, and what it took."""

    code: int
    stdout: bytes
    stderr: bytes
    seconds: float  # of a processor: the machine may be busy with other things
    megabytes: float


def measured(*command: str | Path, stdin: Path | None = None, **environment: str) -> Done:
    """Run a command to its end; `sessionlog` in a fork: its start is measured elsewhere."""
    if command[0] == SESSIONLOG and not stdin:
        forked = forking.run(*command[1:], env={**os.environ, **environment})
        assert isinstance(forked, forking.Done)
        return Done(forked.returncode, forked.stdout, forked.stderr, forked.seconds, forked.megabytes)
    report = Path(os.environ["TMPDIR"]) / "report.json"
    words = [sys.executable, "-I", str(MEASURE), str(report), *map(str, command)]
    with open(stdin or os.devnull, "rb") as given:
        done = subprocess.run(words, stdin=given, capture_output=True, env={**os.environ, **environment}, check=True)
    code, seconds, megabytes = json.loads(report.read_text())
    return Done(code, done.stdout, done.stderr, seconds, megabytes)


def slowness() -> float:
    """How many times as long as it should a fixed piece of work takes here and now."""
    return measured(sys.executable, "-I", "-c", FIXED_WORK).seconds / FIXED_SECONDS


def is_in_time(seconds: float, limit: float) -> bool:
    return seconds < limit or seconds < limit * slowness()


def bounded(*command: str | Path, stdin: Path | None = None, **environment: str) -> Done:
    """Run a command that must stay within the limits, and must not fail in a way that nobody thought of."""
    done = measured(*command, stdin=stdin, **environment)
    assert is_in_time(done.seconds, SECONDS), done
    assert done.megabytes < MEGABYTES, done
    assert b"Traceback" not in done.stderr, done.stderr
    return done


# --- The hook ---------------------------------------------------------------------------------------------------------


def event_of(size: int, file: Path, end: str = "") -> Path:
    """An event of this size in a file."""
    about, rest = json.dumps({**prompt("@"), "hook_event_name": "UserPromptSubmit"}).split("@")
    with open(file, "w") as out:
        out.write(about)
        for _ in range(size >> 20):
            out.write("some words, or 32" * 61681)
        out.write(end + rest)
    return file


def test_an_event_that_is_too_long_is_kept_as_it_is(tmp_path: Path, place: projects.Place) -> None:
    secret = "ghp_" + "a1B2c3" * 6
    given = event_of(34 << 20, tmp_path / "given", f" {secret} at its end")
    for _ in range(5):  # on a busy machine it may give up before the end
        done = bounded(*PYTHON, HANDLERS / "user_prompt_submit.py", stdin=given)
        assert done.code == 1 and done.stdout == b""
        assert b"too long" in done.stderr
        (kept,) = spool.rejected_files(place.home)
        if os.path.getsize(kept) > 33 << 20:
            break
        os.remove(kept)
    assert kept.encode() in done.stderr
    with open(kept, "rb") as after, open(given, "rb") as before:
        assert all(after.read(1 << 20) == before.read(1 << 20) for _ in range(30))
        data = after.read()
    assert secret.encode() not in data and b"[redacted:github-token:" in data
    cleaned = bounded(SESSIONLOG, "redact", "--all", "--yes", "--value", "at its end")
    assert cleaned.code == 0, cleaned.stderr
    assert b"at its end" not in Path(kept).read_bytes()[-1000:]
    assert os.path.getsize(kept) > 33 << 20


def test_an_event_that_can_deny_something_never_fails_however_long(tmp_path: Path) -> None:
    given = event_of(34 << 20, tmp_path / "given")
    done = bounded(*PYTHON, HANDLERS / "any_event.py", "PreToolUse", stdin=given)
    assert (done.code, done.stdout, done.stderr) == (0, b"", b"")


def test_an_endless_event_ends(place: projects.Place) -> None:
    done = bounded(*PYTHON, HANDLERS / "any_event.py", stdin=Path("/dev/zero"))
    assert done.code == 1
    assert b"were not read" in done.stderr
    assert len(spool.rejected_files(place.home)) == 1


@pytest.mark.parametrize("shape", ["{},", '"",', "1,"] if thorough() else ["{},"])  # this one takes the most memory
def test_the_longest_event_that_is_parsed(tmp_path: Path, place: projects.Place, shape: str) -> None:
    given = tmp_path / "given"
    items = (29 << 20) // len(shape)
    about = json.dumps({**prompt("x"), "hook_event_name": "UserPromptSubmit"}).encode()
    given.write_bytes(about[:-1] + b', "list": [' + shape.encode() * items + b"0]}")
    done = measured(*PYTHON, HANDLERS / "user_prompt_submit.py", stdin=given)
    assert done.code == 0, done.stderr
    assert done.megabytes < MEGABYTES
    assert len(rows(place)) == 1


# --- Transcripts ------------------------------------------------------------------------------------------------------


def bomb(place: projects.Place, size: int) -> bytes:
    """Put a chunk into an archive that becomes as large as this when it is unpacked; returns it as it is stored."""
    packer = zlib.compressobj(9)
    first, second = (packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    packed = first + second * (size >> 20) + packer.flush()
    with closing(sqlite3.connect(place.db)) as connection, connection:
        connection.execute("UPDATE transcript_chunks SET data = ?", (packed,))
        connection.execute("UPDATE transcript_parts SET text = text || ?", (" x" * 10_000,))
    return packed


def stored_chunks(place: projects.Place) -> list[bytes]:
    return [row["data"] for row in rows(place, "SELECT data FROM transcript_chunks")]


def test_a_bomb_in_a_merged_archive(place: projects.Place, home: Path, tmp_path: Path) -> None:
    other = projects.Place(str(tmp_path), "/other", str(tmp_path / "other.db"))
    use = {
        "type": "assistant",
        "message": {"content": [{"type": "tool_use", "id": "t", "name": "X", "input": {"a": "b"}}]},
    }
    importer.follow(other, str(transcript(home, line("hello"), line(**use))))
    packed = bomb(other, 3 << 30 if thorough() else 1200 << 20)
    assert bounded(SESSIONLOG, "merge", other.db, "--yes").code == 0
    assert stored_chunks(place) == [packed]
    done = bounded(SESSIONLOG, "restore", "s", "--to", tmp_path / "restored")
    assert done.code == 1 and b"stays in the archive" in done.stderr
    assert not list((tmp_path / "restored").rglob("*.jsonl"))
    done = bounded(SESSIONLOG, "redact", "--dry-run")
    assert done.code == 0 and b"was not searched" in done.stderr
    assert bounded(SESSIONLOG, "redact", "--yes").code == 0
    assert bounded(SESSIONLOG, "search", "hello").code == 0
    assert bounded(SESSIONLOG, "search", "--regex", "he..o").code == 0
    assert bounded(SESSIONLOG, "prune", "--tool-output", "--keep", "0", "--yes").code in (0, 2)
    assert bounded(SESSIONLOG, "merge", other.db, "--yes").code == 0
    assert stored_chunks(place) == [packed], "nothing is dropped"


def test_a_file_of_holes_is_skipped(home: Path) -> None:
    path = transcript(home, line("hello"))
    for name in ("s.jsonl", "agent-x.jsonl", "history.jsonl"):
        with open(path.parent / name, "ab") as file:
            file.truncate(6 << 30)
    done = bounded(SESSIONLOG, "import", path.parent)
    assert done.code == 0 and done.stderr.count(b"more holes than text") == 3


@pytest.mark.parametrize("is_ended", [True, False])
def test_a_line_that_is_too_long_is_archived_as_it_is(home: Path, is_ended: bool) -> None:
    secret = b"ghp_" + b"a1B2c3" * 6
    path = transcript(home, line("before"))
    with open(path, "ab") as file:
        for _ in range(72):
            file.write(b"some words, or 32" * 61681)
        file.write(b' "' + secret + b'"' + (b"\n" if is_ended else b""))
        if is_ended:
            file.write(line("after"))
    os.utime(path, (1, 1))  # nobody will finish it
    done = bounded(SESSIONLOG, "import", path)
    assert done.code == 0 and b"archived as it is" in done.stderr, done
    (place,) = read.all_places()
    texts = [row["text"] for row in rows(place, "SELECT text FROM transcript_parts ORDER BY line")]
    assert texts == (["before", "after"] if is_ended else ["before"])
    with closing(read.connect(place)) as connection:
        restored = b"".join(store.content(connection, 1))
    data = path.read_bytes()
    assert restored[: 71 << 20] == data[: 71 << 20]
    assert secret not in restored and b"[redacted:github-token" in restored
    assert b"Nothing new" in bounded(SESSIONLOG, "import", path).stdout


def test_a_pipe_among_transcripts_is_not_waited_for(home: Path) -> None:
    path = transcript(home, line("hello"))
    os.mkfifo(path.parent / "pipe.jsonl")
    os.mkfifo(path.parent / "agent-pipe.jsonl")
    os.mkfifo(path.parent / "history.jsonl")
    done = bounded(SESSIONLOG, "import", path.parent)
    assert done.code == 0 and b"no regular file" in done.stderr
    done = bounded(SESSIONLOG, "import", path.parent / "pipe.jsonl")  # what is named is refused
    assert done.code == 1 and b"not a regular file" in done.stderr


def test_a_long_line_in_an_export(place: projects.Place, tmp_path: Path) -> None:
    archives.store(place, archives.event("Stop"))
    exported = tmp_path / "exported.jsonl"
    exported.write_bytes(bounded(SESSIONLOG, "export").stdout)
    one = exported.read_bytes()
    with open(exported, "ab") as file:
        file.truncate((300 if thorough() else 100) << 20)
        file.seek(0, os.SEEK_END)
        file.write(b"\n" + one)
    done = bounded(SESSIONLOG, "import", exported)
    assert done.code == 0 and b"longer than" in done.stderr
    assert len(rows(place)) == 1


@pytest.mark.parametrize("value", [{"a": 1}, [1], 2**70, "\ud800", True])
def test_a_bad_column_in_an_export_costs_one_event(place: projects.Place, tmp_path: Path, value: object) -> None:
    archives.store(place, archives.event("Stop"), {**archives.event("Stop"), "cwd": "nul \0"})
    exported = tmp_path / "exported.jsonl"
    lines = bounded(SESSIONLOG, "export").stdout.splitlines()
    odd = json.loads(next(line for line in lines if b'"columns"' in line))
    bad = {**odd, "sessionlog": {**odd["sessionlog"], "columns": {**odd["sessionlog"]["columns"], "cwd": value}}}
    good = lines[0].replace(b"Stop", b"Changed")
    exported.write_bytes(b"\n".join([lines[0], json.dumps(bad).encode(), good, b""]))
    done = bounded(SESSIONLOG, "import", exported)
    assert done.code == 0, done.stderr
    assert len(rows(place)) >= 3, "the event after it is imported"


# --- Queries and the index --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        "SELECT hex(zeroblob(400000000))",
        "SELECT replace(hex(zeroblob(10000000)), '0', 'xxxxxxxx')",
        "WITH RECURSIVE c(x, n) AS (VALUES('x', 1) UNION ALL SELECT x||x, n+1 FROM c LIMIT 40) SELECT max(length(x)) FROM c",
        "SELECT fts3_tokenizer('simple')",
    ],
)
def test_a_query_does_not_fill_the_memory(place: projects.Place, query: str) -> None:
    archives.store(place, archives.event("Stop"))
    done = bounded(SESSIONLOG, "sql", query)
    assert done.code == 1, done


def test_big_events_are_indexed_a_few_at_a_time(place: projects.Place) -> None:
    words = "some words of many, " * 150_000
    calls = [archives.call("X", text=f"needle{number} {words}") for number in range(40)]
    archives.store(place, *calls)
    done = measured(SESSIONLOG, "search", "needle7")
    assert done.code == 0 and b"needle7" in done.stdout, done.stderr
    assert done.megabytes < 300


# --- Settings, code -----------------------------------------------------------------------------------------------------


def handler(command: str) -> str:
    group = {"matcher": "Bash", "hooks": [{"type": "command", "command": command}]}
    return json.dumps({"hooks": {"PreToolUse": [group]}})


SETTINGS = {
    "substitutions": handler("$(" * 10_000),
    "commands": handler("a;" * 20_000),
    "pipes": handler("a|" * 20_000),
    "duplicate keys": "{" + ",\n".join(['"hooks": {}'] * 40_000) + "}",
    "nested matcher": json.dumps({"hooks": {"PreToolUse": [{"matcher": "(" * 5000 + ")" * 5000, "hooks": []}]}}),
    "many brackets": json.dumps({"hooks": {"PreToolUse": [{"matcher": "[" * 200_000, "hooks": []}]}}),
    "nested commands": handler("(" * 5000 + ")" * 5000),
    "nested JSON": "[" * 100_000,
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_are_checked_in_time(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "plugin" / "hooks"
    folder.mkdir(parents=True)
    (folder / "hooks.json").write_text(SETTINGS[name])
    assert bounded(SESSIONLOG, "validate", folder / "hooks.json").code in (0, 1)


def test_settings_that_are_no_files_are_not_waited_for(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    (project / ".claude").mkdir()
    os.mkfifo(project / ".claude" / "settings.json")
    (project / ".claude" / "settings.local.json").symlink_to("/dev/zero")
    for words in (["doctor"], ["validate"], ["install", "--dry-run", "--scope", "project"], ["uninstall", "--dry-run"]):
        assert bounded(SESSIONLOG, *words).code in (0, 1), words


@pytest.mark.parametrize(
    "language", ["css+genshitext", "js+genshitext", "matlab", "html+evoque", "j", "psql", "python"]
)
def test_code_is_coloured_in_time_or_not_at_all(language: str) -> None:
    highlight.lines.cache_clear()
    for text in ("\n" * 19_500, "a\n" * 9_500, " \n" * 9_500):
        started = time.thread_time()
        assert len(highlight.lines(text, highlight.for_language(language))) == text.count("\n") + 1
        assert is_in_time(time.thread_time() - started, 0.5)


HOSTILE = ["", "(", '"', "'", "0", "=", "/*", "\\"]


def test_the_languages_that_are_coloured_are_quick() -> None:
    """Each of the texts with some of the languages: in a thorough run, with all."""
    every = 1 if thorough() else 3 * len(HOSTILE)
    for number, unit in enumerate(HOSTILE):
        text = (((unit * 2000)[:1900] + "\n") * 19_500)[:19_500]
        for language in sorted(highlight.LANGUAGES)[0 if thorough() else 3 * number :: every]:
            lexer = highlight.for_language(language)
            assert lexer is not None
            started = time.thread_time()
            highlight.lines(text, lexer)
            assert is_in_time(time.thread_time() - started, 1.5), (language, unit)


# --- The configuration ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["pipe", "device", "holes", "open folder", "open file", "another user"])
def test_a_configuration_of_others_is_ignored(place: projects.Place, kind: str) -> None:
    home = Path(place.home)
    home.mkdir(parents=True, mode=0o700)
    file = home / "config.json"
    match kind:
        case "pipe":
            os.mkfifo(file)
        case "device":
            file.symlink_to("/dev/zero")
        case "holes":
            with open(file, "wb") as out:
                out.truncate(6 << 30)
        case _:
            file.write_text('{"redact": {"enabled": false}}')
            file.chmod(0o600)
    if kind == "open folder":
        home.chmod(0o777)
    if kind == "open file":
        home.chmod(0o755)
        file.chmod(0o666)
    if kind == "another user":
        if os.geteuid():
            pytest.skip("only root can give a file away")
        os.chown(file, 54321, 54321)
    secret = "ghp_" + "a1B2c3" * 6
    given = Path(os.environ["TMPDIR"]) / "given"
    given.write_text(json.dumps(prompt(secret)))
    assert bounded(*PYTHON, HANDLERS / "any_event.py", stdin=given).code == 0
    assert "[redacted:github-token" in rows(place)[0]["prompt"]
    if kind in ("pipe", "device", "holes"):  # which could take forever, or all memory
        assert b"config.json" in bounded(SESSIONLOG, "doctor").stdout
        assert b"config.json" in bounded(SESSIONLOG, "sessions").stderr
    else:
        assert b"config.json" in forking.run("doctor").stdout
        assert b"config.json" in forking.run("sessions").stderr


@pytest.mark.parametrize(("folder", "file"), [(0o700, 0o664), (0o700, 0o600), (0o755, 0o644)])
def test_a_configuration_of_ours_counts(place: projects.Place, folder: int, file: int) -> None:
    Path(place.home).mkdir(parents=True)
    Path(place.home, "config.json").write_text('{"redact": {"enabled": false}}')
    Path(place.home, "config.json").chmod(file)
    Path(place.home).chmod(folder)
    assert config.read(place.home)[1] == ""
    assert not Rules(place.home).enabled
