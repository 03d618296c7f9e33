"""What a shell command did to the text of files, where the command itself says so: heredocs and plain `sed -i`.

Anything less certain is no edit. A variable, a pattern, a loop or a condition could make it something else.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator

from sessionlog.session.edits import FileEdit, Replacement

LONGEST = 1 << 20

_OPENING = re.compile(
    r"""(?P<before>[^|;#]*&&\s*)?
    (?:cat\s*(?P<sign>>>?)\s*(?P<path>[^\s<>|&;]+)\s*<<(?P<word>[^\s<>|&;]+)
      |cat\s*<<(?P<word2>[^\s<>|&;]+)\s*(?P<sign2>>>?)\s*(?P<path2>[^\s<>|&;]+)
      |tee\s+(?P<sign3>-a\s+)?(?P<path3>[^\s<>|&;-][^\s<>|&;]*)\s*<<(?P<word3>[^\s<>|&;]+)(?:\s*>\s*/dev/null)?)
    \s*""",
    re.VERBOSE,
)
_SUBSTITUTION = re.compile(r"s([/|,#@])(?P<old>(?:(?!\1).)+)\1(?P<new>(?:(?!\1).)*)\1g?", re.DOTALL)
# What means something else than itself in a pattern of sed, or in what takes its place.
_PATTERN, _EXTENDED = frozenset("\\*[]^$"), frozenset("\\*[]^$+?(){}|")
# Programs that write files which they are given.
_WRITERS = re.compile(
    r"\b(?:sed\s+(?:-\S+\s+)*-\S*i|perl\s+-\S*i|tee|patch|black|ruff|isort|autopep8|yapf|prettier|eslint|biome|gofmt|goimports"
    r"|rustfmt|clang-format|shfmt|dos2unix|mv|cp|git\s+(?:checkout|restore|apply|stash|merge|pull|reset|revert|mv))\b"
    r"|>|\bwrite|\bopen\("
)


def may_write(command: str) -> bool:
    """Whether a command looks as if it writes files; it may still not have."""
    return bool(_WRITERS.search(command[:LONGEST]))


def of_command(command: str, cwd: str | None) -> list[FileEdit]:
    """The edits of a command that succeeded."""
    if len(command) > LONGEST or not cwd or not os.path.isabs(cwd):
        return []
    # After `cd`, names mean something else.
    base = None if re.search(r"(?:^|[\s;&|(])(?:cd|pushd)\s", command) else cwd
    found = [*_heredocs(command), *_substitutions(command)]
    placed = (edit._replace(path=_place(edit.path, base)) for edit in found)
    return [edit for edit in placed if edit.path]


def _place(path: str, base: str | None) -> str:
    """The absolute path that a word of a command means; empty if that is not sure."""
    try:
        words = shlex.split(path)
    except ValueError:
        return ""
    if len(words) != 1 or re.search(r"[$`*?\[{~]", path) or (base is None and not os.path.isabs(words[0])):
        return ""
    return os.path.normpath(os.path.join(base or "/", words[0]))


def _heredocs(command: str) -> Iterator[FileEdit]:
    lines = iter(command.replace("\r\n", "\n").split("\n"))
    for line in lines:
        match = _OPENING.fullmatch(line)
        if not match:
            if "<<" in line or re.match(r"\s*(?:if|for|while|case|until|function)\b|.*\(\)\s*\{", line):
                return  # what comes now is some other text, or may not have run
            continue
        word = match["word"] or match["word2"] or match["word3"]
        end, is_literal = word.strip("'\"\\"), word[:1] in "'\"\\"
        body = []
        for inner in lines:
            if inner == end:
                break
            body.append(inner)
        else:
            return
        text = "".join(f"{one}\n" for one in body)
        if not end.isidentifier() or (not is_literal and re.search(r"[$`\\]", text)):
            continue
        path = match["path"] or match["path2"] or match["path3"]
        adds = (match["sign"] or match["sign2"]) == ">>" or bool(match["sign3"])
        yield FileEdit(path, added=text[:-1]) if adds else FileEdit(path, whole=text)


def _substitutions(command: str) -> Iterator[FileEdit]:
    if "sed" not in command or "\n" in command:
        return
    try:
        shell = shlex.shlex(command, posix=True, punctuation_chars=True)
        shell.whitespace_split = True
        words = list(shell)
    except ValueError:
        return
    steps: list[list[str]] = [[]]
    for word in words:
        if word == "&&":
            steps.append([])
        elif set(word) <= set("();<>|&"):
            return  # a pipe, a condition, a subshell
        else:
            steps[-1].append(word)
    for step in steps:
        if step[:1] != ["sed"] or "-i" not in step:
            continue
        options = [word for word in step[1:] if word.startswith("-")]
        rest = [word for word in step[1:] if not word.startswith("-")]
        if not set(options) <= {"-i", "-e", "-E", "-r"} or options.count("-e") > 1 or len(rest) < 2:
            continue
        match = _SUBSTITUTION.fullmatch(rest[0])
        special = _EXTENDED if {"-E", "-r"} & set(options) else _PATTERN
        if match and not special & set(match["old"]) and not {"\\", "&", "\n"} & set(match["new"]):
            change = Replacement(match["old"], match["new"], True)
            yield from (FileEdit(path, None, (change,), is_sure=False) for path in rest[1:])
