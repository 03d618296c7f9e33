"""JSON for programs: docs/json.md lists exactly the keys that are printed, and each key is printed once."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from sessionlog.archive.place import Place
from sessionlog.transcripts import importer
from tests.cli.test_cli import run
from tests.conftest import PAYLOAD_FILES, ROOT, Hook
from tests.helpers.transcript_files import recorded as transcripts

SECTIONS = re.findall(
    r"^## `sessionlog (.*?)`$(.*?)(?=^## |\Z)", (ROOT / "docs" / "json.md").read_text(), re.MULTILINE | re.DOTALL
)
TYPED = {"SESSION": "f0b8", "WORDS": "hello"}


@pytest.fixture
def recorded(home: Path, hook: Hook, place: Place) -> None:
    for path in PAYLOAD_FILES:
        hook(path.read_bytes())
    transcripts(home)
    importer.run()


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len({name for name, _ in pairs}) == len(pairs), pairs
    return dict(pairs)


@pytest.mark.parametrize(("command", "text"), SECTIONS, ids=[command for command, _ in SECTIONS])
def test_the_page_lists_what_is_printed(recorded: None, command: str, text: str) -> None:
    words = [TYPED.get(word, word) for word in shlex.split(command)]
    output = run(*words, *(["--since", "2020-01-01"] if words[0] == "stats" else [])).stdout  # doctor finds no hooks
    values = [
        json.loads(line, object_pairs_hook=once) for line in (output.splitlines() if words[0] == "tail" else [output])
    ]
    value = values[0]
    objects = value if isinstance(value, list) else [value]
    assert objects
    keys = {key for one in objects for key in one}
    documented = {
        key for row in re.findall(r"^\| (`.*?) \|", text, re.MULTILINE) for key in re.findall(r"`(\w+)`", row)
    }
    if documented:
        assert keys == documented


def test_the_page_has_all_its_sections() -> None:
    assert len(SECTIONS) >= 12
