"""`sessionlog browse` as often as it is wanted, imported once: two thirds of the time until it answers go into imports.

Templates are compiled once, too: all servers share what Jinja compiled. A process of its own reads requests, a line of JSON each, and forks one server for each. What is new in a server is the
environment, the folder, the arguments and where it prints, as for any command.
"""

from __future__ import annotations

import faulthandler
import functools
import importlib
import json
import os
import pkgutil
import signal
import sys
import tempfile
from contextlib import suppress

import jinja2
import pygal  # noqa: F401
import pygments.lexers
import uvicorn.lifespan.on
import uvicorn.loops.auto
import uvicorn.protocols.http.auto
import uvicorn.protocols.websockets.auto  # noqa: F401 (these four, and dateutil, else by each server)

from sessionlog import web
from sessionlog.archive import describe
from sessionlog.cli import browse  # noqa: F401
from sessionlog.cli.main import main

for module in pkgutil.iter_modules(web.__path__, f"{web.__name__}."):
    importlib.import_module(module.name)
for name in ("dateutil.parser", "markdown_it", "orjson", "sqlite_utils"):  # else by each server
    importlib.import_module(name)
describe.tables()  # which remembers them: they are the same for every server
for name in ("python", "bash", "json"):
    pygments.lexers.get_lexer_by_name(name)


def serve(arguments: list[str], environment: dict[str, str], folder: str, output: str) -> None:
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None  # it is where this environment says
    os.chdir(folder)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(os.open(output, os.O_WRONLY), 1)
    faulthandler.register(signal.SIGUSR1, open(f"{output}.stacks", "w"))  # noqa: SIM115 (open as long as the server)
    sys.argv = ["sessionlog", *arguments]
    main()


def main_loop() -> None:
    running = set()
    for line in sys.stdin:
        running -= {pid for pid in running if os.waitpid(pid, os.WNOHANG)[0]}
        pid = os.fork()
        if not pid:
            try:
                serve(**json.loads(line))
            finally:
                os._exit(0)  # not back into the loop
        running.add(pid)
        print(pid, flush=True)
    for pid in running:  # whoever asked for them is gone
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        compiled = jinja2.FileSystemBytecodeCache(folder)
        jinja2.Environment.__init__ = functools.partialmethod(jinja2.Environment.__init__, bytecode_cache=compiled)
        main_loop()
