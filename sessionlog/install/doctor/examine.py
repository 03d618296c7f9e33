"""Runs every check of the doctor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from sessionlog.install import commands
from sessionlog.install.doctor import archives, hooks, machine, privacy, transcripts
from sessionlog.install.doctor.repair import repair
from sessionlog.install.doctor.result import Level, Result

__all__ = ["Level", "Result", "examine", "repair"]


def examine(cwd: Path, *, full: bool = False) -> Iterator[Result]:
    """Every check, the most important first; `full` includes slow ones. Changes nothing."""
    client = commands.client_version()
    checks: list[tuple[str, Callable[[], Iterator[Result]]]] = [
        ("programs", partial(machine.programs, client)),
        ("hooks", partial(hooks.recording, cwd, client)),
        ("agents", hooks.other_agents_recording),
        ("supervisor", partial(hooks.supervising, cwd)),
        ("settings", partial(hooks.obstacles, cwd)),
        ("settings", partial(hooks.other_hooks, cwd)),
        ("archive", archives.place_and_size),
        ("integrity", partial(archives.integrity, full)),
        ("spool", archives.waiting),
        ("permissions", privacy.permissions),
        ("merge", privacy.left_behind),
        ("choices", archives.recording),
        ("redaction", archives.redaction),
        ("prune", archives.pruned),
        ("transcripts", partial(transcripts.retention, cwd)),
        ("secrets", transcripts.secrets),
    ]
    for name, check in checks:
        try:
            yield from check()
        except Exception as error:  # a check that fails must not hide the others
            yield Result(name, "problem", f"could not be checked: {type(error).__name__}: {error}")
