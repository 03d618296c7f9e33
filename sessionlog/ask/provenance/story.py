"""Why a line is what it is: the prompts and edits that made it so, and what was run and said afterwards."""

from __future__ import annotations

import difflib
import itertools
import sqlite3
from datetime import timedelta
from typing import NamedTuple

from sessionlog.ask.provenance.align import Keys
from sessionlog.ask.provenance.blame import Blame, Line
from sessionlog.ask.provenance.describe import Described, Describer
from sessionlog.ask.provenance.recorded import Edit, Ran
from sessionlog.session import load
from sessionlog.session.load import Entry
from sessionlog.times import moment

# Edits that are told, and what happened after each of them.
_CHAPTERS = 6
_AFTERWARDS = 400
_COMMANDS = 3


class Chapter(NamedTuple):
    """An edit that made the line what it is, or what it was before."""

    described: Described
    line: str  # as this edit wrote it
    before: str | None  # what it replaced
    commands: list[Entry]  # run afterwards, before the next prompt
    answer: Entry | None  # what was said at the end


class Story(NamedTuple):
    """A line, and how it came to be, newest first."""

    line: Line
    chapters: list[Chapter]
    suspects: list[Ran]  # if no edit is known: commands that may have written the line


def of_line(connection: sqlite3.Connection, blame: Blame, number: int, describe: Describer) -> Story:
    """The story of a line of a file, given by its number."""
    line = blame.lines[number - 1]
    chapters: list[Chapter] = []
    edit, text = line.edit, line.text
    keys = Keys()
    while edit is not None and len(chapters) < _CHAPTERS:
        before = _replaced(edit, text, keys)
        commands, answer = _afterwards(connection, edit)
        chapters.append(Chapter(describe(edit), text, before, commands, answer))
        if before is None:
            break
        text = before
        earlier = blame.edits[: blame.edits.index(edit)]
        edit = next((one for one in reversed(earlier) if _wrote(one, text, keys)), None)
    return Story(line, chapters, [] if chapters else _suspects(blame, line))


def _suspects(blame: Blame, line: Line) -> list[Ran]:
    """The last commands that name the file, of the day before the line was committed."""
    found = blame.commands
    if line.commit:
        since = (moment(line.commit.authored_at) - timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%S")
        found = [one for one in found if since <= one.at <= line.commit.committed_at]
    return found[-_COMMANDS:]


def _pieces(edit: Edit) -> list[tuple[list[str], list[str]]]:
    """What the edit replaced, and by what."""
    if edit.change.whole is not None:
        return [([], edit.change.whole.split("\n"))]
    return [(one.old.split("\n"), one.new.split("\n")) for one in edit.change.replacements]


def _wrote(edit: Edit, text: str, keys: Keys) -> bool:
    wanted = keys[text]
    for old, new in _pieces(edit):
        if any(keys[line] == wanted for line in new):
            return all(keys[line] != wanted for line in old)
    return False


def _replaced(edit: Edit, text: str, keys: Keys) -> str | None:
    """The line that this one took the place of."""
    wanted = keys[text]
    for old, new in _pieces(edit):
        here, there = keys.of(old), keys.of(new)
        if wanted not in there or len(old) + len(new) > 2000:
            continue
        for kind, i1, i2, j1, j2 in difflib.SequenceMatcher(None, here, there, autojunk=False).get_opcodes():
            if kind == "replace" and wanted in there[j1:j2]:
                alike = difflib.get_close_matches(text, old[i1:i2], n=1, cutoff=0.4)
                return alike[0] if alike else None
    return None


def _afterwards(connection: sqlite3.Connection, edit: Edit) -> tuple[list[Entry], Entry | None]:
    """The commands that were run after an edit, and the answer, until the next prompt."""
    commands: list[Entry] = []
    answer = None
    for entry in itertools.islice(load.entries(connection, edit.session_id, since=edit.at), _AFTERWARDS):
        if entry.at <= edit.at or entry.minor:
            continue
        if entry.kind == "prompt" and entry.agent_id is None:
            break
        if entry.kind == "tool" and entry.call and entry.call.action == "run" and len(commands) < _COMMANDS:
            commands.append(entry)
        if entry.kind == "answer" and entry.agent_id is None and entry.text:
            answer = entry
    return commands, answer
