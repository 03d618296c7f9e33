"""Words for the search of the team archive, cut at home: the same ones that the local index has.

PostgreSQL gets a set of words for each event, without positions: words, their parts, each
character and each pair of characters of Chinese, Japanese and Korean, and filters as `#tool_bash`. So two
characters are found by an index. Phrases are found by their words, and checked against the text afterwards.
"""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Iterable, Sequence

from sessionlog.ask.search import query
from sessionlog.ask.search.index import Document

# A word that is longer is found by its beginning.
LONGEST = 100
# PostgreSQL takes 1 MB of words for a row. Of an output with more, the first ones are found.
MOST_BYTES = 900_000
# Of the tags in the local index, facets count these, and no filter asks for them. Each word costs the server 1 to 2 µs.
NO_FILTER = "action "
# A letter has up to 4 bytes, and stands in up to five words: alone, in two pairs, in a name and in a part of it.
MOST_OF_A_LETTER = 25


def of_document(document: Document) -> Iterable[str]:
    """The words of what can be found of an event or a message."""
    found: dict[str, None] = {_filter(tag): None for tag in document.tags if not tag.startswith(NO_FILTER)}
    size = 0
    texts = _texts(document)
    if sum(map(len, texts)) * MOST_OF_A_LETTER < MOST_BYTES:
        for text in texts:
            found.update(dict.fromkeys(_words(text)))
        return found
    for text in texts:
        for word in _words(text):
            if word not in found:
                size += len(word.encode()) + 1
                if size > MOST_BYTES:
                    return found
                found[word] = None
    return found


def question(groups: Sequence[Sequence[query.Term]], tags: Iterable[query.Term]) -> str:
    """A tsquery that finds everything that the question means, and for phrases perhaps more."""
    parts = []
    for group in groups:
        if not group[0].negated:
            parts.append(" | ".join(map(_term, group)))
        elif len(query.tokens(group[0].text)) == 1:  # of a phrase, a row may have the words and is still wanted
            parts.append(f"!({_term(group[0])})")
    parts += [_quoted(_filter(tag.text), tag.prefix) for tag in tags]
    return " & ".join(f"({part})" for part in parts)


def holds(document: Document, groups: Sequence[Sequence[query.Term]]) -> bool:
    """Whether the words of a document answer a question: phrases in their order, as in the local index."""
    fields = [_tokens(query.segment(text)) for text in _texts(document) if text]
    return all(any(_has(fields, term) for term in group) != group[0].negated for group in groups)


def is_exact(groups: Sequence[Sequence[query.Term]]) -> bool:
    """Whether the index alone answers a question: single words and pairs of characters, no phrases."""

    def is_one(term: query.Term) -> bool:
        readings = _readings(term)
        words = readings[0]
        return len(readings) == 1 and (len(words) == 1 or (len(words) == 2 and all(map(_is_cjk, words))))

    return all(is_one(term) for group in groups for term in group)


def _texts(document: Document) -> list[str]:
    """All that can be found: also a tool by its name."""
    tools = [tag.removeprefix("tool ") for tag in document.tags if tag.startswith("tool ")]
    return [*document.fields.values(), *tools]


def _has(fields: list[list[str]], term: query.Term) -> bool:
    """Whether a field has the words of a reading one after the other."""
    for *first, last in _readings(term):
        for field in fields:
            starts = [at for at, word in enumerate(field) if word == first[0]] if first else range(len(field))
            for start in starts:
                end = start + len(first)
                found = field[end : end + 1] if field[start:end] == first else []
                if found == [last] or (term.prefix and found and found[0].startswith(last)):
                    return True
    return False


def _term(term: query.Term) -> str:
    """Any reading of a term: all of its words, and of CJK every pair."""
    readings = []
    for words in _readings(term):
        pairs = [a + b for a, b in itertools.pairwise(words) if _is_cjk(a) and _is_cjk(b)]
        # A pair says more than its characters.
        single = [word for number, word in enumerate(words) if not _in_pair(words, number)]
        star = bool(term.prefix and not _is_cjk(words[-1]))
        wanted = [_quoted(word, star and word == words[-1]) for word in dict.fromkeys((*pairs, *single))]
        readings.append(" & ".join(wanted))
    return " | ".join(f"({reading})" for reading in readings)


def _in_pair(words: Sequence[str], number: int) -> bool:
    if not _is_cjk(words[number]):
        return False
    beside = [*words[max(number - 1, 0) : number], *words[number + 1 : number + 2]]
    return any(map(_is_cjk, beside))


def _readings(term: query.Term) -> list[list[str]]:
    """The words of a term, and those of its parts if it is in camelCase."""
    found = [_tokens(term.text), _tokens(query.CAMEL_JOINT.sub(" ", term.text))]
    return found[: 1 if found[0] == found[1] else 2]


def _words(text: str) -> Iterable[str]:
    words = _tokens(query.segment(text))
    yield from words
    if not text.isascii():  # also across blanks and punctuation, as in the local index
        cjk = {word for word in set(words) if _is_cjk(word)}
        yield from (a + b for a, b in itertools.pairwise(words) if a in cjk and b in cjk)


def _tokens(text: str) -> list[str]:
    return [word[:LONGEST] for word in query.tokens(_plain(text))]


def _plain(text: str) -> str:
    """Lower case without accents, as SQLite's tokenizer makes words. The marks of Japanese syllables stay."""
    text = text.lower()
    if text.isascii():
        return text
    parts = unicodedata.normalize("NFD", text)
    accents = [ord(letter) for letter in set(parts) if _is_accent(letter)]  # of many letters, few are different ones
    return unicodedata.normalize("NFC", parts.translate(dict.fromkeys(accents)) if accents else parts)


def _is_accent(letter: str) -> bool:
    return unicodedata.category(letter) == "Mn" and letter not in "\u3099\u309a"


def _is_cjk(word: str) -> bool:
    return len(word) == 1 and query.is_cjk(word)


def _filter(tag: str) -> str:
    return f"#{tag.replace(' ', '_')}"[:LONGEST]


def _quoted(word: str, prefix: bool = False) -> str:
    text = word[:LONGEST].replace("\\", "\\\\").replace("'", "''")
    return f"'{text}'{':*' if prefix else ''}"
