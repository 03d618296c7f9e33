"""Stand-ins for modules of the standard library that click imports and hardly uses, until something needs them.

click imports `inspect` for pages of help and to clean the help of each option, and `uuid`, which asks `platform` for
the name of the system. Either takes a good part of the time in which a bare interpreter starts, which each command
would pay. For anything but what is answered here, the real module takes over.

While click is imported, it also gets stand-ins for `gettext` (our messages are English only), `threading` (it uses
one class) and `uuid` (no option of ours is a UUID).
"""

from __future__ import annotations

import _thread
import os
import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _StandIn(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name == "__path__":  # `from … import` asks each module whether it is a package
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


class _Inspect(_StandIn):
    def cleandoc(self, doc: str) -> str:
        """The same for one line."""
        return doc.lstrip() if doc.isprintable() else self.__getattr__("cleandoc")(doc)


class _Platform(_StandIn):
    def system(self) -> str:
        """The same where there is `uname`."""
        return os.uname().sysname if hasattr(os, "uname") else self.__getattr__("system")()


class _Gettext(_StandIn):
    def gettext(self, message: str) -> str:
        """The same where there are no translations."""
        return message

    def ngettext(self, singular: str, plural: str, number: int) -> str:
        """The same where there are no translations."""
        return singular if number == 1 else plural


class _Threading(_StandIn):
    local = _thread._local


class _Uuid(_StandIn):
    class UUID:
        """Named by click's types, and never made."""


def install() -> None:
    """Import click quickly; from now on, importing `inspect` and `platform` is quick too."""
    if sys.version_info < (3, 12):  # `datetime` makes all of its classes in Python before it takes these instead
        sys.modules.setdefault("datetime", import_module("_datetime"))
    sys.modules.setdefault("inspect", _Inspect("inspect"))
    sys.modules.setdefault("platform", _Platform("platform"))
    stand_ins = (_Gettext("gettext"), _Threading("threading"), _Uuid("uuid"))
    of_click = [one for one in stand_ins if one.__name__ not in sys.modules]
    sys.modules.update((one.__name__, one) for one in of_click)
    import click  # noqa: F401

    for one in of_click:
        if sys.modules.get(one.__name__) is one:
            del sys.modules[one.__name__]
