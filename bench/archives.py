"""Archives of a wanted size to measure on, made once and found again by the next run."""

import os
import random
import shutil
import tempfile
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from bench import corpus, report
from sessionlog.archive import append
from sessionlog.archive import place as projects
from sessionlog.archive.event import normalise
from sessionlog.archive.place import Place

# What an event takes on the disk while its archive is made and searched (the log of the transaction, the search index).
ROOM, SMALL_ROOM = 6000, 3000


class Archive(NamedTuple):
    """An archive, and the environment in which commands and hooks find it."""

    folder: Path
    place: Place
    env: dict[str, str]

    def size(self) -> int:
        """The bytes of the database and its log."""
        return sum(
            Path(self.place.db + end).stat().st_size for end in ("", "-wal") if os.path.exists(self.place.db + end)
        )


def archive_of(folder: Path, events: int, small: bool = False) -> Archive:
    """The archive of so many events in this folder; made if it is not there, not whole, or of another schema."""
    made = folder / "made"
    wanted = f"{events} events, schema {append.SCHEMA_VERSION}\n"
    found = _in(folder)
    if made.exists() and made.read_text() == wanted:
        report.progress(f"{events:,} events are there from before")
        return found
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "project").mkdir(parents=True)
    needed = events * (SMALL_ROOM if small else ROOM)
    if shutil.disk_usage(folder).free < needed:
        raise SystemExit(f"{events:,} events need about {needed / 1e9:.0f} GB in {folder}, and there is less")
    report.progress(f"making {events:,} events")
    os.environ["SESSIONLOG_HOME"] = found.env["SESSIONLOG_HOME"]
    corpus.fill(folder / "project", events, small=small)
    made.write_text(wanted)
    report.progress(f"{events:,} events, {found.size() / 1e6:,.0f} MB")
    return found


def temporary(name: str) -> Path:
    """A folder for archives that the next run finds again."""
    return Path(tempfile.gettempdir()) / f"sessionlog-bench-{name}"


def add_session(found: Archive, session_id: str, events: int) -> None:
    """One more session, of so many events, through the library."""
    rng = random.Random(events)
    at_ms = 1_790_000_000_000
    with closing(append.open_for_writing(found.place, 10)) as connection:
        (there,) = connection.execute("SELECT count(*) FROM events WHERE session_id = ?", (session_id,)).fetchone()
        if there >= events:
            return
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("BEGIN")
        for _ in range(events - there):
            at_ms += rng.randint(100, 4000)
            size = min(int(rng.lognormvariate(6.8, 1.0)), 20_000)
            event = corpus.payload(rng.choice(corpus.KINDS), size, rng, session_id)
            append.append(connection, normalise(event, at_ms=at_ms, via="bench"), at_ms)
        connection.execute("COMMIT")


def _in(folder: Path) -> Archive:
    home, project = str(folder / "home"), str(folder / "project")
    os.environ["SESSIONLOG_HOME"] = home
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "TMPDIR": str(folder),  # also where events would wait if the archive took none
        "SESSIONLOG_HOME": home,
        "CLAUDE_PROJECT_DIR": project,
        "PYTHONPATH": str(Path(__file__).resolve().parent.parent),
    }
    return Archive(folder, projects.place(project), env)
