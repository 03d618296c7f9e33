"""What the owner of a team archive does: make it, add people, hold and retain."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sessionlog.errors import SessionlogError

if TYPE_CHECKING:
    from typing import TypeAlias

    import psycopg

    Connection: TypeAlias = psycopg.Connection[Any]

FOLDER = Path(__file__).parent / "postgres"
SCRIPTS = ("team.sql", "functions.sql", "tables.sql", "rights.sql", "procedures.sql", "store_events.sql", "views.sql")
VERSION = 2  # of these scripts; upgrade_2.sql leads there from 1


def schema(server_version: int = 150000) -> str:
    """The SQL that makes a team archive."""
    names = [*SCRIPTS]
    if server_version >= 160000:
        names.insert(names.index("functions.sql") + 1, "functions_16.sql")
    return "\n".join((FOLDER / name).read_text(encoding="utf-8") for name in names)


def upgrade(version: int) -> str:
    """The SQL that brings a team archive of an older version up to date."""
    names = [f"upgrade_{number}.sql" for number in range(version + 1, VERSION + 1)]
    return "\n".join(
        (FOLDER / name).read_text(encoding="utf-8") for name in (*names, "procedures.sql", "store_events.sql")
    )


def init(connection: Connection) -> int | None:
    """Make the team archive, or bring it up to date; returns the version that was there."""
    with connection.transaction():
        if connection.execute("SELECT to_regnamespace('sessionlog') IS NULL").fetchone() == (True,):
            connection.execute(schema(connection.info.server_version).encode())
            return None
        row: Any = connection.execute("SELECT max(number) FROM sessionlog.version").fetchone()
        version = int(row[0])
        if version > VERSION:
            raise SessionlogError(f"the team archive has version {version}: it was made by a newer sessionlog")
        if version < VERSION:
            connection.execute(upgrade(version).encode())
        return version


def add(connection: Connection, developer: str, team: str) -> None:
    """Let a role ship, as a member of a team; or move it to another team."""
    from psycopg import sql

    _check_role(connection, developer)
    with connection.transaction():
        before = connection.execute("SELECT team FROM developers WHERE developer = %s", (developer,)).fetchone()
        connection.execute(
            "INSERT INTO developers VALUES (%s, %s) ON CONFLICT (developer) DO UPDATE SET team = excluded.team",
            (developer, team),
        )
        connection.execute(sql.SQL("GRANT sessionlog_developer TO {}").format(sql.Identifier(developer)))
        for changed in {team, *(before or ())}:
            connection.execute("SELECT publish_team(%s)", (changed,))


def remove(connection: Connection, developer: str) -> None:
    """Let a role ship no longer. What it has shipped stays, and its team still reads it."""
    from psycopg import sql

    _check_role(connection, developer)
    connection.execute(sql.SQL("REVOKE sessionlog_developer FROM {}").format(sql.Identifier(developer)))


def reader(connection: Connection, role: str, team: str | None, revoke: bool = False) -> None:
    """Let a role read a team, or everything if there is no team; or no longer."""
    from psycopg import sql

    _check_role(connection, role)
    with connection.transaction():
        if team:
            connection.execute("SELECT publish_team(%s)", (team,))
        group = sql.Identifier(f"sessionlog_team_{team}" if team else "sessionlog_auditor")
        words = "REVOKE {} FROM {}" if revoke else "GRANT {} TO {}"
        connection.execute(sql.SQL(words).format(group, sql.Identifier(role)))


def hold(connection: Connection, developer: str, archive: int | None, release: bool) -> int:
    """Put archives of a developer on legal hold, or release them; returns how many."""
    with connection.transaction():
        done: Any = connection.execute(
            "UPDATE archives SET hold = %s WHERE developer = %s AND (%s::int IS NULL OR archive = %s)",
            (not release, developer, archive, archive),
        )
        connection.execute("SELECT publish_holds()")
    return int(done.rowcount)


def retain(connection: Connection, before: str, dry_run: bool) -> dict[str, int]:
    """Remove what is older than that day, except what is on hold."""
    with connection.transaction(force_rollback=dry_run):
        return dict(connection.execute("SELECT * FROM retain(%s)", (before,)).fetchall())


def _check_role(connection: Connection, role: str) -> None:
    if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone():
        raise SessionlogError(f"there is no role {role!r} in the database; create it with CREATE ROLE … LOGIN first")
