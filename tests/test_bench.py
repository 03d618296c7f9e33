"""The reports in docs/ are written by the benches, and what people wrote in them stays."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bench import report
from tests.conftest import ROOT


@pytest.fixture
def docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(report, "DOCS", tmp_path)
    return tmp_path


def test_numbers_are_written_anew_and_words_stay(docs: Path) -> None:
    page = docs / "page.md"
    page.write_text(f"# Title\n\nBefore.\n\n{report.BEGIN}\nold\n{report.END}\n\n## Why\n\nAfter.\n", "utf-8")
    for text in ("first", "second"):
        report.write("page.md", "Another title", text)
    assert page.read_text("utf-8") == (
        f"# Title\n\nBefore.\n\n{report.BEGIN}\n\nsecond\n\n{report.END}\n\n## Why\n\nAfter.\n"
    )


def test_a_page_without_markers_is_not_touched(docs: Path) -> None:
    (docs / "page.md").write_text("Words.\n")
    with pytest.raises(SystemExit, match="are missing"):
        report.write("page.md", "Title", "numbers")
    assert (docs / "page.md").read_text() == "Words.\n"


def test_a_picture_runs_nothing_and_loads_nothing(docs: Path) -> None:
    lines = {"a `hook`": [1.0, None, float("nan"), 1000.0]}
    report.picture("picture.svg", "Title", "events", ["1", "2", "3", "4"], lines, logarithmic=True)
    svg = (docs / "picture.svg").read_text("utf-8")
    assert "a hook" in svg
    assert "<script" not in svg
    assert not re.search(r"(href|src|url\(|@import)\W*(https?:)?//", svg)


@pytest.mark.parametrize("page", ["peers", "scale", "load", "web"])
def test_every_page_has_its_place_for_numbers_and_names_its_command(page: str) -> None:
    text = (ROOT / "docs" / f"{page}.md").read_text("utf-8")
    assert text.count(report.BEGIN) == text.count(report.END) == 1
    assert f"python -m bench.{page}" in text
