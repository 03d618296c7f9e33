"""Which line of a new text is which line of the old one, however it was moved, indented or laid out."""

from __future__ import annotations

import bisect
import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

# Nothing was there before.
NEW = -1

# Moved lines are the same lines only if they have this many letters and digits, as in `git blame -M`: a lone `}` or
# `return None` occurs by chance.
SIGNIFICANT = 20
# A line with so many of them is not written twice in the same place by chance, as `return None` is.
TELLING = 13

# difflib takes time that grows with the square of the lines. A larger gap without a unique line in common is new text.
_GAP = 1500
# Pairs of lines that are tried when a formatter may have split or joined lines.
_PAIRS = 40_000
# Places where a moved line may come from.
_CANDIDATES = 50
# Lines, or words, that may have come between the pieces of a line that was split.
_APART = 4

# Formatters add and remove these, and turn one quote into the other.
_LAYOUT = frozenset(",;()\\")
_TOKEN = re.compile(r"\w+|[^\w\s]")
_WITHOUT_LAYOUT = re.compile(rf"\w+|[^\w\s{re.escape(''.join(sorted(_LAYOUT)))}]")

Tokens = tuple[str, ...]


class Keys(dict[str, Tokens]):
    """What each line says, without its layout: its words and signs; of a line of nothing but layout, the layout."""

    def __missing__(self, line: str) -> Tokens:
        some = line[:5000]
        self[line] = found = tuple(_WITHOUT_LAYOUT.findall(some.replace("'", '"')) or _TOKEN.findall(some))
        return found

    def of(self, lines: Iterable[str]) -> list[Tokens]:
        """What these lines say. Nearly all of them were seen before, and cost next to nothing."""
        return list(map(self.__getitem__, lines))


def align(old: Sequence[str], new: Sequence[str], keys: Keys) -> list[int]:
    """For each new line the number of the old one that it is, or NEW."""
    return align_keys(old, new, keys.of(old), keys.of(new))


def align_keys(old: Sequence[str], new: Sequence[str], olds: list[Tokens], news: list[Tokens]) -> list[int]:
    """The same where it is known what the lines say."""
    start, end = _same_ends(olds, news)
    i2, j2 = len(olds) - end, len(news) - end
    found = [*range(start), *([NEW] * (j2 - start)), *range(i2, len(olds))]
    if set(olds[start:i2]).isdisjoint(news[start:j2]) and not (
        _can_slide(olds, start, i2) or _can_slide(news, start, j2)
    ):
        # As most edits are. Nothing stayed the same and nothing was moved: all that matters is between the same ends.
        found[start:j2] = [i + start if i != NEW else NEW for i in _laid_out(olds[start:i2], news[start:j2])]
        return found
    for i, j, length in _equal(olds, news, start, i2, start, j2):
        found[j : j + length] = range(i, i + length)
    _slide(old, new, olds, news, found)
    for i1, i2, j1, j2 in _differing(found, len(old)):
        _reflowed(olds, news, i1, i2, j1, j2, found)
    used = set(found)
    free = [i not in used for i in range(len(olds))]
    if NEW in used and any(free):
        moved(olds, free, news, found)
        _moved_and_reflowed(olds, free, news, found)
    return found


def _laid_out(olds: list[Tokens], news: list[Tokens]) -> list[int]:
    """The same for lines of which none is as it was: they may have been split or joined."""
    found = [NEW] * len(news)
    if olds and news and not len(olds) == len(news) == 1:
        _reflowed(olds, news, 0, len(olds), 0, len(news), found)
        used = set(found)
        if NEW in used:
            _moved_and_reflowed(olds, [i not in used for i in range(len(olds))], news, found)
    return found


def _same_ends(olds: list[Tokens], news: list[Tokens]) -> tuple[int, int]:
    """How many lines are the same at the start and at the end."""
    least = min(len(olds), len(news))
    start = end = 0
    # Most are the same object, which is quicker to see than that they are equal.
    while start < least and ((old := olds[start]) is (new := news[start]) or old == new):
        start += 1
    while end < least - start and ((old := olds[~end]) is (new := news[~end]) or old == new):
        end += 1
    return start, end


def _can_slide(keys: list[Tokens], first: int, end: int) -> bool:
    """Whether other lines may be meant as well: those before them end the same way, or those after them begin so."""
    return first < end and (keys[end - 1] in keys[max(first - 1, 0) : first] or keys[first] in keys[end : end + 1])


def moved(olds: Sequence[Tokens], free: list[bool], news: Sequence[Tokens], found: list[int]) -> None:
    """Find new lines among the old ones that are `free`: in runs that are long enough to mean something."""
    places: dict[Tokens, list[int]] = {}
    for i, key in enumerate(olds):
        if free[i] and key:
            places.setdefault(key, []).append(i)
    j = 0
    while j < len(news):
        if found[j] != NEW or news[j] not in places:
            j += 1
            continue
        best, length = NEW, 0
        for i in places[news[j]][-_CANDIDATES:]:
            run = _run(olds, free, news, found, i, j)
            if run >= length:  # of equal ones the last, which is the newest where that matters
                best, length = i, run
        if length and significance(news[j : j + length]) >= SIGNIFICANT:
            for k in range(length):
                found[j + k] = best + k
                free[best + k] = False
        j += length or 1


def significant(wanted: set[int], found: list[int], lines: Sequence[str], keys: Keys) -> Iterator[int]:
    """Those of the wanted lines that were found in a run that is long enough to mean something.

    For a line that is itself no common one, its neighbours count too, wanted or not.
    """
    for among, least in ((wanted, 0), (set(range(len(lines))), TELLING)):
        run: list[int] = []
        for j in range(len(lines) + 1):
            goes_on = j < len(lines) and j in among and found[j] != NEW
            # A line that a formatter has split is several, of one origin.
            if run and not (goes_on and found[j] - found[run[-1]] in (0, 1)):
                if significance([keys[lines[k]] for k in run]) >= SIGNIFICANT:
                    yield from (k for k in run if k in wanted and letters(keys[lines[k]]) >= least)
                run = []
            if goes_on:
                run.append(j)


def _run(olds: Sequence[Tokens], free: list[bool], news: Sequence[Tokens], found: list[int], i: int, j: int) -> int:
    length = 0
    while (
        i + length < len(olds)
        and j + length < len(news)
        and free[i + length]
        and found[j + length] == NEW
        and olds[i + length] == news[j + length]
    ):
        length += 1
    return length


def significance(lines: Iterable[Tokens]) -> int:
    """How many letters and digits these lines have."""
    return sum(map(letters, lines))


@lru_cache(100_000)
def letters(tokens: Tokens) -> int:
    """How many letters and digits a line has."""
    return sum(len(token) for token in tokens if token[0].isalnum() or token[0] == "_")


def _equal(
    olds: list[Tokens], news: list[Tokens], i1: int, i2: int, j1: int, j2: int
) -> Iterator[tuple[int, int, int]]:
    """Runs of equal lines: from both ends, then between lines that occur once in either text (patience diff)."""
    start, end = _same_ends(olds[i1:i2], news[j1:j2])
    if start:
        yield i1, j1, start
    i1, j1, i2, j2 = i1 + start, j1 + start, i2 - end, j2 - end
    if i1 < i2 and j1 < j2:
        anchors = _unique(olds, news, i1, i2, j1, j2)
        if anchors:
            for i, j in [*anchors, (i2, j2)]:
                if i > i1 or j > j1:
                    yield from _equal(olds, news, i1, i, j1, j)
                if i < i2:
                    yield i, j, 1
                i1, j1 = i + 1, j + 1
        elif (i2 - i1) + (j2 - j1) <= _GAP:
            matcher = difflib.SequenceMatcher(None, olds[i1:i2], news[j1:j2], autojunk=False)
            for i, j, length in matcher.get_matching_blocks():
                if length:
                    yield i1 + i, j1 + j, length
    if end:
        yield i2, j2, end


def _unique(olds: list[Tokens], news: list[Tokens], i1: int, i2: int, j1: int, j2: int) -> list[tuple[int, int]]:
    """Lines that occur once here and once there, as many as are in the same order."""
    there: dict[Tokens, int] = {}
    for j in range(j1, j2):
        there[news[j]] = NEW if news[j] in there else j
    here: dict[Tokens, int] = {}
    for i in range(i1, i2):
        here[olds[i]] = NEW if olds[i] in here else i
    pairs = sorted((i, there[key]) for key, i in here.items() if key and i != NEW and there.get(key, NEW) != NEW)
    ends: list[int] = []  # the least j with which a sequence of this length ends
    chain: list[int] = []
    last: list[int] = []  # the pair with which it ends
    for number, (_, j) in enumerate(pairs):
        at = bisect.bisect_left(ends, j)
        ends[at : at + 1] = [j]
        last[at : at + 1] = [number]
        chain.append(last[at - 1] if at else NEW)
    found = []
    number = last[-1] if last else NEW
    while number != NEW:
        found.append(pairs[number])
        number = chain[number]
    return found[::-1]


def _slide(old: Sequence[str], new: Sequence[str], olds: list[Tokens], news: list[Tokens], found: list[int]) -> None:
    """Of equal lines before and after something new, or something that has gone, choose those that people would.

    A function is added from its first line on, not from the last line of the function before it.
    """
    gone = [NEW] * len(old)
    for j, i in enumerate(found):
        if i != NEW:
            gone[i] = j
    _slide_side(old, olds, gone)
    found[:] = [NEW] * len(new)
    for i, j in enumerate(gone):
        if j != NEW:
            found[j] = i
    _slide_side(new, news, found)


def _slide_side(lines: Sequence[str], keys: list[Tokens], found: list[int]) -> None:
    at = 0
    while True:
        try:
            start = at = found.index(NEW, at)
        except ValueError:
            return
        while at < len(found) and found[at] == NEW:
            at += 1
        first, end = start, at
        while first and found[first - 1] != NEW and keys[first - 1] == keys[end - 1]:
            first, end = first - 1, end - 1
        size = end - first
        best, least = start, depth(lines[start])
        while True:
            if (deep := depth(lines[first])) <= least:
                best, least = first, deep
            last = first + size
            if last >= len(found) or (last >= at and found[last] == NEW) or keys[first] != keys[last]:
                break
            first += 1
        # Lines that are passed on the way take the place of those that they equal.
        kept = [found[k] for k in range(min(start, best), max(start, best) + size) if found[k] != NEW]
        for k in range(min(start, best), max(start, best) + size):
            found[k] = NEW if best <= k < best + size else kept.pop(0)
        at = max(at, best + size)


def depth(line: str) -> int:
    """How deep a line stands; nothing begins with a blank one."""
    return len(line) - len(line.lstrip()) if line.strip() else 1000


def _differing(found: list[int], count: int) -> Iterator[tuple[int, int, int, int]]:
    """Where both texts have lines between two equal ones."""
    i = j = 0
    for at, old in enumerate([*found, count]):
        if old != NEW:
            if i < old and j < at:
                yield i, old, j, at
            i, j = old + 1, at + 1


def _reflowed(olds: list[Tokens], news: list[Tokens], i1: int, i2: int, j1: int, j2: int, found: list[int]) -> None:
    """Lines with the same words in other places: a formatter split or joined them."""
    if (i2 - i1) * (j2 - j1) > _PAIRS:
        return
    j = j1
    while j < j2 and i1 < i2:
        for i in range(i1, i2):
            if olds[i][:1] != news[j][:1]:
                continue
            ends = _same_words(olds, news, i, i2, j, j2)
            if ends:
                i_end, j_end = ends
                _share_out(olds, news, i, i_end, j, j_end, found)
                i1, j = i_end, j_end
                break
            if pieces := _pieces(olds[i], news, j, j2):
                for k in pieces:
                    found[k] = i
                i1, j = i + 1, pieces[-1] + 1
                break
        else:
            j += 1


def _moved_and_reflowed(olds: list[Tokens], free: list[bool], news: list[Tokens], found: list[int]) -> None:
    """Lines that were both moved and split."""
    places: dict[Tokens, list[int]] = {}
    for i, key in enumerate(olds):
        if free[i] and len(key) > 1:
            places.setdefault(key[:2], []).append(i)
    j = 0
    while j < len(news):
        end = j + 1
        if found[j] == NEW and (candidates := places.get(news[j][:2])):
            last = j
            while last < len(news) and found[last] == NEW:
                last += 1
            for i in candidates[-_CANDIDATES:]:
                ends = _same_words(olds, news, i, i + 1, j, last) if free[i] else None
                if ends and letters(olds[i]) >= SIGNIFICANT:
                    _share_out(olds, news, i, ends[0], j, ends[1], found)
                    free[i] = False
                    end = ends[1]
                    break
        j = end


def _pieces(old: Tokens, news: list[Tokens], j: int, j2: int) -> list[int]:
    """The new lines that an old one was split into, if somebody has changed some of them since."""
    found: list[int] = []
    at = 0
    k = j
    while k < j2 and at < len(old) and k - (found[-1] if found else j) <= _APART:
        words = _words(news[k])
        skipped = 0 if not found else _APART + 1
        place = next((p for p in range(at, at + skipped + 1) if words and old[p : p + len(words)] == words), NEW)
        if place != NEW:
            found.append(k)
            at = place + len(words)
        elif not found:
            return []
        elif news[k] and not words and found[-1] == k - 1 and at == len(old):
            found.append(k)
        k += 1
    said = sum(len(_words(news[k])) for k in found)
    return found if len(found) > 1 and 5 * said >= 3 * len(old) else []


def _same_words(olds: list[Tokens], news: list[Tokens], i: int, i2: int, j: int, j2: int) -> tuple[int, int] | None:
    """Where old lines from `i` on and new ones from `j` on have said the same."""
    if not olds[i] or not news[j] or olds[i][0] != news[j][0]:
        return None
    here, there = list(_words(olds[i])), list(_words(news[j]))
    while here != there or not here:
        if len(here) <= len(there) and there[: len(here)] == here and i + 1 < i2:
            i += 1
            here += _words(olds[i])
        elif len(there) < len(here) and here[: len(there)] == there and j + 1 < j2:
            j += 1
            there += _words(news[j])
        else:
            return None
    while j + 1 < j2 and news[j + 1] and not _words(news[j + 1]):  # the closing bracket of what was split
        j += 1
    return i + 1, j + 1


def _words(tokens: Tokens) -> Tokens:
    """Without the layout that stands for a line of nothing else."""
    return () if all(token in _LAYOUT for token in tokens) else tokens


def _share_out(olds: list[Tokens], news: list[Tokens], i1: int, i2: int, j1: int, j2: int, found: list[int]) -> None:
    """Each new line belongs to the old one that most of its words come from."""
    sources = [i for i in range(i1, i2) for _ in _words(olds[i])]
    at = 0
    for j in range(j1, j2):
        own = sources[at : at + len(_words(news[j]))]
        at += len(own)
        # Of two with as many words, the first.
        found[j] = max(dict.fromkeys(own), key=own.count) if own else sources[min(at, len(sources)) - 1]
