"""What the user chose not to record: excluded projects and files, pauses, the output of tools."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sessionlog.archive import read as archives
from sessionlog.archive.choices import NOT_RECORDED, Choices
from sessionlog.archive.place import Place
from sessionlog.transcripts import importer
from tests.cli.test_cli import failing, printed, run
from tests.conftest import Hook, rows
from tests.helpers.transcript_files import archived, line, transcript
from tests.record.test_hook import prompt, tool


def chosen(home: Path, **section: Any) -> None:
    folder = home / ".local" / "share" / "sessionlog"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps({"record": section}))
    for path in (folder, folder / "config.json"):
        path.chmod(0o700 if path.is_dir() else 0o600)


def read(path: str, number: int = 1) -> dict[str, Any]:
    return tool(number, tool_name="Read", tool_input={"file_path": path}, tool_response={"file": {"content": "x"}})


def test_an_excluded_project_is_not_recorded_and_not_imported(home: Path, hook: Hook, place: Place) -> None:
    assert printed("exclude", place.project)
    assert hook(prompt("private")).returncode == 0
    assert not os.path.exists(place.db)
    transcript(home, line("private too", cwd=place.project))
    summary = importer.run()
    assert (summary.messages, summary.left_out) == (0, 1) and not os.path.exists(place.db)
    assert "Everything is recorded." in run("exclude", "--remove", place.project).stderr
    hook(prompt("public"))
    assert [row["prompt"] for row in rows(place)] == ["public"]


def test_calls_on_excluded_files_are_not_recorded(hook: Hook, place: Place) -> None:
    printed("exclude", "*.pem", "secrets/")
    for number, name in enumerate(["key.pem", "secrets/deep/a.txt", "deep/secrets/a.txt", "cart.py"]):
        hook(read(f"{place.project}/{name}", number))
    assert [row["file_path"] for row in rows(place)] == [f"{place.project}/cart.py"]


def test_nothing_is_recorded_in_a_pause_also_not_by_a_later_import(home: Path, hook: Hook, place: Place) -> None:
    hook(prompt("before", prompt_id="1"))
    assert "Nothing is recorded until" in printed("pause", "2h")
    hook(prompt("in the pause", prompt_id="2"))
    assert "nothing is recorded until" in run("doctor").output
    assert printed("pause", "--off") == "Sessions are recorded.\n"
    hook(prompt("after", prompt_id="3"))
    assert [row["prompt"] for row in rows(place)] == ["before", "after"]


def test_lines_of_a_pause_are_left_out_of_an_import(home: Path, project: Path) -> None:
    chosen(home, pauses=[["2026-11-16T10:00:00.000Z", "2026-11-16T11:00:00.000Z"]])
    stamps = [f"2026-11-16T{hour}:30:00.000Z" for hour in ("09", "10", "11")]
    path = transcript(home, *(line(f"at {stamp}", timestamp=stamp, cwd=str(project)) for stamp in stamps))
    assert importer.run().messages == 2
    (place,) = archives.all_places()
    assert stamps[1].encode() not in archived(place, path) and stamps[2].encode() in archived(place, path)


def test_without_the_output_of_tools(home: Path, hook: Hook, place: Place) -> None:
    assert "record.tool_output false" in printed("config", "record.tool_output", "false")
    hook(tool(1))
    hook({**tool(2), "hook_event_name": "PostToolUseFailure", "error": "Exit code 3\na secret of the output"})
    ok, failed = rows(place)
    assert json.loads(ok["tool_response"]) == NOT_RECORDED and ok["command"] == "echo 1"
    assert failed["error"] == f"Exit code 3\n{NOT_RECORDED}"
    result = {"type": "tool_result", "tool_use_id": "t", "content": "long output"}
    path = transcript(home, line(message={"role": "user", "content": [result]}, cwd=place.project))
    importer.run()
    assert b"long output" not in archived(place, path)


def test_an_ordinary_config_costs_no_import(home: Path, hook: Hook, place: Place) -> None:
    chosen(home)
    (home / ".local/share/sessionlog/config.json").write_text("{}")
    hook(prompt("x"))
    assert len(rows(place)) == 1


NAMES = ("a", "b.pem", "build", "x.py")
PATHS = ["/".join(parts) for length in (1, 2, 3) for parts in itertools.product(NAMES, repeat=length)]
PATTERNS = [
    "a",
    "*.pem",
    "/a",
    "a/b.pem",
    "**/x.py",
    "build/",
    "a/**",
    "a/*/x.py",
    "b.pe?",
    "[ab]*",
    "[!a]",
    "*",
    "a/**/a",
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_mean_what_they_mean_to_git(tmp_path: Path, pattern: str) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / ".git" / "info").mkdir(exist_ok=True)
    (tmp_path / ".git" / "info" / "exclude").write_text(f"{pattern}\n")
    # git looks whether a path is a folder; every name but the last one is.
    asked = subprocess.run(
        ["git", "-C", tmp_path, "check-ignore", "--no-index", "--stdin"],
        input="\n".join(PATHS),
        capture_output=True,
        text=True,
        check=False,
    )
    ignored = set(asked.stdout.split())
    project = "/p"
    ours = pattern if not pattern.startswith("/") else f"{project}{pattern}"
    exclude = Choices(json.dumps({"record": {"exclude": [ours]}}).encode(), "/home/me")
    found = {path for path in PATHS if exclude.excludes(f"{project}/{path}", project)}
    if pattern.endswith("/"):  # whether the last name is a folder, only the disk knows
        found = {path for path in found if path in ignored or not path.endswith(pattern.strip("/"))}
    assert found == ignored


def test_what_is_wrong_is_named(home: Path, place: Place, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    chosen(home, exclude="~/private", pauses=[1], tool_output="no")
    text = run("doctor").output
    for problem in ('"exclude" is not a list', '"pauses" is not a list', '"tool_output" is neither'):
        assert problem in text
    assert "record.tool_output is true or false" in failing(
        monkeypatch, capsys, "config", "record.tool_output", "maybe"
    )
    assert "did you mean record.exclude" in failing(monkeypatch, capsys, "config", "record.exclud")
    assert run("pause", "0h").exit_code == 2  # not for ever
    for name, value, problem in (
        ("redact.patterns", '[{"kind": "mine", "regex": "("}]', "the regex of 'mine' is wrong"),
        ("redact.patterns", '["x"]', 'a pattern needs a "regex"'),
        ("redact.allow", "[1]", "holds more than strings"),
        ("record.exclude", "[1]", "holds more than strings"),
    ):
        before = (home / ".local/share/sessionlog/config.json").read_bytes()
        assert problem in failing(monkeypatch, capsys, "config", name, value)
        assert (home / ".local/share/sessionlog/config.json").read_bytes() == before
    (home / ".local/share/sessionlog/config.json").write_text("{")
    assert "is not JSON" in failing(monkeypatch, capsys, "exclude", "~/x")


def test_a_change_keeps_the_rest_and_one_backup(home: Path, place: Place) -> None:
    chosen(home, tool_output=True)
    printed("exclude", "~/private")
    folder = home / ".local/share/sessionlog"
    assert json.loads((folder / "config.json").read_text()) == {
        "record": {"tool_output": True, "exclude": ["~/private"]}
    }
    assert json.loads((folder / "config.json.sessionlog-backup").read_text()) == {"record": {"tool_output": True}}
