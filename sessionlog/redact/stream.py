"""Takes secrets out of what is too long to be held in memory as a whole."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sessionlog.redact.rules import Rules

PIECE = 4 << 20
# So much of the end of a piece is searched for a place where no secret is cut in two.
SEAM = 1 << 20


def cleaned(blocks: "Iterable[bytes]", rules: "Rules") -> "Iterator[tuple[bytes, bytes]]":
    """Each piece as it was, and without its secrets."""
    for piece in pieces(blocks):
        suspects = rules.suspects(piece)
        if suspects:
            text = rules.clean_text(piece.decode("utf-8", "surrogateescape"), suspects)
            yield piece, text.encode("utf-8", "surrogateescape")
        else:
            yield piece, piece


def pieces(blocks: "Iterable[bytes]") -> "Iterator[bytes]":
    """The same bytes in pieces of some megabytes, cut between two values where there is such a place."""
    held: list[bytes] = []
    size = 0
    for block in blocks:
        for start in range(0, len(block), PIECE):
            held.append(block[start : start + PIECE])
            size += len(held[-1])
            if size >= PIECE:
                data = b"".join(held)
                end = _seam(data)
                yield data[:end]
                held, size = [data[end:]], len(data) - end
    if size:
        yield b"".join(held)


def _seam(data: bytes) -> int:
    start = max(0, len(data) - SEAM)
    for between in (b',"', b"\n", b" "):  # the comma and the quote before a key of JSON, the end of a line, of a word
        found = data.rfind(between, start)
        if found > 0:
            return found + 1
    return len(data)
