"""Doctor checks: archives, events that wait in a spool, and what is not recorded."""

from __future__ import annotations

import os
import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import datetime

from sessionlog import times
from sessionlog.archive import (
    append,
    choices,
    counters,
    files,
    migrate,
    read,
    readonly,
    schema_check,
    spool,
    unreported,
)
from sessionlog.archive import place as projects
from sessionlog.archive.place import Place
from sessionlog.install.doctor.result import Result, short
from sessionlog.redact import remembered
from sessionlog.redact.rules import Rules
from sessionlog.system.files import open_own
from sessionlog.text.plain import counted, local_time, one_line, size

# A look at every page of a bigger archive takes seconds.
QUICK = 200_000_000
RECOVER = "Save what can be read (sqlite3 FILE .recover | sqlite3 recovered.db), then move it away."


def place_and_size() -> Iterator[Result]:
    """Where the archives are, and how big."""
    for name, value in projects.relative_variables():
        text = f"{name}={one_line(value, 60)} is a relative path and is ignored"
        yield Result("archive", "problem", text, "Set it to an absolute path, or unset it.")
    sizes = [_size(place.db) for place in read.all_places()]
    where = short(os.environ.get("SESSIONLOG_DB") or projects.home_folder())
    folder = os.path.dirname(os.environ.get("SESSIONLOG_DB") or "") or projects.home_folder()
    if os.path.isdir(folder) and not os.access(folder, os.W_OK):
        text = f"{short(folder)} cannot be written: new events wait elsewhere, or are lost if no disk takes them"
        yield Result("archive", "problem", text, "Make the folder writable, or name another in $SESSIONLOG_HOME.")
    if sizes:
        yield Result("archive", "ok", f"{where}: {counted(len(sizes), 'project')}, {size(sum(sizes))}")
    else:
        advice = "The first event makes it. `sessionlog demo` shows what that is like."
        yield Result("archive", "note", f"{where}: nothing has been recorded yet", advice)


def integrity(full: bool) -> Iterator[Result]:
    """Whether SQLite finds the archives sound, this version can write to them, and their schema is unchanged."""
    sound = skipped = 0
    for place in read.all_places():
        try:
            with closing(sqlite3.connect(readonly.uri(place.db), uri=True)) as connection:
                yield from _schema(connection, place)
                if _size(place.db) > QUICK and not full:
                    skipped += 1
                    continue
                (answer,) = connection.execute("PRAGMA quick_check(1)").fetchone()
                yield from _counters(connection, place)
        except sqlite3.Error as error:
            answer = str(error)
        if answer == "ok":
            sound += 1
        else:
            yield Result("integrity", "problem", f"{short(place.db)}: {answer}", RECOVER)
    if sound:
        yield Result("integrity", "ok", f"{counted(sound, 'archive')} checked, schema version {append.SCHEMA_VERSION}")
    if skipped:
        text = f"{counted(skipped, 'archive')} over {size(QUICK)} not checked"
        yield Result("integrity", "note", text, "Type: sessionlog doctor --full")


def waiting() -> Iterator[Result]:
    """Events in the spool, payloads that were no events, and databases that were set aside."""
    spools = waiting_spools()
    for path in spools:
        with open(open_own(path), "rb") as file:
            lines = sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
        events = max(0, lines - 1)  # less the header
        text = f"{counted(events, 'event')} in {short(path)}"
        if _may_be_of_another_home(path):
            text += ", of a project that has no archive here: it may belong to another home directory"
            yield Result("spool", "note", text, "The next event of that project stores them.")
        else:
            yield Result("spool", "note", text, "The next event stores them, or: sessionlog doctor --fix")
    if not spools:
        yield Result("spool", "ok", "no event waits to be stored")

    if failed := unreported.read(projects.home_folder()):
        text = unreported.summary(failed)
        yield Result("failures", "problem", text, "The next session shows this too. Correct the cause.")

    rejected = spool.rejected_files(projects.home_folder())
    if rejected:
        newest = max(rejected, key=os.path.basename)
        text = f"{counted(len(rejected), 'payload')} not understood, the newest is {short(newest)}"
        yield Result("rejected", "note", text, "Look at them, report what should have been stored, then delete them.")
    else:
        yield Result("rejected", "ok", "every payload was an event")

    for place in read.all_places():
        for path in files.damaged(place.db):
            yield Result("damaged", "problem", f"{short(path)} was set aside", RECOVER)


def _may_be_of_another_home(path: str) -> bool:
    """All home directories of a user share the temporary folder, and a spool names only the project."""
    folder, name = os.path.split(path.removesuffix(".spool"))
    is_shared = folder == projects.fallback_folders()[-1]
    here = {os.path.basename(place.db) for place in (read.place_of(), *read.all_places())}
    return is_shared and name not in here


def waiting_spools() -> list[str]:
    """Every spool that holds something, also of projects that have no archive yet."""
    return spool.waiting_files({os.path.dirname(place.db) for place in read.all_places()} | {projects.home_folder()})


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
    memory, _ = remembered.load(projects.home_folder())
    if memory["values"] or memory["patterns"]:
        text = f"{counted(len(memory['values']), 'value')} and {counted(len(memory['patterns']), 'pattern')} stay out"
        yield Result("redaction", "ok", text, "`sessionlog redact --remembered` lists them, --forget NAME lifts one.")


def recording() -> Iterator[Result]:
    """What the user chose not to record."""
    chosen = choices.load(projects.home_folder(), projects.user_home())
    for problem in chosen.problems:
        yield Result("choices", "problem", f"config.json: {problem}", "Correct it: until then it has no effect.")
    now = times.archive_text(datetime.now().astimezone())
    if chosen.is_paused(now):
        until = max(end for begin, end in chosen.pauses if begin <= now < end)
        text = "nothing is recorded" + (f" until {local_time(until)}" if until < "9999" else ": recording is paused")
        yield Result("choices", "note", text, "`sessionlog pause --off` records again.")
    if chosen.exclude:
        text = f"{counted(len(chosen.exclude), 'pattern')} excluded: {', '.join(map(one_line, chosen.exclude[:5]))}"
        yield Result("choices", "ok", text, "`sessionlog exclude` lists them.")
    if not chosen.tool_output:
        yield Result("choices", "ok", "the output of tools is not recorded", "It is turned off in config.json.")


def pruned() -> Iterator[Result]:
    """How many pruned sessions are remembered."""
    count = 0
    for place in read.all_places():
        with suppress(sqlite3.Error), closing(sqlite3.connect(readonly.uri(place.db), uri=True)) as connection:
            count += connection.execute("SELECT count(*) FROM pruned_sessions").fetchone()[0]
    if count:
        text = f"{counted(count, 'pruned session')} stay{'s' * (count == 1)} out"
        yield Result("prune", "ok", text, "`sessionlog prune --remembered --all` lists them, --forget ID lifts one.")


def _schema(connection: sqlite3.Connection, place: Place) -> Iterator[Result]:
    version, owner = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("user_version", "application_id"))
    if owner != migrate.APPLICATION_ID and connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        yield Result("schema", "problem", f"{short(place.db)} is another program's database", "Move it elsewhere.")
    elif version > append.SCHEMA_VERSION:
        text = f"{short(place.db)} was written by a newer sessionlog (schema {version}): events wait in the spool"
        yield Result("schema", "problem", text, "Upgrade sessionlog.")
    elif version < append.SCHEMA_VERSION:
        text = f"{short(place.db)} has schema {version}, this sessionlog {append.SCHEMA_VERSION}"
        yield Result("schema", "note", text, "The next event brings it up to date.")
    else:
        yield from _differences(connection, place)


def _differences(connection: sqlite3.Connection, place: Place) -> Iterator[Result]:
    """What is not as schema.sql has it: missing or replaced objects of ours, and objects of others."""
    for found in schema_check.differences(connection):
        text = f"{short(place.db)}: {found.thing} {found.text}"
        if found.is_harmless:
            yield Result("schema", "note", text, "sessionlog does not use it. Keep it if it is yours.")
        elif schema_check.is_restorable(found):
            yield Result("schema", "problem", text, "Type: sessionlog doctor --fix")
        elif found.is_ours:
            advice = (
                "Find out who changed it. `sessionlog export` and `sessionlog import` move events to a new archive."
            )
            yield Result("schema", "problem", text, advice)
        else:
            name = found.thing.name.replace('"', '""')
            command = shlex.join(["sqlite3", place.db, f'DROP {found.thing.kind.upper()} "{name}"'])
            yield Result("schema", "problem", text, f"Find out who made it. To remove it: {command}")


def _counters(connection: sqlite3.Connection, place: Place) -> Iterator[Result]:
    if connection.execute("PRAGMA user_version").fetchone()[0] != append.SCHEMA_VERSION:
        return
    if sessions := {wrong.session_id for wrong in counters.wrong(connection)}:
        text = f"{short(place.db)}: the counters of {counted(len(sessions), 'session')} do not match the events"
        yield Result("schema", "problem", text, "Type: sessionlog verify --all")


def _size(db: str) -> int:
    return os.path.getsize(db) + (os.path.getsize(f"{db}-wal") if os.path.exists(f"{db}-wal") else 0)
