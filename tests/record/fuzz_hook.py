"""Nearly right payloads for the hook: what is an event is stored exactly, what is none is kept, and nothing is said or lost.

python -m tests.record.fuzz_hook                              # as many as a thorough run of the tests
python -m tests.record.fuzz_hook --cases 500000 --seed 7      # longer, by hand; --case N tries one of them again
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sqlite3
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from sessionlog.archive import event, rebuild
from sessionlog.archive import place as projects
from sessionlog.record import hook
from sessionlog.redact import rules as redact
from tests.conftest import PAYLOAD_FILES
from tests.helpers.mutations import mutate, mutate_value
from tests.helpers.payloads import FLAT, NESTED

SEEDS = [
    *(path.read_bytes() for path in PAYLOAD_FILES),
    *(json.dumps(payload).encode() for payload in (*FLAT, *NESTED)),
]
NAMES = [*event.COLUMNS, "hook_event_name", "event", "data", "tool", "tool_result", "outer", "shape", "renamed"]
FRESH_ARCHIVE = 500  # cases


class Exit(BaseException):
    """Where the process would have ended."""


class Posix:
    """What the hook knows of the system, less the end of the process."""

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    @staticmethod
    def _exit(code: int) -> None:
        raise Exit(code)


class Bench:
    """The hook's `main` in this process, with files for its stdin, stdout and stderr."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.report = os.fdopen(os.dup(2), "w")
        self.files = [open(folder / name, "w+b", buffering=0) for name in ("stdin", "stdout", "stderr")]  # noqa: SIM115
        for number, file in enumerate(self.files):
            os.dup2(file.fileno(), number)
        vars(hook)["os"] = Posix()
        vars(hook)["_ignore_signals"] = lambda: None  # so that Ctrl+C ends a long run
        os.environ.update(
            HOME=str(folder), TMPDIR=str(folder), SESSIONLOG_NO_FOLLOW="1", CLAUDE_PROJECT_DIR=str(folder)
        )
        self.renew(0)

    def renew(self, number: int) -> None:
        """An archive of its own for the next cases."""
        os.environ["SESSIONLOG_HOME"] = str(self.folder / f"home{number}")
        self.place = projects.place(os.path.realpath(self.folder))
        self.stored = 0
        self.seen: set[str] = set()
        self.rejected = 0

    def run(self, data: bytes, name: str | None) -> tuple[int, bytes, bytes]:
        """Exit code, stdout and stderr of the hook."""
        stdin, stdout, stderr = self.files
        for file, content in ((stdin, data), (stdout, b""), (stderr, b"")):
            file.seek(0)
            file.truncate()
            file.write(content)
            file.seek(0)
        try:
            hook.main(name, "fuzz")
        except Exit as end:
            return end.args[0], (self.folder / "stdout").read_bytes(), (self.folder / "stderr").read_bytes()
        raise AssertionError("the hook did not end")

    def check(self, data: bytes, name: str | None) -> None:
        """Whatever it is, it is stored or kept."""
        code, stdout, stderr = self.run(data, name)
        assert code in (0, 1) and stdout == b"", (code, stdout)
        assert stderr.count(b"\n") == (1 if stderr else 0) and stderr.startswith(b"sessionlog: " if stderr else b"")
        assert (code == 0) == (stderr == b""), (code, stderr)
        expected = parsed(data)
        if expected is None or has_infinity(expected):
            self._is_kept(data)
            assert code == (0 if can_deny(data, name) else 1)
        else:
            self._is_stored(data, expected)
            assert code == 0 or b"could not be recorded" in stderr  # a SessionStart reports what others lost

    def _is_stored(self, data: bytes, expected: dict[str, Any]) -> None:
        rules = redact.Rules(projects.home_folder())
        if suspects := rules.suspects(data):
            expected = rules.clean(expected, suspects)
        text = json.dumps(expected, sort_keys=True)
        connection = sqlite3.connect(self.place.db)
        try:
            connection.row_factory = sqlite3.Row
            row = dict(
                connection.execute("SELECT *, count(*) OVER () AS n FROM events ORDER BY id DESC LIMIT 1").fetchone()
            )
        finally:
            connection.close()
        if row.pop("n") == self.stored:
            assert text in self.seen, "taken for a copy of an event that never was"
            return
        self.stored += 1
        self.seen.add(text)
        assert json.dumps(rebuild.payload(row), sort_keys=True) == text, "not the same payload"

    def _is_kept(self, data: bytes) -> None:
        if not data.strip():
            return
        kept = list(Path(self.place.home, "rejected").glob("*"))
        self.rejected += 1
        assert len(kept) == self.rejected, "what was rejected is gone"
        newest = max(kept, key=os.path.getmtime).read_bytes()
        rules = redact.Rules(projects.home_folder())
        clean = rules.clean_text(data.decode("utf-8", "surrogateescape"), rules.suspects(data))
        assert newest == clean.encode("utf-8", "surrogateescape") or clean.encode("utf-8", "surrogateescape") in {
            path.read_bytes() for path in kept
        }


def can_deny(data: bytes, name: str | None) -> bool:
    """Whether the hook must not fail, whatever arrives."""
    return name in event.DENYING or (not name and any(denying.encode() in data for denying in event.DENYING))


def parsed(data: bytes) -> dict[str, Any] | None:
    """The payload as Python's own parser sees it, if it is one."""

    def refuse(name: str) -> None:
        raise ValueError(name)

    decoder = json.JSONDecoder(strict=False, parse_constant=refuse)
    try:
        text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
        value = decoder.decode(text.strip(" \t\r\n"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def has_infinity(value: Any) -> bool:
    """1e999 is JSON, and no number that could be written down again."""
    if isinstance(value, dict):
        return any(map(has_infinity, value.values()))
    return any(map(has_infinity, value)) if isinstance(value, list) else value in (float("inf"), float("-inf"))


def case(seed: int, number: int) -> tuple[bytes, str | None]:
    """The payload of a case, and the event that its handler is registered for."""
    dice = random.Random(f"{seed} {number}")
    data = dice.choice(SEEDS)
    if dice.random() < 0.6:
        value = mutate_value(json.loads(data), dice, NAMES)
        data = json.dumps(value, ensure_ascii=dice.random() < 0.5).encode("utf-8", "surrogatepass")
    else:
        data = mutate(data, dice, SEEDS)
    return data, dice.choice([None, None, "PostToolUse", "Stop"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", type=int, help="only this one")
    given = parser.parse_args()
    numbers = range(given.cases) if given.case is None else [given.case]
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="sessionlog-fuzz-") as folder:
        bench = Bench(Path(folder).resolve())
        stored = rejected = 0
        for count, number in enumerate(numbers):
            if count and count % FRESH_ARCHIVE == 0:
                stored, rejected = stored + bench.stored, rejected + bench.rejected
                bench.renew(count)
            data, name = case(given.seed, number)
            try:
                bench.check(data, name)
            except BaseException:
                print(f"--seed {given.seed} --case {number}: {data[:2000]!r}", file=bench.report, flush=True)
                os.dup2(bench.report.fileno(), 2)
                raise
        stored, rejected = stored + bench.stored, rejected + bench.rejected
        seconds = time.monotonic() - started
        print(f"{len(numbers)} cases in {seconds:.0f} s: {stored} stored, {rejected} rejected", file=bench.report)


if __name__ == "__main__":
    sys.exit(main())
