"""What an agent can ask: each tool reads one archive, or all of them if the user has started the server so."""

from __future__ import annotations

import itertools
import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from sessionlog.archive import describe as schema
from sessionlog.archive import lookup, read, readonly
from sessionlog.archive.place import Place
from sessionlog.archive.time_limit import limited
from sessionlog.ask import audit
from sessionlog.ask.provenance import blame, target
from sessionlog.ask.provenance import describe as provenance_json
from sessionlog.ask.provenance import open as provenance
from sessionlog.ask.provenance import story as stories
from sessionlog.ask.search import find
from sessionlog.ask.search.partial import Partial
from sessionlog.errors import SessionlogError
from sessionlog.mcp.answer import WIDTH, entry, recorded
from sessionlog.session import call as calls
from sessionlog.session import load
from sessionlog.text import plain

MOST = 50
SECONDS = 10.0


class Tools:
    """The tools over these archives."""

    def __init__(self, places: list[Place]) -> None:
        self._places = places

    def search(
        self,
        words: str,
        limit: int = 10,
        failed: bool = False,
        file: str | None = None,
        tool: str | None = None,
        since: str | None = None,
    ) -> str:
        """Search prompts, answers, commands, files, edits, output and errors of recorded sessions, newest first.

        All words must occur; "a phrase", prefix*, one OR another and -not are understood. `failed` finds only what
        failed: the way to answer "have we seen this error before?". `file` is a glob, `since` an ISO date.
        """
        filters = find.Filters(tool=tool, file=file, since=since, failed=failed)
        most = _limit(limit)
        partial = Partial()
        hits = [
            hit
            for place in self._places
            for hit in itertools.islice(find.find(place, words, filters, partial=partial, seconds=SECONDS), most)
        ]
        partial.index_the_rest()
        hits.sort(key=lambda hit: hit.key, reverse=True)
        lines = [
            f"{hit.name} {(hit.row['at'] or '')[:19].replace('T', ' ')} session {plain.safe(hit.row['session_id'])[:8]}"
            f"{self._project(hit.place)} {plain.one_line(hit.row['tool_name'] or hit.field, 30)}: "
            f"{plain.one_line(hit.snippet, WIDTH)}"
            for hit in hits[:most]
        ]
        missing = partial.sentences("ask again later for the rest")
        return recorded(lines, "\n".join(["around(name) shows what happened before and after one of these.", *missing]))

    def sessions(self, limit: int = 10, skip: int = 0) -> str:
        """List recorded sessions, newest first: id, start, counts, title or first prompt."""
        rows = []
        most = _limit(limit)
        for place in self._places:
            with closing(read.connect(place)) as connection:
                rows += [(row, place) for row in lookup.sessions(connection, limit=skip + most)]
        rows.sort(key=lambda pair: str(pair[0]["started_at"]), reverse=True)
        lines = [
            f"{plain.safe(row['session_id'])} {row['started_at'][:16].replace('T', ' ')}{self._project(place)} "
            f"{row['prompts']} prompts, {row['tool_calls']} calls, {row['edits']} edits, {row['failures']} failures: "
            f"{plain.one_line(row['title'] or row['first_prompt'] or '', 120)}"
            for row, place in rows[skip : skip + most]
        ]
        return recorded(lines, f"session(id) reads one; skip={skip + most} lists older ones.")

    def session(self, id: str, skip: int = 0, limit: int = 40) -> str:
        """Read one session, or a part of it, from the start: `id` is the start of its id, or `last`."""
        found = lookup.find_session(self._places, id)
        most = _limit(limit)
        with closing(read.connect(found.place)) as connection:
            entries = (one for one in load.entries(connection, found.session["session_id"]) if not one.minor)
            lines = [entry(one) for one in itertools.islice(entries, skip, skip + most)]
        return recorded(
            lines, f"skip={skip + most} goes on." if len(lines) == most else "This is the end of the session."
        )

    def around(self, name: str, count: int = 8) -> str:
        """Show what happened before and after an event (e123) or a message (m123), with its whole text."""
        moment = lookup.find_moment(self._places, name)
        if moment is None:
            raise SessionlogError(f"there is no {name}; search and session name events (e123) and messages (m123)")
        session_id = moment.found.session["session_id"]
        with closing(read.connect(moment.found.place)) as connection:
            lines = [f"session {plain.safe(session_id)}"]
            for one in load.around(connection, session_id, moment.name, moment.at, min(max(count, 1), 20)):
                meant = moment.name in one.names
                lines.append(f"{'> ' if meant else '  '}{entry(one, 2000 if meant else WIDTH)}")
                if meant and one.call:
                    lines += [f"    {plain.safe(line)[:WIDTH]}" for line in _result(one.call)[:40]]
        return recorded(lines)

    def why(self, file: str, line: int, rev: str | None = None) -> str:
        """Tell why a line of a file is what it is: prompt, edits, what it was before, what ran afterwards, commit."""
        place, path = _inside(self._places, file)
        with provenance.archive(place) as (connection, indexed):
            found = blame.of_file(connection, target.locate(place, path, rev), indexed=indexed)
            if not 1 <= line <= len(found.lines):
                raise SessionlogError(f"{file} has {plain.counted(len(found.lines), 'line')}")
            describer = provenance_json.Describer(connection)
            story = stories.of_line(connection, found, line, describer)
        return recorded(_told(story), "around(name) shows more of each.")

    def failures(self, command: str, limit: int = 10) -> str:
        """List how a command failed before, newest first. A part of the command is enough, such as `npm ci`."""
        lines: list[tuple[str, str]] = []
        for place in self._places:
            with closing(read.connect(place)) as connection, limited(connection, SECONDS):
                rows = connection.execute(
                    "SELECT id, at, session_id, command, error FROM events WHERE event = 'PostToolUseFailure' "
                    "AND action = 'run' AND instr(command, ?) ORDER BY id DESC LIMIT ?",
                    (command, _limit(limit)),
                ).fetchall()
            for row in rows:
                said = f"$ {plain.one_line(row['command'], 100)} -> {plain.one_line(row['error'] or '', WIDTH)}"
                name = f"e{row['id']} {row['at'][:19].replace('T', ' ')} session {plain.safe(row['session_id'])[:8]}"
                lines.append((row["at"], f"{name}{self._project(place)} {said}"))
        lines.sort(reverse=True)
        return recorded([line for _, line in lines[: _limit(limit)]], "around(name) shows what was done about it.")

    def audits(self, name: str | None = None, limit: int = 20) -> str:
        """Run an audit (risky commands, bypassed permissions, failures, gaps); without a name, list them."""
        known = audit.audits()
        if name is None:
            return "\n".join(
                f"{one.name}: {one.title}. {plain.one_line(one.description, 120)}" for one in known.values()
            )
        if name not in known:
            raise SessionlogError(f"there is no audit {name}; audits() lists them")
        asked = dict.fromkeys(known[name].parameters, "")
        return self._rows(known[name].sql, asked, limit)

    def sql(self, query: str, limit: int = 20) -> str:
        """Ask in SQL (SQLite), one SELECT: it can change nothing. The resource sessionlog://schema has the tables."""
        return self._rows(query, {}, limit)

    def schema(self) -> str:
        """The tables and views of an archive, with what they mean."""
        return "\n\n".join(
            "\n".join([f"{name}: {table.description}", *(f"  {one.name}: {one.description}" for one in table.columns)])
            for name, table in schema.tables().items()
        )

    def _rows(self, query: str, parameters: dict[str, Any], limit: int) -> str:
        lines: list[str] = []
        for place in self._places:
            with closing(read.connect(place)) as connection:
                readonly.guard(connection)
                try:
                    with limited(connection, SECONDS):
                        rows = connection.execute(query, parameters).fetchmany(_limit(limit))
                except (sqlite3.Error, sqlite3.Warning) as error:
                    raise SessionlogError(str(error)) from error
            lines += [f"{self._project(place).strip()} {_json(row)}".strip() for row in rows]
        return recorded(lines)

    def _project(self, place: Place) -> str:
        return f" [{plain.safe(os.path.basename(place.project))}]" if len(self._places) > 1 else ""


def _limit(limit: int) -> int:
    return min(max(limit, 1), MOST)


def _inside(places: list[Place], file: str) -> tuple[Place, str]:
    """The project and the path of a file of the project: an agent may not have files read that are elsewhere."""
    for place in places:
        path = os.path.realpath(os.path.join(place.project, file))
        if path.startswith(f"{os.path.realpath(place.project)}/"):
            return place, path
    raise SessionlogError(f"{file} is not in {places[0].project}")


def _result(call: calls.Call) -> list[str]:
    return calls.changes(call) or calls.output(call).splitlines()


def _json(row: Any) -> str:
    cut = {name: plain.one_line(value, WIDTH) if isinstance(value, str) else value for name, value in row.items()}
    return json.dumps(cut, ensure_ascii=False, default=lambda value: f"<{len(value)} bytes>")


def _told(story: stories.Story) -> Iterator[str]:
    line = story.line
    yield f"line {line.number}: {plain.safe(line.text)[:WIDTH]}"
    if line.commit:
        commit = line.commit
        yield f"commit {commit.id[:10]} {plain.one_line(commit.author, 40)}: {plain.one_line(commit.summary)}"
    if not story.chapters:
        yield "not recorded: no recorded edit wrote this line"
    for ran in story.suspects:
        yield f"{ran.name} may have: $ {plain.one_line(ran.command, WIDTH)}"
    for chapter in story.chapters:
        edit, prompt = chapter.described.edit, chapter.described.prompt
        at = edit.at[:19].replace("T", " ")
        yield f"{edit.name} {at} session {plain.safe(edit.session_id)} {plain.safe(chapter.described.model)}"
        if prompt:
            yield f"  {prompt.name} prompt: {plain.one_line(prompt.text, WIDTH)}"
        if chapter.before is not None:
            yield f"  - {plain.safe(chapter.before)[:WIDTH]}"
        yield f"  + {plain.safe(chapter.line)[:WIDTH]}"
        for one in [*chapter.commands, *([chapter.answer] if chapter.answer else [])]:
            yield f"  then {entry(one, WIDTH)}"
