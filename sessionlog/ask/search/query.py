"""How text becomes words, for the index and for the question alike, and how a question becomes an FTS5 expression.

SQLite's own tokenizer takes a run of Chinese for one word, so that nothing inside it is found. Here each character of
Chinese, Japanese and Korean stands alone, and a run of them in a question is a phrase. `getUserName` is one word, and
its parts are words too; `snake_case` and `threading.Lock` are split by the tokenizer and asked for as phrases.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import NamedTuple

_CJK = (
    "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3040-\u30ff\u3100-\u312f\u3130-\u318f"
    "\u31a0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc"
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
_JOINT = "(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"
CAMEL_JOINT = re.compile(_JOINT)
# Where a word, or a part of getUserName, begins and ends: case matters here, wherever else it does not.
_BEGIN, _END = rf"(?:(?<![^\W_])|(?-i:{_JOINT}))", rf"(?:(?![^\W_])|(?-i:{_JOINT}))"
# Letters and digits by their kind: where a word has a joint, `aA` or `AAa` stands.
_KINDS = bytearray(b" " * 256)
for _letters, _kind in ((b"abcdefghijklmnopqrstuvwxyz0123456789", b"a"), (b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", b"A")):
    for _letter in _letters:
        _KINDS[_letter] = _kind[0]
_TERM = re.compile(r'(?P<not>-?)(?:"(?P<phrase>[^"]*)"?|(?P<word>[^\s"]+))(?P<prefix>\*?)')


# The columns of the index that hold text; `tags` beside them holds what filters ask for.
FIELDS = ("said", "input", "path", "code", "output")


class Term(NamedTuple):
    """One thing that is asked for."""

    text: str
    prefix: bool = False
    negated: bool = False


def segment(text: str) -> str:
    """The text as it goes into the index."""
    return segmented([text])[0]


def segmented(texts: Sequence[str]) -> list[str]:
    """The same for many texts. One pass over all of them: most are so short that a pass for each takes longer."""
    together = "\0".join(texts)
    if together.count("\0") >= len(texts):
        together = "\0".join([text.replace("\0", " ") for text in texts])
    data = _spaced(together.encode("utf-8", "replace"))
    found = data.decode().split("\0")
    for number, words in _compounds(data).items():
        # Behind the text, so that phrases in the text itself stay phrases. Sorted: the same text, the same index.
        found[number] += "\n" + "\n".join(map(_parts, sorted(words)))
    return found


def _compounds(data: bytes) -> dict[int, set[bytes]]:
    """The words with parts, by the number of their text; found without a look at the others, by far the most."""
    kinds = data.translate(_KINDS)
    found: dict[int, set[bytes]] = {}
    for joint in (b"aA", b"AAa"):
        number = counted = 0
        at = kinds.find(joint)
        while at >= 0:
            end = kinds.find(b" ", at)
            end = len(kinds) if end < 0 else end
            word = data[kinds.rfind(b" ", 0, at) + 1 : end]
            number, counted = number + data.count(b"\0", counted, at), at
            if _parts(word):
                found.setdefault(number, set()).add(word)
            at = kinds.find(joint, end)
    return found


@lru_cache(4096)  # the same names again and again
def _parts(word: bytes) -> str:
    """The parts of a word; empty if it has none."""
    text = word.decode()
    return CAMEL_JOINT.sub(" ", text) if CAMEL_JOINT.search(text) else ""


def terms(question: str) -> list[list[Term]]:
    """What is asked for: all of the groups, and of each group any term (`a OR b`)."""
    groups: list[list[Term]] = []
    join = False
    for match in _TERM.finditer(question):
        text = match["phrase"] if match["phrase"] is not None else match["word"]
        if match["word"] == "OR" and not match["not"]:
            join = bool(groups)
            continue
        prefix = bool(match["prefix"])
        if match["word"] and match["word"].endswith("*"):  # the pattern of a word takes its stars along
            text, prefix = text.rstrip("*"), True
        term = Term(text, prefix, bool(match["not"]))
        if not tokens(text):
            continue
        if join and not term.negated and not groups[-1][0].negated:
            groups[-1].append(term)
        else:
            groups.append([term])
        join = False
    return groups


def tokens(text: str) -> list[str]:
    """The words that FTS5 makes of a text: runs of letters and digits, each CJK character by itself."""
    return re.findall(r"[^\W_]+", _spaced(text.encode("utf-8", "replace")).decode())


def is_cjk(word: str) -> bool:
    """Whether the word consists of Chinese, Japanese and Korean characters."""
    return bool(word) and all(map(_is_cjk_letter, word))


@lru_cache(4096)
def _is_cjk_letter(letter: str) -> bool:
    """By comparison: a question has few letters, and a regex with all of these ranges takes 4 ms to compile."""
    return any(first <= letter <= last for first, last in zip(_CJK[::3], _CJK[2::3], strict=True))


# The same characters as bytes of UTF-8, where most get their space by a plain replacement, which is faster. These bytes
# begin nothing but such characters (and the hexagrams, which are in no word): Chinese, kana, most of Korean.
_CJK_STARTS = b"\xe4 \xe5 \xe6 \xe7 \xe8 \xe9 \xeb \xec \xed \xe3\x81 \xe3\x82 \xe3\x83".split()
# The last one of a run, when each of them has got a space before it.
_END_OF_CJK = rb" ((?:[\xe4-\xe9\xeb-\xed].|\xe3[\x81-\x83]).)(?! [\xe3-\xed])"
# The others share their first bytes with punctuation, symbols and other scripts.
_OTHER_CJK = (
    rb"(\xe1[\x84-\x87].|\xe2(?:[\xba-\xbe].|\xbf[\x80-\x9f])"
    rb"|\xe3(?:\x80[\x85-\x87\xa1-\xa9\xb1-\xb5]|\x86[\x80-\x8f\xa0-\xbf]|[\x84\x85\x87\x90-\xbf].)"
    rb"|\xea(?:\xa5[\xa0-\xbf]|[\xb0-\xbf].)|\xef(?:[\xa4-\xab\xbe].|\xbd[\xa6-\xbf]|\xbf[\x80-\x9c])"
    rb"|\xf0(?:\x9b(?:[\x80-\x84].|\x85[\x80-\xaf])|[\xa0-\xbf]..))"
)


@cache
def _cjk_bytes() -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    return re.compile(_OTHER_CJK, re.DOTALL), re.compile(_END_OF_CJK, re.DOTALL)


def _spaced(data: bytes) -> bytes:
    """A text in UTF-8 with each CJK character by itself."""
    if data.isascii():
        return data
    others, ends = _cjk_bytes()
    data = b" ".join(others.split(data))
    for start in _CJK_STARTS:
        data = data.replace(start, b" " + start)
    return b" ".join(ends.split(data))


def expression(groups: list[list[Term]], tags: list[Term], fields: Sequence[str] = ()) -> str:
    """The FTS5 expression for a question, all words of it in one of these fields if any are given.

    Whatever people type, it is a quoted string in it: no syntax can go wrong.
    """
    within = f"{{{' '.join(fields or FIELDS)}}} : "
    wanted = [within + f"({' OR '.join(map(_fts, group))})" for group in groups if not group[0].negated]
    unwanted = [f"{{{' '.join(FIELDS)}}} : ({_fts(group[0])})" for group in groups if group[0].negated]
    # Every document has the tag `any`, so that a question may consist of filters, or of what is not wanted.
    required = [f"tags : {_fts(tag)}" for tag in (tags or ([] if wanted else [Term("any")]))]
    positive = " AND ".join(f"({part})" for part in (*wanted, *required))
    return f"({positive}) NOT ({' OR '.join(unwanted)})" if unwanted else positive


def quoted(text: str) -> str:
    """The words of a text as a phrase of FTS5; the text must have one."""
    return _fts(Term(text))


@lru_cache(4096)  # the same few names again and again
def tag(*words: str) -> str:
    """A filter as the index holds it: the phrase `tool bash` in the column `tags`."""
    return " ".join(token.lower() for word in words for token in tokens(word))


def pattern(groups: list[list[Term]]) -> re.Pattern[str] | None:
    """What to highlight: the wanted words where they stand in the original text."""
    found = [_highlight(term) for group in groups for term in group if not term.negated]
    return re.compile("|".join(sorted(found, key=len, reverse=True)), re.IGNORECASE) if found else None


def _fts(term: Term) -> str:
    readings = [tokens(term.text)]
    parts = tokens(CAMEL_JOINT.sub(" ", term.text))
    if parts != readings[0]:
        readings.append(parts)
    star = " *" if term.prefix else ""
    return " OR ".join(f'"{" ".join(words)}"{star}' for words in readings)


def _highlight(term: Term) -> str:
    words = tokens(term.text)
    body = r"[\W_]*".join(re.escape(word) for word in words)
    # By far the most places are ruled out by their first letter, which is faster than looking around them.
    start = f"(?={re.escape(words[0][0])}){_BEGIN}" if not is_cjk(words[0]) else ""
    end = _END if not term.prefix and not is_cjk(words[-1]) else ""
    parts = CAMEL_JOINT.split(term.text)
    if len(parts) > 1:
        start = end = ""
    return f"{start}{body}{end}"
