"""`sessionlog browse` as often as it is wanted, imported once: two thirds of the time until it answers go into imports.

A process of its own reads requests, a line of JSON each, and forks one server for each. What is new in a server is the
environment, the folder, the arguments and where it prints, as for any command.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import suppress

from sessionlog.cli import browse  # noqa: F401
from sessionlog.cli.main import main
from sessionlog.web import serve as web_serve  # noqa: F401


def serve(arguments: list[str], environment: dict[str, str], folder: str, output: str) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(os.open(output, os.O_WRONLY), 1)
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
    main_loop()
