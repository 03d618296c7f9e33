"""Reads the command of a hook as a shell would, as far as that can be known without running it."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

SCRIPT_SUFFIXES = (".py", ".sh", ".bash", ".zsh", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php", ".lua")

_INTERPRETER = re.compile(
    r"(?:python|pypy|perl|ruby|node|bun|deno|php|lua)[\d.]*(?:\.exe)?|(?:ba|z|da|k|fi)?sh|tsx|ts-node|uv|uvx|source|\."
)
# Ends with 2, the code that blocks, when it cannot find its script (measured, uv reported; node says 1, bash 127).
_ENDS_WITH_2 = re.compile(r"(?:python|pypy|perl)[\d.]*(?:\.exe)?|uv|sh|dash")
_INLINE_CODE = re.compile(r"-[a-zA-Z]*[cem]|-p|--eval|--print|-")  # `python -c`, `bash -lc`, `node -e`, `python -m`
_KEYWORDS = {"if", "then", "else", "elif", "do", "while", "until", "!", "{", "time", "exec", "nohup", "env", "sudo"}
_WRAPPERS = {"env", "timeout", "nice", "xargs", "npx", "bunx", "poetry", "pipenv", "pdm", "hatch", "mise", "uv"}
_CLOSERS = {"fi", "done", "esac", "}"}
_SHELL_WORDS = (
    "! . : [ [[ { } alias bg break builtin case cd command continue declare do done echo elif else esac eval exec exit "
    "export false fg fi for function getopts hash if jobs kill let local popd printf pushd pwd read readonly return "
    "select set shift source test then time trap true type typeset ulimit umask unalias unset until wait while"
)
_BUILTINS = frozenset(_SHELL_WORDS.split())
_OPERATORS = "();<>|&\n"
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_VARIABLE = re.compile(r"\$(?:\{(\w+)(?::?-([^}]*))?\}|(\w+))")
_SUBSTITUTION = re.compile(r"\$\((?:[^()]|\([^()]*\))*\)|`[^`]*`")
_UNKNOWN = re.compile(r"[$*?\[\]{}\n]")  # a variable of unknown value, or a pattern


class Script(NamedTuple):
    """A script that a command runs."""

    word: str  # as it is written, without quotes
    path: Path | None  # where it lies, if that can be known
    relative: bool  # counted from the folder of the session, wherever that is
    interpreter: str  # "" when it is run by its own name
    guarded: bool  # the command itself tests whether it is there
    missing_is_2: bool  # without the script the whole command ends with exit code 2


class Command(NamedTuple):
    """What can be known about a command."""

    program: str | None = None  # what it runs first: a name or an absolute path; None: a shell word, or not knowable
    scripts: tuple[Script, ...] = ()
    optional: bool = False  # the author thought of its absence: `program || true`
    broken: str = ""  # why no shell could read it


class _Simple(NamedTuple):
    words: list[str]
    then: str  # the operators that follow: "&&", "||", ";" …


def read_shell(text: str, variables: Mapping[str, str], folder: Path | None) -> Command:
    """Read a command in shell form; relative paths start at `folder` where that is known."""
    try:
        commands = _split(text)
    except ValueError as error:
        # An apostrophe in a comment, in a here-document or in $'…' is no missing quote.
        return Command() if re.search(r"#|<<|\$'", text) else Command(broken=str(error).lower())
    known = dict(variables)
    program: str | None = None
    moved = False  # after a `cd` the meaning of a relative path is unknown
    tested: set[str] = set()
    scripts: list[Script] = []
    deciding = _first_that_decides(commands)
    for number, (words, _) in enumerate(commands):
        rest = _drop_assignments(words, known)
        if number == 0 and rest and rest[0] not in _BUILTINS:
            program = _program(rest[0], known, folder)
        while rest and (rest[0] in _KEYWORDS or _ASSIGNMENT.fullmatch(rest[0])):
            rest = rest[1:]
        moved = moved or rest[:1] == ["cd"]
        tested.update(_tested(rest))
        for script in _scripts(rest, known, None if moved else folder):
            missing_is_2 = script.missing_is_2 and number >= deciding
            scripts.append(script._replace(missing_is_2=missing_is_2, relative=script.relative and not moved))
    optional = len(commands) > 1 and commands[0].then == "||" and not _fails(commands[1].words)
    return Command(program, tuple(script._replace(guarded=script.word in tested) for script in scripts), optional)


def read_exec(command: str, args: list[str], variables: Mapping[str, str], folder: Path | None) -> Command:
    """Read a command in exec form, where no shell comes between: each word is taken as it is."""
    return Command(_program(command, variables, folder), tuple(_scripts([command, *args], variables, folder)))


def expand(word: str, variables: Mapping[str, str]) -> str | None:
    """The word with `~` and variables replaced, or None if that cannot be known."""
    if word == "~" or word.startswith("~/"):
        word = "${HOME}" + word[1:]

    def value(match: re.Match[str]) -> str:
        name, default = match[1] or match[3], match[2]
        return variables.get(name, match[0] if default is None else default)

    expanded = _VARIABLE.sub(value, word)
    return None if _UNKNOWN.search(expanded) else expanded


def _split(text: str) -> list[_Simple]:
    """The simple commands of a list such as `a && b || c; d`, redirections left out."""
    # A substitution becomes a variable of unknown value; what follows a here-document is not looked at.
    plain = _SUBSTITUTION.sub("$…", text.replace("\\\n", " "))
    lexer = shlex.shlex(plain, posix=True, punctuation_chars=_OPERATORS)
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    commands: list[_Simple] = []
    words: list[str] = []
    skip_next = comment = False
    for token in lexer:
        if token.strip(_OPERATORS):
            comment = comment or token.startswith("#")
            if not (skip_next or comment):
                words.append(token)
            skip_next = False
        elif "<<" in token:
            break
        elif "<" in token or ">" in token:
            skip_next = True
        elif not comment or "\n" in token:
            comment = False
            _close(commands, words, token)
            words = []
    _close(commands, words, "")
    return commands


def _close(commands: list[_Simple], words: list[str], operator: str) -> None:
    if words and words[0] not in _CLOSERS:
        commands.append(_Simple(words, operator))
    elif commands:  # `( a ) || b`: what follows the bracket follows the command
        commands[-1] = commands[-1]._replace(then=f"{commands[-1].then} {operator}".strip(" "))


def _drop_assignments(words: list[str], known: dict[str, str]) -> list[str]:
    for number, word in enumerate(words):
        match = _ASSIGNMENT.fullmatch(word)
        if not match:
            return words[number:]
        value = expand(match[2], known)
        if value is not None:
            known[match[1]] = value
        else:
            known.pop(match[1], None)
    return []


def _tested(words: list[str]) -> list[str]:
    """The words whose existence a command asks for: `[ -f X ]`, `test -x X`, `command -v X`."""
    if words[:1] in (["["], ["[["], ["test"]):
        return [word for flag, word in pairwise(words) if re.fullmatch(r"-[efrsxL]", flag)]
    return words[1:] if words[:1] in (["command"], ["which"], ["type"], ["hash"]) else []


def _first_that_decides(commands: list[_Simple]) -> int:
    """The number of the first command whose exit code becomes that of the whole list, as those after it do too."""
    if not commands or re.search(r"[|&]", commands[-1].then):
        return len(commands)
    number = len(commands) - 1
    while number and re.fullmatch(r"(?:[() ]|&&\s*)+", commands[number - 1].then):
        number -= 1
    return number


def _fails(words: list[str]) -> bool:
    return words == ["false"] or (words[:1] in (["exit"], ["return"]) and words[1:] != ["0"])


def _scripts(words: list[str], variables: Mapping[str, str], folder: Path | None) -> list[Script]:
    found: list[Script] = []
    interpreter = ""
    if words[:1] in (["echo"], ["printf"]):
        return found
    for number, word in enumerate(words):
        if interpreter and _INLINE_CODE.fullmatch(word):
            break
        name = word.rpartition("/")[2]
        if not found and (number == 0 or Path(words[0]).name in _WRAPPERS) and _INTERPRETER.fullmatch(name):
            interpreter = name
            continue
        expanded = expand(word, variables)
        if _is_script(word, expanded or word, number == 0, interpreter):
            path = _locate(expanded, folder)
            relative = expanded is not None and not os.path.isabs(expanded)
            missing_is_2 = bool(_ENDS_WITH_2.fullmatch(interpreter))
            found.append(Script(word, path, relative, interpreter, False, missing_is_2))
            interpreter = ""
    return found


def _is_script(word: str, expanded: str, first: bool, interpreter: str) -> bool:
    if word.startswith("-") or "=" in word or "://" in word:
        return False
    has_suffix = expanded.endswith(SCRIPT_SUFFIXES)
    if first:  # a bare name is looked up on PATH
        return "/" in expanded and (has_suffix or not word.startswith(("/", "~", "$")))
    if interpreter:
        return has_suffix or ("/" in expanded and interpreter != "uv")
    # An argument of some program: `prettier x.js` runs no script, `run.cmd ${CLAUDE_PLUGIN_ROOT}/x.sh` does.
    return has_suffix and bool(re.match(r"\$\{?CLAUDE_P", word))


def _program(word: str, variables: Mapping[str, str], folder: Path | None) -> str | None:
    expanded = expand(word, variables)
    if expanded is None or "/" not in expanded:
        return expanded or None
    path = _locate(expanded, folder)
    return str(path) if path else None


def _locate(expanded: str | None, folder: Path | None) -> Path | None:
    if expanded is None or not (os.path.isabs(expanded) or folder):
        return None
    return Path(folder or "", expanded)
