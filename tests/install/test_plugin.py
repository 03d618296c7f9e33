"""The Claude Code plugin: it needs a Python and nothing else, and without one it harms nobody."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sessionlog import __version__
from sessionlog.agents.claude_code.events import CORE, EVENTS, RECORDED
from sessionlog.archive import place as projects
from sessionlog.install.commands import parse_version
from sessionlog.install.validate import check as validate
from tests.conftest import PAYLOAD_FILES, ROOT, Hook, rows
from tests.helpers.recording import record
from tools.generate import hooks_file, plugin_events

HOOK_FILES = [ROOT / "hooks" / name for name in plugin_events()]
REPORTS_ITSELF = "import sys; sys.stderr.write(repr([sys.argv[1:], sys.flags.isolated, sys.flags.no_site, sys.path]))"

PASSES_FOR_NEW = '#!/bin/sh\ncase "$*" in *version_info*) exit 0;; esac\n'
OLD_PYTHON = "#!/bin/sh\necho 'SyntaxError: invalid syntax' >&2\nexit 1\n"
ANCIENT_PYTHON = "#!/bin/sh\necho 'Unknown option: -I' >&2\nexit 2\n"


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """A copy of what makes up the plugin, in a folder with a space in its name."""
    folder = tmp_path / "plugins cache" / "sessionlog"
    for part in (".claude-plugin", "bin", "commands", "hooks", "sessionlog", "skills"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def commands(folder: Path) -> dict[str, str]:
    """What the plugin registers, by event."""
    found = {}
    for file in HOOK_FILES:
        for event, groups in json.loads((folder / "hooks" / file.name).read_text())["hooks"].items():
            ((handler,),) = [group["hooks"] for group in groups]
            found[event] = handler["command"]
    return found


def sh(
    command: str, plugin: Path, payload: Any = None, path: str = "/usr/bin:/bin"
) -> subprocess.CompletedProcess[str]:
    """Run a hook of the plugin as the client does, in an environment with nothing else in it."""
    environment = {"HOME": os.environ["HOME"], "PATH": path, "CLAUDE_PLUGIN_ROOT": str(plugin)}
    environment["CLAUDE_PROJECT_DIR"] = os.environ["CLAUDE_PROJECT_DIR"]
    return subprocess.run(
        ["/bin/sh", "-c", command],
        input=json.dumps(payload or {"session_id": "s", "hook_event_name": "Stop"}),
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )


def without_versioned_python(plugin: Path) -> None:
    """As on a machine where no Python has a name that tells its version."""
    script = plugin / "hooks" / "record.sh"
    text, count = re.subn(r"^for python in .*;", "for python in /gone/python3.1[0-9];", script.read_text(), flags=re.M)
    assert count == 1
    script.write_text(text)


# --- What it says -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", plugin_events())
def test_the_hooks_are_what_the_code_says(name: str) -> None:
    assert (ROOT / "hooks" / name).read_text() == hooks_file(plugin_events()[name]), "type: python tools/generate.py"


def test_no_file_names_an_event_that_is_too_new_for_its_clients() -> None:
    files = plugin_events()
    assert sorted(event for events in files.values() for event in events) == sorted(RECORDED)
    assert files.pop("hooks.json") == list(CORE)
    for name, events in files.items():
        version = parse_version(name)
        assert version and all(EVENTS[event].since <= version for event in events)
    manifest = json.loads((ROOT / ".claude-plugin" / "plugin.json").read_text())
    assert manifest["hooks"] == [f"./hooks/{name}" for name in files]  # hooks.json is found without being named


def test_the_manifests_agree_with_the_package() -> None:
    manifest, market = (
        json.loads((ROOT / ".claude-plugin" / name).read_text()) for name in ("plugin.json", "marketplace.json")
    )
    assert (manifest["name"], manifest["version"]) == ("sessionlog", __version__)  # `sessionlog doctor` knows the name
    assert [(entry["name"], entry["source"]) for entry in market["plugins"]] == [("sessionlog", "./")]


def test_validate_finds_no_fault_in_it() -> None:
    findings = [finding for target in validate.targets(ROOT) for finding in validate.check(target)]
    assert {finding.rule for finding in findings} <= {"V-HK-03"}  # events that the specification does not know
    assert not validate.failed(findings)
    (target,) = validate.targets(ROOT / "hooks" / "hooks.json")
    assert validate.check(target) == []


# --- What it does -----------------------------------------------------------------------------------------------------


def test_every_command_records_from_a_copy_in_another_folder(plugin: Path, place: projects.Place) -> None:
    for event, command in commands(plugin).items():
        done = sh(command, plugin, {"session_id": "s", "hook_event_name": event})
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), event
    assert [(row["event"], row["via"]) for row in rows(place)] == [(event, "plugin") for event in commands(plugin)]


@pytest.mark.parametrize("versioned", [True, False], ids=["versioned name", "python3 on PATH"])
def test_no_third_party_package_can_be_imported(plugin: Path, project: Path, tmp_path: Path, versioned: bool) -> None:
    (plugin / "hooks" / "any_event.py").write_text(REPORTS_ITSELF)
    (tmp_path / "python3").symlink_to(sys.executable)
    if not versioned:
        without_versioned_python(plugin)
    arguments, isolated, no_site, path = eval(sh(commands(plugin)["Stop"], plugin, path=f"{tmp_path}:/bin").stderr)
    assert (arguments, isolated, no_site) == (["Stop"], 1, 1)
    assert not [entry for entry in path if "-packages" in entry]


def test_an_empty_path_is_no_obstacle(plugin: Path, project: Path) -> None:
    assert sh(commands(plugin)["Stop"], plugin, path="").returncode == 0


@pytest.mark.parametrize("gone", ["", "hooks/record.sh", "hooks/any_event.py", "sessionlog"])
def test_a_plugin_that_was_removed_under_a_session_never_ends_with_2(plugin: Path, project: Path, gone: str) -> None:
    command = commands(plugin)["UserPromptSubmit"]
    (plugin / gone).rename(plugin.parent / "moved")
    done = sh(command, plugin)
    assert (done.returncode, done.stdout) == (1, "")


@pytest.mark.parametrize(
    ("python3", "at_start", "later"),
    [
        (None, 1, 0),
        (OLD_PYTHON, 1, 0),
        (ANCIENT_PYTHON, 1, 0),
        (f"{PASSES_FOR_NEW}cat >/dev/null\n", 0, 0),
        (f"{PASSES_FOR_NEW}exit 1\n", 1, 1),
        (f"{PASSES_FOR_NEW}exit 2\n", 1, 1),
        (f"{PASSES_FOR_NEW}kill -9 $$\n", 1, 1),
    ],
    ids=["none", "too old", "ancient", "works", "fails", "exits 2", "killed"],
)
def test_a_missing_python_is_told_once_a_session_and_blocks_nothing(
    plugin: Path, project: Path, tmp_path: Path, python3: str | None, at_start: int, later: int
) -> None:
    without_versioned_python(plugin)
    if python3:
        (tmp_path / "python3").write_text(python3)
        (tmp_path / "python3").chmod(0o755)
    for event, code in (("SessionStart", at_start), ("UserPromptSubmit", later), ("Stop", later)):
        done = sh(commands(plugin)[event], plugin, path=f"{tmp_path}:/bin" if python3 else str(tmp_path))
        assert (done.returncode, done.stdout) == (code, ""), event
        told = event == "SessionStart" and not (python3 or "").startswith(PASSES_FOR_NEW)
        assert done.stderr.startswith("sessionlog: there is no Python 3.10") is told


def test_the_python3_of_macos_is_not_started(plugin: Path, project: Path) -> None:
    without_versioned_python(plugin)
    assert "there is no Python" in sh(commands(plugin)["SessionStart"], plugin, path="/usr/bin").stderr


# --- Asking the archive -----------------------------------------------------------------------------------------------


def ask(plugin: Path, query: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-I", "-S", str(plugin / "bin" / "sessionlog-sql"), query],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )


@pytest.fixture
def recorded(place: projects.Place) -> None:
    record(place, [json.loads(path.read_bytes()) for path in PAYLOAD_FILES[:20]])


def test_sql_needs_no_package_and_knows_this_session(plugin: Path, hook: Hook) -> None:
    for session in ("one", "two"):
        hook({"session_id": session, "hook_event_name": "UserPromptSubmit", "prompt": f"你好 from {session}"})
    done = ask(plugin, "SELECT prompt FROM prompts WHERE session_id = :session", CLAUDE_CODE_SESSION_ID="two")
    assert (done.stdout, done.stderr) == ('{"prompt": "你好 from two"}\n', "")
    assert done.returncode == 0


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM events",
        "ATTACH 'other.db' AS other",
        "VACUUM INTO 'copy.db'",
        "PRAGMA writable_schema = 1",
        "SELEKT",
    ],
)
def test_sql_can_only_read(plugin: Path, recorded: None, place: projects.Place, query: str) -> None:
    before, here = rows(place), sorted(os.listdir())
    done = ask(plugin, query)
    assert done.returncode == 1
    assert done.stderr.startswith("sessionlog-sql: ") and done.stderr.count("\n") == 1
    assert (rows(place), sorted(os.listdir())) == (before, here)


def test_sql_says_when_there_is_nothing_yet(plugin: Path, project: Path) -> None:
    assert "nothing has been recorded" in ask(plugin, "SELECT 1").stderr


def told_queries() -> list[str]:
    """The queries in the skill and the slash commands."""
    texts = [path.read_text() for path in (*ROOT.glob("commands/*.md"), *ROOT.glob("skills/*/SKILL.md"))]
    queries = [query for text in texts for query in re.findall(r"sessionlog-sql \"(.+?)\"|`(SELECT .+?)`", text)]
    blocks = [re.findall(r"^ {6}SELECT .+?\n\n", text, re.M | re.S) for text in texts]
    return ["".join(found) for found in queries] + [query for found in blocks for query in found]


@pytest.mark.parametrize("query", told_queries())
def test_the_queries_that_claude_is_told_work(plugin: Path, recorded: None, query: str) -> None:
    done = ask(plugin, query, CLAUDE_CODE_SESSION_ID="s")
    assert done.returncode == 0, done.stderr


def test_the_columns_that_claude_is_told_exist(recorded: None, place: projects.Place) -> None:
    text = (ROOT / "skills" / "session-history" / "SKILL.md").read_text()
    lines = re.findall(r"^\| (`.+?`) \|[^|]+\|(.+)\|$", text, re.M)
    assert len(lines) == 9
    for views, columns in lines:
        names = {
            column["name"] for view in re.findall(r"\w+", views) for column in rows(place, f"PRAGMA table_info({view})")
        }
        told = {name for part in re.findall(r"`(.+?)`", columns) for name in part.split(", ")}
        assert told <= names, views


def test_what_claude_code_reads_first_is_there() -> None:
    skill = (ROOT / "skills" / "session-history" / "SKILL.md").read_text()
    assert re.match(r"---\nname: session-history\ndescription: .{80,1024}\n", skill)
    for path in ROOT.glob("commands/*.md"):
        assert re.match(r"---\ndescription: .+\n(.+\n)*---\n\n", path.read_text()), path
