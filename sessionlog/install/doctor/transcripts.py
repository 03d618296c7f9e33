"""Doctor checks: the transcripts that Claude Code keeps, and when it deletes them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from sessionlog import config
from sessionlog.archive import place as projects
from sessionlog.install.doctor.result import Result, short
from sessionlog.install.settings_files import in_force as settings_in_force
from sessionlog.install.settings_files import settings_file
from sessionlog.text.plain import counted

DEFAULT_DAYS = 30
SOON = 7
DAY = 86_400


def retention(cwd: Path) -> Iterator[Result]:
    """How many transcripts Claude Code will delete, and when."""
    user_settings = settings_file("user", cwd)
    days = _cleanup_period(cwd)
    ages = list(_ages(user_settings.parent / "projects"))
    due = sum(age >= days for age in ages)
    soon = sum(days - SOON <= age < days for age in ages)
    text = f"{counted(len(ages), 'file')}; Claude Code deletes them {counted(days, 'day')} after the last change"
    if due or soon:
        text += f": {due} when it starts next, {soon} more within {SOON} days"
        advice = (
            "`sessionlog import` keeps them for good. "
            f'Set "cleanupPeriodDays" in {short(user_settings)} to more than {days} to leave them there longer.'
        )
        yield Result("transcripts", "note", text, advice)
    else:
        yield Result("transcripts", "ok", text)


def secrets() -> Iterator[Result]:
    """Whether transcripts are archived with or without their secrets."""
    home = projects.home_folder()
    if config.keeps_transcripts_raw(home):
        advice = f'Take "raw" out of "transcripts" in {short(Path(home) / "config.json")} to have them taken out.'
        yield Result("secrets", "note", "transcripts are archived with their secrets, every byte as it was", advice)
    else:
        yield Result("secrets", "ok", "transcripts are archived without their secrets")


def _cleanup_period(cwd: Path) -> int:
    for values in settings_in_force(cwd).values():
        days = values.get("cleanupPeriodDays")
        if type(days) is int and days > 0:  # the client refuses 0
            return days
    return DEFAULT_DAYS


def _ages(folder: Path) -> Iterator[float]:
    """How many days ago each transcript was last written to."""
    now = time.time()
    for path in folder.rglob("*.jsonl"):
        try:
            yield (now - path.stat().st_mtime) / DAY
        except FileNotFoundError:  # the client is deleting
            continue
