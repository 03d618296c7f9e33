"""A control for what is measured on a machine that others use too: when it stood still, and when a thread had no core.

A process of its own sleeps again and again for a short time. How late it wakes is how long the whole machine, or every
core of it, was away. Each time it also notes what the kernel says of some threads: how long the first of them ran, and
how long each was ready to run while others had the cores.
"""

import multiprocessing
import os
import time
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import NamedTuple

EVERY = 0.003  # seconds between two looks
LATE = 0.005  # seconds beyond them that any busy machine takes now and then


class Look(NamedTuple):
    """When (s), by how much too late (s), how long (s) the first thread had run, and each had waited for a core."""

    at: float
    late: float
    ran: float
    waited: tuple[float, ...]


class Share(NamedTuple):
    """Of a span of time, in seconds: the machine stood still; a thread, the one that had to most, waited for a core;
    the first thread ran."""

    still: float
    waited: float
    ran: float

    @property
    def lost(self) -> float:
        """What the machine took. A standstill may count as waiting too, so the longer of both, not their sum."""
        return max(self.still, self.waited)


class Control:
    """What was seen, once the block of `watching` has ended."""

    def __init__(self) -> None:
        self.looks: list[Look] = []

    def share(self, begin: float, end: float) -> Share:
        """What the machine and the thread did between two moments (s since 1970)."""
        first = max(0, bisect_left(self.looks, begin, key=lambda look: look.at) - 1)
        # The kernel adds a wait when it is over: the look after the end has it.
        last = min(len(self.looks) - 1, bisect_left(self.looks, end, key=lambda look: look.at))
        if last <= first:
            return Share(0, 0, 0)
        still = sum(
            max(0.0, min(end, look.at) - max(begin, look.at - look.late))
            for look in self.looks[first + 1 : last + 1]
            if look.late > LATE
        )
        before, after = self.looks[first], self.looks[last]
        waits = (late - early for early, late in zip(before.waited, after.waited, strict=True))
        return Share(still, max(waits), after.ran - before.ran)


@contextmanager
def watching(threads: list[int]) -> Iterator[Control]:
    """Watch the machine and these threads until the block ends."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    watcher = context.Process(target=_watch, args=(threads, theirs))
    watcher.start()
    ours.recv()
    control = Control()
    try:
        yield control
    finally:
        ours.send("enough")
        control.looks = ours.recv()
        watcher.join()


def _watch(threads: list[int], pipe: Connection) -> None:
    looks: list[Look] = []
    files = [os.open(f"/proc/{thread}/schedstat", os.O_RDONLY) for thread in threads]
    pipe.send("begun")
    while not pipe.poll():
        begun = time.time()
        time.sleep(EVERY)
        now = time.time()
        try:
            told = [[int(number) / 1e9 for number in os.pread(file, 100, 0).split()] for file in files]
        except OSError:  # a thread has ended
            break
        looks.append(Look(now, max(0.0, now - begun - EVERY), told[0][0], tuple(one[1] for one in told)))
    for file in files:
        os.close(file)
    pipe.send(looks)
