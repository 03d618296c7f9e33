"""Pieces of an entry of a timeline: words, output, a diff, a picture; what is long is cut, the rest a click away."""

from __future__ import annotations

from typing import NamedTuple

from markupsafe import Markup, escape

from sessionlog.text import plain
from sessionlog.web import markdown

# What is shown of an output and of words before somebody asks for more: lines, and characters; of one line; of an
# argument.
OUTPUT, WORDS, BIG_LINE, INPUT = (12, 4_000), (60, 12_000), 400, 1_000


class Part(NamedTuple):
    """A piece of an entry: how it looks, what is in it, and what was left out and where it is."""

    look: str  # words, markdown, output, code, diff, list, about, prompted, inputs, picture
    html: Markup
    left_out: str = ""
    source: str = ""  # the part to ask for to see all of it


def about(text: str) -> Part:
    """A sentence about what follows."""
    return Part("about", escape(plain.one_line(text, 400)))


def words(text: str, look: str, source: str) -> Part:
    """What somebody said, as Markdown if a model did."""
    if look == "markdown" and (rendered := markdown.html(text)) is not None:
        return Part(look, rendered)
    some, left_out = cut(text, *WORDS)
    return Part("words", escape(plain.safe(some)), left_out, source)


def cut(text: str, lines: int, characters: int, from_end: bool = False) -> tuple[str, str]:
    """The beginning of a text, and of a failure its end as well; and in words how much there is."""
    if len(text) <= characters and text.count("\n") < lines + 3:
        return text, ""
    count = text.count("\n") + 1
    if from_end and count > lines:
        head = [line[:BIG_LINE] for line in text[:characters].split("\n")[:3]]
        tail = [line[:BIG_LINE] for line in text[-characters:].split("\n")[-lines:]]
        some = "\n".join((*head, "⋯", *tail))
    else:
        some = "\n".join(text[:characters].split("\n")[:lines])
    size = plain.size(len(text))
    return some, f"all {count:,} lines, {size}" if count > lines else f"all of it, {size}"
