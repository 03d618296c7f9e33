"""A deleted session comes back: byte for byte, less its secrets, and never over another file."""

from __future__ import annotations

import filecmp
import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sessionlog.archive.place import Place
from sessionlog.cli import audit, import_, restore
from sessionlog.errors import SessionlogError
from sessionlog.maintain import merge
from sessionlog.transcripts import importer
from tests.conftest import rows
from tests.helpers import transcript_files as made
from tests.helpers.archives import event, store
from tests.helpers.transcript_files import archived, line, shop, transcript

SECRETS = {
    "github-token": "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2,
    "password": "correct-horse-42-battery",
}
TEXT = f'export GITHUB_TOKEN={SECRETS["github-token"]}\npassword: "{SECRETS["password"]}" 完成'


def run(command: object, *arguments: str) -> Result:
    return CliRunner().invoke(command.command, list(arguments), catch_exceptions=False)  # type: ignore[attr-defined]


def test_a_deleted_session_comes_back_byte_for_byte(home: Path, tmp_path: Path) -> None:
    folder = made.recorded(home)
    importer.run()
    before = tmp_path / "before"
    folder.rename(before)
    for session_id in (made.SESSION, made.COMPACTED, made.CLEARED):
        result = run(restore, session_id[:6], "--all")
        assert "restored" in result.output and f"claude --resume {session_id}" in result.output
    names = [str(path.relative_to(before)) for path in before.rglob("*") if path.is_file()]
    assert len(names) == 7
    assert filecmp.cmpfiles(before, folder, names, shallow=False) == (names, [], [])
    assert not [path for path in folder.rglob("*") if path.name.endswith(".draft")]
    assert (folder / names[0]).stat().st_mode & 0o777 == 0o600


def test_a_dry_run_and_another_folder(home: Path, tmp_path: Path) -> None:
    folder = made.recorded(home)
    importer.run()
    shutil.rmtree(folder)
    rescued = tmp_path / "rescued"
    result = run(restore, made.SESSION, "--all", "--to", str(rescued), "--dry-run", "--json")
    assert {file["state"] for file in json.loads(result.output)} == {"to be restored"}
    assert not rescued.exists()
    run(restore, made.SESSION, "--all", "--to", str(rescued))
    assert len(list(rescued.rglob("*.json*"))) == 5
    assert not folder.exists()


def test_another_file_is_never_overwritten(home: Path) -> None:
    path = transcript(home, line("one"))
    importer.run()
    assert "there already" in run(restore, "s", "--all").output
    path.write_bytes(b"somebody's own\n")
    with pytest.raises(SessionlogError, match="not touched"):
        run(restore, "s", "--all")
    assert path.read_bytes() == b"somebody's own\n"


def test_a_session_without_a_transcript_says_so(home: Path, place: Place) -> None:
    store(place, event("UserPromptSubmit", "other", prompt="hello"))
    with pytest.raises(SessionlogError, match="no transcript of session other"):
        run(restore, "other", "--all")


def test_a_session_whose_lines_are_in_another_file_comes_back_with_that_file(home: Path) -> None:
    path = transcript(home, line("one"), line("of another session", session_id="other"))
    importer.run()
    before = path.read_bytes()
    path.unlink()
    run(restore, "other", "--all")
    assert path.read_bytes() == before


@pytest.mark.parametrize("way", ["an older backup", "a merge", "shrunk"])
def test_the_fullest_version_comes_back_and_never_a_shorter_one(
    home: Path, tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [line(f"number {number}") for number in range(4)]
    older = tmp_path / "projects" / "-home-dev-shop" / "s.jsonl"
    older.parent.mkdir(parents=True)
    older.write_bytes(b"".join(lines[:2]))
    path = transcript(home, *lines)
    if way == "a merge":
        monkeypatch.setenv("SESSIONLOG_HOME", str(tmp_path / "other"))
        importer.run([str(older)])
        theirs = shop().db
        monkeypatch.delenv("SESSIONLOG_HOME")
        importer.run()
        merge.run(shop(), [theirs])
    else:
        importer.run()
        if way == "shrunk":
            path.write_bytes(b"".join(lines[:2]))
        importer.run([str(older)] if way == "an older backup" else ())
    path.unlink()
    shown = run(restore, "s", "--all").output
    assert path.read_bytes() == b"".join(lines)
    assert "versions" not in shown


def test_versions_that_went_apart_are_named_and_can_all_be_had(home: Path, tmp_path: Path) -> None:
    first, left, right = line("first"), [line("left"), line("left again")], line("right")
    path = transcript(home, first, *left)
    importer.run()
    path.write_bytes(first + right)
    importer.run()
    path.unlink()
    result = CliRunner().invoke(restore.command, ["s", "--all"], catch_exceptions=False)
    assert path.read_bytes() == first + b"".join(left)
    assert "Other archived versions have 1 line that this one has not" in result.output
    run(restore, "s", "--all", "--versions", "--to", str(tmp_path))
    assert (tmp_path / "-home-dev-shop" / "s.jsonl").read_bytes() == first + b"".join(left)
    assert (tmp_path / "-home-dev-shop" / "s.jsonl.2").read_bytes() == first + right


def test_secrets_are_nowhere_in_the_archive_and_the_rest_of_the_line_is_as_it_was(home: Path) -> None:
    call = {
        "type": "tool_use",
        "id": "toolu_1",
        "name": "Bash",
        "input": {"command": TEXT, "password": SECRETS["password"]},
    }
    lines = [
        line("before", number=1e-07, spaced=[1, 2]),
        line(TEXT, costs=0.1),
        line(type_="assistant", message={"content": [call]}, toolUseResult={"stdout": TEXT}),
        b'{"broken": "' + TEXT.replace("\n", " ").encode() + b"\n",
        line("after"),
    ]
    path = transcript(home, *lines)
    results = path.with_suffix("") / "tool-results"
    results.mkdir(parents=True)
    (results / "toolu_1.txt").write_text(f"-----\n{TEXT}\n")
    summary = importer.run()
    assert summary.replacements >= 7
    everything = made.everything(shop())
    for secret in SECRETS.values():
        assert secret.encode() not in everything
    assert "[redacted:github-token:" in rows(shop(), "SELECT text FROM transcript_parts WHERE line = 2")[0]["text"]

    before = path.read_bytes()
    shutil.rmtree(home / ".claude")
    result = run(restore, "s", "--all")
    assert "secrets redacted" in result.output
    after = path.read_bytes()
    assert after.count(b"\n") == before.count(b"\n")
    for kind, secret in SECRETS.items():
        start = after.index(f"[redacted:{kind}:".encode())
        before = before.replace(secret.encode(), after[start : after.index(b"]", start) + 1])
    assert after == before
    for text in after.splitlines():
        if b"broken" not in text:
            json.loads(text)


def test_those_who_want_every_byte_can_have_it(home: Path) -> None:
    folder = home / ".local/share/sessionlog"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text('{"transcripts": {"raw": true}}')
    path = transcript(home, line(TEXT))
    assert importer.run().replacements == 0
    assert archived(shop(), path) == path.read_bytes()


# --- The commands -----------------------------------------------------------------------------------------------------


def test_import_tells_what_it_did(home: Path) -> None:
    assert "no transcripts here" in run(import_).output
    made.recorded(home)
    assert "268 KB are new, in 8 files of 3 sessions in 1 project" in run(import_, "--dry-run").output
    assert not Path(shop().db).exists()
    assert "Archived 268 KB, 152 messages, from 8 files of 3 sessions in 1 project" in run(import_).output
    assert "Nothing new in 8 files" in run(import_).output
    assert run(import_, "--quiet").output == ""


def test_import_takes_files_folders_and_dates(home: Path, tmp_path: Path) -> None:
    folder = made.recorded(home)
    kept = tmp_path / "backup"
    folder.parent.rename(kept)
    assert "There are no transcripts here" in run(import_, "--since", "2099-01-01", str(kept)).output
    told = json.loads(run(import_, "--json", str(kept / "-home-dev-shop" / f"{made.COMPACTED}.jsonl")).output)
    assert (told["files"], told["sessions"]) == (1, [made.COMPACTED])
    told = json.loads(run(import_, "--json", str(kept)).output)
    assert (told["files"], told["unchanged"]) == (6, 1)
    with pytest.raises(SessionlogError, match="there is no such file or folder"):
        run(import_, str(tmp_path / "nothing"))


def test_import_shows_what_it_skipped(home: Path) -> None:
    path = transcript(home, line(), *[b"broken\n"] * 30)
    output = run(import_).output
    assert f"skipped {path}:2: " in output
    assert "and 10 more; --json lists them" in output


def test_audit_tells_of_gaps(home: Path) -> None:
    path = made.recorded(home) / f"{made.SESSION}.jsonl"
    importer.run()
    path.write_bytes(path.read_bytes()[:2000].rpartition(b"\n")[0])
    importer.run()
    assert "gaps" in run(audit, "--all").output
    rows_ = json.loads(run(audit, "gaps", "--all", "--json").output)
    gaps = [(row["gap"], row["tool_use_id"]) for row in rows_ if row["session_id"] == made.SESSION]
    assert ("only in the transcript", "toolu_0051_1") in gaps
    assert ("changed after it was archived", None) in gaps
    assert f"session {made.SESSION}" in run(audit, "gaps", "--all").output
    with pytest.raises(SessionlogError, match="no audit 'nonsense'"):
        run(audit, "nonsense", "--all")
