"""The spool: events that the database could not take wait here, and are stored later, in order and once."""

import os
import time

from sessionlog.archive import agent_event
from sessionlog.archive import append as archive
from sessionlog.archive.event import normalise
from sessionlog.archive.locks import open_private, try_lock, wait_for_lock
from sessionlog.archive.place import fallback_folders, is_own_and_filled, is_own_folder, spool_paths, waiting_spools
from sessionlog.errors import ArchiveUnavailable
from sessionlog.fastlib import encode_ascii, parse_json, sqlite_error, utc_text
from sessionlog.system.files import make_own_folder, open_own

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable
    from typing import Any

    from sessionlog.archive.place import Place

# The most that one hook takes from the spool, so that a long queue never slows a session.
HOOK_BATCH_BYTES = 2 * 1024 * 1024
# A longer line goes to the rejected payloads in pieces of this size: memory has a limit too.
LONGEST_LINE = 128 * 1024 * 1024
LONGEST_HEADER = 4096
LOCK_WAIT = 10.0  # of a command; a hook waits for less

# An event that was delivered: when (ms), by which registration, what the caller knew (event, session), the payload, and
# the envelope of one that was translated.
Entry = tuple[int, str, "str | None", "str | None", "dict[str, Any]", "dict[str, Any] | None"]


def append(place: "Place", entry: "Entry", timeout: float = archive.LOCK_WAIT) -> str:
    """Add one line to the spool, whole or not at all; returns the file's path."""
    line = (encode_ascii(entry) + "\n").encode()
    trouble: list[str] = []
    for path in spool_paths(place):
        try:
            make_own_folder(os.path.dirname(path))
            _append_line(path, line, timeout)
            return path
        except (OSError, ArchiveUnavailable) as error:
            trouble.append(str(error))
    raise ArchiveUnavailable("no spool can be written: " + "; ".join(trouble))


def keep_rejected(home: str, data: bytes, goes_on: str = "") -> str:
    """Keep what is no event where a person can find it; returns the file's path.

    `goes_on` is the path of what came before it, if this is a part of something longer.
    """
    now = utc_text(time.time_ns() // 1_000_000).replace(":", "-")
    name = f"{now}-{os.urandom(3).hex()}.json"
    trouble: list[str] = []
    new = [f"{folder}/{name}" for folder in rejected_folders(home)]
    for path in [goes_on, *new] if goes_on else new:
        folder = os.path.dirname(path)
        try:
            make_own_folder(os.path.dirname(folder))
            make_own_folder(folder)
            with open(open_private(path, os.O_APPEND if path == goes_on else os.O_EXCL), "ab") as file:
                file.write(data)
            return path
        except OSError as error:
            trouble.append(str(error))
    raise ArchiveUnavailable("what arrived cannot be kept: " + "; ".join(trouble))


def rejected_folders(home: str) -> "list[str]":
    """Where rejected payloads are kept, of all projects together."""
    return [f"{folder}/rejected" for folder in (home, *fallback_folders())]


def rejected_files(home: str) -> "list[str]":
    """The rejected payloads: regular files in folders of ours. In a shared temporary folder, others can put things."""
    return [
        entry.path
        for folder in rejected_folders(home)
        if is_own_folder(os.path.dirname(folder)) and is_own_folder(folder)
        for entry in sorted(os.scandir(folder), key=lambda entry: entry.name)
        if entry.is_file(follow_symlinks=False)
    ]


def waiting_files(folders: "Iterable[str]") -> "list[str]":
    """Every spool of ours that holds something, in these folders and where there may be room, of any project."""
    found = [
        f"{folder}/{name}"
        for folder in dict.fromkeys((*folders, *fallback_folders()))
        for name in (os.listdir(folder) if os.path.isdir(folder) else ())
        if name.endswith(".db.spool")
    ]
    return sorted(filter(is_own_and_filled, found))


def bring_home(place: "Place", connection: "sqlite3.Connection", limit: int | None = None) -> int:
    """Move what waits in the spool into the database; returns how many events came home.

    A spool that another process is emptying at this moment is left to it.
    """
    count = 0
    for path in sorted(waiting_spools(place), key=_since):
        try:
            descriptor = open_private(path, 0)
        except OSError:
            continue
        try:
            # In this order: the holder of the spool's lock keeps other hooks waiting, and must not wait itself.
            connection.execute("BEGIN IMMEDIATE")
            if try_lock(descriptor):
                count += _empty(place, connection, descriptor, limit)
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            os.close(descriptor)
    return count


def _since(path: str) -> float:
    """When the first event was put into this spool."""
    try:
        with open(open_own(path), "rb") as file:
            return float(parse_json(file.readline(LONGEST_HEADER).decode())["since"])
    except (OSError, ValueError, TypeError, KeyError):
        return 0


def _append_line(path: str, line: bytes, timeout: float) -> None:
    descriptor = open_private(path, os.O_APPEND)
    try:
        wait_for_lock(descriptor, path, timeout)
        size = os.fstat(descriptor).st_size
        if not size:
            header = {"spool": os.urandom(8).hex(), "since": time.time_ns() // 1_000_000}
            line = f"{encode_ascii(header)}\n".encode() + line
        elif os.pread(descriptor, 1, size - 1) != b"\n":
            line = b"\n" + line  # a writer was killed in the midst of its line
        try:
            rest = line
            while rest:
                rest = rest[os.write(descriptor, rest) :]
        except OSError:
            os.ftruncate(descriptor, size)  # a full disk must not leave half a line
            raise
    finally:
        os.close(descriptor)


def _empty(place: "Place", connection: "sqlite3.Connection", descriptor: int, limit: int | None) -> int:
    """Move lines in the transaction that has begun, and end it."""
    size = os.fstat(descriptor).st_size
    if not size:
        return 0
    with open(descriptor, "rb", closefd=False) as file:
        header = file.readline(LONGEST_HEADER)
        spool_id = _spool_id(header)
        row = connection.execute("SELECT offset FROM spool_progress WHERE spool_id = ?", (spool_id,)).fetchone()
        start = row[0] if row and row[0] <= size else len(header)
        file.seek(start)
        count, end = 0, start
        while line := file.readline(LONGEST_LINE):
            end += len(line)
            if _store_line(connection, line):
                count += 1
            else:  # before the commit: what lies before the offset is never looked at again
                keep_rejected(place.home, line)
            if limit is not None and end - start > limit:
                break
        connection.execute("DELETE FROM spool_progress WHERE spool_id <> ?", (spool_id,))
        connection.execute("REPLACE INTO spool_progress VALUES (?, ?)", (spool_id, end))
        connection.execute("COMMIT")
    if end >= size:
        os.ftruncate(descriptor, 0)
    return count


def store(connection: "sqlite3.Connection", entry: "Entry") -> None:
    """Write an entry of the spool to the database as the event that it was."""
    at_ms, via, event, session_id, payload, *rest = entry
    envelope = rest[0] if rest else None  # which spools of older versions do not have
    record = normalise(payload, at_ms=at_ms, via=via, event=event, session_id=session_id, envelope=envelope)
    if envelope:
        agent_event.append(connection, record, at_ms, envelope)
    else:
        archive.append(connection, record, at_ms)


def _store_line(connection: "sqlite3.Connection", line: bytes) -> bool:
    """Whether the line was an event that the database could take. An empty line is nothing, and fine."""
    if not line.strip():
        return True
    try:
        store(connection, parse_json(line.decode()))
    except (ValueError, TypeError, KeyError, AttributeError):
        return False
    except sqlite_error as error:
        if type(error).__name__ in ("DataError", "IntegrityError", "InterfaceError", "ProgrammingError"):
            return False  # about this event, not about the database: it must not hold up the others
        raise
    return True


def _spool_id(header: bytes) -> str:
    try:
        name = str(parse_json(header.decode())["spool"])
    except (ValueError, TypeError, KeyError):
        name = ""
    return name if name.isascii() and name.isalnum() else header.hex()  # damaged, but its lines may be whole
