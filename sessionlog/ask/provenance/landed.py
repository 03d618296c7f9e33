"""In which commit a change landed, as it was or in part: also if the lines have changed again since."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sessionlog.ask.provenance import history
from sessionlog.ask.provenance.history import Commit
from sessionlog.ask.provenance.target import Cleaner, Target
from sessionlog.system.git import GitError

# Commits of the file since the change that are looked at. They are read in one call of git.
_VERSIONS = 60
_BYTES = 32 << 20


class Change(NamedTuple):
    """Lines that were added to the file, and since when."""

    at: str
    lines: list[str]


class Landed(NamedTuple):
    """Where a change is; `commit` is None if no commit that HEAD has got has it."""

    commit: Commit | None
    is_whole: bool


def find(target: Target, changes: list[Change]) -> list[Landed | None]:
    """For each change of a file the first commit with most of its lines; None where nobody can tell."""
    nothing: list[Landed | None] = [None] * len(changes)
    repository = target.repository
    head = repository.head if repository else None
    if repository is None or head is None or not changes:
        return nothing
    first = min(change.at for change in changes)
    try:
        versions = history.versions(repository, head, target.path)
        later = [version for version in versions if version.at >= first][-_VERSIONS:]
        # And the one before: what it has already did not come with a later one.
        looked = [*later, *[version for version in versions if version.at < first][:1]][::-1]
        contents = list(repository.blobs([f"{one.commit}:{one.path}" for one in looked], limit=_BYTES))
        named = {one.id: one for one in history.commits(repository, [one.commit for one in looked])}
    except GitError:
        return nothing
    clean = Cleaner(target.place.home)
    texts = [_said(clean(content or b"").split("\n")) for content in contents]
    found: list[Landed | None] = []
    for change in changes:
        wanted = _said(change.lines)
        shares = [len(wanted & text) for text in texts]
        at = next(
            (
                k
                for k, version in enumerate(looked)
                if version.at >= change.at and 2 * shares[k] > len(wanted) and (not k or shares[k] > shares[k - 1])
            ),
            None,
        )
        if at is not None:
            found.append(Landed(named.get(looked[at].commit), shares[at] == len(wanted)))
        else:  # lines that were there before, or only taken out, are in no commit for the first time
            found.append(Landed(None, False) if wanted and 2 * max(shares, default=0) <= len(wanted) else None)
    return found


def _said(lines: Iterable[str]) -> set[str]:
    """What lines say, whatever their indentation; blank ones and lone brackets say nothing."""
    return {" ".join(line.split()) for line in lines if any(letter.isalnum() for letter in line)}
