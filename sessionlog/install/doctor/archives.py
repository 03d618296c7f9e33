"""The doctor's look at what was recorded, and at what waits to be."""

from __future__ import annotations

import glob
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing

from sessionlog import archive, migrate, projects, read_only, reading, spool
from sessionlog.doctor.result import Result, short
from sessionlog.projects import Place
from sessionlog.redact import Rules
from sessionlog.terminal import counted

# A look at every page of a bigger archive takes seconds.
QUICK = 200 * 1024 * 1024
RECOVER = "Save what can be read (sqlite3 FILE .recover | sqlite3 recovered.db), then move it away."


def place_and_size() -> Iterator[Result]:
    """Where the archives are, and how big."""
    sizes = [_size(place.db) for place in reading.all_places()]
    where = short(os.environ.get("SESSIONLOG_DB") or projects.home_folder())
    if sizes:
        yield Result("archive", "ok", f"{where}: {counted(len(sizes), 'project')}, {_megabytes(sum(sizes))}")
    else:
        advice = "The first event makes it. `sessionlog demo` shows what that is like."
        yield Result("archive", "note", f"{where}: nothing has been recorded yet", advice)


def integrity(full: bool) -> Iterator[Result]:
    """Whether SQLite finds the archives sound, and this version can write to them."""
    sound = skipped = 0
    for place in reading.all_places():
        try:
            with closing(sqlite3.connect(read_only.uri(place.db), uri=True)) as connection:
                yield from _schema(connection, place)
                if _size(place.db) > QUICK and not full:
                    skipped += 1
                    continue
                (answer,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        except sqlite3.Error as error:
            answer = str(error)
        if answer == "ok":
            sound += 1
        else:
            yield Result("integrity", "problem", f"{short(place.db)}: {answer}", RECOVER)
    if sound:
        yield Result("integrity", "ok", f"{counted(sound, 'archive')} checked, schema version {archive.SCHEMA_VERSION}")
    if skipped:
        text = f"{counted(skipped, 'archive')} over {_megabytes(QUICK)} not checked"
        yield Result("integrity", "note", text, "Type: sessionlog doctor --full")


def waiting() -> Iterator[Result]:
    """Events in the spool, payloads that were no events, and databases that were set aside."""
    spools = waiting_spools()
    for path in spools:
        with open(path, "rb") as file:
            events = max(0, sum(1 for _ in file) - 1)  # less the header
        text = f"{counted(events, 'event')} in {short(path)}"
        yield Result("spool", "note", text, "The next event brings them home, or: sessionlog doctor --fix")
    if not spools:
        yield Result("spool", "ok", "no event waits to be stored")

    rejected = [path for folder in spool.rejected_folders(projects.home_folder()) for path in _files(f"{folder}/*")]
    if rejected:
        newest = max(rejected, key=os.path.basename)
        text = f"{counted(len(rejected), 'payload')} not understood, the newest is {short(newest)}"
        yield Result("rejected", "note", text, "Look at them, report what should have been stored, then delete them.")
    else:
        yield Result("rejected", "ok", "every payload was an event")

    for place in reading.all_places():
        for path in migrate.set_aside_files(place):
            yield Result("damaged", "problem", f"{short(path)} was set aside", RECOVER)


def waiting_spools() -> list[str]:
    """Every spool that holds something, also of projects that have no archive yet."""
    folders = {os.path.dirname(place.db) for place in reading.all_places()} | {projects.home_folder()}
    found = {path for folder in (*folders, *projects.fallback_folders()) for path in _files(f"{folder}/*.db.spool")}
    return sorted(path for path in found if os.path.getsize(path))


def redaction() -> Iterator[Result]:
    """Whether secrets are taken out before anything is written."""
    rules = Rules(projects.home_folder())
    if rules.problem:
        yield Result("redaction", "problem", rules.problem, "Correct it: until then that part of it has no effect.")
    if rules.enabled:
        yield Result("redaction", "ok", "secrets are taken out before anything is written")
    else:
        file = short(f"{projects.home_folder()}/config.json")
        yield Result("redaction", "note", "off: secrets are stored as they come", f"It is turned off in {file}.")


def _schema(connection: sqlite3.Connection, place: Place) -> Iterator[Result]:
    version, owner = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("user_version", "application_id"))
    if owner != migrate.APPLICATION_ID and connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        yield Result("schema", "problem", f"{short(place.db)} is another program's database", "Move it elsewhere.")
    elif version > archive.SCHEMA_VERSION:
        text = f"{short(place.db)} was written by a newer sessionlog (schema {version}): events wait in the spool"
        yield Result("schema", "problem", text, "Upgrade sessionlog.")
    elif version < archive.SCHEMA_VERSION:
        text = f"{short(place.db)} has schema {version}, this sessionlog {archive.SCHEMA_VERSION}"
        yield Result("schema", "note", text, "The next event brings it up to date.")


def _files(pattern: str) -> list[str]:
    folder, name = os.path.split(pattern)
    return sorted(path for path in glob.glob(f"{glob.escape(folder)}/{name}") if os.path.isfile(path))


def _size(db: str) -> int:
    return os.path.getsize(db) + (os.path.getsize(f"{db}-wal") if os.path.exists(f"{db}-wal") else 0)


def _megabytes(size: int) -> str:
    return f"{size / 1_048_576:,.1f} MB"
