"""Code in colours, by Pygments: lines of marked words, and the style sheet that goes with them."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any

from markupsafe import Markup, escape

from sessionlog.text import plain as terminal

# Longer pieces, and pieces with longer lines, stay plain: colouring them would take longer than reading them.
COLOURED, LONGEST_LINE = 20_000, 2_000
# And so do pieces that take longer (s of this thread): some lexers need many seconds for 20 KB of blank lines.
PATIENCE = 0.06

# Pygments knows hundreds of languages, and some of its lexers take minutes for a few kilobytes. These are known to be
# quick with whatever 20 KB they are given, see tests/faults/test_limits.py. The rest is shown without colours.
LANGUAGES = {
    *("awk", "bash", "bat", "c", "clojure", "cmake", "console", "cpp", "csharp", "css", "dart", "diff", "docker"),
    *("elixir", "erlang", "fish", "fsharp", "go", "graphql", "groovy", "haskell", "html", "http", "ini", "java"),
    *("javascript", "json", "jsx", "julia", "kotlin", "less", "lua", "make", "markdown", "mysql", "nasm", "nginx"),
    *("nim", "objective-c", "perl", "php", "postgresql", "powershell", "properties", "protobuf", "python", "pytb"),
    *("r", "rst", "ruby", "rust", "sass", "scala", "scss", "sql", "sqlite3", "swift", "terraform", "tex", "toml"),
    *("tsx", "typescript", "vim", "xml", "yaml", "zig"),
}

LIGHT, DARK = "xcode", "github-dark"
# What stands behind code: plain, output, added, removed, words that differ in the two, a line that was asked for.
# Colours that are too faint on one of them are made stronger.
LIGHT_GROUNDS = ("#ffffff", "#f3f1ed", "#e6f5ec", "#fdeceb", "#c9ecd6", "#fbd7d3", "#fff0a8")
DARK_GROUNDS = ("#1e2024", "#111215", "#12301f", "#3d1a1a", "#174529", "#5c2525", "#3d3200")
CONTRAST = 4.6

Words = list[tuple[str, str]]  # the class of each piece of a line, and the piece


@lru_cache(256)
def lines(text: str, lexer: Any) -> list[Words]:
    """The text as lines of coloured words; it must be safe already. Nobody may change what is given back."""
    plain = text.split("\n")
    if lexer is None or len(text) > COLOURED or max(map(len, plain)) > LONGEST_LINE:
        return [[("", line)] for line in plain]
    found: list[Words] = [[]]
    end = time.thread_time() + PATIENCE
    for number, (kind, piece) in enumerate(lexer.get_tokens(text)):
        if number % 16 == 0 and time.thread_time() > end:
            break
        first, *rest = piece.split("\n")
        name = _class(kind)
        found[-1].append((name, first))
        found += [[(name, part)] for part in rest]
    return found if len(found) == len(plain) else [[("", line)] for line in plain]


def html(words: Words) -> Markup:
    """One line."""
    merged = [
        (name, "".join(piece for _, piece in run)) for name, run in itertools.groupby(words, lambda word: word[0])
    ]
    made = [f'<span class="{name}">{escape(piece)}</span>' if name else str(escape(piece)) for name, piece in merged]
    return Markup("".join(made))  # noqa: S704 (every piece is escaped, and the names are of Pygments)


def block(text: str, lexer: Any) -> Markup:
    """Several lines."""
    return Markup("\n").join(map(html, lines(terminal.safe(text), lexer)))


def for_file(path: str) -> Any:
    """What can read this kind of file; None where nobody knows."""
    name = os.path.basename(path.replace("\\", "/"))[-80:]
    ending = os.path.splitext(name)[1]
    return _by_file_name(f"x{ending}" if ending else name)


@lru_cache(256)
def for_language(language: str) -> Any:
    """What can read this language, as it is called in Markdown."""
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return _if_quick(get_lexer_by_name(language[:40], stripnl=False, ensurenl=False))
    except ClassNotFound:
        return None


@lru_cache(256)
def _by_file_name(name: str) -> Any:
    from pygments.lexers import get_lexer_for_filename
    from pygments.util import ClassNotFound

    try:
        return _if_quick(get_lexer_for_filename(name, stripnl=False, ensurenl=False))
    except ClassNotFound:
        return None


def _if_quick(lexer: Any) -> Any:
    return lexer if LANGUAGES.intersection(lexer.aliases) else None


@cache
def _class(kind: Any) -> str:
    from pygments.token import STANDARD_TYPES, Error, Text, Whitespace

    while kind not in STANDARD_TYPES:
        kind = kind.parent
    # Pieces of a file are often not well-formed by themselves: nothing is marked as an error. Names and brackets are
    # most of a line, and look like any other text: an element for each would make a page heavy.
    return "" if kind in (Text, Whitespace, Error) or not _is_coloured(kind) else STANDARD_TYPES[kind]


def _is_coloured(kind: Any) -> bool:
    """Whether one of the two styles gives it a colour of its own."""
    from pygments.styles import get_style_by_name

    for name, text in ((LIGHT, ("", "000000")), (DARK, ("", "e6edf3"))):
        style = get_style_by_name(name).style_for_token(kind)
        if style["italic"] or (style["color"] or "") not in text:
            return True
    return False


# --- The style sheet --------------------------------------------------------------------------------------------------


@cache
def style_sheet() -> str:
    """The colours of both styles, each where the page is light or dark."""
    from pygments.styles import get_style_by_name
    from pygments.token import STANDARD_TYPES, Error, Generic

    light, dark = get_style_by_name(LIGHT), get_style_by_name(DARK)
    rules = []
    for kind, name in STANDARD_TYPES.items():
        if not name or kind is Error or kind in Generic:  # diffs have our own colours
            continue
        by_day, by_night = light.style_for_token(kind), dark.style_for_token(kind)
        colours = (
            _readable(by_day["color"] or "1f1d1a", LIGHT_GROUNDS),
            _readable(by_night["color"] or "e7e5e0", DARK_GROUNDS),
        )
        more = "font-style:italic" if by_day["italic"] or by_night["italic"] else ""
        rules.append(f".code .{name}{{color:light-dark({colours[0]},{colours[1]});{more}}}")
    return "\n".join(rules)


def _readable(colour: str, grounds: Iterable[str]) -> str:
    """The colour, moved away from what is behind it until everybody can read it."""
    parts = [int(colour[at : at + 2], 16) for at in (0, 2, 4)]
    behind = [_light(ground) for ground in grounds]
    away = 0 if max(behind) > 0.5 else 255
    for _ in range(40):
        found = "#" + "".join(f"{part:02x}" for part in parts)
        own = _light(found)
        if all((max(own, other) + 0.05) / (min(own, other) + 0.05) >= CONTRAST for other in behind):
            break
        parts = [round(part + (away - part) * 0.08) for part in parts]
    return found


def _light(colour: str) -> float:
    """How light a colour is, as WCAG counts it."""
    shares = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (share / 12.92 if share <= 0.03928 else ((share + 0.055) / 1.055) ** 2.4 for share in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
