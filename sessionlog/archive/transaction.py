"""A transaction that holds the write lock. Hooks have `append.in_transaction`: they do without contextlib."""

from __future__ import annotations

from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator


@contextmanager
def writing(connection: sqlite3.Connection, dry_run: bool = False) -> Iterator[None]:
    """Nobody else writes until the block ends. A dry run takes everything back."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("ROLLBACK" if dry_run else "COMMIT")
    except BaseException:
        if connection.in_transaction:  # a full disk has rolled back already
            connection.execute("ROLLBACK")
        raise
