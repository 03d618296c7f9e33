"""A map of a session, from left to right: how busy it was, where prompts are, and what went wrong."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

from sessionlog.session.outline import Item
from sessionlog.text import plain
from sessionlog.times import moment

# Bars at most; the drawing is so wide and high, and prompts are marked below this line.
BARS, WIDTH, GROUND = 120, 1000, 18


class Bar(NamedTuple):
    """A part of the map that can be clicked: where it is, the moment that it leads to, and what happened there."""

    x: str
    width: str
    name: str
    number: int
    title: str


class Map(NamedTuple):
    """The bars, and what is drawn of all of them at once: an element for each would make the page heavy."""

    bars: list[Bar]
    busy: str
    bad: str
    asked: str
    total: int


def draw(items: list[Item], is_trouble: Callable[[Item], bool], total: int) -> Map:
    """The map of these items; the session has so many in all."""
    count = min(BARS, len(items))
    slices = [items[number * len(items) // count : (number + 1) * len(items) // count] for number in range(count)]
    ends = [*(some[0].at for some in slices[1:]), items[-1].at] if items else []
    # Things in a minute, on a scale of logarithms: a burst of calls is a thousand times as dense as a lunch break.
    rates = [
        math.log1p(60 * len(some) / max(1.0, seconds(some[0].at, end))) for some, end in zip(slices, ends, strict=True)
    ]
    most = max(rates, default=1) or 1
    width = WIDTH / count if count else 0
    bars, busy, bad, asked = [], [], [], []
    for number, (some, rate) in enumerate(zip(slices, rates, strict=True)):
        x, height = number * width, 4 + 12 * rate / most
        problems = [item for item in some if is_trouble(item)]
        prompts = [item for item in some if item.kind == "prompt" and not item.agent_id]
        busy.append(_rectangle(x, GROUND - height, width * 0.82, height))
        if problems:
            red = min(height, max(5, height * len(problems) / len(some)))
            bad.append(_rectangle(x, GROUND - red, max(width * 0.82, 2.5), red))
        if prompts:
            asked.append(_rectangle(x, GROUND + 2, max(width * 0.82, 2.5), min(4, 2 + len(prompts))))
        first = (problems or prompts or some)[0]
        told = [f"{len(some):,} {'entry' if len(some) == 1 else 'entries'}"]
        told += [plain.counted(len(prompts), "prompt")] if prompts else []
        told += [plain.counted(len(problems), "problem")] if problems else []
        title = f"{plain.local_time(first.at, '%H:%M')}: {', '.join(told)}"
        bars.append(Bar(f"{x:.1f}", f"{width:.1f}", first.name, some[0].number, title))
    return Map(bars, _path(busy), _path(bad), _path(asked), total)


def seconds(start: str, end: str) -> float:
    """The time between two moments; a transcript may say anything."""
    try:
        return (moment(end) - moment(start)).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return 0


def _rectangle(x: float, y: float, width: float, height: float) -> str:
    return f"M{x:.1f} {y:.1f}h{width:.1f}v{height:.1f}h-{width:.1f}z"


def _path(pieces: Iterable[str]) -> str:
    return "".join(pieces)
