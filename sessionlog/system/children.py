"""Child processes that import nothing from the working directory.

`python -m` and `multiprocessing` put the working directory first on the path of the child. In a hostile checkout, a
file called heapq.py would then run as the user.
"""

from __future__ import annotations

import os
import subprocess
import sys

from sessionlog.errors import SessionlogError

# Where children start: a folder that is always there and that only the administrator can write to.
FOLDER = os.path.abspath(os.sep)


def command(module: str) -> list[str]:
    """The command that runs `main()` of a module with the same search path as this process."""
    if not sys.executable:
        raise SessionlogError("Python does not know its own path, so it cannot start another process.")
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "child.py")
    return [sys.executable, "-I", script, module, *filter(os.path.isabs, sys.path)]


def start(module: str) -> subprocess.Popen[bytes]:
    """Run `main()` of a module with pipes to its stdin and stdout."""
    return subprocess.Popen(  # noqa: S603 (a module of ours)
        command(module), stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=FOLDER
    )


def start_detached(module: str, words: list[str]) -> None:
    """Run `main()` of a module, which reads these with `given_words`, in a process that outlives this one."""
    child = subprocess.Popen(  # noqa: S603 (a module of ours)
        command(module),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=FOLDER,
        start_new_session=True,
    )
    with child.stdin as pipe:  # type: ignore[union-attr]
        pipe.write(b"\0".join(map(os.fsencode, words)))
    child.returncode = 0  # nobody waits for it


def given_words() -> list[str]:
    """In such a process: what it was given."""
    return [os.fsdecode(word) for word in sys.stdin.buffer.read().split(b"\0")]


def lower_priority() -> None:
    """From here on, other processes come first."""
    if hasattr(os, "nice"):
        os.nice(10)


def program(name: str) -> str | None:
    """The path of a program on PATH. Relative entries do not count: they mean the working directory."""
    endings = os.environ.get("PATHEXT", "").split(os.pathsep) if os.name == "nt" else [""]
    for folder in filter(os.path.isabs, os.environ.get("PATH", os.defpath).split(os.pathsep)):
        for ending in endings:
            path = os.path.join(folder, f"{name}{ending}")
            if os.path.isfile(path) and os.access(path, os.X_OK):
                return path
    return None
