"""Checks whether a text is a JavaScript regular expression, as the client reads a matcher."""

from __future__ import annotations

import re
import warnings

_QUANTIFIER = r"(?:[*+?]|\{\d+(?:,\d*)?\})"
_TOKEN = re.compile(
    r"(?P<any>\[\^?\])"  # `[^]` is any character, `[]` none; Python would read on to the next bracket
    r"|(?P<set>\[(?:\\.|[^\]\\])+\])"
    r"|(?P<back>\\(?:k<\w+>|\d+))"
    r"|\\(?P<escape>.)"
    r"|\(\?<(?P<look>[=!])"
    r"|\(\?<(?P<name>[A-Za-z_$][\w$]*)>"
    r"|(?P<group>\(\?(?![:=!]|[ims]*(?:-[ims]+)?:))"
    rf"|(?P<repeat>{_QUANTIFIER}\+)",
    re.DOTALL,
)
# A longer one is not judged: the time grows with its square.
LONGEST = 10_000
_SHARED_ESCAPES = "dDwWsSbBnrtfv"  # JavaScript takes any other letter as itself; \x and \u do no harm that way


def error(pattern: str) -> str | None:
    """What is wrong with the pattern, or None; checked by Python's `re`, adapted where JavaScript differs."""
    if len(pattern) > LONGEST:
        return None
    try:
        translated = _TOKEN.sub(_translate, pattern)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # `[[` warns of sets to come
            re.compile(translated)
    except re.error as problem:
        return problem.msg
    except (RecursionError, OverflowError):
        return "it is nested too deeply"
    return None


def _translate(match: re.Match[str]) -> str:
    kind = match.lastgroup
    if kind == "any":
        return "."
    if kind == "set":
        # `[\w-.]` has a literal dash in JavaScript and is a broken range in Python.
        dashes = re.sub(r"(\\[dDwWsS])-(?!\])", r"\1\\-", match[0])
        return re.sub(r"\\([A-Za-z1-9])", lambda escape: _letter(escape[1]), dashes)
    if kind == "back":
        return "(?:)"  # a reference to a group that is not there is no error in JavaScript
    if kind == "escape":
        return _letter(match["escape"])
    if kind == "look":
        return f"(?{match['look']}"  # JavaScript may look behind at any width: only the syntax counts here
    if kind == "name":
        return f"(?P<{match['name'].replace('$', '_')}>"
    if kind == "group":
        raise re.error("JavaScript has no such (?…) group")
    raise re.error("nothing to repeat before +")  # `a*+` is possessive in Python only


def _letter(letter: str) -> str:
    return f"\\{letter}" if letter in _SHARED_ESCAPES or not letter.isalpha() else letter
