"""What the hook does with an event that cannot take the ordinary way. Each function returns what to tell the person."""

from sessionlog import archive, migrate, projects, spool
from sessionlog.errors import ArchiveDamaged
from sessionlog.redact import Rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sessionlog.projects import Place
    from sessionlog.spool import Entry

# With a spool waiting, the database was locked a moment ago: do not let every event of a session wait again.
LOCK_WAIT = 0.2


def spool_it(place: "Place", entry: "Entry", error: Exception) -> str:
    """The database did not take the event: to the spool with it."""
    where = spool.append(place, entry)
    return f"{_explain(place, error, entry)}; the event waits in {where}"


def queue(place: "Place", entry: "Entry") -> str:
    """Behind those who wait already, then bring some of them home: so that all come home in order."""
    where = spool.append(place, entry)
    try:
        connection = archive.open_for_writing(place, LOCK_WAIT)
        spool.bring_home(place, connection, spool.HOOK_BATCH_BYTES)
        archive.let_go(connection, place)
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


def _explain(place: "Place", error: Exception, entry: "Entry") -> str:
    """Why the database did not take the event. A damaged one is set aside, and a new one begun, on the way."""
    reason = archive.unavailable(place, error)
    if not isinstance(reason, ArchiveDamaged):
        return str(reason)
    try:
        aside = migrate.set_aside(place, LOCK_WAIT, lambda connection: spool.store(connection, entry))
        if aside:
            spool.bring_home(place, archive.open_for_writing(place), spool.HOOK_BATCH_BYTES)
            return f"{reason}; it was set aside as {aside} and a new one begun"
    except Exception as another:
        return f"{reason}; it could not be set aside: {another}"  # the next hook tries again
    return str(reason)
