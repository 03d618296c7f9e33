"""The real hook as a process."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.conftest import PYTHON, Hook, recorder


def started(script: Path, *words: str, input: bytes, env: dict[str, str]) -> subprocess.CompletedProcess[bytes]:
    command = [*PYTHON, str(script), *words]
    return subprocess.run(command, input=input, capture_output=True, env=env, timeout=120, check=False)


@pytest.fixture
def hook(project: Path) -> Hook:
    """Runs a handler as Claude Code does: a process of its own, the payload on stdin."""
    return recorder(started)
