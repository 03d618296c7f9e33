"""What git knows of a file: the commits that its lines came with, and the names it has had."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import NamedTuple

from sessionlog.system.git import GitError, Repository, Running

# Files of HEAD that are gone from the working copy, among which a new file is looked for.
_GONE = 200


class Commit(NamedTuple):
    """A commit, as a person would name it."""

    id: str
    author: str
    email: str
    authored_at: str
    committed_at: str
    summary: str


class Stored(NamedTuple):
    """A line of a commit's version: the commit that brought it, and where it was then."""

    commit: Commit
    path: str
    number: int


def utc(seconds: str | int) -> str:
    """A time of git as the archive writes times, at the end of its second."""
    try:
        return datetime.fromtimestamp(int(seconds), timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.999Z")
    except (ValueError, OverflowError, OSError):
        return ""


def read_commit(repository: Repository, revision: str) -> Commit | None:
    """The commit that a revision names."""
    found = repository.commit(revision)
    return next(commits(repository, [found]), None) if found else None


_FORMAT = "%H%x00%an%x00%ae%x00%at%x00%ct%x00%s"


def commits(repository: Repository, revisions: list[str], *more: str) -> Iterator[Commit]:
    """These commits, or those of ranges."""
    walk = () if more else ("--no-walk=unsorted",)
    given = "".join(f"{revision}\n" for revision in revisions).encode()
    answer = repository.run("log", *walk, f"--format={_FORMAT}", "--no-show-signature", *more, "--stdin", given=given)
    for line in answer.decode("utf-8", "replace").splitlines():
        fields = line.split("\0")
        if len(fields) == 6:
            name, author, email, authored, committed, summary = fields
            yield Commit(name, author, email, utc(authored), utc(committed), summary)


def start_blame(repository: Repository, commit: str, path: str) -> Running:
    """Have git look who brought each line of a file. Moves and white space do not count as changes."""
    return repository.start("blame", "-w", "-M", "--porcelain", "--no-textconv", commit, "--", path)


def read_blame(answer: bytes, path: str) -> list[Stored]:
    """For each line of the file in a commit the one that brought it."""
    known: dict[str, dict[str, str]] = {}
    found: list[Stored] = []
    made: dict[tuple[str, str], tuple[Commit, str]] = {}
    fields: dict[str, str] = {}
    name, number = "", 0
    for line in answer.decode("utf-8", "replace").split("\n"):
        if line.startswith("\t"):
            key = (name, fields.get("filename", path))
            if key not in made:
                made[key] = (_commit(name, fields), key[1])
            found.append(Stored(*made[key], number))
            name = ""
        elif not name:
            words = line.split(" ")
            if len(words) >= 3:
                name, number = words[0], int(words[1])
                fields = known.setdefault(name, {})
        else:
            word, _, value = line.partition(" ")
            fields[word] = _unquoted(value) if word == "filename" else value
    return found


def _commit(name: str, fields: dict[str, str]) -> Commit:
    return Commit(
        name,
        fields.get("author", ""),
        fields.get("author-mail", "").strip("<>"),
        utc(fields.get("author-time", "")),
        utc(fields.get("committer-time", "")),
        fields.get("summary", ""),
    )


def _unquoted(path: str) -> str:
    """A path as git writes it: in quotes, with escapes, if there are odd letters in it."""
    if not path.startswith('"'):
        return path
    return (
        path[1:-1]
        .encode("latin-1", "replace")
        .decode("unicode_escape")
        .encode("latin-1", "replace")
        .decode("utf-8", "replace")
    )


class Version(NamedTuple):
    """A commit that changed the file, and the name that the file had in it."""

    commit: str
    at: str
    path: str
    old_path: str  # what it was called before


def start_versions(repository: Repository, commit: str, path: str) -> Running:
    """Have git look for the commits that changed a file, through all of its names."""
    return repository.start(
        "log", "--follow", "-M", "--name-status", "-z", "--format=%x01%H %ct", "--no-show-signature",
        "--no-ext-diff", "--no-textconv", commit, "--", path,
    )  # fmt: skip


def read_versions(answer: bytes) -> list[Version]:
    """What git found."""
    found = []
    for record in answer.decode("utf-8", "surrogateescape").split("\1")[1:]:
        head, *rest = record.strip("\0\n").replace("\n", "\0").split("\0")
        name, _, time = head.partition(" ")
        status, old, new = ([word for word in rest if word] + ["", "", ""])[:3]
        new_path = new if status.startswith("R") else old
        if new_path:
            found.append(Version(name, utc(time), new_path, old))
    return found


def versions(repository: Repository, commit: str, path: str) -> list[Version]:
    """The commits that changed the file, newest first."""
    with start_versions(repository, commit, path) as looking:
        return read_versions(looking.read())


def moved_from(repository: Repository, commit: str, path: str, lines: list[str]) -> str | None:
    """For a file that git does not know, the one it was until somebody moved it: gone, and much the same."""
    listed = repository.run("ls-tree", "-r", "--name-only", "-z", commit).decode("utf-8", "surrogateescape").split("\0")
    gone = [name for name in listed if name and not os.path.lexists(os.path.join(repository.root, name))]
    # Those of the same name, or at least of the same kind, first.
    gone.sort(key=lambda name: (os.path.basename(name) != os.path.basename(path), _ending(name) != _ending(path)))
    wanted = {line for line in lines if line.strip()}
    best, most = None, 0.5
    contents = repository.blobs(f"{commit}:{name}" for name in gone[:_GONE])
    for name, content in zip(gone, contents, strict=False):
        there = {line for line in (content or b"").decode("utf-8", "replace").splitlines() if line.strip()}
        alike = len(wanted & there) / max(len(wanted | there), 1)
        if alike > most:
            best, most = name, alike
    return best


def _ending(name: str) -> str:
    return os.path.splitext(name)[1]


def worktrees(repository: Repository) -> list[str]:
    """The working copies of the repository."""
    try:
        answer = repository.run("worktree", "list", "--porcelain").decode("utf-8", "surrogateescape")
    except GitError:
        return []
    return [line.removeprefix("worktree ") for line in answer.splitlines() if line.startswith("worktree ")]
