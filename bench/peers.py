"""sessionlog beside what else records hook events and installs from the package index, on the same events.

python -m bench.peers                                  # half an hour; installs each peer into an environment of its own
python -m bench.peers --rounds 10 --events 500 --no-report
python -m bench.peers --only sessionlog claude-replay

Writes docs/peers.md. A peer that does not install is listed as such.
"""

import argparse
import json
import random
import shutil
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import corpus, hook, report
from bench.loggers import LEFT_OUT, LOGGERS, Logger, NotInstalled
from bench.report import milliseconds
from sessionlog.archive import append
from sessionlog.archive import place as projects
from sessionlog.archive.event import normalise

WORD, CHINESE = "handler", "登录"
# Chinese has no spaces between its words; one event in twenty says this.
SENTENCE, EVERY = "请把登录页面的颜色改成蓝色", 20
NOWHERE = "饕餮"  # no event says this: what a search prints when it finds nothing
HOOK_PATIENCE = 20  # seconds that a hook gets when its store is broken
SEARCH_PATIENCE = 120
FEED_PATIENCE = 900


def events_file(path: Path, events: int, logger: Logger) -> None:
    """The same events for everyone, in the form that this logger is registered for."""
    rng = random.Random(21)
    with open(path, "wb") as file:
        for number in range(events):
            kind = rng.choice(("Edit", "Write", "Bash"))
            payload = corpus.payload(kind, min(int(rng.lognormvariate(6.8, 1.0)), 20_000), rng, f"feed-{number // 200}")
            if number % EVERY == 0:
                payload["tool_input"]["description"] = SENTENCE
            file.write(logger.form(payload))


def fill(logger: Logger, path: Path) -> None:
    """All events of the file into the store, through the logger's own library."""
    if logger.name == "sessionlog":
        place = projects.place(logger.env["CLAUDE_PROJECT_DIR"])
        at_ms = time.time_ns() // 1_000_000
        with closing(append.open_for_writing(place)) as connection, open(path, encoding="utf-8") as file:
            for number, line in enumerate(file):
                row = normalise(json.loads(line), at_ms=at_ms + number, via="bench")
                append.append(connection, row, at_ms + number)
        return
    assert logger.feed
    command = [str(path) if part == "{events}" else part for part in logger.feed]
    if "{events}" not in logger.feed:
        command.append(str(path))
    project = logger.env["CLAUDE_PROJECT_DIR"]
    subprocess.run(command, env=logger.env, cwd=project, check=True, capture_output=True, timeout=FEED_PATIENCE)


def disk(logger: Logger) -> int:
    """The bytes of the store, with the logs of SQLite emptied first."""
    total = 0
    for top in logger.store:
        for path in [top, *top.rglob("*")] if top.exists() else []:
            if not path.is_file() or path.name.endswith(("-wal", "-shm")):
                continue
            with open(path, "rb") as file:
                is_database = file.read(16) == b"SQLite format 3\0"
            if is_database:
                with closing(sqlite3.connect(path, timeout=30)) as connection:
                    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            total += path.stat().st_size
    return total


def fire(logger: Logger, rng: random.Random, patience: float = hook.PATIENCE) -> str:
    """One event through the hook; how it ended."""
    data = logger.form(corpus.payload("Edit", 2_000, rng, "broken"))
    started = time.perf_counter()
    project = logger.env["CLAUDE_PROJECT_DIR"]
    try:
        done = subprocess.run(
            logger.command, input=data, env=logger.env, cwd=project, capture_output=True, check=False, timeout=patience
        )
    except subprocess.TimeoutExpired:
        return f"still waiting after {patience:.0f} s"
    took = milliseconds(time.perf_counter() - started)
    said = [name for name, text in (("stdout", done.stdout), ("stderr", done.stderr)) if text.strip()]
    return f"exit {done.returncode}, {took}, {'says so on ' + ' and '.join(said) if said else 'silent'}"


def count(logger: Logger) -> int | None:
    """What is stored, if the store can be read."""
    try:
        return logger.stored()
    except (sqlite3.Error, OSError):
        return None


@contextmanager
def damaged(logger: Logger) -> Iterator[None]:
    """Garbage for a database; for a text, something else where it should be. Put back afterwards."""
    target = logger.database or logger.store[0]
    aside = target.with_name(f"{target.name}.aside")
    logger.end()
    if logger.database:
        disk(logger)
        for ending in ("-wal", "-shm"):
            target.with_name(target.name + ending).unlink(missing_ok=True)
        shutil.copy2(target, aside)
        target.write_bytes(random.Random(4).randbytes(target.stat().st_size))
    else:
        target.rename(aside)
        target.write_text("") if aside.is_dir() else target.mkdir()
    try:
        yield
    finally:
        for ending in ("-wal", "-shm"):
            target.with_name(target.name + ending).unlink(missing_ok=True)
        shutil.rmtree(target) if target.is_dir() else target.unlink(missing_ok=True)
        aside.rename(target)
        logger.begin()


@contextmanager
def locked(logger: Logger) -> Iterator[None]:
    """Somebody else writes to the database, and does not end."""
    assert logger.database
    with closing(sqlite3.connect(logger.database, timeout=30, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


def broken(logger: Logger, how: Callable[[Logger], Any]) -> str:
    """What the hook does when its store is broken, and whether the event is there when it is whole again."""
    rng = random.Random(31)
    before = logger.stored()
    with how(logger):
        ended = fire(logger, rng, HOOK_PATIENCE)
        if how is damaged and logger.database and count(logger):
            return f"{ended}; kept: begins a new database and sets the damaged one aside"
    for _ in range(3):
        fire(logger, rng)
    kept = logger.stored() - before
    return f"{ended}; {'kept' if kept >= 4 else 'lost' if kept == 3 else f'{kept} of 4 events kept'}"


def searched(logger: Logger, word: str) -> str:
    """How long a search takes as a command, the best of three, and whether it finds anything."""
    if not logger.search:
        return "no search"
    best, text = float("inf"), ""
    for _ in range(3):
        started = time.perf_counter()
        text = _printed(logger, word)
        best = min(best, time.perf_counter() - started)
    nothing = _printed(logger, NOWHERE)
    found = text.replace(word, "?") != nothing.replace(NOWHERE, "?")
    return f"{milliseconds(best)}{'' if found else ', **not found**'}"


def _printed(logger: Logger, word: str) -> str:
    assert logger.search
    project = logger.env["CLAUDE_PROJECT_DIR"]
    done = subprocess.run(
        logger.search(word), env=logger.env, cwd=project, capture_output=True, check=False, timeout=SEARCH_PATIENCE
    )
    return done.stdout.decode(errors="replace")


@dataclass
class Measured:
    """The cells of one logger, by table."""

    logger: Logger
    cost: list[str]
    broken: list[str]
    search: list[str]


def measure(logger: Logger, folder: Path, rounds: int, events: int) -> Measured:
    """Everything about one logger."""

    def step(text: str) -> None:
        report.progress(f"{logger.name}: {text}")

    logger.begin()
    try:
        for _ in range(3):
            fire(logger, random.Random(1))  # makes the store
        ratios = []
        for size, repeats in ((2_000, rounds), (200_000, max(5, rounds // 3))):
            median, late, floor = hook.cost(logger.command, logger.env, size, repeats, logger.form)
            ratios.append(f"{median / floor:.2f} x (p95 {late / floor:.2f})")
            step(f"{size / 1000:.0f} KB: {ratios[-1]}")
        before = logger.stored()
        seconds, total = hook.at_once(logger.command, logger.env, logger.form)
        stored = logger.stored() - before
        step(f"burst: {total / seconds:.0f} events/s, stored {stored} of {total}")
        path = folder / "events.jsonl"
        events_file(path, events, logger)
        before, room = logger.stored(), disk(logger)
        fill(logger, path)
        filled, room = logger.stored() - before, disk(logger) - room
        step(f"{filled:,} events take {room / 1e6:.1f} MB")
        size = f"{room / 1e6:.1f} MB" if filled == events else f"{room / 1e6:.1f} MB for {filled:,}"
        plain = disk(logger)
        searches = [searched(logger, word) for word in (WORD, CHINESE)]
        step(f"search: {searches}")
        if (index := disk(logger) - plain) > plain / 50:
            size += f" + {index / 1e6:.1f} MB search index of all {logger.stored():,}"
        troubles = [broken(logger, damaged), broken(logger, locked) if logger.database else "no database"]
        step(f"broken: {troubles}")
        rate = f"{total / seconds:.0f}"
        return Measured(logger, [*ratios, rate, f"{stored} of {total}", size], troubles, searches)
    finally:
        logger.end()


# --- What is written --------------------------------------------------------------------------------------------------


def page(done: list[Measured], missing: dict[str, str], events: int, megabytes: float) -> str:
    """The report."""
    names = {each.logger.name: each.logger.name for each in done} | {"sessionlog": "**sessionlog**"}
    head = ["logger", "version", "2 KB event", "200 KB event", "burst, events/s", "stored", f"disk, {events:,} events"]
    parts = [
        f"{report.circumstances('peers')}. Each logger had a home, a project and (if it is a "
        "package) an environment of its own. Costs are ratios to `python3 -I -S -c pass`, in turns with it: median and "
        f"p95. The burst is {hook.WRITERS} processes at once with {hook.EACH} events each, or what of it is begun "
        f"within {hook.BURST_PATIENCE} s. The {events:,} events have {megabytes:.1f} MB as JSON.",
        report.table(head, [[names[each.logger.name], each.logger.version, *each.cost] for each in done]),
        "### When its store is broken",
        "One event while it is broken, then three when it is whole again. Damaged: the database is garbage, or "
        "something else is where the file should be. Locked: another process holds the database. A hook gets "
        f"{HOOK_PATIENCE} s.",
        report.table(["logger", "damaged", "locked"], [[names[each.logger.name], *each.broken] for each in done]),
        "### Search",
        f"As commands, the best of three; “{CHINESE}” stands inside a sentence (“{SENTENCE}”) of one event in {EVERY}.",
        report.table(
            ["logger", "by", WORD, CHINESE],
            [[names[each.logger.name], each.logger.search_told or "–", *each.search] for each in done],
        ),
        "### What each is",
    ]
    lines = [
        f"- **{each.logger.name}** {each.logger.version}, registered as {each.logger.registered}. Keeps "
        f"{each.logger.keeps}.{f' More than sessionlog: {each.logger.more}' if each.logger.more else ''}"
        for each in done
    ]
    lines += [f"- Not measured: **{name}**: {reason}." for name, reason in missing.items()]
    lines += [f"- Left out, by its own description: **{name}**: {reason}." for name, reason in LEFT_OUT.items()]
    return "\n\n".join([*parts, "\n".join(lines)])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rounds", type=int, default=100, help="for the cost of a hook")
    parser.add_argument("--events", type=int, default=10_000, help="for the room on disk and the search")
    parser.add_argument("--only", nargs="+", choices=LOGGERS, default=list(LOGGERS), metavar="NAME")
    parser.add_argument("--no-report", action="store_true", help="print only; docs/ stays as it is")
    options = parser.parse_args()
    done: list[Measured] = []
    missing: dict[str, str] = {}
    megabytes = 0.0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        for number, wanted in enumerate(options.only):
            folder = Path(name, str(number))
            report.progress(f"{wanted}: setting up")
            try:
                done.append(measure(LOGGERS[wanted](folder), folder, options.rounds, options.events))
                megabytes = max(megabytes, (folder / "events.jsonl").stat().st_size / 1e6)
            except NotInstalled:
                missing[wanted] = "it did not install here"
            except Exception as error:  # one peer that fails must not take the others' numbers with it
                missing[wanted] = f"it failed here ({type(error).__name__}: {str(error)[:200].replace(name, '…')})"
                report.progress(f"{wanted}: {missing[wanted]}")
            shutil.rmtree(folder, ignore_errors=True)
    text = page(done, missing, options.events, megabytes)
    print(text)
    if not options.no_report:
        report.write("peers.md", "Beside the peers", text)


if __name__ == "__main__":
    main()
