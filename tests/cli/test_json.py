"""JSON for programs: docs/json.md lists exactly the keys that are printed, and each key is printed once."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from sessionlog.archive import notes
from sessionlog.archive.place import Place
from sessionlog.transcripts import importer
from tests.cli.test_cli import run
from tests.conftest import PAYLOAD_FILES, ROOT
from tests.helpers.recording import record
from tests.helpers.transcript_files import recorded as transcripts

SECTIONS = re.findall(
    r"^## `sessionlog (.*?)`$(.*?)(?=^## |\Z)", (ROOT / "docs" / "json.md").read_text(), re.MULTILINE | re.DOTALL
)
TYPED = {"SESSION": "f0b8", "WORDS": "hello"}


@pytest.fixture
def recorded(home: Path, place: Place) -> None:
    record(place, [json.loads(path.read_bytes()) for path in PAYLOAD_FILES])
    transcripts(home)
    importer.run()
    notes.change(place, "f0b8f9eb-e977-492a-9bcd-0e80389a7950", add_tags=["mine"], note="hello again")


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len({name for name, _ in pairs}) == len(pairs), pairs
    return dict(pairs)


def test_the_page_lists_what_is_printed(recorded: None) -> None:
    for command, text in SECTIONS:
        words = [TYPED.get(word, word) for word in shlex.split(command)]
        since = ["--since", "2020-01-01"] if words[0] == "stats" else []
        output = run(*words, *since).stdout  # doctor finds no hooks
        lines = output.splitlines() if words[0] == "tail" else [output]
        value = next(json.loads(line, object_pairs_hook=once) for line in lines)
        objects = value if isinstance(value, list) else [value]
        assert objects, command
        keys = {key for one in objects for key in one}
        tables = re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
        documented = {key for row in tables for key in re.findall(r"`(\w+)`", row)}
        assert not documented or keys == documented, command


def test_the_page_has_all_its_sections() -> None:
    assert len(SECTIONS) >= 12
