"""Stand-ins for modules of the standard library that click imports and hardly uses, until something needs them.

click imports `inspect` for pages of help and to clean the help of each option, and `uuid`, which asks `platform` for
the name of the system. Either takes a good part of the time in which a bare interpreter starts, which each command
would pay. For anything but what is answered here, the real module takes over.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _StandIn(ModuleType):
    def __getattr__(self, name: str) -> Any:
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


def install() -> None:
    """From now on, importing these modules is quick. To be called before click is imported."""
    sys.modules.setdefault("inspect", _Inspect("inspect"))
    sys.modules.setdefault("platform", _Platform("platform"))
