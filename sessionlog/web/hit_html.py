"""A search hit that explains itself: what was done, the line that matches, and what went wrong."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from typing import Any, NamedTuple

from markupsafe import Markup, escape

from sessionlog.ask.search import find as search
from sessionlog.ask.search import index, labels
from sessionlog.text import inert_markdown, plain
from sessionlog.transcripts.stored_lines import Lines

Row = dict[str, Any]
Mark = Callable[[str], Markup]

LONGEST_LINE = 280
LONGEST_COMMAND = 200

# Kinds to choose from, where the name of a hit would stand for several of them: hooks and transcripts have their own.
_KINDS = {
    "PreToolUse": "call without an end",
    "PostToolUse": "tool call",
    "PostToolUseFailure": "failed call",
    "PostCompact": "end of a compaction",
    "SupervisorReview": "report of a review",
    "tool_use": "tool call (transcript)",
    "tool_result": "tool result (transcript)",
    "prompt": "prompt (transcript)",
    "text": "answer (transcript)",
    "history": "prompt (history)",
    "notification": "notice (transcript)",
    "command_output": "output of a command",
    "bash_input": "command after !",
    "bash_output": "output of a command after !",
    "compact_summary": "summary of a compaction",
    "compact_boundary": "compaction (transcript)",
    "api_error": "API error (transcript)",
}
_COLOURS = {"user": "prompt", "assistant": "answer", "tool": "tool"}
# The line that says most about a failure: of these kinds the first one, else the first line.
_TELLING = (
    re.compile(r"\b[A-Z]\w*(?:Error|Exception|Refused|NotFound)\b|^E  |^(?:error|fatal|panic)\b[:\[]", re.IGNORECASE),
    re.compile(r"\b(?:errors?|fatal|panic|fail(?:ed|ure)?|cannot|refused|denied|not found|no such|undefined)\b", re.I),
)
_CLIENT_TAG = re.compile(r"</?[a-z]{2,20}(?:[-_][a-z]{2,20}){1,3}>")
_COLOUR_CODE = re.compile(r"\x1b\[[0-9;:?]{0,40}[A-Za-z]")


class ShownHit(NamedTuple):
    """The lines of a hit; those that say nothing are empty."""

    word: str  # the tool, else what it is
    colour: str  # a class of search.css
    is_failed: bool
    exit_code: str
    command: Markup
    description: Markup
    file: Markup
    line: Markup  # the one that matches
    is_code: bool
    error: Markup


class _Call(NamedTuple):
    tool: str = ""
    command: str = ""
    description: str = ""
    file: str = ""
    error: str = ""


def show(hit: search.Hit, archive: sqlite3.Connection, mark: Mark, relative: Callable[[str], str]) -> ShownHit:
    """What the page shows of a hit; `relative` writes a path as one names it in the project."""
    hit = hit._replace(row=_whole(hit, archive))
    row = hit.row
    call = _of_transcript(hit, archive) if hit.is_message else _of_event(row)
    name = row["kind"] if hit.is_message else row["event"]
    role = index.role_of_message(name, row["role"]) if hit.is_message else index.role_of_event(name, row["tool_name"])
    is_failed = row["outcome"] == "failed"
    exit_code, said = _without_exit_code(call.error) if is_failed else ("", "")
    error = telling_line(said)
    line = _line(hit)
    if (hit.field == "input" and call.command) or (hit.field == "path" and call.file) or line == error:
        line = ""
    word = call.tool or _capital(labels.label(row, hit.is_message))
    return ShownHit(
        word,
        _COLOURS.get(role, ""),
        is_failed,
        exit_code,
        mark(plain.one_line(call.command, LONGEST_COMMAND)),
        mark(plain.one_line(call.description, LONGEST_COMMAND)) if call.command else Markup(""),
        mark(plain.one_line(relative(call.file), 100)),
        mark(line),
        hit.field in ("code", "input", "output", "path") and not _is_prose(hit),
        mark(error),
    )


def marks_of(hit: search.Hit) -> re.Pattern[str] | None:
    """A pattern for what is marked in a hit: the words themselves."""
    found = sorted({hit.snippet[start:end] for start, end in hit.marks if end > start}, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, found))) if found else None


def marker(pattern: re.Pattern[str] | None) -> Mark:
    """Marks what a pattern finds in a text."""

    def mark(text: str) -> Markup:
        pieces, end = Markup(""), 0
        for match in pattern.finditer(text) if pattern else ():
            if match.end() > match.start():
                pieces += escape(plain.safe(text[end : match.start()]))
                pieces += Markup("<mark>{}</mark>").format(plain.safe(match[0]))
                end = match.end()
        return pieces + escape(plain.safe(text[end:]))

    return mark


def telling_line(error: str) -> str:
    """The line of an error that says most about it."""
    lines = [line.strip() for line in _clean(error[:100_000]).splitlines() if line.strip()]
    for kind in _TELLING:
        for line in lines:
            if kind.search(line):
                return plain.one_line(line, LONGEST_LINE)
    return plain.one_line(lines[0], LONGEST_LINE) if lines else ""


def label(event: str) -> str:
    """The kind of a hit in people's words."""
    known = _KINDS.get(event) or labels.EVENTS.get(event) or labels.PARTS.get(event)
    return _capital(known or event.replace("_", " "))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _line(hit: search.Hit) -> str:
    """The line that matches, without the signs of Markdown and of terminals."""
    line = _clean(hit.snippet)
    if _is_prose(hit):
        line = inert_markdown.words(line)
    return plain.one_line(line, LONGEST_LINE)


def _is_prose(hit: search.Hit) -> bool:
    """Whether somebody said it: an answer of a sub-agent is the output of a call."""
    return hit.field == "said" or (hit.field == "output" and hit.row["action"] == "agent")


def _clean(text: str) -> str:
    return _COLOUR_CODE.sub("", _CLIENT_TAG.sub("", text))


def _without_exit_code(error: str) -> tuple[str, str]:
    match = re.match(r"(?:Error: )?Exit code (\d{1,10})\n?", error)
    return (match[1], error[match.end() :]) if match else ("", error)


def _whole(hit: search.Hit, archive: sqlite3.Connection) -> Row:
    """The row with all of its columns: a look at everything brings only some of them."""
    if ("text" if hit.is_message else "command") in hit.row:
        return hit.row
    table = "transcript_parts" if hit.is_message else "events"
    row: Row | None = archive.execute(f"SELECT * FROM {table} WHERE id = ?", (hit.row["id"],)).fetchone()
    return row or {**dict.fromkeys(("text", "command", "description", "error")), **hit.row}


def _of_event(row: Row) -> _Call:
    if not row["tool_name"]:
        return _Call(error=row["error"] or "")
    texts = [row[name] or "" for name in ("command", "description", "file_path", "error")]
    return _Call(row["tool_name"], *texts)


def _of_transcript(hit: search.Hit, archive: sqlite3.Connection) -> _Call:
    """The call that a message is about: its question and its answer stand in different parts of the transcript."""
    row = hit.row
    if not row["tool_use_id"]:
        return _Call(error=row["text"] or "")
    query = "SELECT id, kind, tool_name, text FROM transcript_parts WHERE tool_use_id = ? AND session_id = ? LIMIT 10"
    parts = {part["kind"]: part for part in archive.execute(query, (row["tool_use_id"], row["session_id"]))}
    inputs: Any = {}
    if asked := parts.get("tool_use"):
        block, _ = Lines(archive).block(asked["id"])
        inputs = (block or {}).get("input")
    texts = {
        name: value for name, value in (inputs if isinstance(inputs, dict) else {}).items() if isinstance(value, str)
    }
    return _Call(
        (asked or row)["tool_name"] or "",
        texts.get("command", ""),
        texts.get("description", ""),
        texts.get("file_path", texts.get("notebook_path", "")),
        (parts.get("tool_result") or row)["text"] or "",
    )
