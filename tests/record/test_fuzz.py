"""Files and payloads that are nearly right: nothing breaks, nothing is lost, nothing is changed that was not meant."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from sessionlog.agents.claude_code.events import CORE
from sessionlog.archive import place as projects
from sessionlog.archive import read
from sessionlog.errors import SessionlogError
from sessionlog.install import settings_files
from sessionlog.install.commands import handlers
from sessionlog.install.settings_files import apply, plan_install, plan_uninstall
from sessionlog.install.validate import check as validate
from sessionlog.transcripts import importer
from tests.archive.test_spool import Locked
from tests.conftest import FIXTURES, ROOT, Hook, rejected, rows, thorough
from tests.helpers import transcript_files as made
from tests.helpers.mutations import mutate
from tests.record import fuzz_hook
from tests.record.test_hook import tool

SOME = 60 if thorough() else 24


def test_mutated_payloads_in_one_process(request: pytest.FixtureRequest) -> None:
    cases = request.config.getoption("--fuzz-cases") or (1000 if thorough() else 150)
    done = subprocess.run(
        [sys.executable, "-m", "tests.record.fuzz_hook", "--cases", str(cases)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_mutated_payloads_in_processes_of_their_own(hook: Hook, place: projects.Place, home: Path) -> None:
    """The fixture asserts what every hook promises; here, that each payload is somewhere."""
    stored = kept = 0
    for number in range(SOME):
        data, name = fuzz_hook.case(1, number)
        code = hook(data, *([name] if name else [])).returncode
        is_event = fuzz_hook.parsed(data) is not None
        assert code == 0 or not is_event or name == "SessionStart"
        stored += is_event
        kept += not is_event and bool(data.strip())
    assert stored and kept
    assert len(rows(place)) == stored and len(rejected(home)) == kept


SETTINGS = [
    b'{}', b'{"model": "opus", "hooks": {}}', b'\xef\xbb\xbf{\r\n\t"hooks" : { "Stop" : [ ] }\r\n}',
    json.dumps({"hooks": {"PostToolUse": [{"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "x", "timeout": 5}]}]}}, indent=2).encode(),
    json.dumps({"hooks": {name: [{"hooks": [handler]}] for name, handler in handlers(CORE).items()}, "env": {"A": "1"}}, indent=4).encode(),
]  # fmt: skip


def test_mutated_settings_files_are_given_back_or_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings_files, "MANAGED", tmp_path / "managed")
    path = tmp_path / ".claude" / "settings.json"
    path.parent.mkdir()
    dice = random.Random(0)
    installed = refused = 0
    for _ in range(400 if thorough() else 150):
        before = mutate(dice.choice(SETTINGS), dice, SETTINGS)
        path.write_bytes(before)
        had_ours = b"any_event.py" in before
        for target in validate.targets(path):
            validate.check(target)
        try:
            apply(plan_install(path, handlers(CORE)))
        except SessionlogError:
            refused += 1
            assert path.read_bytes() == before, "what is not understood is not touched"
            continue
        installed += 1
        json.loads(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
        assert not plan_install(path, handlers(CORE)).needed
        apply(plan_uninstall(path))
        if not had_ours:
            assert path.read_bytes() == before
        for leftover in path.parent.glob("*"):
            if leftover != path:
                leftover.unlink()
    assert installed and refused


def test_mutated_transcripts_are_archived_to_the_byte(home: Path) -> None:
    originals = [path.read_bytes() for path in sorted((FIXTURES / "transcripts").rglob("*.jsonl"))]
    dice = random.Random(0)
    paths = []
    for number in range(40):
        lines = dice.choice(originals).splitlines(keepends=True)
        start = dice.randrange(len(lines))
        data = b"".join(lines[start : start + 30])
        paths.append(made.transcript(home, mutate(data, dice, originals), session_id=f"s{number}"))
    config = home / ".local/share/sessionlog/config.json"
    config.parent.mkdir(parents=True)
    config.write_text('{"redact": {"enabled": false}, "transcripts": {"raw": true}}')
    importer.run()
    for place in read.all_places():
        for row in rows(place, "SELECT file FROM transcripts"):
            path = Path(row["file"])
            whole = path.read_bytes()
            kept = made.archived(place, path)
            assert whole.startswith(kept) and b"\n" not in whole[len(kept) :], (
                "all but a last line that may not be whole"
            )
    before = {place.db: rows(place, "SELECT * FROM transcript_parts") for place in read.all_places()}
    importer.run()
    assert {place.db: rows(place, "SELECT * FROM transcript_parts") for place in read.all_places()} == before


def test_a_mutated_config_neither_stops_the_hook_nor_disarms_it(hook: Hook, place: projects.Place) -> None:
    secret = "ghp_" + "Zq3T8vXw1LbN6rKd0YcHs5MfJ2uGpA9eVi7o"
    good = json.dumps({"redact": {"patterns": [{"kind": "acme", "regex": "ACME-[0-9]+", "contains": "ACME-"}], "allow": ["x"]}, "transcripts": {"raw": False}})  # fmt: skip
    dice = random.Random(0)
    config = Path(place.home) / "config.json"
    config.parent.mkdir(parents=True)
    for number in range(SOME):
        config.write_bytes(mutate(good.encode(), dice, [good.encode()]))
        assert hook(tool(number, tool_response=f"use {secret}")).returncode == 0
    assert len(rows(place)) == SOME
    assert not any(secret in str(row) for row in rows(place))


def test_a_mutated_spool_holds_up_nobody(hook: Hook, place: projects.Place, home: Path) -> None:
    """A line that is no longer one is kept; all others come home."""
    hook(tool(0))
    with Locked(place):
        for number in range(1, 6):
            hook(tool(number))
    spool = Path(f"{place.db}.spool")
    whole = spool.read_bytes()
    name = json.loads(whole.splitlines()[0])["spool"].encode()
    dice = random.Random(0)
    for number in range(100, 100 + SOME // 2):
        named = whole.replace(name, f"{number:016}".encode())  # how far a spool has come home is known by its name
        damaged = mutate(named, dice, [named])
        spool.write_bytes(damaged)
        assert hook(tool(number)).returncode == 0
        for _ in range(2):
            read.bring_up_to_date(place)
        stored = {row["tool_use_id"] for row in rows(place)}
        assert f"toolu_{number}" in stored
        assert not spool.exists() or spool.stat().st_size == 0
        intact = {line for line in whole.splitlines()[1:] if line in damaged.splitlines()[1:]}
        assert {json.loads(line)[4]["tool_use_id"] for line in intact} <= stored
