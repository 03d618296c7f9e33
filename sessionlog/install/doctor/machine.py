"""Doctor checks: the programs that sessionlog needs."""

from __future__ import annotations

import platform
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import date
from pathlib import Path

import sessionlog
from sessionlog.agents.claude_code import prices
from sessionlog.archive.place import home_folder
from sessionlog.errors import SessionlogError
from sessionlog.install.commands import Version
from sessionlog.install.doctor.result import Result, short

NEEDED_SQLITE = (3, 37, 0)  # STRICT tables


def programs(client: Version | None) -> Iterator[Result]:
    """The versions that a maintainer asks for first."""
    yield Result("sessionlog", "ok", f"{sessionlog.__version__}, {short(Path(sessionlog.__file__).parent)}")
    system = f"{platform.system()} {platform.machine()}"
    yield Result("Python", "ok", f"{platform.python_version()} on {system}, {short(sys.executable)}")
    yield _sqlite()
    yield prices_in_force(home_folder(), date.today())
    if client:
        yield Result("Claude Code", "ok", ".".join(map(str, client)))
    else:
        yield Result("Claude Code", "note", "`claude` is not on the PATH, or does not say its version")


def prices_in_force(home: str, today: date) -> Result:
    """How old the table of prices is."""
    try:
        table = prices.load(home)
        age = (today - date.fromisoformat(str(table["date"]))).days
    except (SessionlogError, ValueError) as error:
        return Result("Prices", "problem", str(error), "Mend the file, or remove it.")
    if age > prices.OLD:
        return Result(
            "Prices", "note", f"of {table['date']}, {age} days old", "Upgrade sessionlog, or write a prices.json."
        )
    return Result("Prices", "ok", f"of {table['date']}, {len(table['models'])} models")


def _sqlite() -> Result:
    version = sqlite3.sqlite_version
    if sqlite3.sqlite_version_info < NEEDED_SQLITE:
        needed = ".".join(map(str, NEEDED_SQLITE))
        return Result("SQLite", "problem", f"{version}, and the archive needs {needed}", "Use a newer Python.")
    try:
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.execute("CREATE VIRTUAL TABLE probe USING fts5 (text)")
    except sqlite3.OperationalError:
        return Result(
            "SQLite", "problem", f"{version} without FTS5, which search needs", "Use another build of Python."
        )
    return Result("SQLite", "ok", f"{version} with FTS5")
