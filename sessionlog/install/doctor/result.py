"""The result of a check of the doctor."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from sessionlog.archive.place import user_home

Level: TypeAlias = Literal["ok", "note", "problem"]


class Result(NamedTuple):
    """What was checked, its state in one line, and what to do about it."""

    name: str
    level: Level
    text: str
    advice: str = ""


def short(path: str | Path) -> str:
    """A path as people write it; an issue need not show the name of its author."""
    home = user_home().rstrip("/")
    return f"~{str(path).removeprefix(home)}" if home and str(path).startswith(f"{home}/") else str(path)
