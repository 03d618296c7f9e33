"""Pictures in what tools gave back and in what people pasted: found by their shape, trusted by their first bytes."""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

# Of one entry; bytes of one picture; how deep a result is looked through.
MOST, BIGGEST, DEEPEST = 20, 30_000_000, 5

_PREFIX = "data:image/"


class Picture(NamedTuple):
    """A picture as base64, and what its first bytes say."""

    data: str
    content_type: str
    width: int  # 0 where the beginning does not say
    height: int

    @property
    def bytes(self) -> bytes | None:
        """All of it; None if it is damaged or too big."""
        if len(self.data) > BIGGEST * 4 // 3:
            return None
        try:
            return base64.b64decode(self.data, validate=False)
        except (ValueError, binascii.Error):
            return None


def found_in(value: Any) -> list[Picture]:
    """The pictures of a result or of the blocks of a message, in order."""
    pictures: list[Picture] = []
    for data in _data_in(value, 0):
        if picture := _picture(data):
            pictures.append(picture)
        if len(pictures) >= MOST:
            break
    return pictures


def _data_in(value: Any, depth: int) -> Iterator[str]:
    if depth > DEEPEST:
        return
    match value:
        case {"type": "image", "file": {"base64": str(data)}}:  # a file that was read
            yield data
        case {"type": "image", "source": {"data": str(data)}}:  # a block of a message
            yield data
        case {"type": "image", "data": str(data)}:  # of an MCP server
            yield data
        case {"isImage": True, "stdout": str(data)} if data.startswith(_PREFIX):
            yield data.partition(",")[2]
        case {"content": list(blocks)} | list(blocks):
            for block in blocks[:1000]:
                yield from _data_in(block, depth + 1)


def _picture(data: str) -> Picture | None:
    try:
        first = base64.b64decode(data[:64] + "=" * (-len(data[:64]) % 4))
    except (ValueError, binascii.Error):
        return None
    if first.startswith(b"\x89PNG\r\n\x1a\n") and len(first) >= 24:
        return Picture(data, "image/png", *struct.unpack(">II", first[16:24]))
    if first.startswith((b"GIF87a", b"GIF89a")):
        return Picture(data, "image/gif", *struct.unpack("<HH", first[6:10]))
    if first.startswith(b"\xff\xd8\xff"):
        return Picture(data, "image/jpeg", 0, 0)
    if first[:4] == b"RIFF" and first[8:12] == b"WEBP":
        return Picture(data, "image/webp", 0, 0)
    return None
