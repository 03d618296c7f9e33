"""Processes that the benches start and watch: `sessionlog browse`, and how much memory a process takes."""

import http.client
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

SESSIONLOG = [sys.executable, "-m", "sessionlog"]


def tree_memory(pid: int) -> int:
    """The memory of a process and its children, shared pages once, as Linux tells it; 0 elsewhere."""
    total = 0
    waiting = [pid]
    while waiting:
        current = waiting.pop()
        try:
            with open(f"/proc/{current}/smaps_rollup") as file:
                total += next(int(line.split()[1]) for line in file if line.startswith("Pss:")) * 1024
            with open(f"/proc/{current}/task/{current}/children") as file:
                waiting += map(int, file.read().split())
        except (OSError, StopIteration):
            continue
    return total


class Answer(NamedTuple):
    """What came back for a page; status 0 if nothing did."""

    status: int
    first_byte: float
    whole: float
    size: int


class Server:
    """A running `sessionlog browse`."""

    def __init__(self, process: "subprocess.Popen[bytes]", address: str) -> None:
        self.process = process
        parts = urlsplit(address)
        self.host, self.port = parts.hostname or "127.0.0.1", parts.port or 80

    def get(self, path: str, patience: float = 60) -> Answer:
        """Load a page over a connection of its own, as a first visit does."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=patience)
        started = time.perf_counter()
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            first = response.read(1)
            first_byte = time.perf_counter() - started
            size = len(first) + len(response.read())
            return Answer(response.status, first_byte, time.perf_counter() - started, size)
        except (OSError, http.client.HTTPException):
            took = time.perf_counter() - started
            return Answer(0, took, took, 0)
        finally:
            connection.close()

    def address(self, path: str) -> str:
        return f"http://{self.host}:{self.port}{path}"

    def memory(self) -> int:
        return tree_memory(self.process.pid)


@contextmanager
def browsing(env: dict[str, str], folder: Path, patience: float = 600) -> Iterator[Server]:
    """`sessionlog browse` on a free port, until the block ends. It may index or migrate before it answers."""
    errors = folder / "browse.err"
    command = [*SESSIONLOG, "browse", "--no-open", "--no-token", "--port", "0"]
    with open(errors, "wb") as stderr:
        process = subprocess.Popen(command, env={**env, "PYTHONUNBUFFERED": "1"}, stdout=subprocess.PIPE, stderr=stderr)
    try:
        assert process.stdout
        os.set_blocking(process.stdout.fileno(), False)
        text, started = "", time.monotonic()
        while "http://" not in text or "\n" not in text:
            if process.poll() is not None or time.monotonic() - started > patience:
                raise SystemExit(f"`sessionlog browse` did not start: {errors.read_text('utf-8', 'replace')[-2000:]}")
            time.sleep(0.05)
            text += (process.stdout.read() or b"").decode()
        address = text[text.index("http://") :].split()[0]
        yield Server(process, address)
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout:
            process.stdout.close()


class Run(NamedTuple):
    """How long a command took, and the most bytes of memory it had; no code if it was ended for its slowness."""

    seconds: float
    memory: int
    code: int | None


def timed(command: list[str], env: dict[str, str], patience: float) -> Run:
    """Run a command to its end, but no longer than this; what it prints goes nowhere."""
    started = time.perf_counter()
    nowhere = subprocess.DEVNULL
    process = subprocess.Popen(command, env=env, cwd=env.get("CLAUDE_PROJECT_DIR"), stdout=nowhere, stderr=nowhere)
    memory, ended = 0, threading.Event()

    # The kernel's own maximum (ru_maxrss) begins with what the parent has, which may be more.
    def watch() -> None:
        nonlocal memory
        while not ended.wait(0.03):
            memory = max(memory, _greatest_memory(process.pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        code: int | None = process.wait(patience)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        code = None
    seconds = time.perf_counter() - started
    ended.set()
    watcher.join()
    return Run(seconds, memory, code)


def _greatest_memory(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:")) * 1024
    except (OSError, StopIteration):
        return 0


def lines_a_second(command: list[str], env: dict[str, str], patience: float) -> float:
    """How many lines a second a command prints, from its first; it is ended when the patience is."""
    process = subprocess.Popen(
        command, env=env, cwd=env.get("CLAUDE_PROJECT_DIR"), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout
    with process.stdout as output:
        count, first, now = 0, 0.0, 0.0
        while chunk := os.read(output.fileno(), 1 << 20):
            now = time.perf_counter()
            first = first or now
            count += chunk.count(b"\n")
            if now - first > patience:
                break
        process.kill()
        process.wait()
    return count / (now - first) if now > first else float("nan")
