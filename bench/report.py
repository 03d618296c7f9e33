"""What the benches say beside their numbers: where and when they ran, tables, pictures, pages in docs/."""

import math
import os
import platform
import shlex
import sqlite3
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from sessionlog import __version__

DOCS = Path(__file__).resolve().parent.parent / "docs"
BEGIN, END = "<!-- measured -->", "<!-- /measured -->"
STARTED = time.monotonic()
COLOURS = (  # most eyes can distinguish them
    *("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#8c564b"),
    *("#7f7f7f", "#bcbd22", "#17becf", "#9467bd", "#e377c2", "#2ca02c", "#d62728"),
)


def circumstances(bench: str) -> str:
    """When, on what and by which command it ran, without the name of the host."""
    day = datetime.now(timezone.utc).date().isoformat()
    python = f"{platform.python_implementation()} {platform.python_version()}"
    cores = os.cpu_count()
    command = shlex.join(["python", "-m", f"bench.{bench}", *sys.argv[1:]])
    return (
        f"Measured {day}; sessionlog {__version__}; {cores} cores, {platform.system()} {platform.machine()}, "
        f"{python}, SQLite {sqlite3.sqlite_version}, by `{command}`"
    )


def progress(text: str) -> None:
    """A line that says how far it is, with the seconds since the start."""
    print(f"[{time.monotonic() - STARTED:6.0f} s] {text}", file=sys.stderr, flush=True)


def percentile(values: Iterable[float], share: float) -> float:
    """The value below which this share of them lies; not a number if there are none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else float("nan")


def milliseconds(seconds: float) -> str:
    """A time as a person compares it: 0.42 ms, 12 ms, 1.5 s."""
    if math.isnan(seconds):
        return "–"
    if seconds >= 10:
        return f"{seconds:.0f} s"
    if seconds >= 1:
        return f"{seconds:.1f} s"
    return f"{seconds * 1000:.0f} ms" if seconds >= 0.01 else f"{seconds * 1000:.2g} ms"


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table in Markdown, padded so that it reads well in a terminal too."""
    lines = [[str(cell).replace("|", "\\|") for cell in row] for row in (head, *rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    texts = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in lines
    ]
    texts.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(texts)


def write(name: str, title: str, text: str) -> None:
    """Put the text between the markers of docs/NAME; what people wrote around them stays."""
    path = DOCS / name
    page = path.read_text("utf-8") if path.exists() else f"# {title}\n\n{BEGIN}\n{END}\n"
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise SystemExit(f"docs/{name}: the lines {BEGIN} and {END} are missing; the numbers go between them")
    path.write_text(f"{before}{begin}\n\n{text.strip()}\n\n{end}{after}", "utf-8")
    print(f"Written to docs/{name}")


def picture(
    name: str,
    title: str,
    x_title: str,
    labels: Sequence[str],
    lines: Mapping[str, Sequence[float | None]],
    logarithmic: bool = False,
) -> None:
    """A line chart as docs/NAME: one SVG file, without scripts, that loads nothing."""
    import pygal
    from pygal.style import Style

    style = Style(
        background="white",
        plot_background="white",
        foreground="#333",
        foreground_strong="#111",
        foreground_subtle="#ddd",
        guide_stroke_color="#ddd",
        major_guide_stroke_color="#ddd",
        guide_stroke_dasharray="none",
        major_guide_stroke_dasharray="none",
        font_family="sans-serif",
        colors=COLOURS,
    )
    chart: Any = pygal.Line(
        title=title,
        x_title=x_title,
        logarithmic=logarithmic,
        js=[],
        style=style,
        width=900,
        height=500 + 22 * math.ceil(len(lines) / 3),
        dots_size=3,
        margin_bottom=45,
        legend_at_bottom=True,
        legend_at_bottom_columns=3,
        truncate_legend=-1,
        value_formatter=lambda value: f"{value:,.3g}" if value < 1000 else f"{value:,.0f}",
    )
    chart.x_labels = list(labels)
    drawn = [value for values in lines.values() for value in values if value is not None and not math.isnan(value)]
    if logarithmic and drawn:
        steps = [step * 10.0**power for power in range(-2, 7) for step in (1, 2, 5)]
        chart.y_labels = [step for step in steps if min(drawn) / 2.5 <= step <= max(drawn) * 2.5]
    for label, values in lines.items():
        known = [None if value is None or math.isnan(value) else value for value in values]
        chart.add(label.replace("`", ""), known, allow_interruptions=True)
    chart.add_xml_filter(_without_scripts)
    (DOCS / name).write_bytes(chart.render() + b"\n")
    print(f"Written to docs/{name}")


def _without_scripts(root: Any) -> Any:
    """Pygal's script shows a tooltip; a picture in a README has no use for it."""
    for parent in list(root.iter()):
        for child in list(parent):
            if str(child.tag).endswith("script"):
                parent.remove(child)
    return root
