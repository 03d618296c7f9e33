"""An entry of a timeline as a page shows it: a line that says what it was, and what one sees when it is opened."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from markupsafe import Markup, escape

from sessionlog.session import call as calls
from sessionlog.session.call import Call
from sessionlog.session.load import Entry, is_refused
from sessionlog.session.outline import Item
from sessionlog.text import plain
from sessionlog.web import ansi, diffs, highlight, markdown

# What is shown of an output, of words, of a diff before somebody asks for more: lines, and characters.
OUTPUT, WORDS, BIG_LINE = (12, 4_000), (60, 12_000), 400
# A diff of up to so many lines is open from the start.
OPEN_DIFF = 30

LABELS = {
    "sub-agent": "Sub-agent",
    "command": "Command",
    "start": "Session started",
    "end": "Session ended",
    "compaction": "Compaction",
    "notice": "Notice",
}
# Characters of one argument; and arguments that say nothing.
INPUT = 1_000
NOTHING: tuple[Any, ...] = (None, False, "", [], {})
# Arguments that the headline, the diff, the terminal or a part of their own shows.
SHOWN_APART = {
    *("command", "description", "file_path", "notebook_path", "old_string", "new_string", "content", "new_source"),
    *("plan", "prompt", "todos", "edits", "questions"),
}


class Part(NamedTuple):
    """A piece of an entry: how it looks, what is in it, and what was left out and where it is."""

    look: str  # words, markdown, output, code, diff, list
    html: Markup
    left_out: str = ""
    source: str = ""  # the part to ask for to see all of it

    @property
    def lines(self) -> int:
        """About how many lines it has."""
        count = '<div class="l' if self.look == "diff" else "\n"
        return 1 + self.html.count(count) + (len(self.html) // 120 if self.look in ("words", "markdown") else 0)


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
    parts: list[Part] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.names[0]

    @property
    def height(self) -> int:
        """About how many pixels it takes."""
        folds = self.kind not in ("prompt", "answer", "failure", "review", "sub-agent")
        if folds and not self.is_open:
            return 30
        return 40 + sum(min(500, 16 + 20 * part.lines) for part in self.parts)

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
    argument = calls.argument(call)
    found.label = plain.one_line(re.sub(r"^mcp__(.+?)__", r"\1: ", call.name), 60)
    found.headline = plain.one_line(argument, 300)
    found.is_code = True
    found.took = plain.duration(call.duration_ms) if call.duration_ms is not None else ""
    found.state = {"ok": "ok", "failed": "failed", "denied": "refused"}.get(
        call.outcome, "open" if is_running else "refused"
    )
    if call.outcome == "failed":
        exit_code = calls.exit_code(call)
        found.badges.append((f"exit {plain.one_line(exit_code, 12)}" if exit_code else "failed", "bad"))
    elif found.state == "open":
        found.badges.append(("running", "live"))
    elif call.outcome == "denied":
        found.badges.append(("denied", "bad"))
    elif found.state == "refused":
        found.badges.append(("no result", "bad"))
        found.parts.append(Part("about", Markup("It has no result: it was cancelled or cut off.")))
    inputs = call.input if isinstance(call.input, dict) else {}
    diff = diffs.render(call)
    if diff:
        found.added, found.removed = diff.added, diff.removed
        found.parts.append(_diff_part(diff))
        found.is_open = diff.lines <= OPEN_DIFF
        path = inputs.get("file_path")
        found.file = path if isinstance(path, str) and len(path) < 1000 else ""
    found.parts += _inputs(call, inputs, found)
    found.parts += _output(call, inputs)
    found.is_open = found.is_open or found.state == "failed"


def _diff_part(diff: diffs.Diff) -> Part:
    left_out = f"all {diff.lines:,} lines" if diff.left_out > 0 else ""
    return Part("diff", diff.html, left_out, "diff")


def _inputs(call: Call, inputs: dict[str, Any], found: Shown) -> Iterator[Part]:
    command = inputs.get("command")
    if isinstance(command, str):
        found.copy = plain.safe(command[:4000])
        if isinstance(about := inputs.get("description"), str) and about:
            yield Part("about", escape(plain.one_line(about, 400)))
        some, left_out = _cut(command, 30, 4_000)
        yield Part("prompted", highlight.block(some, highlight.for_language("bash")), left_out, "command")
    for name in ("plan", "prompt"):
        if isinstance(text := inputs.get(name), str):
            yield _words(text, "markdown", "input")
    if isinstance(todos := inputs.get("todos"), list):
        done = sum(isinstance(todo, dict) and todo.get("status") == "completed" for todo in todos)
        found.headline, found.is_code = f"{done} of {len(todos)} done", False
        yield Part("list", Markup("").join(_todo(todo) for todo in todos[:200] if isinstance(todo, dict)))
    argument = calls.argument(call)
    rest = {
        key: value
        for key, value in inputs.items()
        if key not in SHOWN_APART
        and value not in (None, False, "", [], {})
        and (value != argument or len(argument) > 300)
    }
    if rest:
        yield Part("inputs", Markup("").join(_input(key, value) for key, value in list(rest.items())[:20]))
    if (call.input and not inputs) or any(len(_input_text(value)) > INPUT for value in rest.values()):
        some, left_out = _cut(calls.text_of(call.input), 3, INPUT)
        yield Part("code", highlight.block(some if not inputs else "", None), left_out or "all of it", "input")


def _input(key: str, value: Any) -> Markup:
    text = _input_text(value)
    cut = text[:INPUT] + "…" * (len(text) > INPUT)
    return Markup("<dt>{}</dt><dd>{}</dd>").format(plain.one_line(key, 60), plain.safe(cut))


def _input_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _output(call: Call, inputs: dict[str, Any]) -> Iterator[Part]:
    text = calls.output(call).strip("\n")
    if not text or calls.is_change(call):
        return
    failed = call.outcome == "failed"
    if call.action == "agent" and not failed:
        yield _words(text, "markdown", "output")
        return
    some, left_out = _cut(text, *OUTPUT, from_end=failed)
    path = inputs.get("file_path")
    lexer = highlight.for_file(path) if call.action == "read" and isinstance(path, str) and not failed else None
    if text[:1] in "{[" and lexer is None and not isinstance(call.response, str):
        lexer = highlight.for_language("json")
    html = highlight.block(some, lexer) if lexer else ansi.html(some)
    yield Part("failed output" if failed else "output", html, left_out, "output")


def _todo(todo: dict[str, Any]) -> Markup:
    status = str(todo.get("status"))
    mark = {"completed": "✓", "in_progress": "▸"}.get(status, "○")
    return Markup('<li class="{}"><i aria-label="{}">{}</i> {}</li>').format(
        "done" if mark == "✓" else "",
        plain.one_line(status, 20),
        mark,
        plain.one_line(str(todo.get("content")), 300),
    )


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
    if entry.text:
        found.parts.append(_words(entry.text, "words", "text"))
        found.is_open = True
    found.parts += _inputs(call, call.input if isinstance(call.input, dict) else {}, found)


def _show_words(found: Shown, entry: Entry) -> None:
    text = entry.text
    title = plain.one_line(entry.title, 80)
    match entry.kind:
        case "prompt":
            found.parts.append(_words(text, "words", "text"))
        case "answer":
            found.parts.append(_words(text, "markdown", "text"))
        case "failure":
            found.state = "failed"
            found.parts.append(_words(text or "The answer failed.", "words", "text"))
        case "sub-agent":
            found.headline = title
            if text:
                found.parts.append(_words(text, "markdown", "text"))
        case "review":
            decided, _, found.headline = plain.one_line(entry.title, 160).partition(", ")
            found.badges.append((decided, "bad" if is_refused(entry) else "good"))
            found.state = "refused" if is_refused(entry) else "ok"
            found.parts.append(_words(text, "markdown", "text"))
        case _:
            found.label = title if entry.kind == "event" else found.label
            if title and entry.kind != "event":
                found.badges.append((title, ""))
            flat = without_tags(_fields(text) if entry.kind == "event" else text[:2_000])
            found.headline = plain.one_line(flat, 140)
            if entry.kind == "thinking" or len(flat) > 140 or "\n" in flat.strip():
                look = "markdown" if entry.kind in ("thinking", "compaction") else "words"
                found.parts.append(_words(text, look, "text"))


def _fields(text: str) -> str:
    """An event that nobody here knows may have only its fields to tell."""
    try:
        value = json.loads(text) if text.startswith("{") and len(text) < 20_000 else None
    except ValueError:
        value = None
    if not isinstance(value, dict):
        return text[:2_000]
    return " · ".join(f"{key}: {_input_text(told)}" for key, told in value.items())[:2_000]


def _words(text: str, look: str, source: str) -> Part:
    if look == "markdown" and (rendered := markdown.html(text)) is not None:
        return Part(look, rendered)
    some, left_out = _cut(text, *WORDS)
    return Part("words", escape(plain.safe(some)), left_out, source)


def without_tags(text: str) -> str:
    """The client wraps what it injects in tags of its own."""
    return re.sub(r"</?[a-z-]{1,40}>", " ", text)


def _cut(text: str, lines: int, characters: int, from_end: bool = False) -> tuple[str, str]:
    """The beginning of a text, and of a failure its end as well; and in words how much there is."""
    if len(text) <= characters and text.count("\n") < lines + 3:
        return text, ""
    count = text.count("\n") + 1
    if from_end and count > lines:
        head = [line[:BIG_LINE] for line in text[:characters].split("\n")[:3]]
        tail = [line[:BIG_LINE] for line in text[-characters:].split("\n")[-lines:]]
        some = "\n".join((*head, "⋯", *tail))
    else:
        some = "\n".join(text[:characters].split("\n")[:lines])
    size = plain.size(len(text))
    return some, f"all {count:,} lines, {size}" if count > lines else f"all of it, {size}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
