"""`sessionlog` as often as it is wanted, imported once: starting it takes ten times as long as most of its commands.

A process of its own reads requests and forks one command for each. What is new in a command is its words, environment,
folder, and where it reads and prints, as for any process. Use a real start where that is what is tested. Hooks have a
process of their own to be forked from, in which nothing of ours is imported.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import io
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import types
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).parents[2]
PROGRAM = "sessionlog.cli.main"  # the module whose `main` is run
TEMPORARY = tempfile.gettempdir()  # that of the run, and not of a test, which may be full
# What Python itself reads when it starts: a command with one of these is no fork of another.
AT_THE_START = ("PYTHON", "LC_", "LANG", "LD_")


class Forked:
    """A command that runs, as far as subprocess.Popen would tell of it."""

    def __init__(self, pid: int, ended: io.BufferedReader) -> None:
        self.pid, self._ended = pid, ended
        self.returncode: int | None = None
        self.seconds = self.megabytes = 0.0  # of a processor and of memory, when it is over
        self._over = threading.Event()
        threading.Thread(target=self._wait, daemon=True).start()

    def _wait(self) -> None:
        with self._ended:
            code, self.seconds, self.megabytes = json.loads(self._ended.read() or f"[{-signal.SIGKILL}, 0, 0]")
            self.returncode = code
        self._over.set()

    def poll(self) -> int | None:
        return self.returncode

    def ends_within(self, seconds: float | None) -> bool:
        return self._over.wait(seconds)

    def wait(self, timeout: float | None = None) -> int:
        if not self.ends_within(timeout) or self.returncode is None:
            raise subprocess.TimeoutExpired("sessionlog", timeout or 0)
        return self.returncode


class _Server:
    """The process that forks."""

    def __init__(self, path: str) -> None:
        self.ours, theirs = socket.socketpair()
        os.set_inheritable(theirs.fileno(), True)
        from sessionlog.record.spawn_import import OPTIONS  # not above: in the forks, nothing of ours is imported

        options = OPTIONS if path == HOOKS else ()
        words = [sys.executable, *options, __file__, str(theirs.fileno()), path]
        environment = {**os.environ, "PYTHONPATH": path}
        # Not by subprocess: it outlives the test that needs it first, and is over when this process is.
        self.pid = os.posix_spawn(sys.executable, words, environment)
        theirs.close()
        self.lock = threading.Lock()
        atexit.register(self.end)

    def end(self) -> None:
        self.ours.close()
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)

    def start(self, request: dict[str, Any], *files: int) -> Forked:
        ended, told = os.pipe()
        with self.lock:
            data = json.dumps(request).encode()
            socket.send_fds(self.ours, [len(data).to_bytes(4, "big")], [*files, told])
            self.ours.sendall(data)
            os.close(told)
            reader = os.fdopen(ended, "rb")
            pid = int(reader.readline())
        return Forked(pid, reader)


_servers: dict[str, _Server] = {}  # by $PYTHONPATH
HOOKS = ""  # in its place: hooks are started without it


def start(
    words: list[str], *files: int, environment: dict[str, str], terminal: bool = False, program: str = PROGRAM
) -> Forked:
    """Start a command with these three files as its own; in a terminal if they are one."""
    path = HOOKS if program.endswith(".py") else environment.get("PYTHONPATH") or str(ROOT)
    if path not in _servers:
        _servers[path] = _Server(path)
    request = {
        "program": program,
        "words": words,
        "environment": environment,
        "folder": os.getcwd(),
        "terminal": terminal,
    }
    return _servers[path].start(request, *files)


class Done(subprocess.CompletedProcess[bytes]):
    """How a command ended, and what it took of a processor and of memory."""

    seconds = megabytes = 0.0


def run(
    *words: str | Path,
    program: str = PROGRAM,
    input: bytes = b"",  # as subprocess.run calls it
    env: dict[str, str] | None = None,
    timeout: float = 120,
    interrupt: tuple[int, float] | None = None,
) -> subprocess.CompletedProcess[bytes] | Done:
    """As subprocess.run does it for `sessionlog` with these words.

    `interrupt` is a signal, and after how many seconds it is sent if the command is still running.
    """
    environment = dict(os.environ if env is None else env)
    if any(name.startswith(AT_THE_START) for name in environment if name not in (*os.environ, "PYTHONPATH")):
        return subprocess.run(
            [sys.executable, "-m", program.removesuffix(".cli.main").removesuffix(".__main__"), *words],
            capture_output=True,
            input=input,
            env=environment,
            timeout=timeout,
            check=False,
        )
    with (
        tempfile.TemporaryFile(dir=TEMPORARY) as given,
        tempfile.TemporaryFile(dir=TEMPORARY) as stdout,
        tempfile.TemporaryFile(dir=TEMPORARY) as stderr,
    ):
        given.write(input)
        given.seek(0)
        files = [file.fileno() for file in (given, stdout, stderr)]
        command = start([str(word) for word in words], *files, environment=environment, program=program)
        if interrupt and not command.ends_within(interrupt[1]):
            with suppress(ProcessLookupError):  # it ended just now
                os.kill(command.pid, interrupt[0])
        try:
            code = command.wait(timeout)
        except subprocess.TimeoutExpired:
            os.kill(command.pid, signal.SIGKILL)
            raise
        printed = []
        for file in (stdout, stderr):
            file.seek(0)
            printed.append(file.read())
    done = Done(["sessionlog", *words], code, *printed)
    done.seconds, done.megabytes = command.seconds, command.megabytes
    return done


def hook(script: Path, *words: str, input: bytes, env: dict[str, str]) -> subprocess.CompletedProcess[bytes]:
    """As subprocess.run does it for a script that agents run. Use a real start where the hook itself is tested."""
    ours = any(name.startswith(AT_THE_START) for name in env if name not in os.environ)
    if ours or len(input) > 1 << 15:  # else a pipe may not hold it
        from sessionlog.record.spawn_import import OPTIONS

        command = [sys.executable, *OPTIONS, str(script), *words]
        return subprocess.run(command, input=input, capture_output=True, env=env, timeout=120, check=False)
    given, giving = os.pipe()
    with (
        os.fdopen(given, "rb") as stdin,
        tempfile.TemporaryFile(dir=TEMPORARY) as stdout,
        tempfile.TemporaryFile(dir=TEMPORARY) as stderr,
    ):
        os.write(giving, input)
        os.close(giving)
        files = [file.fileno() for file in (stdin, stdout, stderr)]
        code = start([*words], *files, environment=env, program=str(script)).wait(120)
        printed = []
        for file in (stdout, stderr):
            file.seek(0)
            printed.append(file.read())
    return subprocess.CompletedProcess([str(script), *words], code, *printed)


# --- in the process that forks ------------------------------------------------------------------------------------------


def _import_all() -> None:
    """All that commands use, but what only few of them do and what takes long."""
    import sessionlog

    rooms = "archive redact text agents transcripts session ask maintain export supervisor install cli".split()
    for found in pkgutil.walk_packages(sessionlog.__path__, "sessionlog."):
        if found.name.split(".")[1] in rooms:
            with suppress(ImportError):  # of an extra that is not installed
                importlib.import_module(found.name)
    importlib.import_module("sqlite_utils")  # else by each command that is the first to search or count an archive


def _run_script(path: str) -> None:
    """As Python does it: the source is compiled each time."""
    sys.modules["__main__"] = main = types.ModuleType("__main__")
    main.__file__ = path
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec")
    exec(code, main.__dict__)


def _command(
    files: list[int], program: str, words: list[str], environment: dict[str, str], folder: str, terminal: bool
) -> NoReturn:
    """Be the command. Ends as a process of Python does."""
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None  # it is where this environment says
    time.tzset()
    os.chdir(folder)
    for number, file in enumerate(files):
        os.dup2(file, number)
    os.closerange(3, max(files) + 2)
    if terminal:
        import fcntl
        import termios

        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    sys.stdin = open(0, encoding="utf-8")  # noqa: SIM115 (as long as the process)
    sys.stdout = open(1, "w", encoding="utf-8", buffering=1 if os.isatty(1) else -1)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1)  # noqa: SIM115
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr
    sys.argv = ["sessionlog", *words]
    code: Any = 0
    try:
        if program.endswith(".py"):
            sys.argv[0] = program
            _run_script(program)
        else:
            importlib.import_module(program).main()
    except SystemExit as error:
        code = error.code or 0
        if not isinstance(code, int):
            print(code, file=sys.stderr)
            code = 1
    except BaseException:
        traceback.print_exc()
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code & 255)


def _serve(server: socket.socket, path: str) -> None:
    if path != HOOKS:
        _import_all()
        gc.freeze()  # else every command's garbage collector looks at all that was imported, and so copies its memory
    running: dict[int, int] = {}  # where to tell how a command ended, by the number of its process
    woken, waking = os.pipe()
    os.set_blocking(waking, False)
    signal.set_wakeup_fd(waking)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)  # else nothing is written to the pipe
    while True:
        ready, _, _ = select.select([server, woken], [], [])
        if woken in ready:
            os.read(woken, 1 << 16)
            _tell(running)
        if server not in ready:
            continue
        size, files, _, _ = socket.recv_fds(server, 4, 4)
        if not size:
            break
        data = b""
        while len(data) < int.from_bytes(size, "big"):
            data += server.recv(1 << 16)
        *own, told = files
        pid = os.fork()
        if not pid:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for file in (server.detach(), woken, waking, told, *running.values()):
                os.close(file)
            _command(own, **json.loads(data))
        os.write(told, f"{pid}\n".encode())
        running[pid] = told
        for file in own:
            os.close(file)
    for pid in running:  # nobody waits for them
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    while running:
        _tell(running, 0)


def _tell(running: dict[int, int], options: int = os.WNOHANG) -> None:
    """Tell of each command that is over how it ended, and what it took."""
    while running:
        pid, status, used = os.wait4(-1, options)
        if not pid:
            return
        told = running.pop(pid)
        took = [os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]
        with suppress(BrokenPipeError):  # nobody waits for it
            os.write(told, json.dumps(took).encode())
        os.close(told)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2])
