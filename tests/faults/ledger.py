"""The book of the faults: how often each was tried, what was lost, whom it blocked."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from sessionlog.archive import place as projects
from sessionlog.archive import read
from tests.conftest import HANDLERS, PYTHON, ROOT, rows
from tests.faults.book import Line
from tests.helpers import forking
from tests.record.test_hook import tool

# What the registered hooks give themselves before Claude Code ends them: longer than this, and a session felt it.
BOUND = 10.0


def _bound() -> float:
    """Where there is more to do than the machine can, a hook takes longer for no fault of its own."""
    return BOUND * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


class Fault:
    """A fault while it lasts: hooks run under it, and what they promised is looked for afterwards.

    An event is kept when its hook ended with 0. It must be in the archive once when all is over, and every hook must
    have let its session go on: no word on stdout, 0 or 1 as its exit code, in time.
    """

    _numbers = itertools.count(1)

    def __init__(self, line: Line, place: projects.Place) -> None:
        self.line = line
        self.place = place
        self.kept: list[str] = []
        self.said: list[str] = []
        self._lock = threading.Lock()

    def payload(self, **more: Any) -> dict[str, Any]:
        """An event that is like no other."""
        return tool(next(self._numbers), **more)

    def hook(
        self,
        payload: dict[str, Any] | None = None,
        *,
        command: list[str] | None = None,
        env: dict[str, str] | None = None,
        **options: Any,
    ) -> subprocess.CompletedProcess[bytes]:
        """One event through the real hook, in a process of its own."""
        payload = payload or self.payload()
        command = command or [*PYTHON, str(HANDLERS / "any_event.py")]
        started = time.monotonic()
        done = subprocess.run(
            command,
            input=json.dumps(payload).encode(),
            capture_output=True,
            env={**os.environ, **(env or {})},
            timeout=30 * BOUND,
            check=False,
            **options,
        )
        self.judge(payload, done.returncode, done.stdout, done.stderr, time.monotonic() - started)
        return done

    def judge(
        self,
        payload: dict[str, Any],
        code: int | None,
        stdout: bytes,
        stderr: bytes,
        seconds: float,
        killed: bool = False,
    ) -> None:
        """Enter what became of a hook."""
        with self._lock:
            self.line.times += 1
            if stderr:
                self.said.append(stderr.decode(errors="replace"))
            if stdout or seconds > _bound() or not (code in (0, 1) or killed):
                self.line.blocked += 1
                raise AssertionError(f"a session was blocked: exit {code} after {seconds:.1f} s, {stdout!r} {stderr!r}")
            if code == 0:
                self.kept.append(payload["tool_use_id"])
                self.line.kept += 1

    def hooks(self, count: int, at_once: int = 8, **options: Any) -> list[subprocess.CompletedProcess[bytes]]:
        """Many events, so many at a time."""
        with ThreadPoolExecutor(at_once) as pool:
            return list(pool.map(lambda _: self.hook(**options), range(count)))

    def check(self, place: projects.Place | None = None) -> list[str]:
        """The fault is over: what was promised is there once. Returns all ids of tool calls that are there, in order."""
        place = place or self.place
        read.bring_up_to_date(place)
        stored = [row["tool_use_id"] for row in rows(place) if row["tool_use_id"]]
        return self.account_for(stored)

    def account_for(self, stored: list[str]) -> list[str]:
        """Compare what was promised with what is there."""
        missing = set(self.kept) - set(stored)
        self.line.lost += len(missing)
        assert not missing, f"lost: {sorted(missing)}"
        twice = {name: count for name, count in Counter(stored).items() if count > 1}
        assert not twice, f"stored more than once: {twice}"
        return stored

    def is_told(self, *words: str) -> None:
        """The person hears of it: from the hook at once, from the doctor, or with the next command."""
        heard = "\n".join([*self.said, sessionlog("doctor").stdout, sessionlog("sessions").stderr])
        for word in words:
            assert word in heard, heard


def sessionlog(*words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """The real command. Whatever happens, it says so in words of its own."""
    done = forking.run(*words, env={**os.environ, "PYTHONPATH": str(ROOT), **(env or {})})
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def assert_sound(place: projects.Place) -> None:
    """SQLite finds nothing wrong, and the counts of the sessions are those of their events."""
    assert rows(place, "PRAGMA integrity_check") == [{"integrity_check": "ok"}]
    wrong = rows(
        place,
        "SELECT s.session_id, s.events, count(e.id) AS truth FROM sessions s LEFT JOIN events e USING (session_id) "
        "GROUP BY s.session_id HAVING s.events <> truth",
    )
    assert wrong == []
