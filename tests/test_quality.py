"""What a reviewer would ask for: types, lint, and a package that holds all it needs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from sessionlog import __version__, projects
from tests.conftest import PAYLOAD_FILES, PYTHON, ROOT, Hook, rows
from tests.test_hook import prompt


@pytest.mark.parametrize("command", ["ruff check .", "ruff format --check .", "mypy"])
def test_checks_are_clean(command: str) -> None:
    name, *arguments = command.split()
    environment = {**os.environ, "MYPY_CACHE_DIR": os.devnull}
    done = subprocess.run(
        [sys.executable, "-m", name, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


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
    data = ("migrations/0001_events.sql", "datasette-metadata.yml", "demo/session.jsonl", "supervisor/rules.yml")
    for name in ("hooks/any_event.py", *data):
        assert (site / "sessionlog" / name).is_file(), name
    hook = site / "sessionlog" / "hooks" / "any_event.py"
    subprocess.run([*PYTHON, str(hook)], input=json.dumps(prompt("from a wheel")).encode(), check=True)
    assert [row["prompt"] for row in rows(place)] == ["from a wheel"]


def test_the_readme_never_sends_people_to_another_package() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
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


def test_the_changelog_names_the_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"[{__version__}]" in text or "[Unreleased]" in text


def test_the_queries_of_the_readme_run(hook: Hook, place: projects.Place) -> None:
    for path in PAYLOAD_FILES:
        hook(path.read_bytes())
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    queries = [
        query for block in re.findall(r"```sql\n(.*?)```", text, re.S) for query in block.split(";") if query.strip()
    ]
    assert len(queries) >= 3
    for query in queries:
        rows(place, query)
