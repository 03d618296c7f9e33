"""Colours of a terminal as colours of a page; nothing else that a terminal would obey gets through."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

from sessionlog.text import plain

NAMES = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")

_COLOUR = re.compile("\x1b\\[([0-9;]{0,40})m")


def html(text: str) -> Markup:
    """The text, with classes where it was coloured or bold."""
    made: list[str] = []
    end, names = 0, ""
    for found in _COLOUR.finditer(text):
        made.append(_piece(text[end : found.start()], names))
        end, names = found.end(), _after(names, found[1])
    made.append(_piece(text[end:], names))
    return Markup("".join(made))  # noqa: S704 (every piece is escaped, and the classes are ours)


def _piece(text: str, names: str) -> str:
    shown = escape(plain.safe(text))
    return f'<span class="{names}">{shown}</span>' if names and text else str(shown)


def _after(names: str, codes: str) -> str:
    """The classes after a sequence of codes."""
    found = set(names.split())
    numbers = [int(code or 0) for code in codes.split(";")]
    if 38 in numbers or 48 in numbers:  # one of 256 colours, or of all: too many to have a class each
        return names
    for number in numbers:
        if number == 0:
            found.clear()
        elif number in (1, 2):
            found.add("ansi-bold" if number == 1 else "ansi-dim")
        elif number == 22:
            found -= {"ansi-bold", "ansi-dim"}
        elif 30 <= number <= 39 or 90 <= number <= 97:
            found = {name for name in found if name in ("ansi-bold", "ansi-dim")}
            if number != 39:
                found.add(f"ansi-{NAMES[number % 10]}")
    return " ".join(sorted(found))
