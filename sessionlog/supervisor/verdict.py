"""What a reviewer says: `{"allow_stop": bool, "feedback": "…"}`, with any text that models put around it."""

from __future__ import annotations

import json
from typing import NamedTuple

# Claude Code puts a longer text into a file and shows its beginning.
LONGEST_FEEDBACK = 9_000
# How far back from the key its object may begin, in opening braces, and how many keys are looked at: an answer of a
# megabyte must not take minutes.
BRACES, KEYS = 100, 5

KEY = '"allow_stop"'


class NoVerdict(Exception):
    """The reviewer said something else."""


class Verdict(NamedTuple):
    """May it stop, and what should it know?"""

    allow_stop: bool
    feedback: str

    @property
    def reason(self) -> str:
        """The feedback, or words in its place."""
        if self.feedback.strip():
            return self.feedback
        return "The reviewer agrees." if self.allow_stop else "The reviewer is not content, but does not say why."


def parse(text: str) -> Verdict:
    """The last verdict in a text."""
    end = len(text)
    for _ in range(KEYS):
        end = text.rfind(KEY, 0, end)
        if end < 0:
            break
        if verdict := _around(text, end):
            return verdict
    raise NoVerdict(f"the reviewer's answer is no verdict: {_beginning(text) or 'it is empty'}")


def _around(text: str, key: int) -> Verdict | None:
    """The object that this key belongs to, if it is a whole one."""
    decoder = json.JSONDecoder(strict=False)
    start = key
    for _ in range(BRACES):
        start = text.rfind("{", 0, start)
        if start < 0:
            return None
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        if end > key and isinstance(value.get("allow_stop"), bool):
            return Verdict(value["allow_stop"], _feedback(value.get("feedback")))
    return None


def _feedback(value: object) -> str:
    text = "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST_FEEDBACK else f"{text[:LONGEST_FEEDBACK]}…"


def _beginning(text: str) -> str:
    return " ".join(text[:400].split())[:200]
