"""Worker processes that each do one task at a time."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Any

from sessionlog.errors import SessionlogError
from sessionlog.system import children

if TYPE_CHECKING:
    from concurrent.futures import Future  # which takes 6 ms to import


class Pool:
    """The workers: a module whose `main()` calls `serve`. They end with the pool, or with this process."""

    def __init__(self, workers: int, module: str, *arguments: Any) -> None:
        self._workers = workers
        self._module = module
        self._arguments = arguments
        self._children: list[subprocess.Popen[bytes]] = []
        self._own = threading.local()  # each thread talks to the child it started
        from concurrent.futures import ThreadPoolExecutor

        self._threads = ThreadPoolExecutor(workers, initializer=self._start)

    def start(self) -> None:
        """Start the processes before there is work for them."""
        for _ in range(self._workers):
            self._threads.submit(int)

    def _start(self) -> None:
        self._own.child = children.start(self._module)
        self._children.append(self._own.child)
        self._send(self._arguments)

    def _send(self, value: Any) -> None:
        pickle.dump(value, self._own.child.stdin)
        self._own.child.stdin.flush()

    def submit(self, task: Any) -> Future[Any]:
        """Have a worker do the task. What the worker raises, the future raises."""
        return self._threads.submit(self._ask, task)

    def _ask(self, task: Any) -> Any:
        try:
            self._send(task)
            answer = pickle.load(self._own.child.stdout)  # noqa: S301 (our own child wrote it)
        except (EOFError, BrokenPipeError, pickle.UnpicklingError) as error:
            raise SessionlogError("A worker process ended before its work was done.") from error
        if isinstance(answer, Exception):
            raise answer
        return answer

    def __enter__(self) -> Pool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            for child in self._children:
                child.kill()
        self._threads.shutdown(cancel_futures=True)
        for child in self._children:
            child.communicate()  # closes its stdin, which ends it, and waits


def serve(prepare: Any) -> None:
    """The loop of a worker: `prepare(*arguments)` gives the function that does a task."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C reaches the whole group; the parent decides what happens
    stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
    work = prepare(*pickle.load(stdin))  # noqa: S301 (our own parent wrote it)
    while True:
        try:
            task = pickle.load(stdin)  # noqa: S301
        except EOFError:
            return
        try:
            answer = work(task)
        except Exception as error:
            answer = error
        pickle.dump(answer, stdout)
        stdout.flush()
