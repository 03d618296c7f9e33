"""The hot path: one event from stdin to the archive, without ever blocking, printing or raising.

Exit 0: the event is safe, in the database or in the spool. Exit 1, with one line on stderr: it could not be kept, or
was not an event. Never 2, which would block the session. An event that can deny something (see event.DENYING) always
ends with 0 and prints nothing; what could not be kept is reported at the next SessionStart, and by every command.
What an ordinary event does not need is imported where used.
"""

from sessionlog.archive import append
from sessionlog.archive import place as projects
from sessionlog.archive.event import DENYING, normalise
from sessionlog.fastlib import getenv, os, parse_json, utc_text
from sessionlog.redact.rules import Rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from sessionlog.archive.place import Place
    from sessionlog.archive.spool import Entry

CHUNK = 1 << 16  # what a pipe holds; memory for more would be taken and given back at each read
# glibc keeps freed memory for later only up to the size of the largest block that was freed so far. To allocate and
# free this much once avoids a page fault for every 4 KB of each copy of a large event.
REUSED = 24 << 20
# A large event comes in pieces, with moments between them.
NAP, NAPS = 0.00005, 20
# The longest event that is read into memory: parsed, it takes up to thirty times as much.
LONGEST = 30 << 20

# Some clients never close stdin: once a whole JSON object is there, this much silence (ms) is the end of it.
SILENCE_AFTER_OBJECT = 100
# Before anything is there, more: a machine that is busy enough keeps the client from writing for seconds.
SILENCE_AT_FIRST = 8000
# While the object is incomplete, give up after 2 s of silence or 5 s in total.
SILENCE_WITHIN_OBJECT = 2000
PATIENCE = 5.0
# How long the rest of an event that is too long is copied to a file, in seconds.
COPYING = 3.0

# After these there is something new in the transcript that may not be there tomorrow.
FOLLOWED = ("Stop", "SubagentStop", "PreCompact", "SessionEnd")


def main(event: str | None = None, handler: str = "hook", client: str = "") -> "NoReturn":
    """Record the event on stdin and end the process. `event` is what the handler is registered for.

    `client` is the agent that it is registered with, if that is not Claude Code.
    """
    code, data, message = 1, b"", ""
    try:
        _ignore_signals()
        data = read_stdin()
        code, message = record(data, event, "plugin" if getenv("CLAUDE_PLUGIN_ROOT") else handler, client)
    except BaseException as error:  # of any kind: it must not block a session or lose an event
        message = f"the event was not recorded: {type(error).__name__}: {error}{_keep(data)}"
    finally:
        if message:
            code = _report(message, code, event, data, client)
        os._exit(code)  # the interpreter's own way out costs 1.4 ms, and could still fail
    raise AssertionError  # for the type checker: os._exit does not return


def command_line() -> "NoReturn":
    """`sessionlog-hook [EVENT]`: found on PATH, for settings that a team shares; the handlers in hooks/ are faster."""
    import sys

    main(sys.argv[1] if len(sys.argv) > 1 else None, "sessionlog-hook")


def record(data: bytes, event: str | None, via: str, client: str = "") -> tuple[int, str]:
    """Keep the event in these bytes; returns the exit code, and what to report."""
    import time

    at_ms = time.time_ns() // 1_000_000
    if len(data) > LONGEST:
        from sessionlog.record import fallback

        return 1, fallback.keep_long(data, COPYING)
    rules = Rules(projects.home_folder())
    suspects = rules.suspects(data)
    try:
        text, exact = _decode(data)
        payload = _object(text)
        del text  # its memory serves again: each new page costs the hook a fault
    except ValueError as error:
        return 1, f"not an event: {error}{_keep(data)}"
    if suspects:
        payload = rules.clean(payload, suspects)
    envelope, variable, lock_wait = None, "CLAUDE_PROJECT_DIR", append.LOCK_WAIT
    if client or (getenv("COPILOT_CLI") and "timestamp" in payload):  # Copilot runs Claude Code's hooks, too
        from sessionlog.agents import translate

        client = client or "copilot"
        translated = translate.for_hook(client, payload, event)
        if translated is None:
            return 0, ""  # noise
        envelope, variable, lock_wait = translated
    place = projects.place(projects.of_environment(working_directory(payload), _enter, variable))
    if b'"record"' in rules.config:
        from sessionlog.archive import choices

        chosen = choices.Choices(rules.config, projects.user_home())
        if chosen.leaves_out(place.project, payload, utc_text(at_ms)):
            return 0, ""
        if not chosen.tool_output:
            choices.silence(payload)
    session_id = None if client else getenv("CLAUDE_CODE_SESSION_ID") or None
    message = _store(place, (at_ms, via, event, session_id, payload, envelope), lock_wait, exact)
    name = payload.get("hook_event_name") or event
    if name in FOLLOWED:
        from sessionlog.record import spawn_import

        of_agent = client and payload.get("agent_transcript_path")
        owner, path = ("agent_id", of_agent) if of_agent else ("session_id", payload.get("transcript_path"))
        spawn_import.start(place, payload.get(owner), path, client or "claude-code")
    elif name == "SessionStart" and not client and projects.unreported(place.home):
        from sessionlog.archive import unreported

        return 1, unreported.take(place.home)
    return 0, message


def _keep(data: bytes) -> str:
    try:
        from sessionlog.record import fallback

        return fallback.keep(data)
    except BaseException as error:  # without a file descriptor left not even an import works
        return f"; its {len(data)} bytes could not be kept: {error}"


def parse(data: bytes) -> "dict[str, Any]":
    """The payload. Bytes that are not UTF-8 become lone surrogates, which `event` keeps exactly."""
    return _object(_decode(data)[0])


def _decode(data: bytes) -> tuple[str, bool]:
    """The text of the event, and whether it is known to have no lone surrogate and no NUL, also in escapes.

    That saves `event` a look at each text. It is not asked of ASCII, where such a look costs nothing.
    """
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        return data.decode(), not (data.isascii() or 0 in data or data.find(b"\\u") >= 0)
    except UnicodeDecodeError:
        return data.decode("utf-8", "surrogateescape"), False


def _object(text: str) -> "dict[str, Any]":
    payload = parse_json(text)
    if not isinstance(payload, dict):
        raise ValueError(f"a JSON {type(payload).__name__}, not an object")
    return payload


def _store(place: "Place", entry: "Entry", lock_wait: float, exact: bool) -> str:
    """To the database; when that fails, or others wait before it, to the spool. Returns what to report."""
    at_ms, via, event, session_id, payload, envelope = entry
    if projects.waiting_spools(place):
        from sessionlog.record import fallback

        return fallback.queue(place, entry)
    try:
        row = normalise(
            payload, at_ms=at_ms, via=via, event=event, session_id=session_id, envelope=envelope, exact=exact
        )
        connection = append.open_for_writing(place, lock_wait, in_hook=True)
        if envelope is None:
            append.append(connection, row, at_ms)
        else:
            from sessionlog.archive import agent_event

            agent_event.append(connection, row, at_ms, envelope)
        append.let_go(connection, place)
        return ""
    except Exception as error:
        from sessionlog.record import fallback

        return fallback.spool_it(place, entry, error)


def working_directory(payload: "dict[str, Any]") -> str:
    inner = payload.get("data")
    cwd = payload.get("cwd") or (inner.get("cwd") if isinstance(inner, dict) else None)
    try:
        return cwd if projects.is_path(cwd) else os.getcwd()
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
    """All of stdin, to its end if there is one: a client that is not read to the end gets EPIPE.

    Of an event that is too long, what comes after LONGEST is left for `fallback.keep_long`.
    """
    import time

    chunks: list[bytes] = []
    since, naps, size = 0.0, 0, 0
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
            if len(chunk) == CHUNK and not chunks:
                try:
                    bytes(REUSED)
                except MemoryError:
                    pass  # it only saves time
            chunks.append(chunk)
            size += len(chunk)
            if size > LONGEST:
                break
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


def _report(message: str, code: int, event: str | None, data: bytes, client: str) -> int:
    """One line on stderr, which Claude Code shows when the exit code is 1; returns the exit code.

    An event that can deny something says nothing and ends with 0. That it was lost is written down for later. So do
    all events of other agents: some take a line on stderr for an answer.
    """
    try:
        if client or event in DENYING or (not event and any(name.encode() in data for name in DENYING)):
            if code:
                from sessionlog.archive import unreported

                unreported.add(projects.home_folder(), message)
            return 0
        line = "".join(letter if letter.isprintable() else " " for letter in " ".join(message.split()))
        os.write(2, f"sessionlog: {line}\n".encode("utf-8", "backslashreplace"))
    except BaseException:  # there is nowhere to report it
        return 0 if client or event in DENYING else code
    return code
