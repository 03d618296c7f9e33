"""Rows as an aligned table in a terminal, as wide as it and no wider."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sessionlog.text.plain import safe

Row = Sequence[Any]

# Widths are taken from so many rows; later ones that are longer are cut.
MEASURED = 500
# Below this width a column is unreadable: then each row is shown as a list of its values.
NARROWEST = 8
GAP = "  "


def render(
    columns: Sequence[str], rows: Iterable[Row], width: int, narrowest: int = NARROWEST, whole: Sequence[str] = ()
) -> Iterator[str]:
    """The lines of the table: a heading, a rule, the rows; one line for each value if the columns do not fit.

    Columns that are to be `whole` are not cut: of a time, the beginning says little.
    """
    rows = iter(rows)
    names = [cell(name) for name in columns]
    first = [[cell(value) for value in row] for row in itertools.islice(rows, MEASURED)]
    cells = itertools.chain(first, ([cell(value) for value in row] for row in rows))
    natural = [max(map(display_width, column)) for column in zip(names, *first, strict=True)]
    room = width - len(GAP) * (len(natural) - 1)
    fixed = {index for index, name in enumerate(columns) if name in whole}
    widths = _fitted(natural, room, narrowest, fixed) or _fitted(natural, room, narrowest, set())
    if widths is None:
        yield from _listed(names, cells, width)
        return
    numeric = [all(_is_number(row[index]) for row in first) and bool(first) for index in range(len(names))]
    yield _line(names, widths, numeric)
    yield GAP.join("─" * size for size in widths)
    for row in cells:
        yield _line(row, widths, numeric)


def cell(value: Any) -> str:
    """A value on one line, without control characters; empty for NULL."""
    if value is None:
        return ""
    if isinstance(value, bytes):
        return f"<{len(value):,} bytes>"
    return safe(" ".join(str(value)[:10_000].split()))


# Characters of European languages and of Chinese, Japanese and Korean that are themselves whatever stands beside them.
# For others (emoji, combining signs) there is wcwidth, which takes 30 ms to import.
_NARROW = " -~\xa0-\u02ff\u0370-\u0482\u2010-\u2027\u2030-\u205e\u20a0-\u20bf\u2190-\u21ff\u2500-\u257f"
_WIDE = "\u3000-\u3029\u3041-\u3096\u309b-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff60"
_SIMPLE = re.compile(f"[{_NARROW}{_WIDE}]*")
_WIDE_RUNS = re.compile(f"[{_WIDE}]+")


def display_width(text: str) -> int:
    """How many columns of a terminal the text takes: Chinese, Japanese, Korean and emoji take two."""
    if text.isascii():
        return len(text)
    if _SIMPLE.fullmatch(text):
        return len(text) + sum(map(len, _WIDE_RUNS.findall(text)))
    from wcwidth import width

    return width(text)


def cut(text: str, width: int) -> str:
    """The text, or as much of it as fits."""
    if display_width(text) <= width:
        return text
    room = max(width - 1, 0)
    if text.isascii():
        return f"{text[:room]}…"
    if _SIMPLE.fullmatch(text):
        taken = itertools.accumulate([2 if letter >= "\u3000" else 1 for letter in text[:room]])
        return f"{text[: sum(columns <= room for columns in taken)]}…"
    from wcwidth import clip

    return f"{clip(text, 0, room, fillchar='')}…"


def pad(text: str, width: int, right: bool = False) -> str:
    """The text with blanks up to a width, cut if it is longer."""
    text = cut(text, width)
    blanks = " " * (width - display_width(text))
    return blanks + text if right else text + blanks


def _fitted(natural: list[int], room: int, narrowest: int, fixed: set[int]) -> list[int] | None:
    """Widths that fit into the room: the widest columns give way first. None if that leaves too little."""
    excess = sum(natural) - room
    widths = list(natural)
    while excess > 0:
        free = [size for index, size in enumerate(widths) if index not in fixed]
        widest = max(free, default=0)
        if widest <= narrowest:
            return None
        second = max((size for size in free if size < widest), default=narrowest)
        group = [index for index, size in enumerate(widths) if size == widest and index not in fixed]
        step = min(widest - max(second, narrowest), -(-excess // len(group)))
        for index in group:
            taken = min(step, excess)
            widths[index] -= taken
            excess -= taken
    return widths


def _line(row: Sequence[str], widths: list[int], numeric: list[bool]) -> str:
    return GAP.join(pad(text, size, right) for text, size, right in zip(row, widths, numeric, strict=True)).rstrip()


def _listed(names: list[str], cells: Iterable[list[str]], width: int) -> Iterator[str]:
    label = max(map(display_width, names))
    for number, row in enumerate(cells):
        if number:
            yield ""
        for name, text in zip(names, row, strict=True):
            yield f"{pad(name, label)}  {cut(text, max(20, width - label - 2))}".rstrip()


def _is_number(text: str) -> bool:
    return not text or text.lstrip("-").replace(".", "", 1).isdigit()
