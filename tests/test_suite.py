"""The tests themselves: they pass wherever they are started from, and leave nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGQUIT"), reason="signals are another thing on this system")

# Those that interrupt what they started, by name: files move.
INTERRUPTING = (
    "test_ctrl_c_stops_a_long_query or test_follow_brings_the_spool_home or test_an_interrupted_session_does_not_lose"
)

LEAVING = """
import subprocess

def test_that_leaves_processes():
    subprocess.Popen(["sh", "-c", "sleep NUMBER & sleep NUMBER"])
"""


def run_pytest(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The tests as a script runs them in the background: SIGINT and SIGQUIT are ignored."""

    def ignore() -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGQUIT, signal.SIG_IGN)

    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False, preexec_fn=ignore
    )


def test_they_pass_in_the_background_of_a_script() -> None:
    files = sorted({str(path) for path in Path(__file__).parent.rglob("test_*.py") if mentions(path)})
    done = run_pytest("-n1", "-k", INTERRUPTING, *files)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 passed" in done.stdout


def mentions(path: Path) -> bool:
    text = path.read_text(encoding="utf-8")
    return path != Path(__file__) and any(f"def {name}" in text for name in INTERRUPTING.split(" or "))


def test_a_process_that_a_test_leaves_is_ended_with_its_children_and_told(tmp_path: Path) -> None:
    number = f"1000.{os.getpid()}"  # no other run on this machine has it
    (tmp_path / "conftest.py").write_text("from tests.conftest import home, no_process_left, pytest_configure\n")
    (tmp_path / "test_leaving.py").write_text(LEAVING.replace("NUMBER", number))
    done = run_pytest("-n0", "--rootdir", str(tmp_path), "-c", os.devnull, str(tmp_path))
    assert "1 passed, 1 error" in done.stdout and "still running after the test" in done.stdout, done.stdout
    running = subprocess.run(["ps", "-A", "-o", "args="], capture_output=True, text=True, check=True).stdout
    assert running.count(f"sleep {number}") == 0
