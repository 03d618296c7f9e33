"""What the hook does with an event that cannot take the ordinary way. Each function returns what to tell the person."""

import os
import select
import time

from sessionlog.archive import append, migrate, spool, whose
from sessionlog.archive import place as projects
from sessionlog.errors import ArchiveDamaged
from sessionlog.redact import stream
from sessionlog.redact.rules import Rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from sessionlog.archive.place import Place
    from sessionlog.archive.spool import Entry

# With a spool waiting, the database was locked a moment ago: do not let every event of a session wait again.
LOCK_WAIT = 0.2


def spool_it(place: "Place", entry: "Entry", error: Exception) -> str:
    """The database did not take the event: to the spool with it."""
    whose.settle(place)
    where = spool.append(place, entry)
    return f"{_explain(place, error, entry)}; the event waits in {where}"


def queue(place: "Place", entry: "Entry") -> str:
    """Append to the spool, then store some of it: all events are stored in order."""
    whose.settle(place)
    where = spool.append(place, entry)
    try:
        connection = append.open_for_writing(place, LOCK_WAIT, in_hook=True)
        spool.bring_home(place, connection, spool.HOOK_BATCH_BYTES)
        append.let_go(connection, place)
    except Exception as error:
        return f"{_explain(place, error, entry)}; the event waits in {where}"
    return ""


def keep(data: bytes) -> str:
    """Put bytes that did not become an event where a person can find them, less their secrets."""
    if not data.strip():
        return ""
    try:
        home = projects.home_folder()
        rules = Rules(home)
        text = rules.clean_text(data.decode("utf-8", "surrogateescape"), rules.suspects(data))
        path = spool.keep_rejected(home, text.encode("utf-8", "surrogateescape"))
    except Exception as error:
        return f"; its {len(data)} bytes could not be kept: {error}"
    return f"; its bytes are kept in {path}"


def keep_long(data: bytes, seconds: float) -> str:
    """Put an event that is too long to be parsed where a person can find it, less its secrets, as it comes.

    `data` is its beginning; the rest is read from stdin for so many seconds, as an endless one must end somewhere.
    """
    path, size = "", 0
    deadline = time.monotonic() + seconds
    try:
        home = projects.home_folder()
        for before, after in stream.cleaned(_blocks(data, deadline), Rules(home)):
            path = spool.keep_rejected(home, after, path)
            size += len(before)
    except Exception as error:
        return f"the event is too long, and only {size} bytes could be kept{f' in {path}' if path else ''}: {error}"
    rest = "" if time.monotonic() < deadline else f"; more than {size} bytes were not read"
    return f"the event is too long to be recorded; its {size} bytes are kept in {path}{rest}"


def _blocks(data: bytes, deadline: float) -> "Iterator[bytes]":
    yield data
    poll = select.poll()
    poll.register(0, select.POLLIN | select.POLLHUP)
    while (left := deadline - time.monotonic()) > 0 and poll.poll(left * 1000):
        block = os.read(0, 1 << 20)
        if not block:
            return
        yield block


def _explain(place: "Place", error: Exception, entry: "Entry") -> str:
    """Why the database did not take the event. A damaged one is set aside, and a new one begun, on the way."""
    reason = append.unavailable(place, error)
    if not isinstance(reason, ArchiveDamaged):
        return str(reason)
    try:
        aside = migrate.set_aside(place, LOCK_WAIT, lambda connection: spool.store(connection, entry))
        if aside:
            spool.bring_home(place, append.open_for_writing(place, in_hook=True), spool.HOOK_BATCH_BYTES)
            return f"{reason}; it was set aside as {aside} and a new one begun"
    except Exception as another:
        return f"{reason}; it could not be set aside: {another}"  # the next hook tries again
    return str(reason)
