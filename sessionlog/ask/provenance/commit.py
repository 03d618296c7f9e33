"""The sessions and prompts behind a commit, by its lines and by the `git commit` that a session ran."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from sessionlog.archive.place import Place
from sessionlog.ask.provenance import blame, history
from sessionlog.ask.provenance.blame import Line
from sessionlog.ask.provenance.describe import Described, Describer
from sessionlog.ask.provenance.history import Commit
from sessionlog.ask.provenance.notes import Written
from sessionlog.ask.provenance.target import Target
from sessionlog.errors import SessionlogError
from sessionlog.system.git import GitError, Repository

MOST_FILES = 300
MOST_COMMITS = 200


class CommitFile(NamedTuple):
    """A file that a commit changed: the lines that it brought."""

    path: str
    lines: list[Line]


class Shares(NamedTuple):
    """How many lines are by whom."""

    agents: int  # a recorded edit, or the note or trace of another tool
    people: int  # nothing recorded, and no session was at work
    unknown: int  # nothing recorded, but a session was at work, or nothing was recorded yet

    @property
    def total(self) -> int:
        """All lines."""
        return sum(self)


class Behind(NamedTuple):
    """A commit, and where its lines come from."""

    commit: Commit
    files: list[CommitFile]
    committed_by: list[str]  # sessions that ran its `git commit`: e123 of it
    left_out: int  # files that were not looked at, or are not text
    by_hand: bool  # no session can have written what is not recorded

    @property
    def shares(self) -> Shares:
        """The lines by agents, by people, and those that may be either's."""
        agents = sum(bool(line.edit or line.attested) for line in self.lines)
        rest = len(self.lines) - agents
        return Shares(agents, rest, 0) if self.by_hand else Shares(agents, 0, rest)

    @property
    def lines(self) -> list[Line]:
        """All lines that the commit brought."""
        return [line for file in self.files for line in file.lines]

    def written(self, describe: Describer) -> list[Written]:
        """The lines of each session in each file."""
        found: dict[tuple[str, str], tuple[Described, list[int]]] = {}
        for file in self.files:
            for line in file.lines:
                if line.edit:
                    key = (file.path, line.edit.session_id)
                    found.setdefault(key, (describe(line.edit), []))[1].append(line.number)
        return [
            Written(path, session_id, described.client, described.model, tuple(numbers))
            for (path, session_id), (described, numbers) in found.items()
        ]


def of_range(
    connection: sqlite3.Connection, place: Place, repository: Repository, revision: str, *, indexed: bool
) -> Iterator[Behind]:
    """The commits that a revision or a range such as main..HEAD names, newest first, without merges."""
    if revision.startswith("-") or "\n" in revision:
        raise SessionlogError(f"{revision} is no revision")
    try:
        if ".." in revision:
            found = list(history.commits(repository, [revision], "--no-merges", f"-n{MOST_COMMITS}"))
        else:
            one = history.read_commit(repository, revision)
            found = [one] if one else []
    except GitError:
        found = []
    if not found:
        raise SessionlogError(f"git knows no commit {revision}")
    for commit in found:
        yield of_commit(connection, place, repository, commit, indexed=indexed)


def of_commit(
    connection: sqlite3.Connection, place: Place, repository: Repository, commit: Commit, *, indexed: bool
) -> Behind:
    """What a commit brought, and from where."""
    answer = repository.run(
        "diff-tree", "-r", "--root", "-M", "--no-commit-id", "--name-only", "--diff-filter=AMR", "-z", "--no-ext-diff",
        "--no-textconv", commit.id,
    )  # fmt: skip
    paths = [path for path in answer.decode("utf-8", "surrogateescape").split("\0") if path]
    files: list[CommitFile] = []
    left_out = max(0, len(paths) - MOST_FILES)
    for path in paths[:MOST_FILES]:
        target = Target(place, repository.root, path, repository, commit)
        try:
            found = blame.of_file(connection, target, indexed=indexed)
        except SessionlogError:  # not a text file, or too large
            left_out += 1
            continue
        files.append(CommitFile(path, [line for line in found.lines if line.commit and line.commit.id == commit.id]))
    return Behind(
        commit, files, list(_committed_by(connection, commit)), left_out, _by_hand(connection, repository, commit)
    )


def _by_hand(connection: sqlite3.Connection, repository: Repository, commit: Commit) -> bool:
    """Whether events were recorded already, but none in the day before the commit, nor since the one before it."""
    parent = history.read_commit(repository, f"{commit.id}^")
    since = min(one.authored_at for one in (commit, parent) if one)
    row = connection.execute(
        "SELECT EXISTS (SELECT 1 FROM sessions WHERE started_at < :since) AND NOT EXISTS (SELECT 1 FROM sessions "
        "WHERE started_at <= :until AND last_at >= strftime('%Y-%m-%dT%H:%M:%fZ', :since, '-1 day')) AS by_hand",
        {"since": since, "until": commit.committed_at},
    ).fetchone()
    return bool(row["by_hand"])


def _committed_by(connection: sqlite3.Connection, commit: Commit) -> Iterator[str]:
    """The `git commit` of a session whose output names the commit."""
    rows = connection.execute(
        "SELECT events.id, events.session_id, tool_response FROM sessions JOIN events USING (session_id) "
        "WHERE sessions.started_at <= :at AND sessions.last_at >= substr(:at, 1, 19) "
        "AND events.at BETWEEN substr(:at, 1, 19) AND strftime('%Y-%m-%dT%H:%M:%fZ', :at, '+10 minutes') "
        "AND event = 'PostToolUse' AND +action = 'run' AND command LIKE '%git%' LIMIT 500",
        {"at": commit.committed_at},
    )
    for row in rows:
        if commit.id[:7] in (row["tool_response"] or ""):
            yield f"e{row['id']}"


class Summary(NamedTuple):
    """What commits come to."""

    shares: Shares
    sessions: dict[str, Counter[str]]  # session: its prompts, and how many lines each led to
    described: dict[str, Described]


def summary(found: list[Behind], describe: Describer) -> Summary:
    """Lines by agents, by people and by nobody knows whom, and the prompts behind them."""
    sessions: dict[str, Counter[str]] = {}
    described: dict[str, Described] = {}
    for line in (line for behind in found for line in behind.lines):
        if line.edit is None:
            continue
        one = describe(line.edit)
        described.setdefault(line.edit.session_id, one)
        asked = one.prompt.text if one.prompt else ""
        sessions.setdefault(line.edit.session_id, Counter())[asked] += 1
    shares = Shares(*(sum(counts) for counts in zip(*(behind.shares for behind in found), strict=True)))
    return Summary(shares, sessions, described)


def as_json(behind: Behind, describe: Describer) -> dict[str, Any]:
    """A commit for machines."""
    return {
        **behind.commit._asdict(),
        "committed_by": behind.committed_by,
        "lines": len(behind.lines),
        **{f"lines_{'by_' * (who != 'unknown')}{who}": lines for who, lines in behind.shares._asdict().items()},
        "sessions": [{**one._asdict(), "lines": list(one.lines)} for one in behind.written(describe)],
        "files_left_out": behind.left_out,
    }
