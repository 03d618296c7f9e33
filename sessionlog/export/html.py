"""Sessions as one page that needs nothing else: no scripts, no files, nothing loaded from anywhere.

All text is escaped, what models wrote is rendered without HTML of its own, and a policy in the page forbids the browser
everything but its one style sheet.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
from collections.abc import Iterable, Iterator
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from sessionlog.export.detail import excerpt, is_shown
from sessionlog.session import call as calls
from sessionlog.session.call import Call
from sessionlog.session.header import Overview
from sessionlog.session.load import Entry, is_refused
from sessionlog.text import inert_markdown, plain

STYLE = Path(__file__).parent / "style.css"

# A diff or an output of up to so many lines is open from the start.
OPEN_DIFF, OPEN_OUTPUT = 40, 8


def beginning(overviews: Iterable[Overview]) -> Iterator[str]:
    """The head of the page, and a table of contents if there is more than one session."""
    listed = iter(overviews)
    first = list(itertools.islice(listed, 2))
    yield head(plain.one_line(first[0].title, 80) if len(first) == 1 else "Sessions")
    if len(first) > 1:
        yield "<nav><details open><summary>Sessions</summary><ol>\n"
        for about in itertools.chain(first, listed):
            name = _text(plain.one_line(about.title, 100))
            yield f'<li><a href="#{_anchor(about)}">{name}</a> {_time(about.session["started_at"], 10)}</li>\n'
        yield "</ol></details></nav>\n"


def head(title: str) -> str:
    """How a page begins: its title, its one style sheet, and the policy that allows nothing else."""
    style = STYLE.read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        f"style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'\">\n"
        '<meta name="referrer" content="no-referrer">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_text(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n<main>\n"
    )


def end() -> Iterator[str]:
    """The end of the page."""
    yield "</main>\n</body>\n</html>\n"


def session(about: Overview, entries: Iterable[Entry], detail: str) -> Iterator[str]:
    """One session, entry by entry."""
    row = about.session
    branch = f" on <code>{_text(row['git_branch'])}</code>" if row.get("git_branch") else ""
    agent = f" by <code>{_text(about.agent)}</code>" if about.agent else ""
    started, last = _time(row["started_at"], 19), _time(row["last_at"], 19)
    facts = [
        f"<b>{_text(about.counts)}</b>",
        f"{started} to {last} UTC, {about.took}",
        f"<code>{_text(about.project)}</code>{branch}{agent}",
        *map(_text, (*about.models, *about.links)),
        f"session <code>{_text(row['session_id'])}</code>",
    ]
    yield f'<section id="{_anchor(about)}">\n<h1>{_text(plain.one_line(about.title, 160))}</h1>\n'
    yield f'<ul class="facts">{"".join(f"<li>{fact}</li>" for fact in facts)}</ul>\n'
    for entry in entries:
        if is_shown(entry, detail):
            yield _entry(entry, detail)
    yield "</section>\n"


def _entry(entry: Entry, detail: str) -> str:
    classes = [entry.kind if entry.kind in ("prompt", "answer", "tool", "sub-agent") else "other"]
    call = entry.call
    if entry.kind == "failure" or is_refused(entry) or (entry.kind == "tool" and call and call.outcome != "ok"):
        classes.append("trouble")
    if entry.agent_id and entry.kind != "sub-agent":
        classes.append("inside")
    label = entry.title if entry.kind in ("tool", "event") else entry.kind
    time = f'<time datetime="{escape(entry.at)}">{escape(entry.at[11:19])}</time>'
    start = f'<article class="{" ".join(classes)}"><header>{time}<b>{_line(label, 60)}</b>'
    return f"{start}{_content(entry, detail)}</article>\n"


def _content(entry: Entry, detail: str) -> str:
    """What comes after the time and the label, in the header and below it."""
    call = entry.call
    if call is not None and entry.kind == "tool":
        diff = calls.changes(call)
        argument = calls.argument(call)
        result = "".join(_result(call, argument, diff, detail)) if detail != "brief" else ""
        return f"{_headline(call, argument, diff)}</header>{result}"
    if call is not None:
        asked = f"{_text(call.name)} <code>{_line(calls.argument(call))}</code>"
        answer = f'<span class="{"good" if entry.title == "allowed" else "bad"}">{_text(entry.title)}</span>'
        return f"{asked} {answer} {_line(entry.text)}</header>"
    title = _line(entry.title) if entry.title and entry.kind != "event" else ""
    if entry.kind in ("start", "end", "notice") and len(entry.text) <= 160:
        return f"{title} {_line(entry.text)}</header>"
    return f"{title}</header>{_body(entry, detail)}"


def _body(entry: Entry, detail: str) -> str:
    if not entry.text:
        return ""
    match entry.kind:
        case "prompt":
            return f'<div class="words">{_text(entry.text)}</div>'
        case "answer" | "sub-agent" | "failure" | "review":
            return f'<div class="markdown">{markdown(entry.text)}</div>'
    return _folded(_line(entry.text, 90), _code(entry.text, detail))


def _headline(call: Call, argument: str, diff: list[str]) -> str:
    parts = [f"<code>{_line(argument)}</code>"]
    if diff:
        parts.append(f'<span class="quiet">{calls.counts(diff)}</span>')
    if call.outcome == "failed":
        code = calls.exit_code(call)
        parts.append(f'<span class="bad">{f"exit {_line(code, 12)}" if code else "failed"}</span>')
    elif call.outcome == "no result" and not call.asked:
        parts.append('<span class="bad">no result: cancelled or cut off</span>')
    elif call.outcome == "denied":
        parts.append('<span class="bad">denied</span>')
    if call.asked:
        tone = "good" if call.asked == "allowed" else "bad"
        parts.append(f'<span class="{tone}">permission: {_text(call.asked)}</span>')
    if about := calls.purpose(call):
        parts.append(f'<span class="quiet">{_line(about)}</span>')
    if call.duration_ms is not None:
        parts.append(f'<span class="quiet">{plain.duration(call.duration_ms)}</span>')
    return "".join(parts)


def _result(call: Call, argument: str, diff: list[str], detail: str) -> Iterator[str]:
    if len(argument) > 160 or "\n" in argument:
        yield _folded("all of it", _code(argument, detail))
    if diff:
        some = excerpt("\n".join(diff), detail)
        lines = "".join([f"<span{_CLASSES.get(line[:1], '')}>{line}</span>" for line in _text(some.text).split("\n")])
        block = f'<pre class="diff" tabindex="0">{lines}</pre>{_left_out(some.left_out)}'
        yield block if len(diff) <= OPEN_DIFF else _folded(f"{len(diff):,} lines", block)
    if output := calls.new_output(call):
        lines_of_it = output.count("\n") + 1
        block = _code(output, detail)
        is_open = lines_of_it <= OPEN_OUTPUT and len(output) < 2000
        yield block if is_open else _folded(plain.counted(lines_of_it, "line"), block, call.outcome == "failed")


_CLASSES = {"+": ' class="added"', "-": ' class="removed"', "@": ' class="hunk"'}


def _code(text: str, detail: str) -> str:
    some = excerpt(text, detail)
    return f'<pre tabindex="0">{_text(some.text)}</pre>{_left_out(some.left_out)}'


def _left_out(words: str) -> str:
    return f'<div class="quiet">… {words}</div>' if words else ""


def _folded(summary: str, block: str, is_open: bool = False) -> str:
    return f"<details{' open' if is_open else ''}><summary>{summary}</summary>{block}</details>"


def markdown(text: str) -> str:
    if len(text) > inert_markdown.PARSED:
        return f'<pre tabindex="0">{_text(text)}</pre>'
    html: str = _renderer().render(plain.safe(text))
    return html


@cache
def _renderer() -> Any:
    """Markdown to HTML without images; a link does not tell where one came from."""
    parser = inert_markdown.parser().disable("image")

    def link_open(self: Any, tokens: Any, index: int, options: Any, env: Any) -> str:
        tokens[index].attrSet("rel", "noopener noreferrer nofollow")
        opened: str = self.renderToken(tokens, index, options, env)
        return opened

    parser.add_render_rule("link_open", link_open)
    return parser


def _text(text: str) -> str:
    return escape(plain.safe(text))


def _line(text: str, width: int = 160) -> str:
    return escape(plain.one_line(text, width))


def _anchor(about: Overview) -> str:
    return escape(plain.one_line(about.session["session_id"], 80)).replace(" ", "-")


def _time(at: str, length: int) -> str:
    return f'<time datetime="{escape(at)}">{escape(at[:length].replace("T", " "))}</time>'
