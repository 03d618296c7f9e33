"""Runs a reviewer, any shell command with a brief on its stdin: within its time, and with an answer of bounded size."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress

LONGEST_ANSWER = 1_000_000  # bytes
KEPT_ERRORS = 4_000  # bytes of stderr, the last ones
CHUNK = 65_536
# How often (s) it is asked whether the command has ended: a child that it left behind may hold its pipes open.
PULSE = 0.2


class ReviewerFailed(Exception):
    """The reviewer did not do its work."""


class TimedOut(Exception):
    """The reviewer took too long."""


def run(command: str, brief: bytes, *, cwd: str | None, more: Mapping[str, str], deadline: float) -> str:
    """What the command prints. When it fails, takes too long or never stops printing, all its processes are ended."""
    # A file instead of a pipe: a reviewer that does not read its brief is no trouble.
    with tempfile.TemporaryFile() as stdin, _ended_by_signals() as let_signals_in:
        stdin.write(brief)
        stdin.seek(0)
        try:
            process = subprocess.Popen(  # noqa: S602 (the command that the user registered)
                command,
                shell=True,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=cwd,
                env={**os.environ, **more, "PATH": _path()},
                start_new_session=True,
            )
        except OSError as error:
            raise ReviewerFailed(f"the reviewer cannot be started: {error}") from error
        with process:
            try:
                let_signals_in()
                output, errors = _collect(process, deadline)
                process.wait(max(0, deadline - time.monotonic()))
            except BaseException as error:
                _end(process)
                if isinstance(error, subprocess.TimeoutExpired):
                    raise TimedOut from error
                raise
    if process.returncode:
        said = " ".join(errors.decode(errors="replace").split())[-500:]
        raise ReviewerFailed(f"the reviewer ended with {process.returncode}: {said or 'it does not say why'}")
    return output.decode(errors="replace")


def _collect(process: subprocess.Popen[bytes], deadline: float) -> tuple[bytes, bytes]:
    output, errors = b"", b""
    with selectors.DefaultSelector() as selector:
        for pipe in (process.stdout, process.stderr):
            if pipe:
                selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimedOut
            ended = process.poll() is not None  # before looking: what it said last is in the pipe by then
            ready = selector.select(min(left, PULSE))
            if not ready and ended:
                break
            for key, _ in ready:
                chunk = os.read(key.fd, CHUNK)
                if not chunk:
                    selector.unregister(key.fileobj)
                elif key.fileobj is process.stdout:
                    output += chunk
                else:
                    errors = (errors + chunk)[-KEPT_ERRORS:]
            if len(output) > LONGEST_ANSWER:
                raise ReviewerFailed(f"the reviewer prints more than {LONGEST_ANSWER // 1_000_000} MB; it was ended")
    return output, errors


def _end(process: subprocess.Popen[bytes]) -> None:
    """The command and all that it started: it has a process group of its own."""
    with suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _path() -> str:
    """PATH, and behind it our own folder, so that `sessionlog review` is found wherever sessionlog lives."""
    return os.pathsep.join(filter(None, (os.environ.get("PATH", os.defpath), os.path.dirname(sys.executable))))


@contextmanager
def _ended_by_signals() -> Iterator[Callable[[], None]]:
    """Who ends us ends the reviewer: it is in a group of its own, where no signal reaches it.

    A signal waits until `let_signals_in` is called: while the reviewer is being started, there is nobody to end it.
    """
    came: list[int] = []
    is_open = False

    def end(number: int, _: object = None) -> None:
        came.append(number)
        if is_open:
            raise ReviewerFailed(f"ended by {signal.Signals(came[0]).name}")

    def let_signals_in() -> None:
        nonlocal is_open
        is_open = True
        if came:
            end(came[0])

    if threading.current_thread() is not threading.main_thread():
        yield let_signals_in
        return
    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield let_signals_in
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
