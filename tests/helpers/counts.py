"""Every place that counts what happened in a session, so that a test can see whether they agree."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from contextlib import closing
from typing import Any

from sessionlog.archive import place as projects
from sessionlog.archive import read
from sessionlog.ask.rollup import open as rollup
from sessionlog.ask.rollup import stats
from sessionlog.session import header, merge
from sessionlog.web.session_query import Choice
from sessionlog.web.session_window import View
from tests.cli.test_cli import printed

Counts = dict[str, int]
NOUNS = {
    "prompts": "prompts?",
    "tool_calls": "tool calls?",
    "edits": "edits?",
    "failures": "failures?",
    "compactions": "compactions?",
    "subagents": "sub-agents?",
}
# A sum of 0 of these is left out by people's pages.
IF_ANY = ("failures", "compactions", "subagents")


def everywhere(place: projects.Place, session_id: str, page: Callable[[str], str]) -> dict[str, Counts]:
    """What each place says of a session; `page` fetches an address of our pages."""
    with closing(read.connect(place)) as connection:
        summary = connection.execute("SELECT * FROM session_summary WHERE session_id = ?", (session_id,)).fetchone()
        outline = merge.read(connection, session_id)
        view = View(connection, summary, outline, Choice())
        kinds = {chip.kind: chip.number for chip in view.chips()["kinds"]}
        about = header.load(connection, summary, place.project)
        found = {
            "session_summary": _columns(summary),
            "header": _said(about.counts, "subagents"),
            "outline": {
                "prompts": sum(item.kind == "prompt" for item in outline.items),
                "tool_calls": sum(item.is_call for item in outline.items),
                "edits": sum(item.is_edit for item in outline.items),
                "failures": sum(item.outcome == "failed" for item in outline.items),
                "subagents": len(outline.agents),
            },
            "chips": {
                "prompts": kinds.get("prompt", 0),
                "tool_calls": kinds.get("tool", 0),
                "subagents": kinds.get("sub-agent", 0),
            },
            "chips of tools": {"tool_calls": sum(chip.number for chip in view.chips()["tools"])},
            "list of prompts": {"prompts": view.prompts().total},
        }
    with closing(rollup.connect(place)) as connection:
        query = "SELECT * FROM sessions WHERE session_id = ?"
        found["rollup"] = _columns(connection.execute(query, (session_id,)).fetchone())
        query = (
            "SELECT sum(spans.prompts) AS prompts, sum(tools) AS tool_calls, sum(spans.failures) AS failures, sum(spans.edits) AS edits "
            "FROM spans JOIN sessions ON number = session WHERE session_id = ?"
        )
        row = connection.execute(query, (session_id,)).fetchone()
        found["rollup by time"] = {name: number or 0 for name, number in row.items()}
    listed = json.loads(printed("sessions", "--json", "-n", "0"))
    found["sessions --json"] = _columns(next(row for row in listed if row["session_id"] == session_id))
    shown = json.loads(printed("show", session_id, "--json"))
    found["show --json"] = _columns(shown)
    found["show"] = _said(printed("show", session_id)[:2000], "subagents")
    for form in ("markdown", "html"):
        found[form] = _said(printed("export", session_id, "--format", form)[:20_000], "subagents")
    base = f"-/session/{place.name}/{session_id}"
    found["session page"] = _said(_text(page(base)), if_any=tuple(NOUNS))  # nothing for 0
    found["sessions page"] = _row_of(page(f"-/sessions/{place.name}"), base)
    return found


def totals(place: projects.Place) -> dict[str, Counts]:
    """What the places say that count a whole archive."""
    with stats.Counted([place]) as counted:
        total, ever, tools = stats.totals(counted), stats.ever(counted), stats.by_tool(counted)
    listed = json.loads(printed("sessions", "--json", "-n", "0"))
    names = ("prompts", "tool_calls", "failures")
    return {
        "stats": dict(zip(names, (total["prompts"], total["tools"], total["failures"]), strict=True)),
        "home page": dict(zip(names, (ever["prompts"], ever["tools"], ever["failures"]), strict=True)),
        "stats by tool": {"tool_calls": sum(row["tools"] for row in tools)},
        "sessions --json": {name: sum(row[name] for row in listed) for name in names},
    }


def differences(found: dict[str, Counts]) -> dict[str, dict[int, list[str]]]:
    """Of each thing that is counted in two ways, the numbers and who says so."""
    said: dict[str, dict[int, list[str]]] = {}
    for where, counts in found.items():
        for name, number in counts.items():
            said.setdefault(name, {}).setdefault(number, []).append(where)
    return {name: numbers for name, numbers in said.items() if len(numbers) > 1}


def _columns(row: dict[str, Any]) -> Counts:
    return {name: row[name] or 0 for name in NOUNS if name in row}


def _said(text: str, *left_out: str, if_any: tuple[str, ...] = IF_ANY) -> Counts:
    """The numbers in a line like "2 prompts · 9 tool calls · 1 edit", the first in a text; 0 may be left out `if_any`."""
    text = next(line for line in text.splitlines() if re.search(r"\d prompts? · ", line)) if "\n" in text else text
    found = {name: re.search(rf"([\d,]+) {noun}\b", text) for name, noun in NOUNS.items() if name not in left_out}
    missing = {name for name, match in found.items() if not match and name not in if_any}
    assert not missing, (missing, text)
    return {name: int(match[1].replace(",", "")) if match else 0 for name, match in found.items()}


def _text(page: str) -> str:
    facts = re.search(r'<ul class="facts">(.*?)</ul>', page, re.S)
    assert facts, page
    return " ".join(html.unescape(re.sub("<[^>]+>", " ", facts[1])).split())


def _row_of(page: str, address: str) -> Counts:
    row = next(row for row in page.split("<tr data-item>") if address in row)
    cells = dict(re.findall(r'data-label="(\w+)"[^>]*>([\d,]*)<', row))  # nothing for 0
    labels = {"prompts": "Prompts", "tool_calls": "Tools", "edits": "Edits", "failures": "Failed"}
    return {name: int(cells[label].replace(",", "") or 0) for name, label in labels.items()}
