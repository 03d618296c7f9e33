"""The recorded edits of a file: from hook events, and from transcripts of sessions that no hook saw."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from sessionlog.ask import file_history
from sessionlog.ask.search import query
from sessionlog.fastlib import parse_json
from sessionlog.session import edits, shell_edits
from sessionlog.session.edits import FileEdit
from sessionlog.transcripts.stored_lines import Lines

Row = dict[str, Any]

# Of one file, the newest.
MOST_EDITS = 20_000
# Of the patches of other agents, whose rows do not name all of their files.
MOST_PATCHES = 5_000
# Of the commands that name the file.
MOST_COMMANDS = 1_000
# Among which other working copies are looked for.
MOST_PATHS = 20_000

_COLUMNS = "id, at, session_id, agent_id, prompt_id, cwd, tool_name, tool_use_id, action"
_INPUT = "file_path, old_string, new_string, content, command, tool_input"
# The unary plus keeps SQLite on the index of paths: all edits of the archive are many more than those of a file.
_DONE = "+event = 'PostToolUse' AND +action IN ('edit', 'write')"


class Name(NamedTuple):
    """A path that the file has, or had: in which working copy, and until when."""

    root: str
    until: str = "~"  # after any time


class Names:
    """The absolute paths of a file: in the working copies that there are, and in worktrees that were removed."""

    def __init__(self, root: str, roots: Mapping[str, str], paths: Mapping[str, str]) -> None:
        """`roots`: working copies as they are written in the archive, and their real paths. `paths`: the names of the
        file below them, each with the time until which it had it."""
        self._root = root
        self._paths = paths
        self.known = {
            f"{written}/{path}": Name(real, until) for written, real in roots.items() for path, until in paths.items()
        }

    def find(self, path: str, cwd: str | None) -> Name | None:
        """What this path means, if it is one of the file."""
        if found := self.known.get(path):
            return found
        for name, until in self._paths.items():
            if path.endswith(f"/{name}"):
                folder = path[: -len(name) - 1]
                if self._was_worktree(folder, cwd or ""):
                    self.known[path] = Name(folder, until)
                    return self.known[path]
        return None

    def is_like(self, path: str) -> bool:
        """Whether a path may be one of the file in a worktree that was removed."""
        return any(path.endswith(f"/{name}") for name in self._paths)

    def _was_worktree(self, folder: str, cwd: str) -> bool:
        """Whether a folder that is gone was one to work in. A folder within the project is another part of it."""
        inside = folder.startswith(f"{self._root}/") and "/.claude/worktrees/" not in folder
        return not inside and (cwd == folder or cwd.startswith(f"{folder}/")) and not os.path.lexists(folder)


class Edit(NamedTuple):
    """A call that changed the file."""

    name: str  # e12 is an event, m34 a message
    at: str
    session_id: str
    agent_id: str | None
    prompt_id: str | None
    tool: str
    tool_use_id: str | None
    root: str
    change: FileEdit


class Ran(NamedTuple):
    """A command that names the file, and looks as if it writes files."""

    name: str
    at: str
    session_id: str
    command: str


def find(connection: sqlite3.Connection, names: Names, *, indexed: bool) -> tuple[list[Edit], list[Ran]]:
    """All edits of a file, and the commands that may have changed it in a way nobody recorded, in the order of time.

    What only transcripts know, and commands of sessions without another edit, are found if the search index is
    attached.
    """
    found = list(_of_events(connection, names, indexed=indexed))
    ran: list[Ran] = []
    for row in _commands(connection, names, {edit.session_id for edit in found}, indexed=indexed):
        name, command = f"e{row['id']}", row["command"]
        made = list(_named(row, "e", shell_edits.of_command(command, row["cwd"]), row["cwd"], names))
        found += made
        if not made and shell_edits.may_write(command):
            ran.append(Ran(name, row["at"] or "", row["session_id"], command))
    known = {(edit.session_id, edit.tool_use_id) for edit in found if edit.tool_use_id}
    if indexed:
        for path in list(names.known):
            rows = file_history.messages_on(connection, path)
            lines = Lines(connection)
            for row in rows:
                if (row["session_id"], row["tool_use_id"]) not in known and _succeeded(connection, row):
                    block, _ = lines.block(row["id"])
                    inputs = (block or {}).get("input")
                    found += _edits({**row, "prompt_id": None}, "m", inputs, None, names)
    found.sort(key=lambda edit: (edit.at, edit.name[0], int(edit.name[1:])))
    return found, sorted(ran, key=lambda one: (one.at, one.name))


def _commands(connection: sqlite3.Connection, names: Names, sessions: set[str], *, indexed: bool) -> list[Row]:
    """The commands that succeeded and name the file by the last part of its path, the newest ones."""
    bases = {os.path.basename(path) for path in names.known}
    if indexed:
        found = _naming(connection, bases, query.tag("action", "run"), MOST_COMMANDS)
        rows = [row for row in found if row["command"] is not None]
    else:
        some = list(sessions)[:500]
        rows = connection.execute(
            f"SELECT {_COLUMNS}, command FROM events WHERE session_id IN ({', '.join('?' * len(some))}) "
            "AND +event = 'PostToolUse' AND +action = 'run' AND command IS NOT NULL ORDER BY id DESC LIMIT ?",
            (*some, MOST_COMMANDS),
        ).fetchall()
    return [row for row in rows if any(base in row["command"] for base in bases)]


def _naming(connection: sqlite3.Connection, bases: set[str], tag: str, limit: int) -> list[Row]:
    """The calls with this tag that succeeded and in whose input one of these names occurs, the newest ones."""
    phrases = " OR ".join(query.quoted(base) for base in bases if query.tokens(base))
    if not phrases:
        return []
    return connection.execute(
        f"SELECT {_COLUMNS}, {_INPUT} FROM events WHERE id IN (SELECT documents.event_id FROM search.words AS words "
        "JOIN search.documents AS documents ON documents.key = words.rowid WHERE words MATCH ? "
        "ORDER BY words.rowid DESC LIMIT ?) AND +event = 'PostToolUse'",
        (f'input : ({phrases}) AND tags : "{tag}"', limit),
    ).fetchall()


def _of_events(connection: sqlite3.Connection, names: Names, *, indexed: bool) -> Iterator[Edit]:
    paths = {path for path in _all_paths(connection) if names.is_like(path)} | set(names.known)
    paths |= {os.path.relpath(path, name.root) for path, name in names.known.items()}
    rows = connection.execute(
        f"SELECT {_COLUMNS}, {_INPUT} FROM events WHERE file_path IN ({', '.join('?' * len(paths))}) AND {_DONE} "
        "ORDER BY id DESC LIMIT ?",
        (*paths, MOST_EDITS),
    )
    seen = set()
    for row in rows:
        seen.add(row["id"])
        yield from _edits(row, "e", _inputs(row), row["cwd"], names)
    bases = {os.path.basename(path) for path in paths}
    for row in _patches(connection, bases, indexed=indexed):
        if row["id"] not in seen and any(base in (row["command"] or row["tool_input"] or "") for base in bases):
            yield from _edits(row, "e", _inputs(row), row["cwd"], names)


def _patches(connection: sqlite3.Connection, bases: set[str], *, indexed: bool) -> list[Row]:
    """Patches of several files, whose rows name the first. Without the index, all of other agents' calls are read."""
    if indexed:
        return _naming(connection, bases, query.tag("tool", "apply_patch"), MOST_PATCHES)
    # The unary plus keeps SQLite on the index of sessions: all edits of the archive are many more.
    return connection.execute(
        f"SELECT {_COLUMNS}, {_INPUT} FROM events WHERE session_id IN "
        "(SELECT session_id FROM sessions WHERE client <> 'claude-code') "
        "AND +event = 'PostToolUse' AND tool_name = 'apply_patch' ORDER BY id DESC LIMIT ?",
        (MOST_PATCHES,),
    ).fetchall()


def _all_paths(connection: sqlite3.Connection) -> Iterator[str]:
    """Every path in the archive. SQLite goes from one to the next in the index, however many events each has."""
    rows = connection.execute(
        "WITH RECURSIVE path (name) AS ("
        "SELECT min(file_path) FROM events WHERE file_path IS NOT NULL UNION ALL "
        "SELECT (SELECT min(file_path) FROM events WHERE file_path > path.name) FROM path WHERE path.name IS NOT NULL"
        ") SELECT name FROM path WHERE name IS NOT NULL LIMIT ?",
        (MOST_PATHS,),
    )
    return (row["name"] for row in rows)


def _inputs(row: Row) -> Any:
    """The input of the call, from its columns and what has none."""
    rest = parse_json(row["tool_input"]) if row["tool_input"] else {}
    if not isinstance(rest, dict):
        return rest
    for column in ("file_path", "old_string", "new_string", "content", "command"):
        if row[column] is not None:
            rest.setdefault(column, row[column])
    return rest


def _edits(row: Row, letter: str, inputs: Any, cwd: str | None, names: Names) -> Iterator[Edit]:
    yield from _named(row, letter, edits.of_input(inputs, row["action"] or "", cwd), cwd, names)


def _named(row: Row, letter: str, changes: list[FileEdit], cwd: str | None, names: Names) -> Iterator[Edit]:
    for change in changes:
        name = names.find(change.path, cwd) or names.find(change.moved_to, cwd)
        if name and (row["at"] or "") <= name.until:
            yield Edit(
                f"{letter}{row['id']}",
                row["at"] or "",
                row["session_id"],
                row["agent_id"],
                row["prompt_id"],
                row["tool_name"] or "",
                row["tool_use_id"],
                name.root,
                change,
            )


def _succeeded(connection: sqlite3.Connection, row: Row) -> bool:
    result = _result(connection, row["session_id"], row["tool_use_id"])
    return result is not None and result["outcome"] == "ok"


def _result(connection: sqlite3.Connection, session_id: str, tool_use_id: str | None) -> Row | None:
    found: Row | None = connection.execute(
        "SELECT id, outcome FROM transcript_parts WHERE tool_use_id = ? AND kind = 'tool_result' AND +session_id = ?",
        (tool_use_id, session_id),
    ).fetchone()
    return found


def original(connection: sqlite3.Connection, edit: Edit) -> str | None:
    """The file before the edit, if the agent told its hook or its transcript; empty if there was none."""
    response: Any = None
    if edit.name[0] == "e":
        row = connection.execute("SELECT tool_response FROM events WHERE id = ?", (int(edit.name[1:]),)).fetchone()
        response = parse_json(row["tool_response"]) if row and row["tool_response"] else None
    elif result := _result(connection, edit.session_id, edit.tool_use_id):
        _, response = Lines(connection).block(result["id"])
    if not isinstance(response, dict):
        return None
    text = response.get("originalFile", response.get("original_file"))
    if isinstance(text, str):
        return text.replace("\r\n", "\n")
    return "" if response.get("type") == "create" else None
