"""Escaped characters of JSON, for the cheap test."""


def characters(data: bytes) -> bytes:
    r"""The data with \uXXXX as UTF-8, as the parser will see it; quotes, backslashes and half pairs stay."""
    first, *rest = data.split(b"\\u")
    pieces = [first]
    high = 0  # the first half of a pair
    for piece in rest:
        try:
            code = int(piece[:4], 16)
        except ValueError:
            code = 34
        if high and 0xDC00 <= code < 0xE000:
            pieces[-1] = chr(0x10000 + ((high - 0xD800) << 10) + code - 0xDC00).encode() + piece[4:]
        elif code in (34, 92) or 0xD800 <= code < 0xE000:
            pieces.append(b"\\u" + piece)
        else:
            pieces.append(chr(code).encode() + piece[4:])
        high = code if 0xD800 <= code < 0xDC00 and len(piece) == 4 else 0
    return b"".join(pieces)
