"""What chunks hold: packed, unpacked, and the JSON of a line. Commands that read a few lines import only this."""

import sys
import zlib

from sessionlog.errors import SessionlogError
from sessionlog.fastlib import encode_json, parse_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# What a chunk may be when it is unpacked: this much, or so many times its size. zlib packs 1000 zeros into a byte, so
# that a small archive of somebody else's could fill the memory.
LARGEST = 80 << 20
RATIO = 20

# Of zlib, level 2 is the fastest of all; 3 saves a seventh for 40 % more time, 6 a quarter for four times as much.
LEVEL = 2
# ISA-L packs the same format in a fifth of that time, and a little tighter.
ISAL_LEVEL = 1


class Unreadable(SessionlogError):
    """A chunk is damaged, or too large when it is unpacked. It stays in the archive as it is."""


def pack(data: bytes) -> bytes:
    """The bytes as a chunk holds them; any zlib reads them. No bytes are always packed alike: a mark of pruning."""
    try:
        from isal import isal_zlib
    except ImportError:  # in the hook's importer, which has the standard library alone
        return zlib.compress(data, LEVEL)
    return isal_zlib.compress(data, ISAL_LEVEL) if data else zlib.compress(data, LEVEL)


def unpack(packed: "Any") -> bytes:
    """The bytes of a chunk. Raises Unreadable."""
    try:
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(packed, max(LARGEST, RATIO * len(packed)))
    except (zlib.error, TypeError) as error:
        raise Unreadable(f"a part of an archived transcript is damaged ({error})") from None
    if unpacker.unconsumed_tail:
        raise Unreadable(f"a part of an archived transcript is larger than {len(data):,} bytes when it is unpacked")
    if not unpacker.eof:
        raise Unreadable("a part of an archived transcript is damaged (it ends too early)")
    return data


def load_orjson() -> None:
    """Let `parse` be fast from now on. Loading it takes as long as reading a thousand lines without it."""
    try:
        import orjson  # noqa: F401
    except ImportError:  # in the hook's importer, which has the standard library alone
        pass


def parse(line: bytes) -> "Any":
    """The JSON of a line, its texts fit for SQLite. Raises ValueError for what is none."""
    fast = sys.modules.get("orjson")
    if fast is not None:
        try:
            return fast.loads(line)
        except ValueError:
            pass  # numbers beyond 64 bits, bytes that are not UTF-8 and half surrogate pairs are no reason to skip
    value = parse_json(line.decode("utf-8", "replace"))
    if b"\\ud" in line or b"\\uD" in line:
        value = parse_json(encode_json(value).encode("utf-8", "replace").decode())
    return value


def entries(line: bytes) -> "list[Any]":
    """What stands on a line: one value, or several if their newline is missing. Raises ValueError for what is none."""
    try:
        return [parse(line)]
    except ValueError:
        from sessionlog.agents.claude_code.transcript_files import glued_values

        values = glued_values(line)
        if not values:
            raise
        return values
