"""What a reviewer would ask for: types, lint, and a package that holds all it needs."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from sessionlog import __version__
from sessionlog.archive import place as projects
from tests.conftest import PYTHON, ROOT, rows
from tests.record.test_hook import prompt


@pytest.mark.parametrize("command", ["ruff check .", "ruff format --check .", "mypy"])
def test_checks_are_clean(command: str) -> None:
    name, *arguments = command.split()
    # With the cache of this checkout: a tenth of the time, but for the first run.
    done = subprocess.run(
        [sys.executable, "-m", name, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_rooms_import_only_from_below() -> None:
    """The directions in pyproject.toml: which room may import from which."""
    program = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([program, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


# What a package offers is imported from the module that has it: a package that runs code costs every hook.
AT_THE_TOP = {"__init__", "__main__", "config", "errors", "fastlib", "times"}


def test_every_module_is_in_a_room_and_no_package_runs_code() -> None:
    package = ROOT / "sessionlog"
    assert {path.stem for path in package.glob("*.py")} == AT_THE_TOP
    for path in package.rglob("__init__.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert ast.get_docstring(tree), path
        rest = [ast.unparse(node) for node in tree.body[1:]]
        assert rest == ([f"__version__ = {__version__!r}"] if path.parent == package else []), path


def test_a_wheel_holds_hooks_migrations_and_metadata_and_records(
    tmp_path: Path, project: Path, place: projects.Place
) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("claude_sessionlog-*.whl")
    site = tmp_path / "site-packages"
    with zipfile.ZipFile(wheel) as file:
        file.extractall(site)
    data = (
        "archive/migrations/0001_events.sql",
        "ask/audits/secrets.sql",
        "datasette-metadata.yml",
        "cli/demo_session.jsonl",
        "supervisor/rules.yml",
    )
    for name in ("hooks/any_event.py", *data):
        assert (site / "sessionlog" / name).is_file(), name
    hook = site / "sessionlog" / "hooks" / "any_event.py"
    subprocess.run([*PYTHON, str(hook)], input=json.dumps(prompt("from a wheel")).encode(), check=True)
    assert [row["prompt"] for row in rows(place)] == ["from a wheel"]


def test_no_page_sends_people_to_another_package() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")))
    assert not re.search(r"(pip|uv|uvx|pipx)[\w -]* install (-\w+ )*sessionlog\b", text)
    assert not re.search(r"uvx sessionlog\b", text)


def test_ci_runs_the_test_command_of_the_readme() -> None:
    line = next(line for line in (ROOT / ".ci/run").read_text().splitlines() if line.endswith("/pytest"))
    assert line in (ROOT / "README.md").read_text(encoding="utf-8")


def test_ci_pins_what_it_installs() -> None:
    """Also what those need in turn, as far as this Python and this platform need it."""
    assert "PIP_CONSTRAINT" in (ROOT / ".ci/run").read_text()
    lines = (ROOT / ".ci/constraints.txt").read_text().splitlines()
    pinned = {line.partition("==")[0] for line in lines if line and not line.startswith("#")}
    assert all("==" in line for line in lines if line and not line.startswith("#"))
    waiting, seen = {"claude-sessionlog[test]"}, set()
    while waiting:
        requirement = waiting.pop()
        name, _, extra = requirement.rstrip("]").partition("[")
        seen.add(requirement)
        for needed in metadata.requires(name) or []:
            package, _, condition = needed.partition(";")
            wanted = "extra" not in condition or f"extra == '{extra}'" in condition.replace('"', "'")
            if wanted and "platform" not in condition and "python" not in condition:
                waiting.add(re.match(r"[\w.-]+(\[\w+\])?", package.strip())[0].lower().replace("_", "-"))  # type: ignore[index]
        waiting -= seen
    needed_names = {requirement.partition("[")[0] for requirement in seen} - {"claude-sessionlog"}
    assert needed_names <= pinned, needed_names - pinned


def test_what_is_imported_is_declared_and_the_other_way_round() -> None:
    imported = set()
    for path in (ROOT / "sessionlog").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                imported.add(node.module.partition(".")[0])
    imported -= {"psycopg", "mcp", "mcp_types"}  # the extras [team] and [mcp]: only their commands import them
    owners = metadata.packages_distributions()
    needed = {_normalised(owner) for name in imported - sys.stdlib_module_names for owner in owners[name]}
    declared = {
        _normalised(re.match(r"[\w.-]+", requirement)[0])  # type: ignore[index]
        for requirement in metadata.requires("claude-sessionlog") or []
        if "extra" not in requirement
    }
    assert needed - {"claude-sessionlog"} == declared


def _normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_the_changelog_names_the_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"[{__version__}]" in text or "[Unreleased]" in text
