"""A supervisor is registered only if asked for by name, beside whatever else is in the settings, and taken out again."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from sessionlog.cli import install, uninstall
from sessionlog.errors import SessionlogError
from sessionlog.install import settings_files
from sessionlog.install.commands import is_ours, is_supervisor, reviewer_of, supervisor_command
from sessionlog.install.doctor import examine as doctor
from sessionlog.install.doctor import hooks
from sessionlog.install.settings_json import registered
from sessionlog.install.validate import check as validate
from tests.conftest import ROOT
from tests.helpers.supervising import ASK, STOP, verdict

SCRIPT = re.findall(r'^sessionlog-supervisor = "(.*)"$', (ROOT / "pyproject.toml").read_text(), re.M)[0]

REVIEWERS = [
    "sessionlog review",
    'it\'s "quoted" && $HOME `x`',
    "two\nlines",
    "python3 -c 'print(1)' --reviewer x",
    "评审 --严格",
    " x ",
]


@pytest.fixture(autouse=True)
def machine(home: Path, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client of today on PATH, no managed settings, and the project as the working directory."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "claude").write_text("#!/bin/sh\necho '2.1.325 (Claude Code)'\n")
    (tmp_path / "bin" / "claude").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setattr(settings_files, "MANAGED", tmp_path / "managed")
    monkeypatch.setattr(hooks, "SLOW", 60_000)  # whatever else this machine is doing
    monkeypatch.chdir(project)


@pytest.fixture
def file(home: Path) -> Path:
    return home / ".claude" / "settings.json"


def run(module: Any, *options: str) -> Result:
    result = CliRunner().invoke(module.command, [*options, "--yes"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


def supervisors(file: Path) -> dict[str, list[str]]:
    """The reviewers that are registered, by event."""
    found = registered(json.loads(file.read_text()), is_supervisor)
    return {event: [str(reviewer_of(handler["command"])) for handler in ours] for event, ours in found.items()}


def sh(command: str, payload: Any = STOP, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", "-c", command],
        input=json.dumps(payload),
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_nobody_gets_a_supervisor_who_did_not_ask(file: Path) -> None:
    run(install)
    assert supervisors(file) == {}
    assert "supervis" not in file.read_text()
    assert "supervis" not in "".join(path.read_text() for path in (ROOT / "hooks").glob("*.json"))


def test_it_is_registered_for_stop_and_for_questions(file: Path) -> None:
    result = run(install, "--supervisor", "./review.sh --strict")
    assert "`./review.sh --strict` decides" in result.output
    hooks = json.loads(file.read_text())["hooks"]
    groups = {event: hooks[event][-1] for event in ("Stop", "PreToolUse")}
    handler = {"type": "command", "command": supervisor_command("./review.sh --strict"), "timeout": 600}
    assert groups == {
        "Stop": {"hooks": [handler]},
        "PreToolUse": {"matcher": "AskUserQuestion", "hooks": [handler]},
    }
    assert supervisors(file) == {"Stop": ["./review.sh --strict"], "PreToolUse": ["./review.sh --strict"]}
    assert len(hooks["Stop"]) == len(hooks["PreToolUse"]) == 2  # the recorder's stand beside it


def test_twice_is_once(file: Path) -> None:
    run(install, "--supervisor", "a")
    before = file.read_bytes()
    assert "Already installed" in run(install, "--supervisor", "a").output
    assert "Already installed" in run(install).output
    assert file.read_bytes() == before


def test_another_command_takes_its_place(file: Path) -> None:
    run(install, "--supervisor", "a")
    run(install, "--supervisor", "b")
    assert supervisors(file) == {"Stop": ["b"], "PreToolUse": ["b"]}


def test_an_edited_command_is_still_ours(file: Path) -> None:
    run(install, "--supervisor", "a")
    file.write_text(file.read_text().replace("--reviewer a", "--reviewer a --max-iterations 3"))
    assert supervisors(file) == {"Stop": ["a"], "PreToolUse": ["a"]}
    run(uninstall)
    assert not file.exists()


def test_an_install_without_it_leaves_it_alone(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(install, "--supervisor", "a", "--events", "core")
    groups = [text for text in (json.dumps(group) for group in json.loads(file.read_text())["hooks"]["Stop"])]
    run(install)  # more events: every entry of the recorder is written anew
    assert groups[1] in [json.dumps(group) for group in json.loads(file.read_text())["hooks"]["Stop"]]
    assert supervisors(file) == {"Stop": ["a"], "PreToolUse": ["a"]}
    before = file.read_bytes()
    assert "Already installed" in run(install, "--supervisor", "a").output  # in whatever order
    assert file.read_bytes() == before


BEFORE = [
    None,
    "",
    "{}",
    '{"hooks": {}}',
    '{"hooks": {"Stop": []}}\n',
    '{\n    "model": "opus",\n    "hooks": {"PreToolUse": [{"matcher": "AskUserQuestion", "hooks": '
    '[{"type": "command", "command": "their.sh"}]}]}\n}',
]


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize(
    "steps",
    [
        [["--supervisor", "a"]],
        [["--supervisor", "a"], ["--events", "core"]],
        [[], ["--supervisor", "a"]],
        [["--supervisor", "a"], ["--supervisor", "it's b"], ["--events", "core"], []],
    ],
)
def test_uninstall_gives_the_file_back_to_the_byte(file: Path, before: str | None, steps: list[list[str]]) -> None:
    if before is not None:
        file.parent.mkdir()
        file.write_text(before)
    for options in steps:
        run(install, *options)
    run(uninstall)
    assert (file.read_text() if file.exists() else None) == before


def test_a_dry_run_shows_it_and_writes_nothing(file: Path) -> None:
    output = run(install, "--supervisor", "./review.sh", "--dry-run").output
    assert "sessionlog.supervisor --reviewer ./review.sh" in output
    assert '"matcher": "AskUserQuestion"' in output
    assert not file.exists()


@pytest.mark.parametrize("command", ["", "  "])
def test_a_supervisor_without_a_reviewer_is_refused(file: Path, command: str) -> None:
    result = CliRunner().invoke(install.command, ["--supervisor", command, "--yes"])
    assert isinstance(result.exception, SessionlogError)
    assert not file.exists()


@pytest.mark.parametrize("quiet", [False, True])
@pytest.mark.parametrize("reviewer", REVIEWERS)
def test_every_command_is_sound_shell_and_known_as_ours(reviewer: str, quiet: bool) -> None:
    command = supervisor_command(reviewer, quiet_if_missing=quiet)
    subprocess.run(["/bin/sh", "-n", "-c", command], check=True)
    assert is_supervisor(command) and not is_ours(command)
    assert reviewer_of(command) == reviewer


@pytest.mark.parametrize(
    "command",
    ["supervise --reviewer x", "python3 -m supervisor --reviewer x", "sessionlog supervise --reviewer x", "", None, 5],
)
def test_other_peoples_commands_are_not_ours(command: object) -> None:
    assert not is_supervisor(command)


def test_what_is_registered_decides(file: Path) -> None:
    run(install, "--supervisor", verdict(False, "it's not done"))
    hooks = json.loads(file.read_text())["hooks"]
    done = sh(hooks["Stop"][-1]["hooks"][0]["command"])
    assert (done.returncode, json.loads(done.stdout)) == (0, {"decision": "block", "reason": "it's not done"})
    done = sh(hooks["PreToolUse"][-1]["hooks"][0]["command"], ASK)
    assert json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_its_own_exit_codes_get_through() -> None:
    command = supervisor_command("sleep 1000")
    assert sh(f"{command} --timeout 0.5").returncode == 124
    assert subprocess.run(["/bin/sh", "-c", command], input=b"", capture_output=True, check=False).returncode == 2


def test_without_sessionlog_it_does_not_block(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "executable", "/gone/bin/python3")
    done = sh(supervisor_command("true"))
    assert (done.returncode, done.stdout) == (127, "")  # any code but 2 lets the session stop
    monkeypatch.undo()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "venv" / "bin" / "python"))  # a Python without the package
    done = sh(supervisor_command("true"))
    assert (done.returncode, done.stdout) == (1, "")


def test_a_checkout_cannot_put_itself_in_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shop" / "sessionlog").mkdir()
    (tmp_path / "shop" / "sessionlog" / "__init__.py").write_text("raise SystemExit(2)")
    monkeypatch.chdir(tmp_path / "shop")
    assert sh(supervisor_command(verdict(True)), PYTHONPATH=str(tmp_path / "shop")).returncode == 0


def test_in_a_shared_file_it_is_found_on_the_path_or_silent(project: Path, tmp_path: Path) -> None:
    result = run(install, "--scope", "project", "--supervisor", verdict(False, "x"))
    assert "sessionlog-supervisor is not on your PATH" in result.output
    command = registered(json.loads((project / ".claude/settings.json").read_text()), is_supervisor)["Stop"][0][
        "command"
    ]
    assert str(tmp_path) not in command and sys.prefix not in command
    done = sh(command)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    module, _, function = SCRIPT.partition(":")
    script = tmp_path / "bin" / "sessionlog-supervisor"  # as pip makes it
    script.write_text(f"#!{sys.executable}\nfrom {module} import {function}\n{function}()\n")
    script.chmod(0o755)
    assert json.loads(sh(command).stdout) == {"decision": "block", "reason": "x"}


def test_validate_has_nothing_against_it(file: Path) -> None:
    run(install, "--supervisor", "sessionlog review; exit 2", "--events", "core")
    assert [finding for target in validate.targets(file) for finding in validate.check(target)] == []


def findings(name: str) -> list[tuple[str, str]]:
    return [(result.level, result.text) for result in doctor.examine(Path.cwd()) if result.name == name]


def test_the_doctor_knows_it(file: Path, tmp_path: Path) -> None:
    run(install)
    assert findings("supervisor") == []
    run(install, "--supervisor", f"touch {tmp_path}/asked")
    ((level, text),) = findings("supervisor")
    assert level == "ok" and "`touch /" in text and "decides" in text
    assert not (tmp_path / "asked").exists()
    assert {level for level, _ in findings("hooks")} == {"ok"}  # the recorder's are still told from it
    file.write_text(file.read_text().replace(sys.executable, "/gone/bin/python3"))
    ((level, text),) = findings("supervisor")
    assert level == "problem" and "/gone/bin/python3 is gone" in text


def test_the_doctor_misses_half_a_supervisor(file: Path) -> None:
    run(install, "--supervisor", "a")
    values = json.loads(file.read_text())
    values["hooks"]["PreToolUse"].pop()
    file.write_text(json.dumps(values))
    ((level, text),) = findings("supervisor")
    assert level == "problem" and "not asked at PreToolUse" in text
    run(install, "--supervisor", "a")
    assert [level for level, _ in findings("supervisor")] == ["ok"]
