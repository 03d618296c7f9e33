"""A home of its own for every test, and the real hook as a process."""

from __future__ import annotations

import importlib
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from sessionlog.archive import place as projects
from sessionlog.record.spawn_import import OPTIONS
from tests.faults.book import Line, table

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = Path(__file__).parent / "fixtures"
PYTHON = [sys.executable, *OPTIONS]
HANDLERS = ROOT / "hooks"

PAYLOAD_FILES = sorted((FIXTURES / "payloads").rglob("*.json"))

# An ordinary run tries few examples of each property, others each time; `--hypothesis-profile=thorough` tries many, and
# the sizes that `thorough()` chooses. Tests set no number of their own, so that the profile decides. No deadline: how
# long an example takes says more about what else the machine is doing.
COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("quick", max_examples=20, **COMMON)
settings.register_profile("thorough", max_examples=1000, **COMMON)


def thorough() -> bool:
    """Whether this run may take long: large sizes instead of those that are just large enough."""
    return settings.get_current_profile_name().startswith("thorough")


def pytest_configure(config: pytest.Config) -> None:
    # Not when this file is imported: tests import it under another name, after Hypothesis has read its options.
    if not config.getoption("--hypothesis-profile"):
        settings.load_profile("quick")
    usual_signals()
    keep_files_in_memory()
    tempfile.gettempdir()  # which Python remembers: not the folder of the test that asks first
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # else every process that a test starts compiles all modules anew


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_auto_num_workers() -> Iterator[None]:
    """One more than there are processors: some tests wait for seconds that the product waits."""
    count = yield
    return count if os.environ.get("PYTEST_XDIST_AUTO_NUM_WORKERS") else count + 1


def pytest_collection(session: pytest.Session) -> None:
    """Each worker begins with other files, and finds those that another has compiled.

    pytest rewrites the assertions of a file, which takes two thirds of the time until the first test, and keeps the
    result beside it. All workers in the same order would each do all of it.
    """
    worker = getattr(session.config, "workerinput", None)
    here = Path(__file__).parent
    if worker and here in map(Path, map(os.path.realpath, session.config.args)):  # all of them, and not some files
        sys.dont_write_bytecode = False
        files = sorted(here.rglob("test_*.py"))
        first = int(worker["workerid"].removeprefix("gw")) * len(files) // worker["workercount"]
        for path in (*files[first:], *files[:first]):
            with suppress(Exception, pytest.skip.Exception):  # told when the file is collected
                importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))


# Those that take longest run first: else one of them may be all that is left to run at the end.
LONGEST = ("test_checks_are_clean[mypy]", "test_axe_finds_nothing_on_any_page", "test_no_command_connects")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.name not in LONGEST)


def keep_files_in_memory() -> None:
    """Thousands of archives are made and flushed to the disk; the disk is not what most of this tests.

    `TMPDIR=/tmp pytest` uses the disk.
    """
    memory = Path("/dev/shm")
    if "TMPDIR" in os.environ or not os.access(memory, os.W_OK):
        return
    there = os.statvfs(memory)
    if there.f_bavail * there.f_frsize > 4 << 30 and not there.f_flag & os.ST_NOEXEC:  # containers have little
        os.environ["TMPDIR"] = tempfile.tempdir = str(memory)


def usual_signals() -> None:
    """SIGINT and SIGQUIT as a terminal would have them, for us and for whatever we start.

    A script that starts us in the background makes us ignore both, and a process inherits what is ignored: Ctrl+C would
    not end the commands that tests interrupt. SIGHUP is left alone: `nohup` ignores it so that the run goes on.
    """
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(signal, "SIGQUIT") and signal.getsignal(signal.SIGQUIT) == signal.SIG_IGN:
        signal.signal(signal.SIGQUIT, signal.SIG_DFL)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("sessionlog")
    group.addoption("--faults-times", type=int, default=1, help="try random faults so many times as often")
    group.addoption("--fuzz-cases", type=int, help="so many mutated payloads for the hook")


def pytest_report_header() -> str:
    return f"SQLite {sqlite3.sqlite_version}"


# Here and not in tests/faults: where tests run in several processes, the one that writes the table reads no other conftest.
FAULTS: dict[str, Line] = {}


def pytest_runtest_logreport(report: Any) -> None:
    for name, line in getattr(report, "fault", {}).items():
        FAULTS.setdefault(name, Line()).add(Line(**line))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if FAULTS:
        terminalreporter.section("faults")
        for line in table(dict(sorted(FAULTS.items()))):
            terminalreporter.write_line(line)


@pytest.fixture(autouse=True)
def no_process_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test starts is over when the test is, even if it failed: an endless query would outlive the whole run."""
    started: list[subprocess.Popen[Any]] = []
    begin = subprocess.Popen.__init__

    def noted(self: subprocess.Popen[Any], *arguments: Any, **options: Any) -> None:
        begin(self, *arguments, **options)
        started.append(self)

    monkeypatch.setattr(subprocess.Popen, "__init__", noted)
    yield
    left = [process for process in started if process.poll() is None]
    for process in left:
        for pid in with_descendants(process.pid):
            with suppress(OSError):
                os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))
        process.wait(timeout=60)
    assert not left, f"still running after the test: {[process.args for process in left]}"


def with_descendants(pid: int) -> list[int]:
    """A process and all that it started, and what those started."""
    with suppress(OSError):
        listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=False).stdout
        found = [pid]
        for parent in found:  # grows while it is read
            found += [int(child) for child, its in map(str.split, listed.splitlines()) if int(its) == parent]
        return found
    return [pid]


def empty_home(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Path:
    """An empty home directory below this folder; nothing of the real one, or of a session around us, is seen."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    for name in list(os.environ):
        if name.startswith(("SESSIONLOG_", "CLAUDE", "XDG_", "CCC_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv(
        "SESSIONLOG_NO_FOLLOW", "1"
    )  # importers that outlive a test; tests/record/test_spawn_import.py asks for them
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setenv("COLUMNS", "120")  # whatever terminal the tests were started in
    return home


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return empty_home(monkeypatch, tmp_path)


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing leaves this machine."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in ("127.0.0.1", "::1", "localhost"):
            raise AssertionError(f"a connection to {address}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that Claude Code would be working in."""
    folder = tmp_path / "shop"
    folder.mkdir()
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(folder))
    return folder


@pytest.fixture
def place(project: Path) -> projects.Place:
    return projects.place(os.path.realpath(project))


Hook = Callable[..., "subprocess.CompletedProcess[bytes]"]


def recorder(run: Hook) -> Hook:
    """Runs a handler in this way, the payload on stdin, and looks at what no hook may do."""

    def record(
        payload: Any, *arguments: str, handler: str = "any_event.py", **env: str
    ) -> subprocess.CompletedProcess[bytes]:
        data = payload if isinstance(payload, bytes) else json.dumps(payload, ensure_ascii=False).encode() + b"\n"
        done = run(HANDLERS / handler, *arguments, input=data, env={**os.environ, **env})
        assert done.stdout == b"", "a recording hook prints nothing"
        assert done.returncode in (0, 1), done.stderr
        assert done.stderr.count(b"\n") == (1 if done.stderr else 0), done.stderr
        if done.returncode == 1:
            assert done.stderr.startswith(b"sessionlog: "), done.stderr
        return done

    return record


@pytest.fixture
def hook(project: Path) -> Hook:
    """Records an event. A process of its own, but a fork: the tests of the hook itself start it as Claude Code does."""
    from tests.helpers import forking  # which remembers where temporary files are: not before that is decided

    return recorder(forking.hook)


def rows(
    place: projects.Place, query: str = "SELECT * FROM events ORDER BY id", *parameters: Any
) -> list[dict[str, Any]]:
    """What the archive holds, read by SQLite itself."""
    connection = sqlite3.connect(place.db)
    connection.row_factory = sqlite3.Row
    try:
        return [dict(row) for row in connection.execute(query, parameters)]
    finally:
        connection.close()


def rejected(home: Path) -> list[Path]:
    """What was kept although it was no event."""
    return sorted((home / ".local/share/sessionlog/rejected").glob("*"))
