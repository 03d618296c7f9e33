"""What `sessionlog redact` took out by name and what must not come back: values and patterns, remembered in one file.

A value is never written down. The file has its length, a keyed hash of it, and 16 bits that say where to look: each
byte belongs to one of four classes, which the key of this machine decides, and the classes of the first eight bytes
are kept. So a text is searched without a loop over its bytes, and only what looks right is hashed.

Imported by a hook only if there is such a file.
"""

from sessionlog import config
from sessionlog.fastlib import blake2b, encode_ascii, encode_json, parse_json
from sessionlog.redact import machine_key
from sessionlog.redact.detector import Detector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sessionlog.redact.rules import Found

FILE = "remembered.json"
VERSION = 1
LONGEST = config.LONGEST
RULE = "a value that `sessionlog redact` took out before"
PATTERN_RULE = "a pattern of `sessionlog redact`"

HEAD = 8  # bytes whose classes are kept
FIRST = 64  # bytes that are hashed first: a long value is not hashed at every place that looks right

Form = tuple[bytes, int, str, str]  # classes of the head, length, hash of the first bytes, hash of all


def load(home: str) -> "tuple[dict[str, Any], str]":
    """What is remembered in a home folder, and why it does not count."""
    content, problem = config.read(home, FILE)
    if problem or not content:
        return _empty(), problem
    try:
        memory = parse_json(content.decode())
        if memory["version"] != VERSION:
            raise ValueError("it was written by a newer sessionlog")
        return {"version": VERSION, "values": [*memory["values"]], "patterns": [*memory["patterns"]]}, ""
    except (ValueError, TypeError, LookupError) as error:
        return _empty(), f"it cannot be read ({error})"


def _empty() -> "dict[str, Any]":
    return {"version": VERSION, "values": [], "patterns": []}


def detectors(home: str, problems: list[str]) -> "tuple[Any, ...]":
    """What finds all that is remembered."""
    memory, problem = load(home)
    if problem:
        problems.append(f"{FILE}: {problem}")
    found: list[Any] = []
    try:
        found += [Detector("pattern", entry["regex"], rule=PATTERN_RULE) for entry in memory["patterns"]]
        if memory["values"]:
            key = machine_key.read(home)
            if key and blake2b is not None:
                forms = [form for entry in memory["values"] for form in entry["forms"]]
                found.append(Values(key, [(bytes.fromhex(a), int(b), str(c), str(d)) for a, b, c, d in forms]))
            else:
                problems.append(f"{FILE}: without redact.key, it is not known which values it means")
    except (ValueError, TypeError, LookupError) as error:
        problems.append(f"{FILE}: it is damaged ({error!r})")
    return tuple(found)


def spellings(value: str) -> list[str]:
    """How a value may be spelled: JSON escapes some characters, and JSON in JSON does it twice."""
    once = [encode(value)[1:-1] for encode in (encode_json, encode_ascii)]
    twice = [encode(text)[1:-1] for encode, text in zip((encode_json, encode_ascii), once)]  # noqa: B905
    return list(dict.fromkeys((value, *once, *twice)))


def forms_of(key: bytes, value: str) -> "list[tuple[str, int, str, str]]":
    """What is written down of a value."""
    table, forms = _classes(key), []
    for spelling in spellings(value):
        data = spelling.encode("utf-8", "surrogatepass")
        forms.append((data[:HEAD].translate(table).hex(), len(data), _hash(key, data[:FIRST]), _hash(key, data)))
    return forms


class Values:
    """Finds the remembered values. It reads bytes and does without `re`, as nearby.py does."""

    kind = "value"
    turn = 0

    def __init__(self, key: bytes, forms: list[Form]) -> None:
        self._key = key
        self._forms = forms
        self._table = _classes(key)

    def suspects(self, data: bytes) -> bool:
        """Whether one of the values is there."""
        return bool(self.find(data))

    def find(self, data: bytes) -> "list[Found]":
        """All places of all values, in their order; of two that overlap, the first and longest."""
        classes = data.translate(self._table)
        places: list[tuple[int, int]] = []
        for head, length, first, whole in self._forms:
            at = classes.find(head)
            while at >= 0:
                if self._is_value(data[at : at + length], length, first, whole) and not _is_marker(data, at, length):
                    places.append((at, -length))
                    at += length - 1
                at = classes.find(head, at + 1)
        found: list[Found] = []
        for start, length in sorted(places):
            if not found or start >= found[-1][1]:
                found.append((start, start - length, self.kind, RULE))
        return found

    def _is_value(self, data: bytes, length: int, first: str, whole: str) -> bool:
        if len(data) < length or _hash(self._key, data[:FIRST]) != first:
            return False
        return length <= FIRST or _hash(self._key, data) == whole


def _is_marker(data: bytes, start: int, length: int) -> bool:
    """Whether it is part of what an earlier cleaning left."""
    from sessionlog.redact.replace import is_redacted

    near = max(0, start - 64)
    return is_redacted(data[near : start + length + 80].decode("latin-1"), start - near, start - near + length)


def _classes(key: bytes) -> bytes:
    """The class of each byte, four bytes' classes in each byte of a hash."""
    bits = blake2b(b"classes", key=key).digest()
    return bytes([bits[byte >> 2] >> 2 * (byte & 3) & 3 for byte in range(256)])


def _hash(key: bytes, data: bytes) -> str:
    return blake2b(data, key=key, digest_size=16, person=b"remembered").hexdigest()
