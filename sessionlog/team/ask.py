"""Questions to the team archive: the same as to one archive, with the same answers."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from sessionlog.ask import audit as audits
from sessionlog.team.admin import FOLDER

if TYPE_CHECKING:
    from sessionlog.team.server import Connection

Row = dict[str, Any]


def audit(connection: Connection, name: str, since: str = "") -> list[Row]:
    """The rows that an audit finds."""
    from psycopg import RawCursor

    audits.find(name)
    query = (FOLDER / "audits" / f"{name}.sql").read_text(encoding="utf-8")
    with RawCursor(connection) as cursor:
        cursor.execute(query.encode(), [since])
        return rows(cursor)


def rows(cursor: Any) -> list[Row]:
    """Rows as SQLite would give them: truths as 1 and 0, whole numbers as such."""
    names = [column.name for column in cursor.description or ()]
    return [dict(zip(names, map(plain, row), strict=True)) for row in cursor.fetchall()]


def plain(value: Any) -> Any:
    """A value as SQLite would give it."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value
