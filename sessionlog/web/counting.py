"""The first counting of a big archive takes a while: pages show what is there meanwhile, and say what is missing."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable
from typing import NamedTuple, Protocol

from sessionlog.archive.place import Place
from sessionlog.ask.rollup import open as rollup
from sessionlog.web import background

_jobs: dict[str, background.Job[None]] = {}


class Project(Protocol):
    """What pages know of a project."""

    @property
    def label(self) -> str: ...

    @property
    def place(self) -> Place: ...


class Counting(NamedTuple):
    """A project that is being counted: how many events of how many, or what went wrong."""

    label: str
    done: int
    total: int
    problem: str


def start(place: Place) -> background.Job[None]:
    """Count in the background, unless somebody is at it already."""
    job = _jobs.get(place.db)
    if job is None or job.is_done:
        job = _jobs[place.db] = background.Job(lambda tell: rollup.connect(place, tell=tell).close())
    return job


def connect(place: Place, since: str = "", client: str | None = None) -> sqlite3.Connection:
    """The counts of a project; while they are made for the first time, its sessions alone."""
    try:
        return rollup.connect(place, since, client, most=rollup.FEW)
    except rollup.StillCounting:
        job = _jobs.get(place.db)
        if job and job.is_done and not os.path.isfile(rollup.KIND.path(place)):
            # All was counted, but could not be kept: the disk is full or read-only.
            return rollup.connect(place, since, client)
        start(place)
        return rollup.preview(place, since, client)


def running(found: Iterable[Project]) -> list[Counting]:
    """Those of these projects that are being counted."""
    jobs = ((project, _jobs.get(project.place.db)) for project in found)
    return [
        Counting(project.label, job.done, job.total, str(job.future.exception() or "") if job.is_done else "")
        for project, job in jobs
        if job and not (job.is_done and job.future.exception() is None)
    ]
