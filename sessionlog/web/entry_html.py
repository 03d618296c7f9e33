"""An entry of a timeline as a page shows it: a line that says what it was, and what one sees when it is opened."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from sessionlog.agents.claude_code import tags
from sessionlog.session import call as calls
from sessionlog.session.call import Call
from sessionlog.session.load import Entry, is_refused
from sessionlog.session.outline import Item
from sessionlog.text import inert_markdown, plain, terminal_output
from sessionlog.web import ansi, filters, highlight, tool_html
from sessionlog.web.parts import OUTPUT, Part, about, cut, words

# A diff of up to so many lines is open from the start.
OPEN_DIFF = 30
# Entries that are always open.
CARDS = ("prompt", "answer", "failure", "review", "sub-agent")

LABELS = {
    "sub-agent": "Sub-agent",
    "command": "Command",
    "start": "Session started",
    "end": "Session ended",
    "compaction": "Compaction",
    "notice": "Notice",
}


def _no_parts() -> Iterable[Part]:
    return ()


@dataclass
class Shown:
    """An entry for a template."""

    at: str
    kind: str
    names: list[str]
    label: str
    headline: str = ""
    is_code: bool = False  # whether the headline is something that was run or opened
    badges: list[tuple[str, str]] = field(default_factory=list)
    took: str = ""
    added: int = 0
    removed: int = 0
    state: str = ""  # ok, failed, open (no result yet), refused (and never one)
    is_open: bool = False
    copy: str = ""
    file: str = ""  # that was changed
    make: Callable[[], Iterable[Part]] = _no_parts

    @cached_property
    def parts(self) -> list[Part]:
        """What it looks like when it is open. Made when somebody looks: colouring code takes time."""
        return list(self.make())

    @property
    def folds(self) -> bool:
        """Whether there is more to see than its line."""
        return self.kind == "tool" or (self.kind not in CARDS and bool(self.parts))

    @property
    def name(self) -> str:
        return self.names[0]

    @property
    def anchors(self) -> list[str]:
        """All that a link may call it, but for its own id."""
        return [*self.names[1:], *(f"{_LONG[name[0]]}-{name[1:]}" for name in self.names)]


_LONG = {"e": "event", "m": "message"}


def shown(entry: Entry, item: Item, is_running: bool = False) -> Shown:
    """How a page shows an entry; `is_running`: what has no result yet may still get one."""
    names = [item.name, *(name for name in item.names if name != item.name)]
    found = Shown(entry.at, entry.kind, names, LABELS.get(entry.kind, entry.kind.capitalize()))
    if entry.call is not None and entry.kind == "tool":
        _show_call(found, entry.call, is_running)
    elif entry.call is not None:
        _show_permission(found, entry, is_running)
    else:
        _show_words(found, entry)
    return found


def part_text(entry: Entry, source: str) -> str | None:
    """All of a part, as text; None if there is no such part."""
    call = entry.call
    match source:
        case "text":
            return entry.text
        case "command" if call:
            return calls.argument(call).removeprefix("$ ")
        case "input" if call:
            return _json(call.input)
        case "output" if call:
            return calls.output(call)
        case "diff" if call:
            return "\n".join(calls.changes(call))
    return None


# --- Calls ------------------------------------------------------------------------------------------------------------


def _show_call(found: Shown, call: Call, is_running: bool) -> None:
    told = tool_html.headline(call)
    found.label = plain.one_line(re.sub(r"^mcp__(.+?)__", r"\1: ", call.name), 60)
    found.headline = plain.one_line(calls.argument(call) if told is None else told, 300)
    found.is_code = told is None
    found.took = plain.duration(call.duration_ms) if call.duration_ms is not None else ""
    states = {"ok": "ok", "failed": "failed", "denied": "refused"}
    found.state = states.get(call.outcome, "open" if is_running else "refused")
    note = ""
    if call.asked == "allowed":
        found.badges.append(("asked, allowed", "good"))
    if call.outcome == "failed":
        exit_code = calls.exit_code(call)
        found.badges.append((f"exit {plain.one_line(exit_code, 12)}" if exit_code else "failed", "bad"))
    elif "denied" in (call.outcome, call.asked):
        found.state = "refused"
        found.badges.append(("denied", "bad"))
        note = "Denied, with these words:" if call.error else ""
    elif found.state == "open":
        found.badges.append(("waits for an answer" if call.asked else "running", "live"))
    elif found.state == "refused":
        found.badges.append((call.asked or "no result", "bad"))
        note = (
            "Permission was asked. No answer is recorded: it was denied, or the session ended."
            if call.asked
            else "It has no result: it was cancelled or cut off."
        )
    inputs = call.input if isinstance(call.input, dict) else {}
    if isinstance(command := inputs.get("command"), str):
        found.copy = plain.safe(command[:4000])
    if diff := calls.changes(call):
        found.added = sum(line.startswith("+") for line in diff)
        found.removed = sum(line.startswith("-") for line in diff)
        found.is_open = len(diff) <= OPEN_DIFF
        found.file = path if len(path := calls.path(call)) < 1000 else ""
    found.is_open = found.is_open or call.outcome in ("failed", "denied")
    found.make = lambda: _with_note(list(tool_html.parts(call)), note)


def _with_note(parts: list[Part], note: str) -> list[Part]:
    """A note that ends in a colon stands before the output, any other one before everything."""
    if not note:
        return parts
    at = next((at for at, part in enumerate(parts) if part.source == "output"), 0) if note.endswith(":") else 0
    return [*parts[:at], about(note), *parts[at:]]


# --- Everything else --------------------------------------------------------------------------------------------------


def _show_permission(found: Shown, entry: Entry, is_running: bool) -> None:
    call = entry.call
    assert call is not None  # noqa: S101 (for the types: the caller looked)
    found.headline = plain.one_line(f"{call.name} {calls.argument(call)}".strip(), 300)
    found.is_code = True
    waits = is_running and entry.title == "denied or not answered"
    tone = "good" if entry.title == "allowed" else "live" if waits else "bad"
    found.badges.append(("waits for an answer" if waits else entry.title, tone))
    found.state = {"good": "ok", "live": "open"}.get(tone, "refused")
    found.is_open = bool(entry.text)
    said = [words(entry.text, "words", "text")] if entry.text else []
    found.make = lambda: [*said, *tool_html.arguments(call, call.input if isinstance(call.input, dict) else {})]


def _show_words(found: Shown, entry: Entry) -> None:
    text = entry.text
    title = plain.one_line(entry.title, 80)
    match entry.kind:
        case "prompt":
            found.make = lambda: _tagged(text, "words")
        case "answer":
            found.make = lambda: [words(text, "markdown", "text")]
        case "failure":
            found.state = "failed"
            found.make = lambda: _failure(text)
        case "sub-agent":
            found.headline = title
            if text:
                found.make = lambda: [words(text, "markdown", "text")]
        case "review":
            decided, _, found.headline = plain.one_line(entry.title, 160).partition(", ")
            found.badges.append((decided, "bad" if is_refused(entry) else "good"))
            found.state = "refused" if is_refused(entry) else "ok"
            found.make = lambda: [words(text, "markdown", "text")]
        case _:
            found.label = title if entry.kind == "event" else found.label
            if title and entry.kind != "event":
                found.badges.append((filters.reason(title), ""))
            flat = _fields(text) if entry.kind == "event" else tags.without(text[:20_000])
            headline = terminal_output.without_colours(flat)
            if entry.kind == "end":
                headline = filters.reason(headline)
            elif entry.kind in ("thinking", "compaction"):  # by a model
                headline = " ".join(map(inert_markdown.words, headline[:2_000].splitlines()))
            found.headline = plain.one_line(headline.lstrip("# "), 140)
            if entry.kind == "notice" and flat.startswith(("/", "! ")):
                found.label = "Command"
            if entry.kind == "thinking" or len(flat) > 140 or "\n" in flat.strip() or "<" in text[:1]:
                look = "markdown" if entry.kind in ("thinking", "compaction") else "words"
                found.make = lambda: _tagged(text, look)


def _tagged(text: str, look: str) -> Iterator[Part]:
    """A text, with what the client wrapped in tags as what it is."""
    said = tags.read(text)
    if said.command:
        yield Part("code", highlight.block(said.command[:4000], None), source="text")
    if said.shell:
        some, left_out = cut(said.shell, 30, 4_000)
        yield Part("prompted", highlight.block(some, highlight.for_language("bash")), left_out, "text")
    if said.notification:
        yield about(said.notification)
    if said.result:
        yield words(said.result, "markdown", "text")
    if said.words.strip() or not any(said):
        yield words(said.words, look, "text")
    for output, name in ((said.output, "output"), (said.error, "failed output")):
        if output:
            some, left_out = cut(terminal_output.settled(output), *OUTPUT)
            yield Part(name, ansi.html(some), left_out, "text")
    if said.reminder:
        some, left_out = cut(said.reminder, *OUTPUT)
        yield Part("reminder", ansi.html(some), left_out, "text")


def _failure(text: str) -> Iterator[Part]:
    """What the model's service said; the JSON that it sent says the same once more."""
    lines = [line for line in text.split("\n") if line.strip()]
    told = next((line for line in lines if "{" in line), "")
    sentence, brace, body = told.partition("{")
    try:
        sent = json.loads(brace + body) if brace and len(body) < 20_000 else None
    except (ValueError, RecursionError):
        sent = None
    error = sent.get("error") if isinstance(sent, dict) else None
    message = error.get("message") if isinstance(error, dict) else None
    if isinstance(message, str):
        rest = [line for line in lines if line is not told]
        shown = words("\n".join((f"{sentence.strip()} {message}".strip(), *rest)), "words", "text")
        yield shown._replace(left_out="all that came back")
    else:
        yield words(text or "The answer failed.", "words", "text")


def _fields(text: str) -> str:
    """An event that nobody here knows may have only its fields to tell."""
    try:
        value = json.loads(text) if text.startswith("{") and len(text) < 20_000 else None
    except ValueError:
        value = None
    if not isinstance(value, dict):
        return text[:2_000]
    told = (
        (key, item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)) for key, item in value.items()
    )
    return " · ".join(f"{key}: {item}" for key, item in told)[:2_000]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
