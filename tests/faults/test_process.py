"""Stdin that misbehaves, no more file descriptors, and a crowd."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from sessionlog.install.commands import hook_command
from tests.conftest import HANDLERS, PYTHON, rejected, thorough
from tests.faults.ledger import Fault, assert_sound


def fed(fault: Fault, data: bytes, pieces: Iterable[tuple[bytes, float]], *, closed: bool) -> int:
    """A hook whose stdin brings these pieces, each followed by a pause; returns its exit code."""
    payload = json.loads(data)
    started = time.monotonic()
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*PYTHON, str(HANDLERS / "any_event.py")], bufsize=0, **pipes) as process:  # type: ignore[call-overload]
        for piece, pause in pieces:
            try:
                process.stdin.write(piece)
            except BrokenPipeError:
                break
            try:
                process.wait(pause)
                break
            except subprocess.TimeoutExpired:
                pass
        if closed:
            process.stdin.close()
        code = process.wait(timeout=60)
        seconds = time.monotonic() - started
        fault.judge(payload, code, process.stdout.read(), process.stderr.read(), seconds)
    return int(code)


@pytest.mark.fault("stdin never closes")
@pytest.mark.parametrize("end", [b"", b"\n", b" \r\n\t"])
def test_stdin_that_is_never_closed(fault: Fault, end: bytes) -> None:
    data = json.dumps(fault.payload()).encode()
    assert fed(fault, data, [(data + end, 0)], closed=False) == 0
    assert len(fault.check()) == 1


@pytest.mark.fault("stdin never closes")
def test_stdin_that_stays_silent_ends_with_1(fault: Fault) -> None:
    assert fed(fault, b'{"tool_use_id": ""}', [], closed=False) == 1
    assert "nothing arrived" in fault.said[0]


@pytest.mark.fault("stdin comes late")
def test_a_payload_that_comes_late_is_recorded(fault: Fault) -> None:
    data = json.dumps(fault.payload()).encode()
    assert fed(fault, data, [(b"", 3), (data, 0)], closed=True) == 0
    assert len(fault.check()) == 1


@pytest.mark.fault("stdin never closes")
def test_half_an_object_on_an_open_stdin_is_kept(fault: Fault, home: Path) -> None:
    half = b'{"session_id": "s1", "tool_input": {}'
    assert fed(fault, b'{"tool_use_id": ""}', [(half, 0)], closed=False) == 1
    assert [path.read_bytes() for path in rejected(home)] == [half]
    fault.is_told("not understood")


@pytest.mark.fault("stdin closes early")
def test_an_object_that_was_cut_off_is_kept(fault: Fault, home: Path) -> None:
    data = json.dumps(fault.payload()).encode()
    cuts = range(1, len(data), 11)
    for cut in cuts:
        assert fed(fault, data, [(data[:cut], 0)], closed=True) == 1
    assert sorted(path.read_bytes() for path in rejected(home)) == sorted(data[:cut] for cut in cuts)
    assert fed(fault, data, [(data, 0)], closed=True) == 0
    assert len(fault.check()) == 1
    fault.is_told("not understood")


@pytest.mark.fault("stdin closes early")
def test_a_closed_stdin_ends_with_1(fault: Fault) -> None:
    done = fault.hook(command=["sh", "-c", f"exec <&-; {hook_command('Stop')}"])
    assert done.returncode == 1


@pytest.mark.fault("stdout and stderr closed")
def test_closed_output_changes_nothing(fault: Fault) -> None:
    """The next file that is opened gets the number of the closed one: no message may end up in the archive."""
    quiet = ["sh", "-c", f"exec >&- 2>&-; {hook_command()}"]
    assert fault.hook(command=quiet).returncode == 0
    Path(fault.place.db).rename(f"{fault.place.db}.away")
    Path(fault.place.db).mkdir()
    assert fault.hook(command=quiet).returncode == 0, "it waits in the spool, and there is nobody to tell"
    Path(fault.place.db).rmdir()
    Path(f"{fault.place.db}.away").rename(fault.place.db)
    fault.hook()
    assert len(fault.check()) == 3
    assert_sound(fault.place)


@pytest.mark.fault("stdin trickles")
def test_stdin_that_brings_one_byte_a_second_does_not_hold_up_the_session(fault: Fault, home: Path) -> None:
    data = json.dumps(fault.payload()).encode()
    assert fed(fault, data, [(data[at : at + 1], 1) for at in range(len(data))], closed=True) == 1
    (kept,) = rejected(home)
    assert data.startswith(kept.read_bytes()) and kept.stat().st_size >= 4
    fault.is_told("not an event", "not understood")


@pytest.mark.fault("stdin trickles")
def test_stdin_in_pieces_is_read_to_its_end(fault: Fault) -> None:
    data = json.dumps(fault.payload()).encode()
    assert fed(fault, data, [(data[at : at + 20], 0.05) for at in range(0, len(data), 20)], closed=True) == 0
    assert len(fault.check()) == 1


@pytest.mark.fault("file descriptors exhausted")
def test_no_more_file_descriptors(fault: Fault) -> None:
    fault.hook()
    for limit in range(3, 14):
        done = fault.hook(command=["sh", "-c", f"ulimit -n {limit}; {hook_command('PostToolUse')}"])
        assert done.returncode == 0 or done.stderr
    fault.hook()
    fault.check()
    assert_sound(fault.place)


@pytest.mark.fault("many hooks at once")
def test_many_hooks_at_once_on_a_database_that_does_not_exist(fault: Fault, times: int) -> None:
    many = 200 if times > 1 or thorough() else 80
    for _ in range(times):
        done = fault.hooks(many, at_once=many)
        assert {result.returncode for result in done} == {0}
        assert fault.hook().returncode == 0
        fault.check()
        assert_sound(fault.place)
