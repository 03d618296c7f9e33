"""What a session changed, file by file: the edits of a file as one diff, as far as they follow from each other."""

from __future__ import annotations

import difflib
import sqlite3
from collections.abc import Iterator
from typing import NamedTuple

from sessionlog.fastlib import parse_json
from sessionlog.session import call as calls
from sessionlog.session.call import COMPARED_LINES, Call
from sessionlog.session.load import load
from sessionlog.session.outline import Item, Outline
from sessionlog.transcripts.stored_lines import Lines

# Edits of one file that are put together; of more, the first ones.
MOST_EDITS = 500

# The unary plus keeps SQLite on the index of the session.
_PATHS = """
    SELECT
        tool_use_id, iif(tool_name = 'apply_patch', tool_input, coalesce(file_path, tool_input)) AS named,
        NULL AS part_id, tool_name
    FROM events
    WHERE session_id = :session_id AND +event IN ('PreToolUse', 'PostToolUse') AND +action IN ('edit', 'write')
    UNION ALL
    SELECT tool_use_id, iif(tool_name = 'apply_patch', text, coalesce(file_path, text)), id, tool_name
    FROM transcript_parts
    WHERE session_id = :session_id AND +kind = 'tool_use' AND +action IN ('edit', 'write')
"""


class ChangedFile(NamedTuple):
    """A file, and the calls that changed it, in order."""

    path: str
    items: list[Item]


class Piece(NamedTuple):
    """A diff, and the numbers of the calls that made it."""

    lines: list[str]
    calls: list[int]
    is_known: bool  # whether the whole file was known, so that the lines have numbers


def read(connection: sqlite3.Connection, session_id: str, outline: Outline) -> list[ChangedFile]:
    """The files that a session changed, in the order of their first change."""
    paths: dict[str, list[str]] = {}
    lines = Lines(connection)
    for row in connection.execute(_PATHS, {"session_id": session_id}):
        tool_use_id, named = row["tool_use_id"], row["named"]
        if tool_use_id and named and not paths.get(tool_use_id):
            if row["part_id"] and named.startswith("{"):
                paths[tool_use_id] = calls.paths_of_part(lines, row["part_id"], row["tool_name"], named)
            else:
                paths[tool_use_id] = _paths(named) if named.startswith("{") else [named]
    found: dict[str, list[Item]] = {}
    for item in outline.items:
        for path in paths.get(item.tool_use_id or "", ()) if item.is_edit else ():
            found.setdefault(path, []).append(item)
    return [ChangedFile(path, items) for path, items in found.items()]


def _paths(inputs: str) -> list[str]:
    """The files in an input as JSON; in the beginning of one, the first."""
    try:
        return calls.paths_of_input(parse_json(inputs)) or [calls.path_in(inputs)]
    except ValueError:
        return [calls.path_in(inputs)]


def pieces(connection: sqlite3.Connection, session_id: str, file: ChangedFile) -> list[Piece]:
    """What the session did to a file, as few diffs as possible."""
    entries = load(connection, session_id, file.items[:MOST_EDITS])
    return list(combined([calls.on_file(entry.call, file.path) for entry in entries if entry.call]))


def combined(edits: list[Call]) -> Iterator[Piece]:
    """Edits of one file as diffs: those that go on where the one before ended are one diff.

    A file that somebody else changed in between begins a new one, and so does an edit of a file that is not known.
    """
    base: str | None = None
    current: str | None = None
    numbers: list[int] = []
    for number, call in enumerate(edits):
        before, after = _before_and_after(call, current)
        if before is not None and after is not None:
            if current is None or before != current:
                yield from _piece(base, current, numbers)
                base, numbers = before, []
            numbers.append(number)
            current = after
        else:
            yield from _piece(base, current, numbers)
            base, current, numbers = None, None, []
            if lines := calls.changes(call):
                yield Piece(lines, [number], False)
    yield from _piece(base, current, numbers)


def _piece(base: str | None, current: str | None, numbers: list[int]) -> Iterator[Piece]:
    if numbers and base is not None and current is not None:
        yield Piece(_diff(base, current), numbers, True)


def _before_and_after(call: Call, current: str | None) -> tuple[str | None, str | None]:
    """The whole file before and after a call, if that is known."""
    inputs = call.input if isinstance(call.input, dict) else {}
    response = call.response if isinstance(call.response, dict) else {}
    original = response.get("originalFile")
    before = original if isinstance(original, str) else current
    if isinstance(content := inputs.get("content"), str):
        return ("" if before is None and response.get("type") == "create" else before), content
    edits = inputs.get("edits") if isinstance(inputs.get("edits"), list) else [inputs]
    after = before
    for edit in edits or ():
        old, new = (edit.get("old_string"), edit.get("new_string")) if isinstance(edit, dict) else (None, None)
        if after is None or not isinstance(old, str) or not isinstance(new, str) or (old and old not in after):
            return before, None
        after = after.replace(old, new, -1 if edit.get("replace_all") else 1) if old else new + after
    return before, after


def _diff(old: str, new: str) -> list[str]:
    """The lines of a unified diff with their numbers; what is the same at both ends is not compared."""
    before, after = old.splitlines(), new.splitlines()
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    end = 0
    while end < min(len(before), len(after)) - start and before[-1 - end] == after[-1 - end]:
        end += 1
    first, last = max(0, start - 3), max(0, end - 3)
    before, after = before[first : len(before) - last], after[first : len(after) - last]
    if len(before) + len(after) > COMPARED_LINES:
        head = f"@@ -{first + 1},{len(before)} +{first + 1},{len(after)} @@"
        return [head, *(f"-{line}" for line in before), *(f"+{line}" for line in after)]
    found = []
    matcher = difflib.SequenceMatcher(None, before, after)
    for group in matcher.get_grouped_opcodes(3):
        old_from, old_to, new_from, new_to = group[0][1], group[-1][2], group[0][3], group[-1][4]
        found.append(f"@@ -{first + old_from + 1},{old_to - old_from} +{first + new_from + 1},{new_to - new_from} @@")
        for what, old_start, old_end, new_start, new_end in group:
            if what == "equal":
                found += [f" {line}" for line in before[old_start:old_end]]
                continue
            found += [f"-{line}" for line in before[old_start:old_end]]
            found += [f"+{line}" for line in after[new_start:new_end]]
    return found
