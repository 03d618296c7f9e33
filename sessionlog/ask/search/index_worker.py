"""A process that makes entries of the search index out of rows of an archive."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

from sessionlog.ask.search import index
from sessionlog.system import workers


def main() -> None:
    gc.disable()  # rows and entries have no cycles
    workers.serve(_maker)


def _maker() -> Callable[[Any], list[index.Entry]]:
    return lambda rows: index.entries(*rows)
