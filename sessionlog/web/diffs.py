"""What a call changed in a file, as a diff in one column; a script puts it side by side by repeating unchanged lines.

A page may hold thousands of lines, so a line is two elements and what is coloured in it: numbers and signs are written
by the style sheet.
"""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Iterator
from typing import NamedTuple

from markupsafe import Markup, escape

from sessionlog.session import call as calls
from sessionlog.session.call import Call
from sessionlog.text import plain
from sessionlog.web import highlight

# Lines that are shown of a diff, and characters of a line; the rest is one click away.
LINES, WIDTH = 200, 2_000
# Lines are compared word by word if they are not more than this in a row, have not more words, and are so much alike.
PAIRS, COMPARED, ALIKE = 40, 120, 0.5

_HUNK = re.compile(r"@@ -(\d{1,9}),\d{1,9} \+(\d{1,9}),\d{1,9} @@")
_WORD = re.compile(r"\w+|\s+|.", re.DOTALL)


class DiffLine(NamedTuple):
    """A line, and its number in the file if that is known."""

    number: int | None
    text: str
    words: highlight.Words


class Diff(NamedTuple):
    """A diff as HTML, and what it comes to."""

    html: Markup
    added: int
    removed: int
    lines: int
    left_out: int


def render(call: Call, wanted: tuple[str, ...] = ()) -> Diff | None:
    """What the call changed, the `wanted` lines marked; None if it changed nothing."""
    found = calls.changes(call)
    if not found:
        return None
    # A file that is written whole begins at its first line.
    first = 1 if call.action == "write" and not found[0].startswith("@@") else None
    return of_lines(found, calls.path(call), first=first, wanted=wanted)


def of_lines(
    found: list[str], path: str, *, first: int | None = None, wanted: tuple[str, ...] = (), most: int = LINES
) -> Diff:
    """The lines of a unified diff as HTML."""
    shown = [plain.safe(line[:WIDTH]) for line in found[:most]]
    added = sum(line.startswith("+") for line in found)
    removed = sum(line.startswith("-") for line in found)
    looks = ["diff", "code"]
    if first is not None or any(_HUNK.match(line) for line in shown):
        looks.append("numbered")
    if added == sum(not line.startswith("@@") for line in found):
        looks.append("only-new")
    html = "".join(_parts(shown, highlight.for_file(path), first, wanted))
    # Each line was escaped where it was made.
    made = Markup(f'<div class="{" ".join(looks)}" tabindex="0" role="group" aria-label="Diff">{html}</div>')  # noqa: S704
    return Diff(made, added, removed, len(found), len(found) - most)


def _parts(diff: list[str], lexer: object, first: int | None, wanted: tuple[str, ...]) -> Iterator[str]:
    old_words = iter(highlight.lines("\n".join(line[1:] for line in diff if line[:1] in ("-", " ", "")), lexer))
    new_words = iter(highlight.lines("\n".join(line[1:] for line in diff if line[:1] in ("+", " ", "")), lexer))
    old_number, new_number = first, first
    removed: list[DiffLine] = []
    added: list[DiffLine] = []
    same: list[str] = []
    for number, line in enumerate(diff):
        sign, text = line[:1], line[1:]
        if sign not in ("-", "+"):
            if removed or added:
                yield _change(removed, added, wanted)
                removed, added = [], []
        elif same:
            yield _same(same)
            same = []
        if sign == "-":
            removed.append(DiffLine(old_number, text, next(old_words)))
            old_number = old_number and old_number + 1
        elif sign == "+":
            added.append(DiffLine(new_number, text, next(new_words)))
            new_number = new_number and new_number + 1
        elif sign in (" ", ""):
            next(old_words)
            same.append(_line("", old_number, new_number, next(new_words)))
            old_number, new_number = old_number and old_number + 1, new_number and new_number + 1
        else:
            if same:
                yield _same(same)
                same = []
            if hunk := _HUNK.match(line):
                old_number, new_number = int(hunk[1]), int(hunk[2])
            if number or not hunk:  # the numbers say where the first one is
                yield f'<div class="hunk">{escape(line) if len(line) > 2 else "⋯"}</div>'
    if same:
        yield _same(same)
    if removed or added:
        yield _change(removed, added, wanted)


def _same(lines: list[str]) -> str:
    return f'<div class="same"><div class="new">{"".join(lines)}</div></div>'


def _change(removed: list[DiffLine], added: list[DiffLine], wanted: tuple[str, ...]) -> str:
    old, new = [line.words for line in removed], [line.words for line in added]
    for at, (before, after) in enumerate(zip(removed[:PAIRS], added[:PAIRS], strict=False)):
        old[at], new[at] = _compared(before, after)
    marks = [" wanted" * _is_wanted(line, wanted) for line in (*removed, *added)]
    left = "".join(
        _line(f"del{mark}", line.number, None, words) for line, words, mark in zip(removed, old, marks, strict=False)
    )
    right = "".join(
        _line(f"add{mark}", None, line.number, words)
        for line, words, mark in zip(added, new, marks[len(removed) :], strict=True)
    )
    sides = [f'<div class="{side}">{lines}</div>' for side, lines in (("old", left), ("new", right)) if lines]
    return f'<div class="change">{"".join(sides)}</div>'


def _is_wanted(line: DiffLine, wanted: tuple[str, ...]) -> bool:
    flat = " ".join(line.text.split())
    return any(one in flat for one in wanted)


def _line(name: str, old: int | None, new: int | None, words: highlight.Words) -> str:
    numbers = "".join(f' data-{key}="{number}"' for key, number in (("o", old), ("n", new)) if number is not None)
    return f'<div class="{f"ln {name}".strip()}"{numbers}><span>{highlight.html(words)}</span></div>'


def _compared(before: DiffLine, after: DiffLine) -> tuple[highlight.Words, highlight.Words]:
    """The words that differ, marked; lines that have little in common are left alone."""
    old, new = _WORD.findall(before.text), _WORD.findall(after.text)
    if max(len(old), len(new)) > COMPARED or before.text.strip() == after.text.strip():
        return before.words, after.words
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    if matcher.ratio() < ALIKE:
        return before.words, after.words
    changed = [change for change in matcher.get_opcodes() if change[0] != "equal"]
    return (
        _marked(before.words, [(_length(old, change[1]), _length(old, change[2])) for change in changed]),
        _marked(after.words, [(_length(new, change[3]), _length(new, change[4])) for change in changed]),
    )


def _length(words: list[str], count: int) -> int:
    return sum(map(len, words[:count]))


def _marked(words: highlight.Words, ranges: list[tuple[int, int]]) -> highlight.Words:
    """The same words, cut where a range begins or ends; those in a range have one more class."""
    cuts = sorted({cut for pair in ranges for cut in pair})
    found: highlight.Words = []
    at = 0
    for name, piece in words:
        end = at + len(piece)
        borders = [at, *(cut for cut in cuts if at < cut < end), end]
        for start, stop in itertools.pairwise(borders):
            inside = any(first <= start and stop <= last for first, last in ranges)
            found.append((f"{name} word".strip() if inside else name, piece[start - at : stop - at]))
        at = end
    return found
