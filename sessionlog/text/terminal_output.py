"""What a terminal shows after a program wrote to it: progress bars that draw over themselves leave their last state.

Only lines are followed: carriage returns, backspaces, erased lines, the cursor up and down. Colours stay as they came;
everything else that a terminal would obey is taken out.
"""

from __future__ import annotations

import re

# Longer outputs stay as they came: following them would take longer than reading them.
FOLLOWED = 100_000
# A code of five letters may move the cursor so far; blanks that fill the gap are limited in all.
FAR, BLANKS = 400, 200_000

_SEQUENCE = (
    r"\x1b\[(?P<codes>[0-9;:<=>?]{0,40})[ -/]{0,4}(?P<final>[@-~])"  # colours, moves, erasing
    r"|\x1b\][^\x07\x1b\n]{0,2000}(?:\x07|\x1b\\)"  # titles, links
    r"|\x1b[P^_X][^\x07\x1b\n]{0,2000}\x1b\\"  # strings for the terminal itself
    r"|\x1b[()*+][0-9A-Za-z]|\x1b[=>78DEHMNOZc]"  # character sets, modes
)
_TOKEN = re.compile(rf"{_SEQUENCE}|(?P<move>[\r\b\n])|(?P<text>[^\x1b\r\b\n]+|\x1b)")
_COLOUR = re.compile(r"\x1b\[[0-9;]{0,40}m")


def settled(text: str) -> str:
    """The text as a terminal would show it in the end, with its colours."""
    text = text.replace("\r\n", "\n")
    if not ("\x1b" in text or "\r" in text or "\b" in text) or len(text) > FOLLOWED:
        return text
    if "\r" not in text and "\b" not in text and _COLOUR.sub("", text).find("\x1b") < 0:
        return text
    screen = _Screen()
    for token in _TOKEN.finditer(text):
        screen.obey(token)
    return screen.text()


def without_colours(text: str) -> str:
    """The text without codes that colour it."""
    return _COLOUR.sub("", text)


class _Screen:
    def __init__(self) -> None:
        self.lines: list[list[tuple[str, str]]] = [[]]  # the colour of each letter, and the letter
        self.row = self.column = 0
        self.colour = ""
        self.blanks = BLANKS

    def obey(self, token: re.Match[str]) -> None:
        if token["text"] is not None:
            self._write(token["text"])
        elif token["move"] == "\n":
            self._to(self.row + 1, 0)
        elif token["move"] == "\r":
            self.column = 0
        elif token["move"] == "\b":
            self.column = max(0, self.column - 1)
        elif token["final"] == "m":
            codes = token["codes"]
            self.colour = "" if codes in ("", "0") else (self.colour + token[0])[-200:]
        elif token["final"] in ("A", "B", "C", "D", "G", "E", "F"):
            self._move(token["final"], int(token["codes"]) if token["codes"].isdigit() else 1)
        elif token["final"] == "K":
            line = self.lines[self.row]
            if token["codes"] in ("", "0"):
                del line[self.column :]
            elif token["codes"] == "2":
                line.clear()

    def _write(self, text: str) -> None:
        line = self.lines[self.row]
        if gap := max(0, min(self.column - len(line), self.blanks)):
            line += [("", " ")] * gap
            self.blanks -= gap
        line[self.column : self.column + len(text)] = [(self.colour, letter) for letter in text]
        self.column += len(text)

    def _move(self, direction: str, count: int) -> None:
        count = min(count, FAR)
        match direction:
            case "A" | "F":
                self._to(self.row - count, 0 if direction == "F" else self.column)
            case "B" | "E":
                self._to(self.row + count, 0 if direction == "E" else self.column)
            case "C":
                self.column = min(FAR, self.column + count)
            case "D":
                self.column = max(0, self.column - count)
            case "G":
                self.column = min(FAR, count - 1)

    def _to(self, row: int, column: int) -> None:
        self.row, self.column = min(max(0, row), len(self.lines)), column
        if self.row == len(self.lines):
            self.lines.append([])

    def text(self) -> str:
        shown = []
        for line in self.lines:
            made, colour = [], ""
            for own, letter in line:
                if own != colour:
                    made.append(f"\x1b[0m{own}")
                    colour = own
                made.append(letter)
            shown.append("".join(made) + ("\x1b[0m" if colour else ""))
        return "\n".join(shown)
