"""The table of the faults: how often each was tried, what was lost, whom it blocked."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Line:
    """One fault in the table, or what one test adds to it."""

    times: int = 0
    kept: int = 0
    lost: int = 0
    blocked: int = 0
    remarks: list[str] = field(default_factory=list)

    def add(self, other: Line) -> None:
        self.times += other.times
        self.kept += other.kept
        self.lost += other.lost
        self.blocked += other.blocked
        self.remarks += other.remarks


def table(book: dict[str, Line]) -> list[str]:
    """The book as text, a fault a line."""
    heads = ("fault", "times", "kept", "lost", "blocked", "")
    lines = [
        (
            name,
            str(line.times),
            str(line.kept),
            str(line.lost),
            str(line.blocked),
            "; ".join(dict.fromkeys(line.remarks)),
        )
        for name, line in book.items()
    ]
    widths = [max(len(row[column]) for row in (heads, *lines)) for column in range(5)]
    return [
        "  ".join(
            [
                row[0].ljust(widths[0]),
                *(text.rjust(width) for text, width in zip(row[1:5], widths[1:], strict=True)),
                row[5],
            ]
        ).rstrip()
        for row in (heads, *lines)
    ]
