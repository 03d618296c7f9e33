"""A process that reads chunks of transcripts for the importer."""

from __future__ import annotations

import gc
from collections.abc import Callable

from sessionlog.system import workers
from sessionlog.transcripts import chunks
from sessionlog.transcripts.chunks import Digest, Span


def main() -> None:
    gc.disable()  # what is parsed has no cycles, and looking for some takes a fortieth of the time
    workers.serve(_reader)


def _reader(home: str, raw: bool) -> Callable[[Span], Digest]:
    rules = chunks.rules_for(home, raw)
    return lambda span: chunks.digest(span, rules)
