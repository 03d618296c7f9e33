"""Archives for reading: which there are, connections to them, and what a person should know of them."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from operator import methodcaller

from sessionlog.archive import append, files, readonly, whose
from sessionlog.archive import place as projects
from sessionlog.archive.place import Place
from sessionlog.errors import SessionlogError
from sessionlog.fastlib import getenv
from sessionlog.text.plain import counted

# Nothing is known of a session but that it ended: `claude plugin install` reports that.
LONE_END = "events = 1 AND ended_at IS NOT NULL AND {messages} = 0"

IF_DAMAGED = "`sessionlog doctor` says what is damaged and how to save what can be read."


def place_of(folder: str | None = None, may_be_new: bool = False) -> Place:
    """The archive of the project in `folder`, else of the one we are in.

    A session may have been started below the top of a checkout: the nearest folder upwards that has an archive counts.
    A folder that is not here is that of a project on another machine, or one that is gone: it has to have an archive,
    unless it `may_be_new`.
    """
    if folder is None and (getenv("CLAUDE_PROJECT_DIR") or getenv("CLAUDE_PROJECT_ROOT")):
        return whose.place(projects.of_environment(os.getcwd(), os.path.realpath))
    if folder is not None and not os.path.isdir(folder):
        return _place_of_absent(folder, may_be_new)
    start = os.path.realpath(folder or os.getcwd())
    for candidate in projects.ancestors(start):
        place = whose.place(projects.main_checkout(candidate, os.path.realpath))
        if os.path.exists(place.db) or projects.waiting_spools(place):
            return place
    return whose.place(projects.of_folder(start, os.path.realpath))


def _place_of_absent(folder: str, may_be_new: bool) -> Place:
    place = whose.place(whose.canonical(folder))
    is_absolute = os.path.isabs(folder) or whose.is_of_another_system(folder)
    if os.path.exists(place.db) or projects.waiting_spools(place) or (may_be_new and is_absolute):
        return place
    raise SessionlogError(
        f"{folder} is not a folder, and nothing is recorded for a project of that path; "
        "`sessionlog path --all` lists the projects"
    )


def all_places() -> list[Place]:
    """Every archive there is, by the name of its file."""
    if db := getenv("SESSIONLOG_DB"):
        return [place_at(db)] if os.path.exists(db) else []
    home = projects.home_folder()
    names = sorted(name for name in os.listdir(home) if name.endswith(".db")) if os.path.isdir(home) else []
    return [place_at(path) for name in names if os.path.isfile(path := os.path.join(home, name))]


def place_at(db: str) -> Place:
    """The archive in this file."""
    project = ""
    try:
        with closing(_open_read_only(db)) as connection:
            row = connection.execute("SELECT project FROM archive").fetchone()
            project = row[0] if row else ""
    except sqlite3.Error:
        pass  # shown by its file name; reading it will say what is wrong
    return Place(projects.home_folder(), project or os.path.basename(db), db)


def connect(place: Place) -> sqlite3.Connection:
    """A read-only connection to an archive that is up to date: what waited in the spool is in it."""
    if projects.waiting_spools(place):
        bring_up_to_date(place)
    connection = _open_for_rows(place)
    try:
        version = _version(connection)
        if version < append.SCHEMA_VERSION:
            connection.close()
            bring_up_to_date(place)
            connection = _open_for_rows(place)
        if version > append.SCHEMA_VERSION:
            raise SessionlogError(f"{place.db} was written by a newer sessionlog; upgrade sessionlog to read it")
        connection.execute("SELECT project FROM archive")
    except (sqlite3.DatabaseError, UnicodeDecodeError, SessionlogError) as error:  # damaged, or with damaged names
        connection.close()
        if isinstance(error, SessionlogError):
            raise
        raise SessionlogError(_unreadable(place.db, str(error))) from error
    return connection


def _unreadable(db: str, error: str) -> str:
    if error == "no such table: archive":
        return f"{db} is another program's database, not an archive of sessionlog; move it elsewhere"
    return f"{db} cannot be read: {error}\n{IF_DAMAGED}"


def _open_for_rows(place: Place) -> sqlite3.Connection:
    """A connection whose rows are dicts."""
    if not os.path.exists(place.db):
        raise nothing_recorded([place])
    connection = _open_read_only(place.db)
    connection.row_factory = lambda cursor, row: {
        column[0]: value for column, value in zip(cursor.description, row, strict=True)
    }
    connection.text_factory = _DECODE
    return connection


# JSON may hold half a surrogate pair. No function in Python: it would be called for each text.
_DECODE = methodcaller("decode", "utf-8", "replace")


def nothing_recorded(places: list[Place]) -> SessionlogError:
    """The error where there is no archive; it says what to do next."""
    where = f" in {places[0].project}" if len(places) == 1 else ""
    others = len(all_places())
    elsewhere = (
        f"\n{counted(others, 'other project')} {'has' if others == 1 else 'have'} records: add --all." if others else ""
    )
    return SessionlogError(
        f"nothing has been recorded{where} yet.{elsewhere}\n"
        "  sessionlog install   starts recording\n"
        "  sessionlog import    archives transcripts on disk\n"
        "  sessionlog demo      shows a sample"
    )


def bring_up_to_date(place: Place) -> None:
    """Store waiting events and upgrade an outdated schema; reading goes on if that is not possible now."""
    if not (_is_outdated(place) or projects.waiting_spools(place)):
        return
    from sessionlog.archive import spool, transcript_counts  # nearly always, nothing waits

    try:
        with closing(append.open_for_writing(place)) as connection:
            (newest,) = connection.execute("SELECT ifnull(max(id), 0) FROM events").fetchone()
            if spool.bring_home(place, connection):  # an import may have counted them as seen by no hook
                transcript_counts.update_since(connection, newest)
    except (sqlite3.Error, OSError, SessionlogError):
        pass  # `notices` tells that something waits


def notices(place: Place) -> list[str]:
    """What a person should know about this archive, and do."""
    found = [
        f"events wait in {path}: the archive cannot be written at the moment" for path in projects.waiting_spools(place)
    ]
    # What reads these files is imported where there are any.
    if _is_there(f"{place.home}/config.json"):
        from sessionlog import config

        if problem := config.read(place.home)[1]:
            found.append(f"{place.home}/config.json: {problem}")
    if projects.unreported(place.home):
        from sessionlog.archive import unreported

        if failed := unreported.read(place.home):
            found.append(f"{unreported.summary(failed)}; `sessionlog doctor` says what to do")
    if _is_there(f"{os.path.dirname(place.db)}/{files.PULLED}"):
        from sessionlog.archive import pulled

        if owner := pulled.owner(place):
            found.append(f"{place.name}: {owner}")
    for path in files.damaged(place.db):
        found.append(
            f"the archive was damaged and set aside as {path}; "
            f"`sqlite3 {path} .recover | sqlite3 recovered.db` saves what can be read"
        )
    return found


def _is_there(path: str) -> bool:
    """Whether there is something to read; what keeps it from being read is for its reader to say."""
    try:
        os.lstat(path)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return True


def _open_read_only(db: str) -> sqlite3.Connection:
    if not os.path.isfile(db):  # opening a pipe would wait for a writer
        raise SessionlogError(f"{db} is not a file")
    return sqlite3.connect(readonly.uri(db), uri=True)


def _is_outdated(place: Place) -> bool:
    if not os.path.exists(place.db):
        return False
    try:
        with closing(_open_read_only(place.db)) as connection:
            return _version(connection) < append.SCHEMA_VERSION
    except (sqlite3.Error, SessionlogError):
        return False  # unreadable: `connect` says so


def _version(connection: sqlite3.Connection) -> int:
    cursor = connection.cursor()
    cursor.row_factory = None
    return int(cursor.execute("PRAGMA user_version").fetchone()[0])
