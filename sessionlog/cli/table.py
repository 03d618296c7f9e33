"""Rows as an aligned table in a terminal, as wide as it and no wider."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
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
        for number, row in enumerate(cells):
            yield from [""] if number else ()
            yield from listed(columns, row, width)
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


def display_width(text: str) -> int:
    """How many columns of a terminal the text takes: Chinese, Japanese, Korean and emoji take two."""
    if text.isascii():
        return len(text)
    if (wide := _count_wide(text)) is not None:
        return len(text) + wide
    from wcwidth import width  # importing it takes as long as a whole command; emoji and combining marks need it

    return width(text)


def _count_wide(text: str) -> int | None:
    """How many characters take two columns; None if some are neither letters nor signs of one or two columns."""
    columns = [_columns(letter) for letter in text]
    return columns.count(2) if None not in columns else None


@cache
def _columns(letter: str) -> int | None:
    return next((size for first, last, size in _SIMPLE if first <= letter <= last), None)


# Without combining marks: most of Europe's letters, dashes, arrows, boxes; kana, Chinese, Korean, full-width signs.
_SIMPLE = (
    *((" ", "~", 1), ("\u00a1", "\u00ac", 1), ("\u00ae", "\u02ff", 1), ("\u0400", "\u0482", 1)),
    *(("\u2010", "\u2027", 1), ("\u2190", "\u21ff", 1), ("\u2500", "\u257f", 1)),
    *(("\u3001", "\u3029", 2), ("\u3041", "\u3096", 2), ("\u309b", "\u30ff", 2), ("\u3400", "\u4dbf", 2)),
    *(("\u4e00", "\u9fff", 2), ("\uac00", "\ud7a3", 2), ("\uff01", "\uff60", 2)),
)


def cut(text: str, width: int) -> str:
    """The text, or as much of it as fits."""
    if display_width(text) <= width:
        return text
    return f"{_beginning(text, max(width - 1, 0))}…"


def _beginning(text: str, room: int) -> str:
    if text.isascii():
        return text[:room]
    if _count_wide(text) is None:
        from wcwidth import clip

        return clip(text, 0, room, fillchar="")
    used = 0
    for place, letter in enumerate(text):
        used += _columns(letter) or 1
        if used > room:
            return text[:place]
    return text


def cut_styled(line: str, width: int) -> str:
    """The same of a line with colours: each of them ends where it did."""
    pieces = re.split(r"(\x1b\[[0-9;]*m)", line)
    if display_width("".join(pieces[::2])) <= width:
        return line
    room, shown = max(width - 1, 0), []
    for number, piece in enumerate(pieces):
        is_colour = number % 2 == 1
        shown.append(piece if is_colour else _beginning(piece, room))
        room -= 0 if is_colour else min(display_width(piece), room)
    return f"{''.join(shown)}…"


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


def listed(columns: Sequence[str], row: Row, width: int) -> Iterator[str]:
    """A row with a line for each value that it has."""
    names = [cell(name) for name in columns]
    label = max(map(display_width, names))
    for name, value in zip(names, row, strict=True):
        if text := cell(value):
            yield f"{pad(name, label)}  {cut(text, max(20, width - label - 2))}"


def _is_number(text: str) -> bool:
    return not text or text.lstrip("-").replace(".", "", 1).isdigit()
