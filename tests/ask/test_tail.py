"""`sessionlog tail`: the last events, and those that come."""

from __future__ import annotations

import json
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sessionlog.archive import place as projects
from sessionlog.archive import spool
from tests.cli.test_cli import printed
from tests.conftest import Hook
from tests.helpers.recording import record
from tests.record.test_hook import prompt, tool


class Following:
    """A running `sessionlog tail -f`."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "sessionlog", "tail", "-f", *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.put(line.decode())

    def line(self) -> str:
        return self.lines.get(timeout=120)

    def end(self) -> tuple[int, bytes]:
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(timeout=120)
        assert self.process.stdout and self.process.stderr
        error = self.process.stderr.read()
        self.process.stdout.close()
        self.process.stderr.close()
        return code, error


@pytest.fixture
def following() -> Iterator[list[Following]]:
    started: list[Following] = []
    yield started
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()


def test_the_last_events_oldest_first(place: projects.Place) -> None:
    record(place, [tool(number) for number in range(30)])
    lines = printed("tail").splitlines()
    assert len(lines) == 20 and "echo 10" in lines[0] and "echo 29" in lines[-1]
    assert len(printed("tail", "-n", "3").splitlines()) == 3 and "e30 " in lines[-1]
    shown = [json.loads(line) for line in printed("tail", "--json").splitlines()]
    assert shown[-1]["payload"]["tool_input"]["command"] == "echo 29" and shown[-1]["project"] == place.project


def test_a_call_that_runs_is_not_called_cut_off(place: projects.Place) -> None:
    record(place, [tool(1, hook_event_name="PreToolUse")])
    assert "no result" not in printed("tail") and "$ echo 1  …" in printed("tail")


def test_all_projects_together_by_time(hook: Hook, tmp_path: Path) -> None:
    for name in ("one", "two", "one"):
        (tmp_path / name).mkdir(exist_ok=True)
        hook(prompt(f"from {name}"), CLAUDE_PROJECT_DIR=str(tmp_path / name))
    assert [line.split()[-1] for line in printed("tail", "--all").splitlines()] == ["one", "two", "one"]


def test_follow_sees_what_the_hook_writes_and_ends_cleanly(hook: Hook, following: list[Following]) -> None:
    hook(prompt("before"))
    following.append(one := Following("-n", "1"))
    assert "before" in one.line()
    hook(prompt("while it runs"))
    assert "while it runs" in one.line()
    assert one.end() == (130, b"\n")


def test_follow_waits_for_an_archive_that_is_not_there_yet(
    hook: Hook, following: list[Following], tmp_path: Path
) -> None:
    hook(prompt("elsewhere"))
    following.append(one := Following("--all", "--json"))
    assert "elsewhere" in one.line()
    (tmp_path / "new").mkdir()
    hook(prompt("in a new project"), CLAUDE_PROJECT_DIR=str(tmp_path / "new"))
    assert json.loads(one.line())["payload"]["prompt"] == "in a new project"
    assert one.end() == (130, b"\n")


def test_follow_brings_the_spool_home(hook: Hook, place: projects.Place, following: list[Following]) -> None:
    hook(prompt("first"))
    following.append(one := Following())
    assert "first" in one.line()
    spool.append(place, (1_800_000_000_000, "test", None, None, prompt("from the spool")))
    assert "from the spool" in one.line()
    assert one.end() == (130, b"\n")
