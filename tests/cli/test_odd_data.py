"""Whatever is in an archive, every view, every question and every command answers or says why not."""

from __future__ import annotations

import random
from contextlib import closing

import pytest
from click.testing import CliRunner

from sessionlog.archive import place as projects
from sessionlog.archive import read
from sessionlog.ask import audit
from sessionlog.cli import table
from sessionlog.cli.main import cli
from sessionlog.errors import SessionlogError
from tests.conftest import thorough
from tests.helpers import odd_archive

COMMANDS = [
    ["sessions", "--json"], ["sessions"], ["stats"], ["stats", "--json"], ["tail", "-n", "500"], ["tail", "--json"], ["audit"],
    ["search", "x"], ["search", "数"], ["search", "--substring", "%_"], ["show", "s1"], ["show", "s2", "--full"], ["show", "s1", "--json"],
    ["export", "s1"], ["export", "s1", "--format", "markdown"], ["export", "s2", "--format", "html"], ["restore", "s1", "--dry-run"],
    ["prune", "--keep", "0", "--dry-run"], ["redact", "--dry-run"], ["schema"],
]  # fmt: skip


@pytest.mark.parametrize("seed", range(6 if thorough() else 3))
def test_no_view_and_no_question_breaks(place: projects.Place, seed: int) -> None:
    odd_archive.fill(place, random.Random(seed))
    with closing(read.connect(place)) as connection:
        query = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
        for row in connection.execute(query).fetchall():
            connection.execute(f"SELECT * FROM {row['name']}").fetchall()
        for query in audit.audits().values():
            for since in ("", "2026-11-16", "\0"):
                audit.ask(connection, query, since)


@pytest.mark.parametrize("seed", range(4 if thorough() else 2))
def test_no_command_breaks(place: projects.Place, seed: int) -> None:
    odd_archive.fill(place, random.Random(seed), legible=True)
    for words in COMMANDS:
        done = CliRunner().invoke(cli, words)
        assert done.exception is None or isinstance(done.exception, (SessionlogError, SystemExit)), (
            words,
            done.exception,
        )


def test_a_table_keeps_times_whole() -> None:
    rows = [("2026-11-16 16:50", "git push --force origin main", "the whole reason of it in many words")]
    _, _, line = table.render(("at", "command", "reason"), rows, 50, whole=("at",))
    assert line.startswith("2026-11-16 16:50  git") and len(line) <= 50
    # Where that leaves too little for the rest, all give way.
    _, _, line = table.render(("at", "command", "reason"), rows, 30, whole=("at",))
    assert line.startswith("2026-11") and len(line) <= 30
