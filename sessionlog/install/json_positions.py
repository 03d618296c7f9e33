"""A strict JSON parser that remembers the position of each value and key, for messages and for edits in place."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sessionlog.errors import SessionlogError

# Settings files nest about six levels; the limit keeps a hostile one from exhausting Python's stack.
MAX_DEPTH = 200

_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()
_NOT_JSON = ("NaN", "Infinity", "-Infinity")  # Python's decoder takes them, JSON and the client do not
# What people write out of habit, by its first character.
_HABITS = {
    "'": "strings need double quotes",
    "/": "JSON has no comments",
    "#": "JSON has no comments",
    ",": "a value is missing before this comma",
    "": "the text ends too early",
}


class Position(NamedTuple):
    """A place in a text as editors count: both from 1, columns in characters."""

    line: int
    column: int


def position(text: str, offset: int) -> Position:
    """The line and column of the character at `offset`."""
    return Position(text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset))


def positions(text: str) -> Callable[[int], Position]:
    """As `position`, for many offsets in one text."""
    starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def of(offset: int) -> Position:
        line = bisect_right(starts, offset)
        return Position(line, offset - starts[line - 1] + 1)

    return of


class InvalidJSON(SessionlogError):
    """The text is not JSON; says what is wrong, and where."""

    def __init__(self, problem: str, text: str, offset: int) -> None:
        self.problem = problem
        self.offset = offset
        self.position = position(text, offset)
        super().__init__(f"line {self.position.line}, column {self.position.column}: {problem}")


class Key(NamedTuple):
    """A key of an object; the offsets include its quotes."""

    name: str
    start: int
    end: int


@dataclass(frozen=True)
class Node:
    """A value and its place: `text[start:end]` is its source."""

    value: Any  # what json.loads gives
    start: int
    end: int
    children: dict[str, Node] | list[Node] = field(default_factory=list)  # a scalar has none
    key: Key | None = None  # for a member of an object
    overridden: tuple[Key, ...] = ()  # keys of this object that come again later: the last one counts

    def get(self, *path: str | int) -> Node | None:
        """The node at a path such as `"hooks", "Stop", 0`, or None."""
        node: Node | None = self
        for step in path:
            if node is None:
                break
            if isinstance(step, str):
                node = node.members().get(step)
            else:
                node = node.items()[step] if 0 <= step < len(node.items()) else None
        return node

    def members(self) -> dict[str, Node]:
        """The members of an object; nothing for any other value."""
        return self.children if isinstance(self.children, dict) else {}

    def items(self) -> list[Node]:
        """The items of an array; nothing for any other value."""
        return self.children if isinstance(self.children, list) else []


def parse(text: str) -> Node:
    """Parse a whole text, or raise InvalidJSON."""
    if text.startswith("\ufeff"):
        raise InvalidJSON("the text begins with a byte order mark (BOM)", text, 0)
    start = _skip(text, 0)
    if start == len(text):
        raise InvalidJSON("the text is empty", text, 0)
    node = _value(text, start, None, 1)
    rest = _skip(text, node.end)
    if rest < len(text):
        more = _HABITS["#"] if text[rest] in "#/" else "there is more text after the end of the value"
        raise InvalidJSON(more, text, rest)
    return node


def _skip(text: str, offset: int) -> int:
    match = _SPACE.match(text, offset)
    return match.end() if match else offset


def _value(text: str, start: int, key: Key | None, depth: int) -> Node:
    if depth > MAX_DEPTH:
        raise InvalidJSON(f"nested more than {MAX_DEPTH} levels deep", text, start)
    if text.startswith("{", start):
        return _object(text, start, key, depth)
    if text.startswith("[", start):
        return _array(text, start, key, depth)
    value, end = _scalar(text, start)
    return Node(value, start, end, key=key)


def _scalar(text: str, start: int) -> tuple[Any, int]:
    if text.startswith(_NOT_JSON, start):
        raise InvalidJSON("JSON has no NaN and no Infinity", text, start)
    try:
        return _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        problem = _HABITS.get(text[start : start + 1], "a value is expected here")
        if error.msg != "Expecting value":  # what is wrong inside a string
            problem = error.msg[0].lower() + error.msg[1:].removesuffix(" starting at").removesuffix(" at")
        raise InvalidJSON(problem, text, error.pos) from None
    except ValueError:  # Python refuses to convert thousands of digits
        raise InvalidJSON("the number has too many digits", text, start) from None


def _array(text: str, start: int, key: Key | None, depth: int) -> Node:
    items: list[Node] = []
    offset = _skip(text, start + 1)
    while not text.startswith("]", offset):
        items.append(_value(text, offset, None, depth + 1))
        offset = _after_item(text, _skip(text, items[-1].end), "]")
    return Node([item.value for item in items], start, offset + 1, items, key)


def _object(text: str, start: int, key: Key | None, depth: int) -> Node:
    members: dict[str, Node] = {}
    overridden: list[Key] = []
    offset = _skip(text, start + 1)
    while not text.startswith("}", offset):
        name = _key(text, offset)
        earlier = members.get(name.name)
        if earlier is not None and earlier.key is not None:
            overridden.append(earlier.key)
        colon = _skip(text, name.end)
        if not text.startswith(":", colon):
            raise InvalidJSON("a colon is expected after the key", text, colon)
        node = _value(text, _skip(text, colon + 1), name, depth + 1)
        members[name.name] = node
        offset = _after_item(text, _skip(text, node.end), "}")
    values = {name: node.value for name, node in members.items()}
    return Node(values, start, offset + 1, members, key, tuple(overridden))


def _key(text: str, start: int) -> Key:
    if not text.startswith('"', start):
        raise InvalidJSON(_HABITS.get(text[start : start + 1], "a key in double quotes is expected here"), text, start)
    name, end = _scalar(text, start)
    return Key(name, start, end)


def _after_item(text: str, offset: int, closing: str) -> int:
    """Where the next item begins, or the closing bracket."""
    if text.startswith(closing, offset):
        return offset
    if not text.startswith(",", offset):
        habit = _HABITS.get(text[offset : offset + 1], f"a comma or {closing} is expected here")
        raise InvalidJSON(habit, text, offset)
    following = _skip(text, offset + 1)
    if text.startswith(closing, following):
        raise InvalidJSON(f"a comma before {closing} is not allowed", text, offset)
    return following
