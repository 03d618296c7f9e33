"""Lines of an export as rows of `events`. Nothing here writes, so that other processes can do it."""

from __future__ import annotations

import gc
import io
import marshal
from collections.abc import Callable
from typing import Any, NamedTuple

import orjson

from sessionlog.archive import bulk
from sessionlog.archive.event import COLUMNS, INPUT_TEXTS, PAYLOAD_TEXTS, normalise
from sessionlog.export.jsonl import VERSION, encoded
from sessionlog.export.jsonl_known import Archive, Known, Session
from sessionlog.fastlib import encode_json, parse_json
from sessionlog.redact.rules import Rules

LONGEST_LINE = 64 << 20  # an event, with JSON's escapes
# Bytes that are searched for secrets at once. If one is suspected, each line of them is searched.
SEARCHED = 64 << 10

# Later ones look for values that occur twice, which takes longer than to write them twice.
_MARSHAL_VERSION = 2

# orjson makes floats of whole numbers beyond 64 bits; those have at least so many digits.
_LONG_NUMBER = b"0" * 19
_AS_ZEROS = bytes.maketrans(b"0123456789", b"0" * 10)

# The number of its line in the block, its project, its values of COLUMNS, and what its hash needs, if all are texts.
Event = tuple[int, str, tuple[Any, ...], "bulk.Prepared | None"]


class Block(NamedTuple):
    """Lines to be read."""

    data: bytes
    archives: dict[str, Archive]  # of projects: what they have need not be read
    project: str  # of the first line
    first_id: int  # that the first new event of this project is likely to get


class Found(NamedTuple):
    """What was found in a block of lines."""

    block: tuple[str, int, int]  # its project, and how many lines and bytes it has
    known: list[Session]  # of lines that the archive has
    events: list[Event]  # of other lines
    skips: list[tuple[int, str]]  # the number of a line that is no event, and why not


def main() -> None:
    from sessionlog.system import workers

    gc.disable()  # what is parsed has no cycles
    workers.serve(_reader)


def _reader(home: str) -> Callable[[Block], bytes]:
    rules, known = Rules(home), Known()
    # To the other process, marshal is several times as fast as pickle.
    return lambda block: marshal.dumps(tuple(read(block, rules, known)), _MARSHAL_VERSION)


def received(answer: bytes) -> Found:
    """What another process has found."""
    return Found(*marshal.loads(answer))  # noqa: S302 (our own child wrote it)


def read(block: Block, rules: Rules, known: Known) -> Found:
    """The events in a block of lines, but for those that the archive has."""
    data = block.data
    lines = io.BytesIO(data if data.endswith(b"\n") else data + b"\n").readlines()
    there, sessions = known.among(lines, block.archives)
    numbered = [(number, line) for number, line in enumerate(lines) if not line.isspace()]
    if there:
        numbered = [(number, line) for number, line in numbered if line not in there]
    found = Found((block.project, len(lines), len(data)), sessions, [], [])
    first = size = 0
    next_id = block.first_id
    for last, (_, line) in enumerate(numbered, 1):
        size += len(line)
        if size >= SEARCHED or last == len(numbered):
            next_id = _add(found, numbered[first:last], rules, next_id)
            first, size = last, 0
    return found


def _add(found: Found, numbered: list[tuple[int, bytes]], rules: Rules, next_id: int) -> int:
    """Add the events of some lines. They are searched for secrets together, which costs little more than one.

    Returns the id that the next event is likely to get.
    """
    joined = b"".join([line for _, line in numbered if len(line) < LONGEST_LINE])
    is_suspect = bool(rules.suspects(joined, of_many=True))
    is_plain = _is_plain(joined)
    for number, line in numbered:
        try:
            if len(line) >= LONGEST_LINE:
                raise ValueError(f"longer than {LONGEST_LINE >> 20} MB")
            project, values = row(line, rules if is_suspect else None, is_plain)
            found.events.append((number, project, values, bulk.prepare(values, next_id)))
            next_id += project == found.block[0]
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            found.skips.append((number, str(error)))
    return next_id


def row(line: bytes, rules: Rules | None, is_plain: bool = False) -> tuple[str, tuple[Any, ...]]:
    """The project and the row of `events` that a line was made of.

    It may come from anywhere: secrets are taken out as in a hook. `is_plain`: see `_is_plain`.
    """
    payload, exact = _parsed_plain(line) if is_plain else _parsed(line)
    if rules is not None:
        payload = rules.clean(payload, rules.suspects(line))
    about = payload.pop("sessionlog")
    if about["version"] != VERSION:
        raise ValueError(f"version {about['version']!r} of the format; upgrade sessionlog to read it")
    at, via, project = _text(about["at"]), _text(about["via"]), _text(about["project"])
    if "columns" in about:
        columns = about["columns"]
        if not (isinstance(columns["session_id"], str) and isinstance(columns["event"], str)):
            raise ValueError("the session or the event is missing")
        fields = {name: columns.get(name) for name in COLUMNS}
        if any(isinstance(value, (list, dict)) for value in fields.values()):
            raise ValueError("a list or an object in a column")
    else:
        _text(payload["session_id"]), _text(payload["hook_event_name"])
        envelope = encoded(about["envelope"]).decode() if "envelope" in about else None
        values = _values(payload, at, via, envelope) if exact else None
        if values is not None:
            return project, values
        fields = normalise(payload, at_ms=0, via=via, exact=exact)
        fields["envelope"] = envelope
    fields["at"], fields["via"] = at, via
    return project, tuple(fields.values())


_NOTHING = type(None)
_TEXT = {str, _NOTHING}
# What orjson writes as `encode_json` does; it writes some other numbers differently.
_SIMPLE = {str, int, bool, _NOTHING}


def _values(payload: dict[str, Any], at: str, via: str, envelope: str | None) -> tuple[Any, ...] | None:
    """What `normalise` makes of a payload with exact texts, in a third of the time. None of an unusual one."""
    rest = dict(payload)
    pop = rest.pop
    texts = [pop(name, None) for name in _FIRST_TEXTS]
    duration = pop("duration_ms", None)
    tool_input = pop("tool_input", None)
    tool_response = pop("tool_response", None)
    if type(tool_input) is dict:
        given = dict(tool_input)
        inputs = [given.pop(name, None) for name in INPUT_TEXTS]
        if len(inputs) - inputs.count(None) != len(tool_input) - len(given):
            return None  # one is null, which is not to be confused with one that is missing
    else:
        given = tool_input
        inputs = [pop("file_path", None), *_NO_MORE_INPUTS]
    taken = [*texts, duration, tool_input, tool_response]
    if type(tool_input) is not dict:
        taken += inputs
    if len(taken) - taken.count(None) != len(payload) - len(rest):
        return None
    if not (_TEXT.issuperset(map(type, texts)) and _TEXT.issuperset(map(type, inputs))):
        return None
    if duration is not None and not (type(duration) is int and -(2**53) < duration < 2**53):
        return None
    return (
        *(texts[0], texts[1], at, via, *texts[2:], duration, *inputs),
        None if given is None else _json(given),
        None if tool_response is None else _json(tool_response),
        _json(rest) if rest else None,
        envelope,
    )


_FIRST_TEXTS = ("session_id", "hook_event_name", *PAYLOAD_TEXTS)
_NO_MORE_INPUTS = [None] * (len(INPUT_TEXTS) - 1)  # INPUT_TEXTS begins with file_path


def _json(value: Any) -> str:
    if type(value) is str or (type(value) is dict and _SIMPLE.issuperset(map(type, value.values()))):
        return orjson.dumps(value).decode()
    text: str = encode_json(value)
    return text


def _is_plain(lines: bytes) -> bool:
    """Whether orjson reads these lines as `parse_json` does, and no text in them has a lone surrogate or a NUL."""
    return b"\\u" not in lines and _LONG_NUMBER not in lines.translate(_AS_ZEROS)


def _parsed(line: bytes) -> tuple[Any, bool]:
    """The JSON of a line, and whether it is known that no text in it has a lone surrogate or a NUL."""
    return _parsed_plain(line) if _is_plain(line) else (parse_json(line.decode()), False)


def _parsed_plain(line: bytes) -> tuple[Any, bool]:
    try:
        return orjson.loads(line), True
    except ValueError:  # bytes below 32 in a text, say
        return parse_json(line.decode()), False


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{value!r} where a text belongs")
    return value
