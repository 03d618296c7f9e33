"""`pytest tests/faults` tries every fault and ends with a table of them. `--faults-times` tries random ones more often."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from sessionlog.archive import place as projects
from tests.faults.book import Line
from tests.faults.ledger import Fault

LINE = pytest.StashKey[Line]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """A test tells of its fault in its report: it may have run in another process."""
    report = yield
    marker = item.get_closest_marker("fault")
    if marker and (report.when == "call" or not report.passed):
        line = item.stash.get(LINE, Line()) if report.when == "call" else Line()
        if report.skipped:
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
            line.remarks.append(reason.replace("Skipped: ", "skipped: "))
        elif report.failed:
            line.remarks.append(f"FAILED: {item.name}")
        report.fault = {marker.args[0]: asdict(line)}
    return report


@pytest.fixture
def fault(request: pytest.FixtureRequest, place: projects.Place) -> Fault:
    """The fault that the test is marked with."""
    line = request.node.stash[LINE] = Line()
    return Fault(line, place)


@pytest.fixture
def times(request: pytest.FixtureRequest) -> int:
    """How often random faults are tried, as a multiple of what an ordinary run does."""
    return int(request.config.getoption("--faults-times"))


@pytest.fixture
def dice(request: pytest.FixtureRequest) -> random.Random:
    """The same moments and places in every ordinary run, others when the number of times is another one."""
    return random.Random(f"{request.node.nodeid} {request.config.getoption('--faults-times')}")


class Disk:
    """A file system of its own, in memory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def mount(self, options: str) -> None:
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(self.folder)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            pytest.skip("a file system can only be mounted by root; try: unshare -rm pytest tests/faults")

    def remount(self, options: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{options}", str(self.folder)], check=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    """A small disk, for `mount` to make; gone after the test."""
    if not sys.platform.startswith("linux"):
        pytest.skip("a file system in memory is mounted in another way on this platform")
    folder = tmp_path / "disk"
    folder.mkdir()
    yield Disk(folder)
    subprocess.run(["umount", "-l", str(folder)], capture_output=True, check=False)
