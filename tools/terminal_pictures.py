"""Pictures of the terminal for docs/terminal.md: real commands in a pseudo-terminal, from a made-up year.

python tools/terminal_pictures.py      # needs `pip install pyte`, a terminal emulator in Python
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from contextlib import suppress
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import pyte

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
PICTURES = ROOT / "docs" / "terminal"
WIDTHS = (80, 120)
# Rows that are shown of long output, and that a full-screen program gets.
ROWS = 36

# Browsers draw several blanks as one.
NO_BREAK = "\u00a0"
CELL, LINE, FONT = 8.4, 18, 14
BACKGROUND, TEXT = "#16181d", "#d7dae0"
# By the names that pyte gives them.
COLOURS = {
    "black": "#3b4048",
    "red": "#f07178",
    "green": "#98c379",
    "brown": "#e5c07b",
    "blue": "#61afef",
    "magenta": "#c678dd",
    "cyan": "#56b6c2",
    "white": "#d7dae0",
    "brightblack": "#7f8792",
}


class Picture(NamedTuple):
    """A command, what is typed while it runs, and what the picture shows."""

    name: str
    title: str
    words: list[str]
    typed: str = ""


def pictures(blamed: str) -> list[Picture]:
    shop = ["--project", "/home/dev/shop"]
    return [
        Picture("picker", "`sessionlog`: the picker", ["pick"], "\tlogin"),
        Picture("show", "`sessionlog show last`", ["show", "last", *shop]),
        Picture("search", '`sessionlog search "TypeError" -n 6`', ["search", "TypeError", "-n", "6", *shop]),
        Picture("blame", "`sessionlog blame cart.py`", ["blame", blamed]),
        Picture("stats", "`sessionlog stats --since 14d`", ["stats", "--since", "14d", *shop]),
        Picture("sessions", "`sessionlog sessions --failed -n 12`", ["sessions", "--failed", "-n", "12", *shop]),
        Picture("audit", "`sessionlog audit --since 30d`", ["audit", "--since", "30d", *shop]),
    ]


class Screen(pyte.Screen):
    """A screen that also knows faint text, which it keeps as blinking: nothing here blinks."""

    def select_graphic_rendition(self, *attributes: int, **more: Any) -> None:
        super().select_graphic_rendition(*(5 if one == 2 else one for one in attributes), **more)


def screen_of(picture: Picture, columns: int, folder: str) -> Screen:
    """The screen after a command has run, or once it waits for a key."""
    rows = ROWS if picture.typed else 2000
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "PAGER": "less", "COLUMNS": str(columns), "LANG": "C.UTF-8"}
    command = [sys.executable, "-m", "sessionlog", *picture.words]
    process = subprocess.Popen(  # noqa: S603 (our own)
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, cwd=folder, start_new_session=True
    )
    os.close(theirs)
    screen = Screen(columns, rows)
    stream = pyte.ByteStream(screen)
    typed = picture.typed
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if not select.select([ours], [], [], 2.5)[0]:  # it waits, or works
            if not picture.typed or "Search:" not in screen.display[0]:
                continue
            if not typed:
                break
            os.write(ours, typed.encode())
            typed = ""
            continue
        with suppress(OSError):  # the end of the process
            if data := os.read(ours, 65536):
                stream.feed(data)
                continue
        break
    process.kill()
    process.wait()
    os.close(ours)
    return screen


def svg(screen: Screen, command: str) -> str:
    """The screen as a picture, with the command above it; of long output the first rows."""
    lines = [[screen.buffer[row][column] for column in range(screen.columns)] for row in range(screen.lines)]
    while lines and not any(cell.data.strip() for cell in lines[-1]):
        lines.pop()
    is_cut = len(lines) > ROWS
    lines = lines[:ROWS]
    width, height = screen.columns * CELL + 24, (len(lines) + 2 + is_cut) * LINE + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height}">',
        f'<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>',
        f'<g font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="{FONT}">',
        f'<text x="12" y="{LINE + 6}" fill="{TEXT}">$ {escape(command)}</text>',
    ]
    for number, line in enumerate(lines, 2):
        parts += _line(line, number * LINE + LINE + 6)
    if is_cut:
        parts.append(f'<text x="12" y="{(len(lines) + 3) * LINE}" fill="{COLOURS["brightblack"]}">…</text>')
    return "\n".join([*parts, "</g>", "</svg>", ""])


def _line(line: list[Any], y: float) -> Iterator[str]:
    column = 0
    for style, cells in groupby(line, lambda cell: (cell.fg, cell.bg, cell.bold, cell.blink, cell.reverse)):
        some = list(cells)
        front, back, bold, faint, reverse = style
        fill, behind = _colour(front, TEXT), _colour(back, "")
        if reverse:
            fill, behind = behind or BACKGROUND, fill
        x, width = 12 + column * CELL, len(some) * CELL
        if behind:
            yield f'<rect x="{x:g}" y="{y - LINE + 5:g}" width="{width:g}" height="{LINE}" fill="{behind}"/>'
        attributes = (' font-weight="bold"' if bold else "") + (' opacity="0.6"' if faint else "")
        for start, length, text in _words(some):
            yield (
                f'<text x="{x + start * CELL:g}" y="{y:g}" fill="{fill}"{attributes} textLength="{length * CELL:g}" '
                f'lengthAdjust="spacingAndGlyphs">{escape(text).replace(" ", NO_BREAK)}</text>'
            )
        column += len(some)


def _words(cells: list[Any]) -> Iterator[tuple[int, int, str]]:
    """Pieces between two blanks or more, each with its column and width: so columns stay where they are.

    Of wide characters, pyte leaves the second cell empty.
    """
    start, end, text = 0, 0, ""
    for column, cell in enumerate(cells):
        if cell.data == " ":
            continue
        if text and column - end > 1:
            yield start, end - start, text
            text = ""
        if not text:
            start = column
        text += " " * (column - end if text else 0) + cell.data
        end = column + 1
    if text:
        yield start, end - start, text


def _colour(name: str, otherwise: str) -> str:
    if name == "default":
        return otherwise
    return COLOURS.get(name) or (f"#{name}" if len(name) == 6 else TEXT)


def document(shown: list[Picture]) -> str:
    """docs/terminal.md: all pictures."""
    parts = [
        "# The terminal\n\nMade by `python tools/terminal_pictures.py` from a made-up year, 80 and 120 columns wide.\n"
    ]
    for name, title, *_ in shown:
        for width in WIDTHS:
            if width == WIDTHS[0]:
                parts.append(f"## {title}\n")
            parts.append(f"![{title.replace('`', '')}, {width} columns](terminal/{name}-{width}.svg)\n")
    return "\n".join(parts)


BEFORE = """def total(cart):
    return sum(item["price"] for item in cart)
"""
EDITS = (
    (
        "Prices must respect the quantity of each item",
        '    return sum(item["price"] for item in cart)\n',
        '    return sum(item["price"] * item["quantity"] for item in cart)\n',
    ),
    (
        "Add a discount for members, 10 percent",
        '    return sum(item["price"] * item["quantity"] for item in cart)\n',
        """    return sum(item["price"] * item["quantity"] for item in cart)


def discounted(cart, member):
    if not member:
        return total(cart)
    return round(total(cart) * 0.9, 2)
""",
    ),
)


def repository(folder: Path) -> str:
    """A file whose lines come from a commit and from two prompts; returns its path."""
    from contextlib import closing

    from sessionlog.archive import append, read
    from sessionlog.archive.event import normalise

    file = folder / "shop" / "cart.py"
    file.parent.mkdir()
    file.write_text(BEFORE)
    git = ["git", "-c", "user.name=Dana", "-c", "user.email=dana@example.com", "-C", str(file.parent)]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "A cart"]):
        subprocess.run([*git, *words], check=True)  # noqa: S603
    now = time.time_ns() // 1_000_000 - 7_200_000
    with closing(append.open_for_writing(read.place_of(str(file.parent)))) as connection:
        common = {"session_id": "5d1c7e0a-cart", "cwd": str(file.parent), "model": "claude-opus-5-5"}

        def store(event: str, **more: Any) -> None:
            nonlocal now
            now += 40_000
            record = normalise({**common, "hook_event_name": event, **more}, at_ms=now, via="hook")
            append.append(connection, record, now)

        store("SessionStart", source="startup")
        for number, (prompt, old, new) in enumerate(EDITS):
            store("UserPromptSubmit", prompt=prompt)
            text = file.read_text()
            after = text.replace(old, new)
            inputs = {"file_path": str(file), "old_string": old, "new_string": new}
            response = {"filePath": str(file), "originalFile": text}
            store(
                "PostToolUse",
                tool_name="Edit",
                tool_input=inputs,
                tool_response=response,
                tool_use_id=f"toolu_{number}",
            )
            file.write_text(after)
        connection.commit()
    return str(file)


def main() -> None:
    from tools.sample_year import fill

    with tempfile.TemporaryDirectory() as home:
        os.environ |= {"SESSIONLOG_HOME": f"{home}/archives", "HOME": home}
        os.environ.pop("NO_COLOR", None)
        fill(f"{home}/archives")
        blamed = repository(Path(home))
        shown = pictures(blamed)
        PICTURES.mkdir(exist_ok=True)
        for picture in shown[1:]:  # the first time, indexes are built
            screen_of(picture, WIDTHS[0], home)
        for picture in shown:
            for width in WIDTHS:
                command = picture.title.split("`")[1]
                text = svg(screen_of(picture, width, str(Path(blamed).parent)), command)
                (PICTURES / f"{picture.name}-{width}.svg").write_text(text, encoding="utf-8")
    (ROOT / "docs" / "terminal.md").write_text(document(shown), encoding="utf-8")


if __name__ == "__main__":
    main()
