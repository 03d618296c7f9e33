"""The token that opens the pages, as Jupyter has one: other users of this machine can reach 127.0.0.1 too."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import time
from typing import Any
from weakref import WeakKeyDictionary

from sessionlog.archive.locks import open_private
from sessionlog.archive.migrate import make_private_folder
from sessionlog.system.files import read_own

# Beside the archives, for this user's eyes only. It stays the same, so that bookmarks and browsers go on working.
FILE = "browse.token"
LONGEST = 200
TICKET_SECONDS = 120

# Not in the settings of Datasette: pages show those.
_tokens: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
_tickets: WeakKeyDictionary[Any, tuple[str, float]] = WeakKeyDictionary()


def of(datasette: Any) -> str:
    """The token that requests to this server need; empty if they need none."""
    return _tokens.get(datasette, "")


def demand(datasette: Any, token: str) -> None:
    """From now on, requests to this server need the token."""
    _tokens[datasette] = token


def ticket(datasette: Any) -> str:
    """A token that opens the pages once, and soon: the command line of a browser can be read by other users."""
    made = new()
    _tickets[datasette] = (made, time.monotonic() + TICKET_SECONDS)
    return made


def opens(datasette: Any, given: str) -> bool:
    """Whether this is the token, or a ticket that nobody has used."""
    if same(given, of(datasette)):
        return True
    wanted, deadline = _tickets.get(datasette, ("", 0.0))
    if not wanted or not same(given, wanted) or time.monotonic() > deadline:
        return False
    del _tickets[datasette]
    return True


def new() -> str:
    """A token that nobody can guess."""
    return secrets.token_urlsafe(24)


def of_machine(home: str) -> str:
    """The token of this user on this machine, made if need be; where it cannot be kept, one for this time."""
    path = os.path.join(home, FILE)
    for _ in range(2):  # another process may make it at the same moment
        try:
            token = read_own(path, LONGEST).decode("ascii", "replace").strip()
            if re.fullmatch(r"[\w-]{20,}", token):
                return token
            os.unlink(path)
        except FileNotFoundError:
            pass
        except OSError:
            break
        try:
            token = new()
            make_private_folder(home)
            with open(open_private(path, os.O_EXCL), "wb") as file:
                file.write(f"{token}\n".encode())
            return token
        except OSError:
            continue
    return new()


def same(given: str, wanted: str) -> bool:
    """Whether two texts are the same, in a time that does not tell where they differ."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())


def cookie(token: str, port: int | None) -> str:
    """What the browser keeps. Browsers send it to every port of a host, so it is not the token itself."""
    return hmac.new(token.encode(), f"cookie {port}".encode(), hashlib.sha256).hexdigest()
