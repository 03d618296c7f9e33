"""What is asked for on the search page, as its address holds it."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from sessionlog import times as when
from sessionlog.ask.search import find as search
from sessionlog.ask.search import query
from sessionlog.errors import SessionlogError

LONGEST_QUESTION = 500

FILTERS = ("session", "tool", "event", "file", "branch", "client", "agent", "role")
PARAMETERS = ("q", "project", *FILTERS, "since", "until", "failed", "sort", "mode")
MODES = (("", "Words"), ("exact", "Exact text"), ("regex", "Regular expression"))
TIMES = (("", "Any time"), ("24h", "Last 24 hours"), ("7d", "Last 7 days"), ("30d", "Last 30 days"))


class Asked(NamedTuple):
    """The question, as the address holds it."""

    text: str
    filters: search.Filters
    best_first: bool
    before: int
    of_archive: str  # where the hit before which to go on was found
    given: dict[str, str]  # parameters of the address, without the place to go on from
    problem: str  # what of it could not be understood
    mode: str  # "" for words, else a look at everything: exact or regex


def from_request(request: Any) -> Asked:
    """What the address of a request asks for."""
    args = request.args
    given = {name: value for name in PARAMETERS if (value := (args.get(name) or "").strip()[:LONGEST_QUESTION])}
    limits, problem = {}, ""
    for name in ("since", "until"):
        text = given.get(name, "")
        day = "T23:59:59.999" if name == "until" and len(text) == 10 else ""  # a last day is meant as a whole
        try:
            limits[name] = when.parse(text + day) if text else None
        except SessionlogError as error:
            problem = str(error)
            del given[name]
    plain = {name: given.get(name) for name in FILTERS}
    filters = search.Filters(**plain, **limits, failed=bool(given.get("failed")))
    position = re.fullmatch(r"(\d{1,19})-(.*)", args.get("before") or "")
    mode = given.get("mode", "") if given.get("mode") in dict(MODES) else ""
    if "q" in given and not mode and not query.terms(given["q"]):
        mode = "exact"  # signs alone are in no index
    if "q" not in given:
        mode = ""
    before, of_archive = (min(int(position[1]), search.LAST_KEY), position[2]) if position else (search.LAST_KEY, "")
    return Asked(given.get("q", ""), filters, given.get("sort") == "best", before, of_archive, given, problem, mode)


def pattern(asked: Asked) -> re.Pattern[str] | None:
    """What to mark in the hits; None for a regular expression, which may take forever on some text."""
    if asked.mode == "regex":
        return None
    return re.compile(re.escape(asked.text)) if asked.mode else query.pattern(query.terms(asked.text))


def before(asked: Asked, name: str) -> int:
    """Where to go on in this archive: hits of the same moment come in the order of the names of their archives."""
    return asked.before + (asked.before < search.LAST_KEY and name > asked.of_archive)


def choices(asked: Asked) -> dict[str, Any]:
    """What the form offers."""
    times = list(TIMES)
    since = asked.given.get("since", "")
    if since not in dict(times):
        times.append((since, f"Since {since}"))
    return {"times": times, "modes": MODES}
