"""The random key of this machine, with which fingerprints of secrets are made. Made on first need."""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sessionlog.redact.rules import Rules

SIZE = 32


def of(rules: "Rules") -> bytes:
    """The key, read once; empty when there is none to be had."""
    if rules.key is None:
        rules.key = read(rules.home)
    return rules.key


def read(home: str) -> bytes:
    """The key of a home folder; empty when there is none to be had."""
    path = f"{home}/redact.key"
    # A symbolic link is refused, and a pipe in the place of the file must not hang the hook.
    flags = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        if not os.path.lexists(path):
            os.makedirs(home, mode=0o700, exist_ok=True)
            _make(path)
        with open(os.open(path, os.O_RDONLY | flags), "rb") as file:
            key = file.read(SIZE + 1)
    except OSError:
        return b""
    return key if len(key) == SIZE else b""


def _make(path: str) -> None:
    """The key is there whole or not at all, and of many processes that make one, the first wins."""
    from sessionlog.system import atomic

    try:
        atomic.write(path, [os.urandom(SIZE)], overwrite=False)
    except FileExistsError:
        pass
