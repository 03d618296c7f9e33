"""Tries the rules on a text: what would be taken out, where, and by which rule. Nothing is written."""

from __future__ import annotations

from typing import Any, NamedTuple

from sessionlog.fastlib import parse_json
from sessionlog.redact.replace import Redactor, clean, clean_text
from sessionlog.redact.rules import Rules


class Sighting(NamedTuple):
    """What would be taken out: the number of its line (None if it is spelled otherwise there), and never the secret."""

    line: int | None
    kind: str
    masked: str
    rule: str


def sightings(text: str, rules: Rules) -> list[Sighting]:
    """What the rules would take out of a text: JSON is read as the hook reads an event, anything else as it is."""
    redactor = Redactor(rules, rules.suspects(text.encode("utf-8", "surrogatepass")))
    if redactor.finders:
        for part in _parts(text):
            if isinstance(part, str):
                clean_text(part, redactor)
            else:
                clean(part, redactor)
    return sorted(_located(text, redactor.log), key=lambda sighting: sighting.line or 0)


def masked(secret: str) -> str:
    """Enough to know it by, too little to use: at most four characters, and no more than a fifth."""
    shown = secret[: min(4, len(secret) // 5)]
    return f"{shown if shown.isprintable() else ''}… ({len(secret)} characters)"


def _parts(text: str) -> list[Any]:
    """The text as JSON, its lines as JSON, or the text."""
    for parts in ([text], [line for line in text.split("\n") if line.strip()]):
        try:
            values = [parse_json(part) for part in parts]
        except ValueError:
            continue
        if all(isinstance(value, (dict, list)) for value in values):
            return values
    return [text]


def _located(text: str, log: list[tuple[str, str, str]]) -> list[Sighting]:
    found = []
    seen: dict[str, int] = {}
    for secret, kind, rule in log:
        at = text.find(secret, seen.get(secret, 0))
        if at < 0 and secret in seen:
            continue
        seen[secret] = at + len(secret) if at >= 0 else 0
        found.append(Sighting(text.count("\n", 0, at) + 1 if at >= 0 else None, kind, masked(secret), rule))
    return found
