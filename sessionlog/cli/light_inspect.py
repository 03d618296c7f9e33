"""A stand-in for the module `inspect` until something needs it.

click imports `inspect` for pages of help and to clean the help of each option. It takes nearly as long to import as a
bare interpreter takes to start, which each command would pay. For anything but `cleandoc` of one line, the real module
takes over.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _Inspect(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if sys.modules.get("inspect") is self:
            del sys.modules["inspect"]
        return getattr(import_module("inspect"), name)

    def cleandoc(self, doc: str) -> str:
        """The same for one line."""
        return doc.lstrip() if doc.isprintable() else self.__getattr__("cleandoc")(doc)


def install() -> None:
    """From now on, `import inspect` is quick. To be called before click is imported."""
    sys.modules.setdefault("inspect", _Inspect("inspect"))
