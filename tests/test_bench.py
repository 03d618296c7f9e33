"""The reports in docs/ are written by the benches, and what people wrote in them stays."""

from __future__ import annotations

import os
import re
import sys
import time
from pathlib import Path

import pytest

from bench import report
from bench.standstill import Control, Look, watching
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


def test_a_slow_moment_is_set_beside_a_standstill_of_the_machine() -> None:
    control = Control()
    # Every 3 ms; from 1.0 to 1.2 nothing, and from 2.0 on the thread has no core for 100 ms.
    moments = [number * 0.003 for number in range(1, 1000) if not 1.0 < number * 0.003 < 1.2]
    before = 0.0
    for at in moments:
        late = at - before - 0.003
        control.looks.append(Look(at, max(0.0, late), ran=at / 2, waited=(0.0, min(0.1, max(0.0, at - 2.0)))))
        before = at
    quiet, still, without_core = (control.share(begin, begin + 0.2) for begin in (0.5, 1.05, 1.95))
    assert (quiet.still, quiet.waited) == (0, 0) and quiet.ran == pytest.approx(0.1, abs=0.005)
    assert still.lost == still.still == pytest.approx(0.15, abs=0.005)
    assert without_core.lost == without_core.waited == pytest.approx(0.1, abs=0.005)


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel is asked by way of /proc")
def test_the_control_sees_a_thread_at_work() -> None:
    with watching([os.getpid()]) as control:
        begin, deadline = time.time(), time.process_time() + 0.1
        while time.process_time() < deadline:
            pass
        end = time.time()
    assert 0.05 < control.share(begin, end).ran < 0.2 + end - begin
