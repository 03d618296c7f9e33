"""What a tool call did to the text of which files, whatever the agent calls its tools and their arguments."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from sessionlog.session.outline import EDITING

Inputs = dict[str, Any]

_PATHS = ("file_path", "notebook_path", "path", "filePath", "absolute_path")
_OLD = ("old_string", "old_str", "oldString")
_NEW = ("new_string", "new_str", "newString", "new_source")
_CONTENT = ("content", "file_text", "text")
_PATCH = ("command", "patch", "input", "patchText")

_PATCHED_FILE = re.compile(r"\*\*\* (Add|Update|Delete) File: (.+)")
_MOVED_TO = "*** Move to: "


class Replacement(NamedTuple):
    """A piece of text in the place of another."""

    old: str
    new: str
    every: bool = False  # wherever the old one occurs


class FileEdit(NamedTuple):
    """What happened to one file: it was written whole, or pieces of it were replaced, one after the other."""

    path: str
    whole: str | None = None
    replacements: tuple[Replacement, ...] = ()
    added: str = ""  # somewhere: a cell of a notebook, as its lines stand in the file
    moved_to: str = ""
    is_sure: bool = True  # else it happened only if the file has the old text


def of_input(inputs: Any, action: str, cwd: str | None = None) -> list[FileEdit]:
    """The files that a call with this input changes, if it succeeds."""
    if isinstance(inputs, str):
        inputs = {"patch": inputs}
    if action not in EDITING or not isinstance(inputs, dict):
        return []
    path = _text(inputs, _PATHS)
    patch = _text(inputs, ("patch",) if path else _PATCH)
    if path is None or patch is not None:  # where the files of a patch were found, the patch has more to say
        return [_absolute(edit, cwd) for edit in _patched(patch or "")]
    if "notebook_path" in inputs:
        return [_absolute(FileEdit(path, added=_cell(_text(inputs, _NEW) or "")), cwd)]
    content = _text(inputs, _CONTENT)
    if action == "write" or (content is not None and _text(inputs, _OLD) is None):
        return [_absolute(FileEdit(path, content or ""), cwd)]
    given = inputs.get("edits")
    several = [edit for edit in given if isinstance(edit, dict)] if isinstance(given, list) else [inputs]
    found = tuple(
        Replacement(_lf(_text(edit, _OLD) or ""), _lf(_text(edit, _NEW) or ""), _is_every(edit)) for edit in several
    )
    if len(found) == 1 and not found[0].old:  # how Edit makes a new file
        return [_absolute(FileEdit(path, found[0].new), cwd)]
    return [_absolute(FileEdit(path, None, found), cwd)]


def _cell(source: str) -> str:
    """The lines of a cell as Jupyter stores them: a JSON text for each."""
    import json  # with the regular expressions that it compiles; most files are no notebooks

    lines = _lf(source).splitlines(keepends=True)
    return "\n".join(f"{json.dumps(line, ensure_ascii=False)}," for line in lines)


def _is_every(edit: Inputs) -> bool:
    many = edit.get("expected_replacements")
    return edit.get("replace_all") is True or edit.get("replaceAll") is True or (isinstance(many, int) and many > 1)


def _text(inputs: Inputs, names: tuple[str, ...]) -> str | None:
    for name in names:
        if isinstance(value := inputs.get(name), str):
            return value
    return None


def _lf(text: str) -> str:
    return text.replace("\r\n", "\n")


def _absolute(edit: FileEdit, cwd: str | None) -> FileEdit:
    """Agents that name files by where they are in the folder they work in."""
    if not cwd or not os.path.isabs(cwd):
        return edit
    path, moved_to = _joined(cwd, edit.path), _joined(cwd, edit.moved_to)
    return edit._replace(path=path, moved_to=moved_to, whole=None if edit.whole is None else _lf(edit.whole))


@lru_cache(1000)  # the history of a file names it thousands of times
def _joined(cwd: str, path: str) -> str:
    return os.path.normpath(os.path.join(cwd, path)) if path else path


def _patched(patch: str) -> Iterator[FileEdit]:
    """The files of an `apply_patch`: `*** Update File: PATH`, then pieces that begin with @@."""
    edit: FileEdit | None = None
    pieces: list[list[str]] = []
    for line in [*_lf(patch).split("\n"), "*** End Patch"]:
        if edit is not None and line.startswith(_MOVED_TO):
            edit = edit._replace(moved_to=line.removeprefix(_MOVED_TO).strip())
        elif line.startswith("*** ") and line != "*** End of File":
            if edit is not None:
                yield _with_pieces(edit, pieces)
            match = _PATCHED_FILE.match(line)
            edit = FileEdit(match[2].strip(), "" if match[1] != "Update" else None) if match else None
            pieces = [[]]
        elif line.startswith("@@"):
            pieces.append([])
        elif edit is not None and line[:1] in ("+", "-", " ", ""):
            pieces[-1].append(line)


def _with_pieces(edit: FileEdit, pieces: list[list[str]]) -> FileEdit:
    if edit.whole is not None:
        return edit._replace(whole="".join(f"{line[1:]}\n" for piece in pieces for line in piece if line[:1] == "+"))
    found = []
    for piece in filter(None, pieces):
        old = "\n".join(line[1:] for line in piece if line[:1] != "+")
        new = "\n".join(line[1:] for line in piece if line[:1] != "-")
        found.append(Replacement(old, new))
    return edit._replace(replacements=tuple(found))
