"""The hot path: one event from stdin to the archive, without ever blocking, printing or raising.

Exit 0: the event is safe, in the database or in the spool. Exit 1, with one line on stderr: it could not be kept, or
was not an event. Never 2, which would block the session. What an ordinary event does not need is imported where used.
"""

from sessionlog import archive, projects
from sessionlog.event import normalise
from sessionlog.lean import getenv, os, parse_json
from sessionlog.redact import Rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from sessionlog.projects import Place
    from sessionlog.spool import Entry

CHUNK = 1 << 16  # what a pipe holds; memory for more would be taken and given back at each read
# A large event comes in pieces, with moments between them.
NAP, NAPS = 0.00005, 20

# Some clients never close stdin: once a whole JSON object is there, this much silence (ms) is the end of it.
SILENCE_AFTER_OBJECT = 100
# Before anything is there, more: a machine that is busy enough keeps the client from writing for seconds.
SILENCE_AT_FIRST = 8000
# And while it is not whole, no more than this much silence, and no more than that much time in all.
SILENCE_WITHIN_OBJECT = 2000
PATIENCE = 5.0

# After these there is something new in the transcript that may not be there tomorrow.
FOLLOWED = ("Stop", "SubagentStop", "PreCompact", "SessionEnd")


def main(event: str | None = None, handler: str = "hook") -> "NoReturn":
    """Record the event on stdin and end the process. `event` is what the handler is registered for."""
    code, data = 1, b""
    try:
        _ignore_signals()
        data = read_stdin()
        code = record(data, event, "plugin" if getenv("CLAUDE_PLUGIN_ROOT") else handler)
    except BaseException as error:  # whatever it is: no session is blocked by it, and no event lost
        _say(f"the event was not recorded: {type(error).__name__}: {error}{_keep(data)}")
    finally:
        os._exit(code)  # the interpreter's own way out costs 1.4 ms, and could still fail
    raise AssertionError  # for the type checker: os._exit does not return


def command_line() -> "NoReturn":
    """`sessionlog-hook [EVENT]`: found on PATH, for settings that a team shares; the handlers in hooks/ are faster."""
    import sys

    main(sys.argv[1] if len(sys.argv) > 1 else None, "sessionlog-hook")


def record(data: bytes, event: str | None, via: str) -> int:
    """Keep the event in these bytes; returns the exit code."""
    import time

    at_ms = time.time_ns() // 1_000_000
    rules = Rules(projects.home_folder())
    suspects = rules.suspects(data)
    try:
        payload = parse(data)
    except ValueError as error:
        _say(f"not an event: {error}{_keep(data)}")
        return 1
    if suspects:
        payload = rules.clean(payload, suspects)
    place = projects.place(projects.of_environment(working_directory(payload), _enter))
    _store(place, (at_ms, via, event, getenv("CLAUDE_CODE_SESSION_ID") or None, payload))
    if (payload.get("hook_event_name") or event) in FOLLOWED:
        from sessionlog import follow

        follow.start(place, payload.get("session_id"), payload.get("transcript_path"))
    return 0


def _keep(data: bytes) -> str:
    try:
        from sessionlog import trouble

        return trouble.keep(data)
    except BaseException as error:  # without a file descriptor left not even an import works
        return f"; its {len(data)} bytes could not be kept: {error}"


def parse(data: bytes) -> "dict[str, Any]":
    """The payload. Bytes that are not UTF-8 become lone surrogates, which `event` keeps exactly."""
    payload = parse_json(data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape"))
    if not isinstance(payload, dict):
        raise ValueError(f"a JSON {type(payload).__name__}, not an object")
    return payload


def _store(place: "Place", entry: "Entry") -> None:
    """To the database; when that fails, or others wait before it, to the spool."""
    at_ms, via, event, session_id, payload = entry
    if projects.waiting_spools(place):
        from sessionlog import trouble

        _say(trouble.queue(place, entry))
        return
    try:
        row = normalise(payload, at_ms=at_ms, via=via, event=event, session_id=session_id)
        connection = archive.open_for_writing(place)
        archive.append(connection, row, at_ms)
        archive.let_go(connection, place)
    except Exception as error:
        from sessionlog import trouble

        _say(trouble.spool_it(place, entry, error))


def working_directory(payload: "dict[str, Any]") -> str:
    inner = payload.get("data")
    cwd = payload.get("cwd") or (inner.get("cwd") if isinstance(inner, dict) else None)
    try:
        return cwd if isinstance(cwd, str) and "\0" not in cwd and cwd else os.getcwd()
    except FileNotFoundError:  # the session's folder was deleted under it
        return projects.user_home()


def _enter(folder: str) -> str:
    """The canonical path of a folder: the kernel says it for a working directory, and os.path costs 1.4 ms."""
    try:
        os.chdir(folder)
        return os.getcwd()
    except (OSError, ValueError):
        return folder


def _ignore_signals() -> None:
    """Ctrl+C ends the session's work, not the record of it: these few milliseconds are seen through."""
    import _signal  # type: ignore[import-not-found]

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(_signal, name, None)
        if number is not None:
            _signal.signal(number, _signal.SIG_IGN)


def read_stdin() -> bytes:
    """All of stdin, to its end if there is one: a client that is not read to the end gets EPIPE."""
    import time

    chunks: list[bytes] = []
    since, naps = 0.0, 0
    try:
        was_blocking = os.get_blocking(0)
        os.set_blocking(0, False)
    except (OSError, AttributeError):  # a closed stdin, or Windows before 3.12
        was_blocking = False
    try:
        while True:
            try:
                chunk = os.read(0, CHUNK)
            except BlockingIOError:
                if chunks and naps < NAPS:  # the client is at it: to wait in the proper way costs an import
                    naps += 1
                    time.sleep(NAP)
                    continue
                if chunks and not since:
                    since = time.monotonic()
                if not _more_to_come(chunks, since):
                    break
                continue
            if not chunk:
                break
            chunks.append(chunk)
    except OSError:
        pass  # a closed stdin: nothing came
    finally:
        if was_blocking:
            os.set_blocking(0, True)  # a terminal is shared with the shell
    return b"".join(chunks)


def _more_to_come(chunks: list[bytes], since: float) -> bool:
    """Wait for more on stdin; False when it stays silent for too long, or has been coming for too long."""
    import select
    import time

    poll = select.poll()
    poll.register(0, select.POLLIN | select.POLLHUP)
    if not chunks:
        return bool(poll.poll(SILENCE_AT_FIRST))
    for silence in (SILENCE_AFTER_OBJECT, SILENCE_WITHIN_OBJECT):
        if poll.poll(silence):
            return time.monotonic() - since < PATIENCE
        if _is_whole(b"".join(chunks)):
            break
    return False


def _is_whole(data: bytes) -> bool:
    if not data.rstrip().endswith(b"}"):
        return False
    try:
        parse(data)
    except ValueError:
        return False
    return True


def _say(message: str) -> None:
    """One line on stderr: Claude Code shows the first one to the user when the exit code is 1."""
    if not message:
        return
    try:
        os.write(2, f"sessionlog: {' '.join(message.split())}\n".encode("utf-8", "backslashreplace"))
    except OSError:
        pass
