"""Which archive each transcript belongs to, and what the archives have of it already."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator

from sessionlog.agents import transcripts
from sessionlog.agents.claude_code import transcript_files
from sessionlog.archive import choices, read, readonly, whose
from sessionlog.archive import place as projects
from sessionlog.archive.place import Place
from sessionlog.system.files import open_regular
from sessionlog.transcripts import chunks, pruned, store

# What tells that a session is, or was, in an archive.
_SESSION_TABLES = ("sessions", "pruned_sessions")


class Targets:
    """The archives of all projects during one import, or the one that is given."""

    def __init__(self, only: Place | None = None) -> None:
        self._only = only
        self._connections: dict[str, sqlite3.Connection] = {}
        self._of_session: dict[str, Place] = {}
        self._known: dict[str, dict[str, tuple[Place, store.Known]]] = {}
        self._by_name: dict[tuple[str, str], store.Known] = {}
        self._limits: dict[str, pruned.Limits] = {}
        self._choices = choices.load(projects.home_folder(), projects.user_home())
        self._places = [only] if only else read.all_places()
        for place in self._places:
            transcripts, self._limits[place.db] = _known(place)
            for known in transcripts:
                self._known.setdefault(known.file, {})[place.db] = (place, known)
                self._by_name[place.db, _below_project(known.name)] = known

    def __enter__(self) -> Targets:
        return self

    def __exit__(self, *_: object) -> None:
        for connection in self._connections.values():
            connection.close()

    def connection(self, place: Place) -> sqlite3.Connection:
        """The connection of this import to an archive, which is made if need be."""
        if place.db not in self._connections:
            self._connections[place.db] = store.open_archive(place)
        return self._connections[place.db]

    def known(self, path: str, place: Place | None = None) -> tuple[Place, store.Known] | None:
        """What is archived of a file, there or anywhere."""
        found = self._known.get(path, {})
        return found.get(place.db) if place else next(iter(found.values()), None)

    def moved(self, source: transcript_files.Source, place: Place) -> tuple[Place, store.Known] | None:
        """A transcript that is gone from where it was, and may be this file: Claude Code renamed the folder."""
        known = self._by_name.get((place.db, _below_project(source.name)))
        if source.kind == transcript_files.HISTORY or known is None or os.path.exists(known.file):
            return None
        return place, known

    def has_name(self, source: transcript_files.Source, place: Place) -> bool:
        """Whether a file of this name in this session was archived, from wherever."""
        return (place.db, _below_project(source.name)) in self._by_name

    def limits(self, place: Place) -> pruned.Limits:
        """What was pruned in an archive, and stays out."""
        return self._limits.get(place.db, {})

    @property
    def unrecorded(self) -> pruned.Unrecorded | None:
        """What is not recorded of the sessions that are; None if everything is."""
        chosen = self._choices
        if not chosen.pauses and chosen.tool_output:
            return None
        return pruned.Unrecorded(tuple((begin, end) for begin, end in chosen.pauses), chosen.tool_output)

    def leaves_out(self, source: transcript_files.Source, place: Place) -> bool:
        """Whether the user chose not to record a file: its project is excluded, or it is the output of a tool."""
        is_output = source.kind == transcript_files.TOOL_RESULT and not self._choices.tool_output
        return is_output or self._choices.excludes(place.project)

    def place_for(self, source: transcript_files.Source) -> Place:
        """The archive for a file: that of its session, by where its entries say that they were written."""
        if self._only:
            return self._only
        session_id = source.session_id or ""
        if session_id not in self._of_session:
            cwd = transcripts.working_directory(source) or os.path.dirname(source.path)
            self._of_session[session_id] = self._of_folder(cwd, session_id)
        return self._of_session[session_id]

    def of_history(self, path: str) -> Iterator[tuple[Place, frozenset[str]]]:
        """The archives that the lines of the history belong to, each with its projects as the lines name them."""
        folders: set[str] = set()
        with open(open_regular(path), "rb") as file:
            for line in iter(lambda: file.readline(chunks.LONGEST_LINE), b""):
                try:
                    entry = chunks.parse(line)
                except ValueError:
                    continue
                if isinstance(entry, dict) and projects.is_path(entry.get("project")):
                    folders.add(entry["project"])
        by_db: dict[str, tuple[Place, set[str]]] = {}
        for folder in sorted(folders):
            place = self._of_folder(folder, "")
            by_db.setdefault(place.db, (place, set()))[1].add(folder)
        for place, names in by_db.values():
            yield place, frozenset(names)

    def _of_folder(self, cwd: str, session_id: str) -> Place:
        """The archive to which the hooks of this session write, else that of the checkout around the folder.

        Claude Code may have been started below the top of a checkout; its hooks then write to that folder's archive.
        """
        if whose.is_of_another_system(cwd):
            return whose.place(whose.canonical(cwd))
        start = os.path.realpath(cwd)
        for folder in projects.ancestors(start):
            place = whose.place(projects.main_checkout(folder, os.path.realpath))
            if session_id and os.path.exists(place.db) and _has_session(place, session_id):
                return place
        if session_id and not os.path.isdir(start):  # a worktree that is gone: where did its hooks write?
            for place in self._places:
                if _has_session(place, session_id):
                    return place
        return whose.place(projects.of_folder(start, os.path.realpath))


def _known(place: Place) -> tuple[list[store.Known], pruned.Limits]:
    if not os.path.exists(place.db):
        return [], {}
    for _ in range(2):
        connection = _read_only(place)
        try:
            return store.known_transcripts(connection), pruned.read(connection)
        except sqlite3.Error:
            read.bring_up_to_date(place)  # an older schema; if it is unreadable, writing to it will say so
        finally:
            connection.close()
    return [], {}


def _has_session(place: Place, session_id: str) -> bool:
    connection = _read_only(place)
    try:
        query = "SELECT 1 FROM {} WHERE session_id = ?"
        return any(connection.execute(query.format(table), (session_id,)).fetchone() for table in _SESSION_TABLES)
    except sqlite3.Error:
        return False
    finally:
        connection.close()


def _read_only(place: Place) -> sqlite3.Connection:
    return sqlite3.connect(readonly.uri(place.db), uri=True, timeout=5)


def _below_project(name: str) -> str:
    return name.partition("/")[2]
