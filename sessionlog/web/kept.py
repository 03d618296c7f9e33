"""Answers that stay the same as long as the archives do: going back to a page does not count a million events again."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from sessionlog.ask.rollup import open as rollup
from sessionlog.ask.rollup.sessions import Source

T = TypeVar("T")


class Kept(Generic[T]):
    """Some answers to one question."""

    def __init__(self, most: int = 32) -> None:
        self._most = most
        self._answers: dict[Hashable, T] = {}

    def answer(self, key: Hashable, sources: list[Source], make: Callable[[], T]) -> T:
        """The answer for this key and the state of these digests, made if it is not known."""
        states = tuple(rollup.state(source.connection) for source in sources)
        if None in states:
            return make()
        if (key, states) not in self._answers:
            if len(self._answers) >= self._most:
                self._answers.clear()
            self._answers[key, states] = make()
        return self._answers[key, states]
