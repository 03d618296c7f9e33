"""What `redact` took out by name stays out, whatever is recorded, imported, merged or restored later."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import zlib
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from sessionlog.archive import place as projects
from sessionlog.cli.main import cli as main
from sessionlog.maintain import memory
from sessionlog.redact import remembered
from sessionlog.redact.rules import Rules
from sessionlog.transcripts import importer
from tests.conftest import Hook, rows
from tests.helpers import transcript_files as made
from tests.helpers.archives import bash, event, store
from tests.helpers.transcript_files import line, shop, transcript

# Nothing that a rule would find by itself.
VALUE = "the blue heron of Lindisfarne"


def sessionlog(*words: str, stdin: str = "") -> str:
    result = CliRunner().invoke(main, list(words), input=stdin, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def redact(*words: str) -> str:
    return sessionlog("redact", *words, "--all", "--yes")


def everything_in(folder: str) -> bytes:
    return b"\0".join(path.read_bytes() for path in Path(folder).rglob("*") if path.is_file())


@pytest.mark.parametrize("how", ["--value", "--pattern"])
@pytest.mark.parametrize("change", ["grown", "touched", "another path", "replaced", "restored and touched"])
def test_a_redacted_value_does_not_return_with_an_import(home: Path, how: str, change: str, tmp_path: Path) -> None:
    path = transcript(home, line(f"he saw {VALUE} again"), line("second"))
    importer.run()
    assert VALUE.encode() in made.everything(shop())
    redact(how, VALUE)
    match change:
        case "grown":
            with path.open("ab") as file:
                file.write(line("third") + line(f"and {VALUE} once more"))
        case "touched":
            os.utime(path, (1, 1))
        case "another path":
            shutil.copytree(home / ".claude", tmp_path / "copy")
            importer.run([str(tmp_path / "copy")])
        case "replaced":
            path.write_bytes(line(f"now it begins with {VALUE}") + path.read_bytes())
        case "restored and touched":
            path.unlink()
            sessionlog("restore", "s", "--all")
            os.utime(path, (1, 1))
    importer.run()
    assert VALUE.encode() not in made.everything(shop())
    if path.exists() and change != "restored and touched":
        path.unlink()
    sessionlog("restore", "s", "--all", "--to", str(tmp_path / "rescued"))
    assert VALUE.encode() not in everything_in(str(tmp_path / "rescued"))
    assert b"[redacted:" in everything_in(str(tmp_path / "rescued"))


def chunk() -> tuple[bytes, bytes]:
    """The hash of the only chunk there is, and its text."""
    with closing(sqlite3.connect(shop().db)) as connection:
        ((found, data),) = connection.execute("SELECT hash, data FROM transcript_chunks").fetchall()
    return found, zlib.decompress(data)


@pytest.mark.parametrize("how", ["redact", "import", "import before hashes had keys", "prune"])
def test_no_hash_tells_a_guess_from_what_was_taken_out(home: Path, how: str) -> None:
    """And an import knows the file all the same."""
    secret = VALUE if how in ("redact", "prune") else "Zw9kQ4tR7xPm2LsB"
    path = transcript(home, line(f"export DB_PASSWORD={secret}"))
    importer.run()
    match how:
        case "redact":
            assert chunk()[0] == hashlib.blake2b(path.read_bytes(), digest_size=16).digest()
            redact("--value", secret)
        case "import before hashes had keys":
            plain = hashlib.blake2b(path.read_bytes(), digest_size=16).digest()
            with closing(sqlite3.connect(shop().db)) as connection, connection:
                connection.execute("UPDATE transcript_chunks SET hash = ?", (plain,))
            redact("--value", "something else")
        case "prune":
            sessionlog("prune", "--session", "s", "--all", "--yes")
    found, text = chunk()
    assert secret.encode() not in text and len(found) == 20
    for guess in (path.read_bytes(), hashlib.blake2b(path.read_bytes(), digest_size=16).digest()):
        assert found not in (hashlib.blake2b(guess, digest_size=size).digest() for size in (16, 20))
    os.utime(path, (1, 1))
    assert importer.run().replaced == 0 and chunk() == (found, text)


def test_what_a_merge_takes_out_is_known_to_the_next_import(home: Path, tmp_path: Path) -> None:
    path = transcript(home, line(f"he saw {VALUE}"))
    importer.run()
    sessionlog("backup", str(tmp_path / "before.db"), "--project", "/home/dev/shop")
    redact("--value", VALUE)
    for file in Path(shop().home).glob("*.db*"):
        file.unlink()
    sessionlog("merge", str(tmp_path / "before.db"), "--into", "/home/dev/shop", "--yes")
    assert len(chunk()[0]) == 20 and VALUE.encode() not in chunk()[1]
    os.utime(path, (1, 1))
    assert importer.run().replaced == 0


def test_two_machines_have_one_file(home: Path, tmp_path: Path) -> None:
    """Its secret has another fingerprint on each of them, and the file another hash."""
    path = transcript(home, line("export DB_PASSWORD=Zw9kQ4tR7xPm2LsB"))
    importer.run()
    there = chunk()
    sessionlog("backup", str(tmp_path / "there.db"), "--project", "/home/dev/shop")
    shutil.rmtree(shop().home)
    with path.open("ab") as file:
        file.write(line("second"))
    importer.run()
    sessionlog("merge", str(tmp_path / "there.db"), "--into", "/home/dev/shop", "--yes")
    assert there[1] not in chunk()[1] and b"second" in chunk()[1]


@pytest.mark.parametrize(
    "value", [VALUE, 'with "quotes" and \\slashes\\', "工作是秘密的", "4111111111111111", "a" * 300, "b" * 64 + "c"]
)
def test_a_hook_keeps_it_out(place: projects.Place, hook: Hook, value: str) -> None:
    store(place, event("UserPromptSubmit", prompt=f"it is {value}"))
    redact("--value", value)
    hook(
        {**event("UserPromptSubmit", session_id="s2"), "prompt": f"x{value}y", "nested": {value: [json.dumps([value])]}}
    )
    hook({**event("Notification", session_id="s2"), "message": "a number", "number": 4111111111111111})
    assert len(rows(place, "SELECT id FROM events")) == 3
    stored = everything_in(place.home)
    for spelling in remembered.spellings(value):
        assert spelling.encode() not in stored
    marker = f"[redacted:value:{memory.listed(place.home)[0].name}]"
    assert rows(place, "SELECT prompt FROM events WHERE session_id = 's2'")[0]["prompt"] == f"x{marker}y"


@pytest.mark.parametrize(
    "config", [{"redact": {"enabled": False}}, {"redact": {"allow": [VALUE]}}, {"transcripts": {"raw": True}}]
)
def test_what_was_named_stays_out_whatever_the_config_says(
    home: Path, place: projects.Place, hook: Hook, config: dict[str, object]
) -> None:
    store(place, event("UserPromptSubmit", prompt=VALUE))
    redact("--value", VALUE)
    Path(place.home, "config.json").write_text(json.dumps(config))
    hook({**event("UserPromptSubmit"), "prompt": f"again: {VALUE}"})
    transcript(home, line(VALUE))
    importer.run()
    assert VALUE.encode() not in everything_in(place.home).replace(json.dumps(config).encode(), b"")
    assert VALUE.encode() not in made.everything(shop())


def test_neither_a_merge_nor_an_export_brings_it_back(place: projects.Place, tmp_path: Path) -> None:
    store(place, event("UserPromptSubmit", prompt=f"it is {VALUE}"), bash("ls"))
    backup, exported = tmp_path / "backup.db", tmp_path / "exported.jsonl"
    sessionlog("backup", str(backup), "--project", place.project)
    sessionlog("export", "--format", "jsonl", "--project", place.project, "-o", str(exported))
    assert VALUE in exported.read_text()
    redact("--value", VALUE)
    before = rows(place, "SELECT id FROM events")
    sessionlog("merge", str(backup), "--into", place.project, "--yes")
    sessionlog("import", str(exported))
    assert VALUE.encode() not in made.everything(place)
    assert rows(place, "SELECT id FROM events") == before, "what came is what is there already, cleaned alike"


def test_restore_takes_out_what_an_archive_still_has(home: Path, place: projects.Place, tmp_path: Path) -> None:
    path = transcript(home, line(f"he saw {VALUE}"), line("second"))
    importer.run()
    memory.remember(place.home, [], [VALUE])
    path.unlink()
    sessionlog("restore", "s", "--all")
    assert VALUE not in path.read_text() and path.read_text().count("\n") == 2
    assert "there already" in sessionlog("restore", "s", "--all")


def test_the_value_is_nowhere_in_the_clear_and_only_this_key_finds_it(place: projects.Place) -> None:
    store(place, event("UserPromptSubmit", prompt=VALUE))
    redact("--value", VALUE)
    path = Path(place.home, remembered.FILE)
    assert path.stat().st_mode & 0o777 == 0o600
    assert not any(word in path.read_text() for word in VALUE.split())
    data = f"a {VALUE} b".encode()
    assert Rules(place.home).suspects(data)
    Path(place.home, "redact.key").write_bytes(b"k" * 32)
    assert not Rules(place.home).suspects(data)


def test_the_list_names_them_and_one_can_be_lifted(place: projects.Place, hook: Hook) -> None:
    store(place, event("UserPromptSubmit", prompt=VALUE))
    assert "Nothing is remembered" in sessionlog("redact", "--remembered")
    redact("--value", VALUE, "--pattern", "heron-[0-9]+")
    listed = memory.listed(place.home)
    assert [entry.kind for entry in listed] == ["value", "pattern"]
    shown = sessionlog("redact", "--remembered")
    assert all(entry.name in shown for entry in listed) and "heron-[0-9]+" in shown and VALUE not in shown
    doctor = CliRunner().invoke(main, ["doctor"]).output
    assert "1 value and 1 pattern stay out" in doctor
    redact("--value", VALUE)
    assert len(memory.listed(place.home)) == 2, "the same value twice is one memory"
    sessionlog("redact", "--forget", listed[0].name)
    assert [entry.kind for entry in memory.listed(place.home)] == ["pattern"]
    hook({**event("UserPromptSubmit", session_id="s2"), "prompt": f"{VALUE} heron-12"})
    (row,) = rows(place, "SELECT prompt FROM events WHERE session_id = 's2'")
    assert row["prompt"].startswith(f"{VALUE} [redacted:pattern:")
    missing = CliRunner().invoke(main, ["redact", "--forget", "0123456789"])
    assert missing.exit_code and "0123456789" in str(missing.exception or missing.output)


def test_a_dry_run_remembers_nothing(place: projects.Place) -> None:
    store(place, event("UserPromptSubmit", prompt=VALUE))
    sessionlog("redact", "--value", VALUE, "--all", "--dry-run")
    assert not Path(place.home, remembered.FILE).exists()


@pytest.mark.parametrize("damage", [b"{", b'{"version":1}', b'{"version":9,"values":[],"patterns":[]}', b"[" * 9999])
def test_a_damaged_list_loses_no_event_and_the_doctor_names_it(
    place: projects.Place, hook: Hook, damage: bytes
) -> None:
    store(place, event("UserPromptSubmit", prompt=VALUE))
    Path(place.home, remembered.FILE).write_bytes(damage)
    hook({**event("UserPromptSubmit", session_id="s2"), "prompt": "password=hunter22"})
    (row,) = rows(place, "SELECT prompt FROM events WHERE session_id = 's2'")
    assert "[redacted:password:" in row["prompt"]
    assert remembered.FILE in CliRunner().invoke(main, ["doctor"]).output


def test_an_event_without_memories_imports_nothing_for_them(place: projects.Place) -> None:
    Path(place.home).mkdir(parents=True, exist_ok=True)
    code = (
        "import sys; from sessionlog.redact.rules import Rules\n"
        f"Rules({place.home!r}).suspects(b'{{}}'); print([name for name in sys.modules if 'remember' in name])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_many_values_are_found_among_each_other(tmp_path: Path) -> None:
    values = [f"value number {number} of them" for number in range(50)] + ["value number 7", "them"]
    memory.remember(str(tmp_path), [], values)
    rules = Rules(str(tmp_path))
    text = " ".join(values)
    cleaned = rules.clean([text], rules.suspects(text.encode()))[0]
    assert "number" not in cleaned and cleaned.count("[redacted:value:") >= 52
    assert rules.clean([cleaned], rules.suspects(cleaned.encode())) == [cleaned], "markers are left alone"


def test_verify_is_content_after_a_value_was_kept_out(place: projects.Place, hook: Hook) -> None:
    store(place, event("UserPromptSubmit", prompt=VALUE))
    redact("--value", VALUE)
    hook({**event("UserPromptSubmit"), "prompt": VALUE})
    sessionlog("verify", "--project", place.project)
    with closing(sqlite3.connect(place.db)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
