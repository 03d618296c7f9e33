"""A session as a person reads it in a terminal: long things folded, edits as diffs, trouble in red."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import click

from sessionlog.cli.table import display_width
from sessionlog.session import call as calls
from sessionlog.session import live
from sessionlog.session.call import Call
from sessionlog.session.header import Overview
from sessionlog.session.load import Entry, is_refused
from sessionlog.text import plain

if TYPE_CHECKING:
    from sessionlog.archive.notes import Annotation

COLOURS = {
    "prompt": "blue",
    "answer": "magenta",
    "tool": "yellow",
    "permission": "cyan",
    "review": "cyan",
    "sub-agent": "green",
    "failure": "red",
}
DIFF_COLOURS = {"+": "green", "-": "red", "@": "cyan"}
# Lines that are shown of what is folded.
OUTPUT, DIFF, WRITTEN, WORDS = 5, 24, 8, 40
# The longest line in a folded text.
WIDTH = 200
# The same of prose that is wrapped: a paragraph is one line.
PARAGRAPH = 1500
MARGIN = " " * 22
# The shortest description worth showing.
SHORTEST = 16
# The fewest columns that text is wrapped to.
NARROWEST = 20
# Before the rest of a line of code or output that was wrapped.
CONTINUED = "    "
HOLD = "\u00a0"  # a blank at which no line ends


class View:
    """How much to show: everything, or what fits the eye; with a width, as wide as a terminal.

    `in_colour=False` where colours would be removed anyway: a fifth less time for a long session.
    """

    def __init__(self, full: bool = False, width: int | None = None, in_colour: bool = True) -> None:
        self.full = full
        self.width = None if full else width
        self.style = click.style if in_colour else _plain

    def session(
        self,
        overview: Overview,
        entries: Iterable[Entry],
        highlighted: str = "",
        annotations: Iterable[Annotation] = (),
    ) -> Iterator[str]:
        """The lines of a session; the entry that the name `highlighted` is part of is marked."""
        yield from self.heading(overview)
        noted = [line for one in annotations for line in self._annotated(one)]
        yield from [*self._indented(noted), ""] if noted else ()
        for entry in entries:
            if entry.minor and not self.full and highlighted not in entry.names:
                continue
            yield from self.entry(entry, highlighted in entry.names)

    def heading(self, overview: Overview) -> Iterator[str]:
        session = overview.session
        started = plain.local_time(session["started_at"], "%Y-%m-%d %H:%M:%S")
        branch = f", on {session['git_branch']}" if session.get("git_branch") else ""
        yield self.style(f"session {plain.safe(session['session_id'])}", fg="yellow", bold=True)
        title = [self.style(plain.one_line(session["title"]), bold=True)] if session.get("title") else []
        agent = f", by {overview.agent}" if overview.agent else ""
        state = self.style(", live", fg="green") if live.is_live(session) else ""
        where = f"{started}, {overview.took}, in {plain.path(overview.project)}{plain.safe(branch + agent)}{state}"
        facts = map(plain.one_line, (*overview.models, *overview.links))
        yield from self._indented([*title, where, overview.counts, *facts])
        yield ""

    def entry(self, entry: Entry, marked: bool = False) -> Iterator[str]:
        """A line that says when and what, then what belongs to it."""
        failed = entry.call is not None and entry.kind == "tool" and entry.call.outcome != "ok"
        colour = "red" if failed or is_refused(entry) else COLOURS.get(entry.kind)
        label = entry.title if entry.kind in ("tool", "event") else entry.kind
        time = self.style(plain.local_clock(entry.at), dim=True)
        mark = self.style(">", fg="red", bold=True) if marked else " "
        indent = "  " if entry.agent_id and entry.kind != "sub-agent" else ""
        styled = self.style(f"{plain.one_line(label, 11):<12}", fg=colour, bold=entry.kind == "prompt")
        first, *rest = self._wrapped(self._content(entry), len(MARGIN) + len(indent), CONTINUED if entry.call else "")
        yield f"{time}{mark} {indent}{styled}{first}"
        for line in rest:
            yield f"{MARGIN}{indent}{line}"

    def _content(self, entry: Entry) -> list[str]:
        if entry.call is not None and entry.kind == "tool":
            diff = calls.changes(entry.call)
            return [self._headline(entry.call, diff), *self._result(entry.call, diff)]
        if entry.call is not None:
            asked = f"{entry.call.name} {calls.argument(entry.call)}".strip()
            answer = self.style(entry.title, fg="green" if entry.title == "allowed" else "red")
            reason = f"  {self._line(entry.text)}" if entry.text else ""
            return [f"{self._line(asked)}  {answer}{reason}"]
        if entry.kind in ("thinking", "event", "notice", "compaction", "command") and not self.full:
            words = plain.one_line(_without_tags(entry.text[: 4 * WIDTH]), 100)
            title = f"{plain.one_line(entry.title, 30)}  " if entry.title and entry.kind != "event" else ""
            return [self.style(title + words, dim=True)]
        lines = self._folded(entry.text, WORDS, PARAGRAPH if self.width else WIDTH)
        if entry.kind == "failure":
            lines = self._styled(lines, fg="red")
        if entry.title and entry.kind != "event":
            title = plain.one_line(entry.title, 120 if entry.kind == "review" else 60)
            return [self.style(title, fg="red") if is_refused(entry) else title, *(lines if entry.text else [])]
        return lines

    def _headline(self, call: Call, diff: list[str]) -> str:
        parts = [self._line(calls.argument(call))]
        if diff:
            parts[0] += f" {calls.counts(diff)}"
        if call.outcome == "no result" and not call.asked:
            parts.append(self.style("no result: cancelled or cut off", fg="red"))
        elif call.outcome == "denied":
            parts.append(self.style("denied", fg="red", bold=True))
        elif call.outcome == "failed":
            code = calls.exit_code(call)
            parts.append(self.style(f"exit {plain.one_line(code, 12)}" if code else "failed", fg="red", bold=True))
        if call.asked:
            parts.append(self.style(f"permission: {call.asked}", fg="green" if call.asked == "allowed" else "red"))
        if call.duration_ms is not None:
            parts.append(self.style(plain.duration(call.duration_ms), dim=True))
        if self.width:  # "exit 1" and "5.8 s" stay on one line
            parts[1:] = [part.replace(" ", HOLD) for part in parts[1:]]
        line = "  ".join(filter(None, parts))
        room = self._room(len(MARGIN)) - display_width(click.unstyle(line)) - 2 if self.width else 80
        if (about := calls.purpose(call)) and room >= SHORTEST:
            line += self.style(f"  {plain.one_line(about, min(room, 80))}", dim=True)
        return line

    def _result(self, call: Call, diff: list[str]) -> Iterator[str]:
        shown = WRITTEN if call.action == "write" else DIFF
        if diff and call.outcome not in ("failed", "denied"):
            for sign, lines in groupby(self._cut(diff, shown), key=itemgetter(slice(1))):
                yield from self._styled(self._lines(list(lines)), fg=DIFF_COLOURS.get(sign))
        if calls.is_change(call):
            return
        if text := calls.output(call).rstrip():
            failed = call.outcome != "ok"
            yield from self._styled(self._folded(text, OUTPUT), fg="red" if failed else None, dim=not failed)

    def _styled(self, lines: Iterable[str], **style: Any) -> list[str]:
        """Each line in the same style; to ask click for it again each time takes longer than all the rest."""
        before, _, after = self.style("\n", **style).partition("\n")
        return [f"{before}{line}{after}" for line in lines]

    def _room(self, margin: int) -> int:
        """The columns beside a margin, such as that of the times and labels."""
        return max((self.width or 0) - margin, NARROWEST)

    def _wrapped(self, lines: list[str], margin: int, indent: str = "") -> list[str]:
        """Lines that end between words, where a terminal would break them anywhere and begin at its edge."""
        room = self._room(margin)
        if self.width is None or all(display_width(click.unstyle(line)) <= room for line in lines):
            return [line.replace(HOLD, " ") for line in lines]
        from wcwidth import wrap  # 30 ms, which short sessions need not pay

        wrapped: list[str] = []
        for line in lines:
            is_long = display_width(click.unstyle(line)) > room
            wrapped += wrap(line, room, subsequent_indent=indent, break_on_hyphens=False) if is_long else [line]
        return [line.replace(HOLD, " ") for line in wrapped]

    def _indented(self, lines: list[str]) -> Iterator[str]:
        return (f"  {line}" for line in self._wrapped(lines, 2))

    def _folded(self, text: str, lines: int, longest: int = WIDTH) -> list[str]:
        """The text as safe lines; of a long text only the part that is shown is split."""
        if not self.full and len(text) > 100 * WIDTH:
            hidden = text.count("\n", 100 * WIDTH)
            found = text[: 100 * WIDTH].splitlines()
        else:
            hidden, found = 0, text.rstrip().splitlines()
        return self._lines(self._cut(found, lines, hidden), longest) or [""]

    def _cut(self, lines: list[str], shown: int, hidden: int = 0) -> list[str]:
        if self.full or len(lines) + hidden <= shown + 1:
            return lines
        return [*lines[:shown], f"… {len(lines) + hidden - shown:,} more lines"]

    def _lines(self, lines: list[str], longest: int = WIDTH) -> list[str]:
        """Safe lines. Nearly all are safe as they are, which is found out for all of them at once."""
        if not self.full:
            cut = [line if len(line) <= longest else f"{line[:longest]}…" for line in lines]
            if "".join(cut).isprintable():
                return cut
        return [self._line(line, longest) for line in lines]

    def _line(self, text: str, longest: int = WIDTH) -> str:
        """One safe line; the argument of a call may have several."""
        if self.full:
            return plain.safe(text).replace("\n", f"\n{MARGIN}")
        return (
            plain.one_line(text, longest) if "\n" in text else plain.safe(text[:longest]) + "…" * (len(text) > longest)
        )

    def _annotated(self, one: Annotation) -> Iterator[str]:
        """The tags and the note that somebody put on the session or on a moment of it."""
        where = f"{one.moment}  " if one.moment else ""
        if one.tags:
            yield f"{where}{self.style(' '.join(f'#{plain.one_line(tag)}' for tag in one.tags), fg='cyan')}"
        if one.note:
            yield f"{where}{self.style('note', fg='cyan')}  {plain.one_line(one.note, WIDTH)}"


def _plain(text: str, **_: Any) -> str:
    return text


def _without_tags(text: str) -> str:
    """The client wraps what it injects in tags of its own."""
    return re.sub(r"</?[a-z-]+>", " ", text)
