"""Replays recorded edits onto a file, so that each of its lines is known by the edit that wrote it.

What changes between two recorded edits was done by somebody else: a person, a formatter, a command, git. It is noticed
where an edit shows what the file was like before, and at the end, where the file is compared with what the edits made.
"""

from __future__ import annotations

import bisect
import difflib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from sessionlog.ask.provenance import align
from sessionlog.ask.provenance.align import NEW, Keys, Tokens
from sessionlog.ask.provenance.recorded import Edit
from sessionlog.session.edits import Replacement

# The origin of a line that no recorded edit wrote. Other origins are numbers of edits.
OUTSIDE = -1
# The origin of a line that was there when an edit came, without anybody having seen who brought it. Only in between.
_UNSEEN = -2

# Texts and lines that are remembered after they have gone: a checkout or a revert may bring them back.
_STATES = 8
_POOL = 50_000
# Lines around a replacement that are compared with it.
_CONTEXT = 12
# Bytes from one mark to the next.
_MARKED = 4096
# Lines before and after a blank one, to one of whose authors it belongs.
_BESIDE = 5


class State:
    """What a file is like in one working copy, and who wrote each line.

    Edits change it in place: to copy a large text for each of thousands of small edits takes longer than all the rest.
    """

    __slots__ = ("_content", "_marks", "lines", "origins")

    def __init__(self, text: str, origins: list[int]) -> None:
        """`origins`: of each line; after the last line break there is one more, empty or not."""
        self._content = _encoded(text)
        self.lines = text.split("\n")
        self.origins = origins
        # Places in the content, and how many lines begin up to there: lines are counted from the nearest mark.
        self._marks: list[tuple[int, int]] = []
        lines = 0
        for at in range(0, len(self._content) + 1, _MARKED):
            self._marks.append((at, lines))
            lines += self._content.count(b"\n", at, at + _MARKED)

    @property
    def text(self) -> str:
        """The file."""
        return _decoded(self._content)

    def places(self, replacement: Replacement) -> list[int]:
        """Where a replacement applies, in bytes; nowhere if that cannot be told for sure."""
        return _places(self._content, replacement)

    def replace(self, at: int, replacement: Replacement, rewrite: Callable[[Piece, list[str]], list[int]]) -> None:
        """Replace the text at a place. `rewrite` gives the origins of the new lines of the piece around it."""
        content, old, new = self._content, _encoded(replacement.old), _encoded(replacement.new)
        end = at + len(old)
        line_start, line_end = content.rfind(b"\n", 0, at) + 1, content.find(b"\n", end)
        tail = content[end:] if line_end < 0 else content[end:line_end]
        written = _decoded(content[line_start:at] + new + tail).split("\n")
        first = self._line_at(line_start)
        last = first + replacement.old.count("\n") + 1
        start, stop = max(first - _CONTEXT, 0), last + _CONTEXT
        lines = [*self.lines[start:first], *written, *self.lines[last:stop]]
        self.origins[start:stop] = rewrite(Piece(self.lines[start:stop], self.origins[start:stop]), lines)
        self.lines[first:last] = written
        content[at:end] = new
        self._move_marks(at, end, len(new) - len(old), len(written) - (last - first))

    def _line_at(self, position: int) -> int:
        """The number of a line."""
        mark, line = self._marks[bisect.bisect_right(self._marks, (position, len(self.lines))) - 1]
        return line + self._content.count(b"\n", mark, position)

    def _move_marks(self, start: int, end: int, size: int, lines: int) -> None:
        """Follow a replacement that made the text longer, or shorter, by so much."""
        first = bisect.bisect_right(self._marks, (start, len(self.lines)))
        self._marks[first:] = [(at + size, line + lines) for at, line in self._marks[first:] if at >= end]


def _places(content: bytearray, replacement: Replacement) -> list[int]:
    old = _encoded(replacement.old)
    if not old:
        return [0] if not content else []
    found = []
    at = content.find(old)
    while at >= 0:
        found.append(at)
        at = content.find(old, at + len(old))
    return found if replacement.every or len(found) == 1 else []


def _encoded(text: str) -> bytearray:
    return bytearray(text, "utf-8", "surrogatepass")


def _decoded(content: bytearray) -> str:
    return content.decode("utf-8", "surrogatepass")


class Piece(NamedTuple):
    """Some lines, and who wrote each of them."""

    lines: list[str]
    origins: list[int]


class Replay:
    """Applies edits one after the other."""

    def __init__(
        self,
        edits: list[Edit],
        original: Callable[[Edit], str | None],
        stored: Callable[[str], Iterable[str]],
        keys: Keys,
    ) -> None:
        """`original` gives the file before an edit; `stored` versions of it from before a time, newest first."""
        self.edits = edits
        self.keys = keys
        self.states: dict[str, State] = {}
        self._original = original
        self._stored = stored
        self._remembered: deque[State] = deque(maxlen=_STATES)
        # Lines that edits removed, in runs; an empty key ends a run.
        self._pool: list[Tokens] = []
        self._pool_origins: list[int] = []
        # For the short lines of each edit, the lines in whose block they stood.
        self._blocks: dict[tuple[int, Tokens], set[Tokens]] = {}
        self._next = 0

    def run(self, until: str = "~") -> None:
        """Apply the edits up to this time that were not applied yet."""
        while self._next < len(self.edits) and self.edits[self._next].at <= until:
            self._apply(self._next)
            self._next += 1

    def origins_in(self, lines: list[str], root: str) -> list[int]:
        """For each line of the file as it is now, the number of the edit that wrote it, or OUTSIDE."""
        state = self.states.get(root) or self._nearest(lines)
        if state is None:
            return [OUTSIDE] * len(lines)
        return self._without_strays(lines, self._recognised(state, lines))

    def _without_strays(self, lines: list[str], origins: list[int]) -> list[int]:
        """Put right the origins of lines that say little, and of which there are several."""
        keys = self.keys.of(lines)
        found = list(origins)
        self._doubt(lines, keys, found)
        sessions = self._sessions(found)
        said = [j for j, key in enumerate(keys) if align.letters(key)]
        for j in sorted(set(range(len(lines))).difference(said)):  # blank lines and lone brackets
            at = bisect.bisect(said, j)
            if sessions[j] not in (sessions[k] for k in said[max(0, at - _BESIDE) : at + _BESIDE]):
                found[j] = OUTSIDE
        return found

    def _doubt(self, lines: list[str], keys: list[Tokens], found: list[int]) -> None:
        """A line such as `return None` is an edit's only if something of the block around it is as it was then, or is
        of the same session. Else it is the last line of some other function that took the place of that one."""
        sessions = self._sessions(found)
        for j, block in _blocks(lines, keys, range(len(lines))):
            stood = self._blocks.get((found[j], keys[j]))
            if stood and stood.isdisjoint(keys[k] for k in block) and sessions[j] not in (sessions[k] for k in block):
                found[j] = OUTSIDE

    def _sessions(self, origins: list[int]) -> list[str]:
        return ["" if origin < 0 else self.edits[origin].session_id for origin in origins]

    def overlap(self, lines: list[str]) -> int:
        """How many lines of a text the replay has come to."""
        wanted = set(lines)
        return max((sum(line in wanted for line in set(state.lines)) for state in self.states.values()), default=0)

    def _nearest(self, lines: list[str]) -> State | None:
        wanted = set(lines)
        return max(
            self.states.values(), key=lambda state: sum(line in wanted for line in set(state.lines)), default=None
        )

    def _apply(self, number: int) -> None:
        edit = self.edits[number]
        if edit.change.whole is not None:
            self._write(number, edit, edit.change.whole)
            return
        if edit.change.added:
            self._add(number, edit.root, edit.change.added)
            return
        for at, replacement in enumerate(edit.change.replacements):
            self._replace(number, edit, replacement, is_first=not at)

    def _write(self, number: int, edit: Edit, content: str) -> None:
        """A file written whole: what was in it before is not the writer's."""
        self._catch_up(edit)
        state = self.states.get(edit.root, State("", [OUTSIDE]))
        lines = content.split("\n")
        self._set(edit.root, State(content, self._rewritten(number, Piece(state.lines, state.origins), lines)))

    def _add(self, number: int, root: str, lines: str) -> None:
        state = self.states.get(root, State("", [OUTSIDE]))
        added = [number] * (lines.count("\n") + 1)
        self._set(root, State(f"{state.text}\n{lines}", [*state.origins, *added]))

    def _catch_up(self, edit: Edit) -> None:
        """Take over what happened to the file outside of recorded edits, as far as somebody tells."""
        state = self.states.get(edit.root)
        text = self._original(edit)
        first = edit.change.replacements[0] if edit.change.replacements else None
        if text is None and first is not None:
            for other in reversed(self.states.values()):  # what was merged, or where a worktree began
                if other is not state and other.places(first):
                    text = other.text
                    break
        if text is None:
            fitting = (one for one in self._stored(edit.at) if first is None or _places(_encoded(one), first))
            text = next(iter(fitting), None)
        if text is None or (state is not None and text == state.text):
            return
        lines = text.split("\n")
        if state is None and (nearest := self._nearest(lines)):
            state = State(nearest.text, list(nearest.origins))  # as it is now: that one goes on
        origins = self._recognised(state, lines) if state else [OUTSIDE] * len(lines)
        if state:
            self._remembered.append(state)
        self._set(edit.root, State(text, origins))

    def _set(self, root: str, state: State) -> None:
        self.states.pop(root, None)  # the last one to change stands last
        self.states[root] = state

    def _replace(self, number: int, edit: Edit, replacement: Replacement, *, is_first: bool) -> None:
        state = self.states.get(edit.root)
        places = state.places(replacement) if state else []
        if not places and is_first:
            self._catch_up(edit)
            state = self.states.get(edit.root)
            places = state.places(replacement) if state else []
        if not places and not edit.change.is_sure:
            return
        if state is None or not places:
            state = self._with(state or State("", [OUTSIDE]), replacement.old.split("\n"))
            places = state.places(replacement)
        for at in reversed(places):
            state.replace(at, replacement, partial(self._rewritten, number))
        self._set(edit.root, state)

    def _with(self, state: State, wanted: list[str]) -> State:
        """The file with these lines in it: the edit has found them there, whoever changed them before.

        They stand where most of them are. If they are nowhere, they stand at the end.
        """
        lines = state.lines if state.text else []
        here, there = self.keys.of(lines), self.keys.of(wanted)
        i, j, size = difflib.SequenceMatcher(None, here, there, autojunk=False).find_longest_match()
        first = last = len(lines)
        if 2 * size >= len(wanted) and align.significance(there[j : j + size]) >= align.SIGNIFICANT:
            first, last = (
                i - _reach(here[:i][::-1], there[:j][::-1]),
                i + size + _reach(here[i + size :], there[j + size :]),
            )
        there_now = State("\n".join(lines[first:last]), state.origins[first:last] or [OUTSIDE])
        origins = [_UNSEEN if origin == OUTSIDE else origin for origin in self._recognised(there_now, wanted)]
        return State(
            "\n".join([*lines[:first], *wanted, *lines[last:]]),
            [*state.origins[:first], *origins, *state.origins[last : len(lines)]],
        )

    def _rewritten(self, number: int, before: Piece, lines: list[str]) -> list[int]:
        """The origins of lines after an edit: those that were there keep theirs."""
        keys_before, keys = self.keys.of(before.lines), self.keys.of(lines)
        found = align.align_keys(before.lines, lines, keys_before, keys)
        self._bury(before, keys_before, found)
        for j, block in _blocks(lines, keys, [j for j, i in enumerate(found) if i == NEW]):
            self._blocks.setdefault((number, keys[j]), set()).update(keys[k] for k in block)
        return [number if i == NEW else before.origins[i] for i in found]

    def _bury(self, state: Piece, keys: list[Tokens], found: list[int]) -> None:
        """Remember the lines that an edit took out."""
        kept = set(found)
        after = 0  # the line behind the last one
        for i in [i for i, origin in enumerate(state.origins) if origin >= 0 and i not in kept]:
            if i > after:
                self._end_run()
            self._pool.append(keys[i])
            self._pool_origins.append(state.origins[i])
            after = i + 1
        if after < len(state.lines):
            self._end_run()
        del self._pool[:-_POOL], self._pool_origins[:-_POOL]

    def _end_run(self) -> None:
        if self._pool and self._pool[-1]:
            self._pool.append(())
            self._pool_origins.append(OUTSIDE)

    def _recognised(self, state: State, lines: list[str]) -> list[int]:
        """Whose lines these are, given what the file was like the last time it was seen."""
        found = align.align(state.lines, lines, self.keys)
        origins = [OUTSIDE if i == NEW else state.origins[i] for i in found]
        unknown = {j for j, i in enumerate(found) if i == NEW or origins[j] == _UNSEEN}
        for other in [*self.states.values(), *reversed(self._remembered)]:
            if unknown and other is not state:
                there = align.align(other.lines, lines, self.keys)
                for j in align.significant(unknown, there, lines, self.keys):
                    origins[j] = other.origins[there[j]]
                unknown = {j for j in unknown if origins[j] < 0}
        if unknown and self._pool:
            news = self.keys.of(lines)
            there = [NEW if j in unknown else 0 for j in range(len(lines))]
            align.moved(self._pool, [bool(key) for key in self._pool], news, there)
            for j in unknown:
                if there[j] != NEW:
                    origins[j] = self._pool_origins[there[j]]
        return [max(origin, OUTSIDE) for origin in origins]


def _blocks(lines: list[str], keys: list[Tokens], among: Iterable[int]) -> Iterator[tuple[int, list[int]]]:
    """The indented lines that say little, each with the others of its block and those that it is indented below."""
    for j in among:
        least = own = align.depth(lines[j])
        if not own or not 0 < align.letters(keys[j]) < align.TELLING:
            continue
        found = []
        for k in range(j - 1, max(j - 1 - _CONTEXT, -1), -1):
            deep = align.depth(lines[k])
            if align.letters(keys[k]) and (deep < least or least == own):
                found.append(k)
                least = min(least, deep)
                if not least:
                    break
        for k in range(j + 1, min(j + 1 + _CONTEXT, len(keys))):
            if align.letters(keys[k]):
                if align.depth(lines[k]) < own:
                    break
                found.append(k)
        yield j, found


def _reach(here: list[Tokens], there: list[Tokens]) -> int:
    """How many of these lines are in the place of those: up to the last one that both have."""
    some = here[: len(there) + _CONTEXT]
    matcher = difflib.SequenceMatcher(None, some, there, autojunk=False)
    return max((i + size for i, _, size in matcher.get_matching_blocks() if size), default=0)
