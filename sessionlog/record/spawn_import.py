"""Starts the importer of a session's transcript from its hooks: detached, low in priority, brief (see import_child)."""

from sessionlog.fastlib import getenv, os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sessionlog.archive.place import Place

# How Python is started for a hook, and by it. No PYTHONPATH and no `site`: 5 ms less. UTF-8 in any locale: a path is
# the same text everywhere, and loading a locale takes a twentieth of the time in which a bare interpreter starts.
OPTIONS = ("-I", "-S", "-X", "utf8")

# Seconds from an event to the import that it asks for: the client writes a transcript a little after its hooks have
# run, and all events until then are served by the same importer.
DELAY = 2
# A stamp this old (s) was left by an importer that died.
STALE = 60.0


def start(place: "Place", session_id: "Any", transcript_path: "Any", client: str = "claude-code") -> bool:
    """Make sure that an importer runs soon. Costs one stat, and one new process every two seconds at most."""
    try:
        if getenv("SESSIONLOG_NO_FOLLOW") or not hasattr(os, "posix_spawn") or not isinstance(transcript_path, str):
            return False
        os.stat(transcript_path)
        from sessionlog.config import follows_transcripts

        stamp = _stamp(place.home, str(session_id))
        if not follows_transcripts(place.home) or not _claim(stamp):
            return False
        _spawn([place.home, place.project, place.db, transcript_path, stamp, client])
        return True
    except Exception:
        return False  # the event is recorded; `sessionlog import` reads the transcript another time


def _stamp(home: str, session_id: str) -> str:
    safe = "".join(letter for letter in session_id[:80] if letter.isalnum() or letter == "-")
    return f"{home}/following/{safe or 'unknown'}"


def _claim(stamp: str) -> bool:
    """Whether no other importer is about to import this session: the stamp exists while one waits to begin."""
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
    try:
        os.close(os.open(stamp, flags, 0o600))
    except FileNotFoundError:
        os.mkdir(stamp.rpartition("/")[0], 0o700)
        os.close(os.open(stamp, flags, 0o600))
    except FileExistsError:
        import time

        if abs(time.time() - os.stat(stamp).st_mtime) < STALE:  # a clock may step back, too
            return False
        os.utime(stamp)
    return True


def _spawn(arguments: "list[str]") -> None:
    """Start the importer in the background: in its own session, and without the hook's pipes.

    A shell waits out the delay: Python's start beside the end of the hook would cost the session 3 ms.
    """
    import sys

    child = f"{__file__.rpartition('spawn_import')[0]}import_child.py"
    script = f'cd /; sleep {DELAY}; exec nice -n 10 "$0" "$@"'
    command = ["/bin/sh", "-c", script, sys.executable, *OPTIONS, child, *arguments]
    quiet: list[Any] = [(os.POSIX_SPAWN_OPEN, number, "/dev/null", os.O_RDWR, 0) for number in (0, 1, 2)]
    options: dict[str, Any] = {"file_actions": quiet, "setsigdef": [1, 2, 15]}  # the hook ignores HUP, INT and TERM
    try:
        os.posix_spawn(command[0], command, os.environ, setsid=True, **options)
    except NotImplementedError:
        os.posix_spawn(command[0], command, os.environ, setpgroup=0, **options)
