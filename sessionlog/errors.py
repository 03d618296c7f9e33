"""What can go wrong in a way that a person can act on."""


class SessionlogError(Exception):
    """Says what happened, what was kept, and what to type next."""


class ArchiveUnavailable(SessionlogError):
    """The database cannot be written now; the event belongs in the spool."""


class ArchiveDamaged(ArchiveUnavailable):
    """The database file is no longer a sound SQLite database."""
