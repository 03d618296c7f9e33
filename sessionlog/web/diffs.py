"""What a call changed in a file, as a diff: one column or two side by side, the same HTML serves both."""

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
LINES, WIDTH = 400, 2_000
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


def render(call: Call) -> Diff | None:
    """What the call changed; None if it changed nothing."""
    found = calls.changes(call)
    if not found:
        return None
    inputs = call.input if isinstance(call.input, dict) else {}
    path = inputs.get("file_path", inputs.get("notebook_path"))
    shown = [plain.safe(line[:WIDTH]) for line in found[:LINES]]
    added = sum(line.startswith("+") for line in found)
    removed = sum(line.startswith("-") for line in found)
    # A file that is written whole begins at its first line.
    first = 1 if call.action == "write" and not found[0].startswith("@@") else None
    lexer = highlight.for_file(path if isinstance(path, str) else "")
    html = f'<div class="diff code">{"".join(_parts(shown, lexer, first))}</div>'
    # Each line was escaped where it was made.
    return Diff(Markup(html), added, removed, len(found), len(found) - LINES)  # noqa: S704


def _parts(diff: list[str], lexer: object, first: int | None) -> Iterator[str]:
    old_words = iter(highlight.lines("\n".join(line[1:] for line in diff if line[:1] in ("-", " ", "")), lexer))
    new_words = iter(highlight.lines("\n".join(line[1:] for line in diff if line[:1] in ("+", " ", "")), lexer))
    old_number, new_number = first, first
    removed: list[DiffLine] = []
    added: list[DiffLine] = []
    same: list[tuple[DiffLine, DiffLine]] = []
    for line in diff:
        sign, text = line[:1], line[1:]
        if sign not in ("-", "+"):
            if removed or added:
                yield _change(removed, added)
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
            same.append((DiffLine(old_number, text, next(old_words)), DiffLine(new_number, text, next(new_words))))
            old_number, new_number = old_number and old_number + 1, new_number and new_number + 1
        else:
            if same:
                yield _same(same)
                same = []
            if hunk := _HUNK.match(line):
                old_number, new_number = int(hunk[1]), int(hunk[2])
            yield f'<div class="hunk">{escape(line)}</div>'
    if same:
        yield _same(same)
    if removed or added:
        yield _change(removed, added)


def _same(pairs: list[tuple[DiffLine, DiffLine]]) -> str:
    """Unchanged lines: once in one column, on both sides of two."""
    old = "".join(_line("", line, line.words) for line, _ in pairs)
    new = "".join(_line("", line, line.words) for _, line in pairs)
    return f'<div class="same"><div class="old" aria-hidden="true">{old}</div><div class="new">{new}</div></div>'


def _change(removed: list[DiffLine], added: list[DiffLine]) -> str:
    old, new = [line.words for line in removed], [line.words for line in added]
    for at, (before, after) in enumerate(zip(removed[:PAIRS], added[:PAIRS], strict=False)):
        old[at], new[at] = _compared(before, after)
    left = "".join(_line("−", line, words) for line, words in zip(removed, old, strict=True))
    right = "".join(_line("+", line, words) for line, words in zip(added, new, strict=True))
    return f'<div class="change"><div class="old">{left}</div><div class="new">{right}</div></div>'


def _line(sign: str, line: DiffLine, words: highlight.Words) -> str:
    number = f' data-n="{line.number}"' if line.number is not None else ""
    name = {"+": "add", "−": "del"}.get(sign, "ctx")
    return f'<div class="l {name}"{number}><i>{sign}</i><span>{highlight.html(words)}</span></div>'


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
            found.append((f"{name} w".strip() if inside else name, piece[start - at : stop - at]))
        at = end
    return found
