"""How the cost of a hook, of searching, pages, exports and audits grows with the archive: docs/scale.md and scale.svg.

python -m bench.scale            # 10^4 to 10^7 events: half an hour, 10 GB in $TMPDIR (30 free), kept for the next run
python -m bench.scale --sizes 10000 100000 --rounds 100 --no-report
"""

import argparse
import random
import statistics
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from bench import archives, corpus, report
from bench.archives import Archive
from bench.hook import BARE, as_json, handler, run
from bench.processes import SESSIONLOG, Run, browsing, lines_a_second, timed
from bench.report import milliseconds
from sessionlog.archive import lookup, read, sidecar
from sessionlog.ask import audit
from sessionlog.ask.rollup import open as rollup
from sessionlog.ask.search import index

SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
WORD, CHINESE = "handler", "按钮"
LIMIT = 1.2  # a hook on the greatest archive may take so many times what it takes on the smallest

# The row of the table, and what it is at each size.
Rows = dict[str, list[str]]
Lines = dict[str, list[float | None]]


def hooks(found: list[Archive], rounds: int) -> tuple[list[float], list[list[float]]]:
    """The times of a bare interpreter and of a hook on each archive, in turns: what the machine does hits all alike."""
    rng = random.Random()  # not the same events in every run: a second copy is not written
    command = handler()
    floor: list[float] = []
    times: list[list[float]] = [[] for _ in found]
    turns = [-1, *range(len(found))]
    for number in range(-10, rounds):  # the first ones warm up
        rng.shuffle(turns)
        for turn in turns:
            if turn < 0:
                seconds = run(BARE, b"", found[0].env)
                (floor if number >= 0 else []).append(seconds)
                continue
            data = as_json(corpus.payload("Edit", 2_000, rng, f"live-{turn}"))
            seconds = run(command, data, found[turn].env)
            (times[turn] if number >= 0 else []).append(seconds)
        if number % 100 == 0:
            report.progress(f"hooks: round {number} of {rounds}")
    return floor, times


def ratio(above: list[float], below: list[float]) -> tuple[float, float, float]:
    """The ratio of two medians, and between what it lies with 95% of certainty (bootstrap)."""
    rng = random.Random(3)
    drawn = sorted(
        statistics.median(rng.choices(above, k=len(above))) / statistics.median(rng.choices(below, k=len(below)))
        for _ in range(500)
    )
    return statistics.median(above) / statistics.median(below), drawn[12], drawn[-13]


def best(work: Callable[[], Run], repeats: int = 3) -> Run:
    """The fastest of a few tries; one only if it is slow."""
    tries = [work()]
    while len(tries) < repeats and tries[0].seconds < 5 and tries[0].code == 0:
        tries.append(work())
    return min(tries)


def as_text(done: Run) -> str:
    if done.code is None:
        return f"> {milliseconds(done.seconds)}"
    return milliseconds(done.seconds) if done.code == 0 else f"failed ({done.code})"


def reading_costs(found: Archive, patience: float, keep_index: bool, rows: Rows, lines: Lines) -> None:
    """Commands and pages on one archive; each cell goes to the end of its row."""

    def add(row: str, text: str, value: float | None = None) -> None:
        rows.setdefault(row, []).append(text)
        lines.setdefault(row, []).append(value)
        report.progress(f"  {row}: {text}")

    def command(row: str, *arguments: str) -> None:
        done = best(lambda: timed([*SESSIONLOG, *arguments], found.env, patience))
        add(row, as_text(done), done.seconds * 1000 if done.code == 0 else None)

    size = found.size()
    add("database", f"{size / 1e6:,.0f} MB")
    if keep_index and Path(index.path_of(found.place)).exists():
        sidecar.forget(found.place, [rollup.KIND.ending])
        add("first search, which makes the index", "not measured")
        add("its memory", "")
    else:
        sidecar.forget(found.place)
        first = timed([*SESSIONLOG, "search", WORD, "--wait"], found.env, 3600)
        add("first search, which makes the index", as_text(first), first.seconds * 1000)
        add("its memory", f"{first.memory / 1e6:.0f} MB")
    add("search index", f"{Path(index.path_of(found.place)).stat().st_size / 1e6:,.0f} MB")
    command(f"`search {WORD}`", "search", WORD)
    command(f"`search {CHINESE}`", "search", CHINESE)
    at_once = timed([*SESSIONLOG, "sessions"], {**found.env, "SESSIONLOG_NO_FOLLOW": "1"}, patience)
    add("first `sessions`", as_text(at_once), at_once.seconds * 1000)
    counted = timed([*SESSIONLOG, "stats"], found.env, 3600)
    add("first `stats` after it", as_text(counted), counted.seconds * 1000)
    command("`sessions`", "sessions")
    command("`show last`", "show", "last")
    pages(found, add)
    rate = lines_a_second([*SESSIONLOG, "export"], found.env, 20)
    add("`export`, events a second", f"{rate:,.0f}")
    audits(found, patience, add)


def pages(found: Archive, add: Callable[[str, str, float | None], None]) -> None:
    """The time to the first byte, warm: the median of five."""
    with closing(read.connect(found.place)) as connection:
        session = next(iter(lookup.sessions(connection, 1)))["session_id"]
    database = found.place.name
    asked = {
        "page: home": "/",
        "page: sessions": f"/-/sessions/{database}",
        "page: a session": f"/-/session/{database}/{session}",
        "page: search": "/-/search?q=%E6%8C%89%E9%92%AE",
        "page: events (Datasette)": f"/{database}/events",
    }
    with browsing(found.env, found.folder) as server:
        for row, path in asked.items():
            server.get(path, 120)
            answers = [server.get(path, 120) for _ in range(5)]
            took = statistics.median(answer.first_byte for answer in answers)
            bad = next((answer.status for answer in answers if answer.status != 200), None)
            add(row, milliseconds(took) if bad is None else f"status {bad}", None if bad is not None else took * 1000)
        add("memory of `browse`", f"{server.memory() / 1e6:.0f} MB", None)


def audits(found: Archive, patience: float, add: Callable[[str, str, float | None], None]) -> None:
    """Every question of `sessionlog audit`, as people ask it, and as programs do, who wait for all of it."""
    for asked, options in (("audit", ["--no-wait"]), ("audit of all", ["--wait"])):
        runs = {
            name: timed([*SESSIONLOG, "audit", name, "--csv", *options], found.env, patience) for name in audit.audits()
        }
        median = statistics.median(done.seconds for done in runs.values())
        slowest = max(runs, key=lambda name: runs[name].seconds)
        late = runs[slowest].code is None
        add(f"{asked}: the middle one", milliseconds(median), median * 1000)
        add(
            f"{asked}: the slowest",
            f"{as_text(runs[slowest])} ({slowest})",
            None if late else runs[slowest].seconds * 1000,
        )
        hungriest = max(runs, key=lambda name: runs[name].memory)
        add(f"{asked}: the most memory", f"{runs[hungriest].memory / 1e6:,.0f} MB ({hungriest})", None)


def power(size: int) -> str:
    exponent = len(str(size)) - 1
    return f"10^{exponent}" if size == 10**exponent else f"{size:,}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="EVENTS")
    parser.add_argument("--rounds", type=int, default=1000, help="of hooks, in turns on all archives")
    parser.add_argument("--patience", type=float, default=60, help="seconds for one command")
    parser.add_argument("--keep-index", action="store_true", help="do not make a search index that is there again")
    parser.add_argument("--folder", type=Path, default=archives.temporary("scale"), help="where the archives are kept")
    parser.add_argument("--no-report", action="store_true", help="print only; docs/ stays as it is")
    options = parser.parse_args()
    sizes = sorted(options.sizes)
    found = [archives.archive_of(options.folder / str(size), size, small=True) for size in sizes]
    rows: Rows = {}
    lines: Lines = {}
    for size, one in zip(sizes, found, strict=True):
        report.progress(f"{size:,} events:")
        reading_costs(one, options.patience, options.keep_index, rows, lines)
    floor, times = hooks(found, options.rounds)
    bare = statistics.median(floor)
    hook_rows: Rows = {
        "a hook, to a bare interpreter": [f"{statistics.median(each) / bare:.2f} x" for each in times],
        "a hook, p95": [f"{report.percentile(each, 0.95) / bare:.2f} x" for each in times],
    }
    lines = {"a hook": [statistics.median(each) * 1000 for each in times], **lines}
    growth, low, high = ratio(times[-1], times[0])
    verdict = "kept" if growth <= LIMIT else "MISSED"
    text = "\n\n".join(
        (
            f"{report.circumstances('scale')}.",
            "![Milliseconds by size of the archive, both logarithmic](scale.svg)",
            report.table(
                ["", *(f"{size:,} events" for size in sizes)],
                [[row, *cells] for row, cells in {**hook_rows, **rows}.items()],
            ),
            f"A hook at {power(sizes[-1])} events takes **{growth:.3f} x** of what it takes at {power(sizes[0])} "
            f"(95%: {low:.3f} to {high:.3f}; {options.rounds} rounds in turns; limit {LIMIT} x: {verdict}). "
            f"1 x is a bare interpreter, {bare * 1000:.1f} ms.",
        )
    )
    print(text)
    if not options.no_report:
        report.write("scale.md", "How it grows", text)
        drawn = {row: values for row, values in lines.items() if any(value is not None for value in values)}
        report.picture(
            "scale.svg", "Milliseconds by size of the archive", "events", [power(size) for size in sizes], drawn, True
        )


if __name__ == "__main__":
    main()
