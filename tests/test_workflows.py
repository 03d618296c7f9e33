"""The GitHub workflows: a linter finds nothing, they run what the README says, and they may do no more than they need."""

from __future__ import annotations

import os
import re
import subprocess
import sysconfig
from typing import Any

import pytest
import yaml

from tests.conftest import ROOT

FOLDER = ROOT / ".github/workflows"
WORKFLOWS = sorted(FOLDER.glob("*.yml"))
each_workflow = pytest.mark.parametrize("name", [path.name for path in WORKFLOWS])


def jobs(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((FOLDER / name).read_text(encoding="utf-8"))["jobs"]
    return found


def test_the_linter_finds_nothing() -> None:
    """zizmor checks the syntax too, and, offline, connects to nothing."""
    zizmor = os.path.join(sysconfig.get_path("scripts"), "zizmor")
    words = [zizmor, "--offline", "--strict-collection", "--pedantic", "--no-progress", str(ROOT / ".github")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@each_workflow
def test_actions_are_pinned_to_a_commit_with_its_version_beside_it(name: str) -> None:
    used = re.findall(r"uses: (.*)", (FOLDER / name).read_text(encoding="utf-8"))
    assert used
    assert [use for use in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", use)] == []


def test_tests_run_the_command_of_the_readme_on_every_python_that_is_promised() -> None:
    (command,) = re.findall(r"^.*/pytest$", (ROOT / "README.md").read_text(encoding="utf-8"), re.M)
    job = jobs("test.yml")["test"]
    assert command in [step.get("run", "").strip() for step in job["steps"]]
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert job["strategy"]["matrix"]["python"] == re.findall(r"Python :: (3\.\d+)", project)
    assert job["strategy"]["matrix"]["os"] == ["ubuntu-latest", "macos-latest", "windows-latest"]


def test_every_night_the_thorough_tests_run() -> None:
    steps = jobs("thorough.yml")["thorough"]["steps"]
    assert any("pytest --hypothesis-profile=thorough" in step.get("run", "") for step in steps)


def test_only_the_job_that_publishes_gets_a_token_and_it_runs_no_code_of_ours() -> None:
    build, publish = jobs("release.yml")["build"], jobs("release.yml")["publish"]
    assert build["permissions"] == jobs("test.yml")["test"]["permissions"] == {"contents": "read"}
    assert publish["permissions"] == {"id-token": "write"}
    assert publish["environment"]["name"] == "pypi"
    assert all(set(step) <= {"uses", "with"} for step in publish["steps"])
