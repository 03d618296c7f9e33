"""Work that may take longer than a page should: it goes on in a thread, and the page asks again until it is done."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

T = TypeVar("T")
Tell = Callable[[int, int], None]

# How long (s) a page waits before it says that it goes on.
PATIENCE = 0.2
# An answer that nobody fetched is thrown away after so many seconds.
KEPT = 60


class Job(Generic[T]):
    """What is being worked on; `done` and `total` once something is known of them."""

    def __init__(self, work: Callable[[Tell], T]) -> None:
        self.done = self.total = 0
        self.ended = 0.0
        self.future: Future[T] = Future()
        # Not the pool of asyncio, which a server that ends would wait for.
        threading.Thread(target=self._run, args=(work,), daemon=True).start()

    @property
    def is_done(self) -> bool:
        return self.future.done()

    @property
    def result(self) -> T:
        """The answer, or what went wrong."""
        return self.future.result()

    def _run(self, work: Callable[[Tell], T]) -> None:
        def tell(done: int, total: int) -> None:
            self.done, self.total = done, total

        try:
            result = work(tell)
        except BaseException as error:
            self.ended = time.monotonic()
            self.future.set_exception(error)
        else:
            self.ended = time.monotonic()
            self.future.set_result(result)


_jobs: dict[Hashable, Job[Any]] = {}


async def ask(name: Hashable, work: Callable[[Tell], T], *, patience: float = PATIENCE, anew: bool = False) -> Job[T]:
    """The job of this name, started if it is not running; it may or may not be done after a short wait.

    `anew` does not take the answer of a job that was done before anybody asked for it.
    """
    for old in [key for key, job in _jobs.items() if job.is_done and time.monotonic() - job.ended > KEPT]:
        del _jobs[old]
    job = _jobs.get(name)
    if job is None or (anew and job.is_done):
        job = _jobs[name] = Job(work)
    deadline = time.monotonic() + patience
    while not job.is_done and time.monotonic() < deadline:
        await asyncio.sleep(0.004)
    if job.is_done and _jobs.get(name) is job:
        del _jobs[name]  # the next one who asks gets a new answer
    return job
