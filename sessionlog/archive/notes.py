"""Pins, tags and notes that people put on a session or on a moment of it: a JSON file beside the archive.

They say what people think of a session, not what happened in it. So they are not in the archive, which only grows and
whose hash chain is checked; they stay when sessions are pruned, and `redact` cleans them too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timezone
from typing import Any, NamedTuple

from sessionlog.archive.files import NOTES_ENDING
from sessionlog.archive.locks import Lock
from sessionlog.archive.place import Place
from sessionlog.errors import SessionlogError
from sessionlog.fastlib import parse_json
from sessionlog.system.files import read_own
from sessionlog.times import archive_text

LONGEST_FILE = 32 << 20
MOST = 10_000  # annotations of a project
LONGEST_NOTE = 10_000
LONGEST_TAG = 60
LONGEST_ID = 500
LOCK_WAIT = 5.0  # seconds

_MOMENT = r"[em]\d{1,19}"
# Commands take these for a session or a moment before they look for a tag.
_TAKEN = rf"last(~\d*)?|today|yesterday|#\d+|{_MOMENT}"

Key = tuple[str, str]  # a session, and a moment of it ("" is the session as a whole)


class Annotation(NamedTuple):
    """What somebody put on a session or on a moment."""

    session: str
    moment: str = ""  # e12 is an event, m34 a part of a transcript; empty for the session as a whole
    pinned: bool = False
    tags: tuple[str, ...] = ()
    note: str = ""
    at: str = ""  # when it was changed last

    @property
    def key(self) -> Key:
        return self.session, self.moment

    @property
    def is_empty(self) -> bool:
        return not (self.pinned or self.tags or self.note)


def path_of(place: Place) -> str:
    """Where the annotations of an archive are."""
    return place.db + NOTES_ENDING


def load(place: Place) -> dict[Key, Annotation]:
    """All annotations of a project. One that a person has broken raises an error, and is never overwritten."""
    path = path_of(place)
    try:
        content = parse_json(read_own(path, LONGEST_FILE).decode())
        found = [_from_json(item) for item in content["annotations"]]
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, LookupError, RecursionError) as error:
        raise SessionlogError(f"the pins, tags and notes in {path} cannot be read: {error}") from error
    return {one.key: one for one in found}


def get(place: Place, session: str, moment: str = "") -> Annotation:
    """What was put on a session or on a moment; empty if nothing was."""
    return load(place).get((session, moment), Annotation(session, moment))


def of_session(place: Place, session: str) -> list[Annotation]:
    """What was put on a session and on its moments, the session itself first."""
    return [one for key, one in sorted(load(place).items()) if one.session == session]


def find(place: Place, words: Iterable[str]) -> list[Annotation]:
    """The tags and notes in which all of these words occur, the latest first."""
    wanted = [word.lower() for word in words]
    found = [one for one in load(place).values() if one.note or one.tags]
    matching = [one for one in found if all(word in " ".join((one.note, *one.tags)).lower() for word in wanted)]
    return sorted(matching, key=lambda one: one.at, reverse=True)


def change(
    place: Place,
    session: str,
    moment: str = "",
    *,
    pinned: bool | None = None,
    add_tags: Iterable[str] = (),
    remove_tags: Iterable[str] = (),
    note: str | None = None,
) -> Annotation:
    """Pin, tag or note a session or a moment; None leaves as it is. What holds nothing more is removed."""
    _check(session, moment, note)
    with Lock(path_of(place) + ".lock", LOCK_WAIT):
        known = load(place)
        old = known.get((session, moment), Annotation(session, moment))
        removed = {_tag(tag) for tag in remove_tags}
        new = old._replace(
            pinned=old.pinned if pinned is None else pinned,
            tags=tuple(sorted({*old.tags, *map(_new_tag, add_tags)} - removed)),
            note=old.note if note is None else note.strip(),
            at=archive_text(datetime.now(timezone.utc)),
        )
        known.pop(old.key, None)
        if not new.is_empty:
            if len(known) >= MOST:
                raise SessionlogError(f"this project has {MOST:,} pins, tags and notes already; remove some first")
            known[new.key] = new
        _write(place, known)
    return new


def add(place: Place, others: Iterable[Annotation]) -> int:
    """Put annotations of another archive to ours; returns how many changed something. Twice is once."""
    changed = 0
    with Lock(path_of(place) + ".lock", LOCK_WAIT):
        known = load(place)
        for other in others:
            old = known.get(other.key)
            new = _joined(old, other) if old else other
            if new != old and (old or len(known) < MOST):
                known[new.key] = new
                changed += 1
        if changed:
            _write(place, known)
    return changed


def _joined(ours: Annotation, theirs: Annotation) -> Annotation:
    note = ours.note
    if theirs.note not in note:
        both = f"{note}\n\n{theirs.note}".strip()
        note = both if len(both) <= LONGEST_NOTE else note
    new = ours._replace(pinned=ours.pinned or theirs.pinned, tags=tuple(sorted({*ours.tags, *theirs.tags})), note=note)
    return new if new == ours else new._replace(at=max(ours.at, theirs.at))


def rewrite(place: Place, cleaned: Callable[[str], str], write: bool = True) -> list[tuple[str, str]]:
    """Pass all texts through a function, for `redact`; returns what changes, before and after."""
    if not os.path.lexists(path_of(place)):
        return []
    with Lock(path_of(place) + ".lock", LOCK_WAIT):
        known, changes = {}, []
        for key, old in load(place).items():
            known[key] = old._replace(note=cleaned(old.note), tags=tuple(map(cleaned, old.tags)))
            pairs = zip((old.note, *old.tags), (known[key].note, *known[key].tags), strict=True)
            changes += [(before, after) for before, after in pairs if before != after]
        if changes and write:
            _write(place, known)
    return changes


def _write(place: Place, known: Mapping[Key, Annotation]) -> None:
    content = {"version": 1, "annotations": [_to_json(one) for _, one in sorted(known.items())]}
    import json  # as below, for those who write

    from sessionlog.system import atomic

    text = json.dumps(content, ensure_ascii=True, indent=1) + "\n"
    atomic.write(path_of(place), [text.encode()])


def _check(session: str, moment: str, note: str | None) -> None:
    if not session or len(session) > LONGEST_ID:
        raise SessionlogError("a session has an id")
    if moment and not re.fullmatch(_MOMENT, moment):
        raise SessionlogError(f"{moment!r} is no moment; one is written as e12 or m34")
    if note and len(note) > LONGEST_NOTE:
        raise SessionlogError(f"a note has at most {LONGEST_NOTE:,} characters")


def _tag(text: str) -> str:
    tag = " ".join(text.split())
    if not tag or len(tag) > LONGEST_TAG or not tag.isprintable():
        raise SessionlogError(f"a tag has 1 to {LONGEST_TAG} characters")
    return tag


def _new_tag(text: str) -> str:
    tag = _tag(text)
    if re.fullmatch(_TAKEN, tag):
        raise SessionlogError(f"{tag!r} has a meaning of its own, so it cannot be a tag; choose another word")
    return tag


def _to_json(one: Annotation) -> dict[str, Any]:
    return {name: value for name, value in one._asdict().items() if value}


def _from_json(item: Any) -> Annotation:
    texts = {name: item.get(name, "") for name in ("session", "moment", "note", "at")}
    tags = tuple(item.get("tags", ()))
    if not texts["session"] or not all(isinstance(text, str) for text in (*texts.values(), *tags)):
        raise ValueError("an annotation without a session, or with something else than text")
    return Annotation(**texts, pinned=item.get("pinned") is True, tags=tags)
