"""A session as Markdown that reads well on GitHub. Whatever a session holds is shown and does nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import escape

from sessionlog.export.detail import excerpt, is_shown
from sessionlog.session import call as calls
from sessionlog.session.call import Call
from sessionlog.session.header import Overview
from sessionlog.session.load import Entry, is_refused
from sessionlog.text import inert_markdown, plain

_TIME = re.compile(r"[0-9: -]*")

# The same colours as in the terminal and on the page.
DOTS = {
    "prompt": "🔵",
    "answer": "🟣",
    "tool": "🟠",
    "permission": "🟡",
    "review": "🟡",
    "sub-agent": "🟢",
    "failure": "🔴",
}
LINE = 300  # what fits into one line


def beginning(_: Iterable[Overview]) -> Iterator[str]:
    """Nothing: each session has a heading of its own."""
    yield from ()


def end() -> Iterator[str]:
    """Nothing."""
    yield from ()


def session(about: Overview, entries: Iterable[Entry], detail: str) -> Iterator[str]:
    """One session, entry by entry."""
    row = about.session
    yield f"# {inert_markdown.escaped(plain.one_line(about.title, 120))}\n\n"
    branch = f", on {inert_markdown.code(row['git_branch'])}" if row.get("git_branch") else ""
    agent = f", by {inert_markdown.code(about.agent)}" if about.agent else ""
    facts = [
        f"Session {inert_markdown.code(row['session_id'])} in {inert_markdown.code(about.project)}{branch}{agent}",
        f"{_time(row['started_at'], 0, 19)} to {_time(row['last_at'], 0, 19)} UTC, {about.took}",
        about.counts,
        *map(inert_markdown.escaped, (*about.models, *about.links)),
    ]
    yield "".join(f"- {fact}\n" for fact in facts)
    for entry in entries:
        if is_shown(entry, detail):
            yield f"\n{_entry(entry, detail)}\n"
    yield "\n"


def _entry(entry: Entry, detail: str) -> str:
    time = _time(entry.at, 11, 19)
    inside = "↳ " if entry.agent_id else ""
    if entry.call is not None and entry.kind == "tool":
        return _tool(entry.call, f"{inside}{{}} {time}", detail)
    dot = DOTS["failure"] if entry.kind == "review" and is_refused(entry) else DOTS.get(entry.kind, "⚪")
    title = f" {inert_markdown.escaped(plain.one_line(entry.title, 80))}" if entry.title else ""
    if entry.call is not None:
        asked = f"{inert_markdown.escaped(entry.call.name)} {inert_markdown.code(calls.argument(entry.call))}".strip()
        reason = f": {inert_markdown.escaped(plain.one_line(entry.text, LINE))}" if entry.text else ""
        return f"{inside}{dot} {time} **permission** for {asked}:{title}{reason}"
    match entry.kind:
        case "prompt":
            return f"## {inside}{dot} {time} Prompt\n\n{inert_markdown.quoted(inert_markdown.paragraphs(entry.text))}"
        case "answer":
            return f"{inside}{dot} {time} **answer**\n\n{inert_markdown.markdown(entry.text)}"
        case "sub-agent" | "failure" | "review":
            words = f"\n\n{inert_markdown.markdown(entry.text)}" if entry.text else ""
            return f"{inside}{dot} {time} **{entry.kind}**{title}{words}"
        case "notice" if len(entry.text) <= LINE and "\n" not in entry.text:
            words = inert_markdown.escaped(plain.one_line(entry.text, LINE))
            return f"{inside}{dot} {time} notice{title} {words}"
        case "thinking" | "compaction" | "command" | "event" | "notice":
            kind = entry.title if entry.kind == "event" else f"{entry.kind} {entry.title}"
            return (
                _folded(
                    f"{inside}{dot} {time} {_html(kind.strip(), 80)}",
                    inert_markdown.fenced(excerpt(entry.text, detail).text),
                )
                if entry.text
                else f"{inside}{dot} {time} {inert_markdown.escaped(kind.strip())}"
            )
    return (
        f"{inside}{dot} {time} {inert_markdown.escaped(entry.kind)}{title} "
        f"{inert_markdown.escaped(plain.one_line(entry.text, LINE))}"
    )


def _tool(call: Call, where: str, detail: str) -> str:
    """A line that tells how it went; the diff open, the output folded, unless it failed."""
    failed = call.outcome != "ok"
    diff = calls.changes(call)
    parts = [where.replace("{}", "🔴" if failed else DOTS["tool"], 1)]
    argument = calls.argument(call)
    changed = f" {calls.counts(diff)}" if diff else ""
    headline = f"**{inert_markdown.escaped(call.name)}** {inert_markdown.code(argument)}{changed}{_how(call)}"
    if detail == "brief":
        return f"{parts[0]} {headline}"
    parts = [f"{parts[0]} {headline}"]
    if len(argument) > 160 or "\n" in argument:
        parts.append(_folded("all of it", _code(argument, detail, "sh" if argument.startswith("$ ") else "text")))
    if diff:
        parts.append(_code("\n".join(diff), detail, "diff"))
    if output := calls.new_output(call):
        block = _code(output, detail)
        short = failed and len(output) < 2000
        parts.append(block if short else _folded(f"output, {plain.counted(output.count(chr(10)) + 1, 'line')}", block))
    return "\n\n".join(parts)


def _how(call: Call) -> str:
    code = calls.exit_code(call)
    parts = [] if call.duration_ms is None else [plain.duration(call.duration_ms)]
    if about := calls.purpose(call):
        parts.insert(0, inert_markdown.escaped(plain.one_line(about, 160)))
    if call.outcome == "failed":
        parts.insert(0, f"**exit {inert_markdown.escaped(plain.one_line(code, 12))}**" if code else "**failed**")
    elif call.outcome == "no result" and not call.asked:
        parts.insert(0, "**no result**: cancelled or cut off")
    elif call.outcome == "denied":
        parts.insert(0, "**denied**")
    if call.asked:
        parts.append(f"permission: {call.asked}")
    return "".join(f" · {part}" for part in parts)


def _code(text: str, detail: str, language: str = "text") -> str:
    some = excerpt(text, detail)
    return inert_markdown.fenced(some.text, language) + (f"\n\n… {some.left_out}" if some.left_out else "")


def _folded(summary: str, block: str) -> str:
    return f"<details><summary>{summary}</summary>\n\n{block}\n\n</details>"


def _html(text: str, width: int) -> str:
    return escape(plain.one_line(text, width)).replace("@", "&#64;&#8203;")


def _time(at: str, start: int, end: int) -> str:
    """A part of a time; what stands in its place may be any text."""
    part = at[start:end].replace("T", " ")
    return part if _TIME.fullmatch(part) else inert_markdown.escaped(plain.one_line(part))
