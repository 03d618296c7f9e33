"""Takes secrets out of what is already stored: tables, transcripts, rejected payloads, free pages, WAL and index."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing, nullcontext
from typing import Any, NamedTuple

from sessionlog.agents import transcripts
from sessionlog.agents.claude_code import transcript_files
from sessionlog.agents.claude_code.transcript_lines import TEXTS, Reader
from sessionlog.archive import chain, event, files, notes, rebuild, sidecar, spool
from sessionlog.archive import place as projects
from sessionlog.archive.locks import open_private, wait_for_lock
from sessionlog.archive.place import Place
from sessionlog.archive.transaction import writing
from sessionlog.errors import SessionlogError
from sessionlog.fastlib import encode_json, parse_json
from sessionlog.maintain import batches
from sessionlog.redact import remembered, stream
from sessionlog.redact.detector import Detector
from sessionlog.redact.rules import Rules
from sessionlog.system import atomic
from sessionlog.system.files import open_own, read_own
from sessionlog.transcripts import chunks, stored_lines

# A shorter one would be found in the midst of ids, times and words.
SHORTEST_VALUE = 4

_MARKER = re.compile(r"\[redacted:([A-Za-z0-9-]+):")


class GivenRules(Rules):
    """The rules of today, and what the caller wants to be gone besides."""

    def __init__(self, home: str, patterns: Iterable[str] = (), values: Iterable[str] = ()) -> None:
        super().__init__(home)
        values = frozenset(values)
        self.allow -= values
        self.named += (*map(_detector_of_value, values), *map(_detector_of_pattern, patterns))

    def cleaned(self, text: str) -> str:
        """A text of the archive without its secrets, JSON or not."""
        data = text.encode("utf-8", "surrogateescape")
        if text[:1] in ("{", "[", '"'):
            return chunks.clean_line(data, self).decode("utf-8", "surrogateescape")
        return self.clean_text(text, self.suspects(data))


class Replacements:
    """What there is to replace, by kind, and where, by table."""

    def __init__(self) -> None:
        self.kinds: Counter[str] = Counter()
        self.rows: Counter[str] = Counter()
        self.not_searched: dict[str, str] = {}  # a transcript, and why not

    def add(self, where: str, before: str, after: str) -> None:
        self.rows[where] += 1
        # Less what an earlier cleaning had left; a secret inside a greater one may have taken its marker with it.
        self.kinds += Counter(_MARKER.findall(after)) - Counter(_MARKER.findall(before))


class ChangedCell(NamedTuple):
    """A cell that changes."""

    name: str
    value: Any


def preview(place: Place, rules: GivenRules) -> Replacements:
    """Look what would be replaced in an archive, and change nothing."""
    found = Replacements()
    with closing(_open(place)) as connection:
        for _ in _sweep(connection, rules, found):
            pass
    _clean_notes(place, rules, found, write=False)
    return found


def run(place: Place, rules: GivenRules) -> Replacements:
    """Replace it. Killed half-way, it leaves a sound archive, and the next run finishes the work."""
    found = Replacements()
    sidecar.forget(place)
    with closing(_open(place)) as connection:
        connection.execute("PRAGMA secure_delete = ON")
        spool.bring_home(place, connection)
        notebook = chain.Notebook(connection, "redact")
        batches.in_turns(connection, _sweep(connection, rules, found, notebook), notebook)
        batches.give_back(place, connection)
    _clean_notes(place, rules, found, write=True)
    return found


def _clean_notes(place: Place, rules: GivenRules, found: Replacements, write: bool) -> None:
    """The same in what people noted beside the archive."""
    for before, after in notes.rewrite(place, rules.cleaned, write):
        found.add("notes", before, after)


def clean_copy(place: Place, rules: GivenRules) -> None:
    """Replace it in a copy that nobody else has open, and that is soon gone: no space is given back."""
    with closing(_open(place)) as connection:
        chunks.register(connection, rules.home)  # the copy is in a folder that has no key
        notebook = chain.Notebook(connection, "redact")
        with writing(connection):
            for _ in _sweep(connection, rules, Replacements(), notebook):
                pass
            notebook.write()


def clean_rejected(home: str, rules: GivenRules, write: bool) -> Replacements:
    """Replace it in the payloads that were no events; they belong to no project."""
    found = Replacements()
    for path in spool.rejected_files(home):
        # A short one as the event that it nearly was; what is too long for that piece by piece.
        is_short = os.path.getsize(path) <= stream.PIECE
        changed = False
        for before, after in _cleaned_whole(path, rules) if is_short else _cleaned_in_pieces(path, rules):
            if before != after:
                found.add("rejected payloads", before.decode("utf-8", "replace"), after.decode("utf-8", "replace"))
                changed = True
        if write and changed:
            pairs = _cleaned_whole(path, rules) if is_short else _cleaned_in_pieces(path, rules)
            atomic.write(path, (after for _, after in pairs))
    return found


def _cleaned_whole(path: str, rules: GivenRules) -> Iterator[tuple[bytes, bytes]]:
    data = read_own(path, stream.PIECE)
    yield data, rules.cleaned(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def _cleaned_in_pieces(path: str, rules: GivenRules) -> Iterator[tuple[bytes, bytes]]:
    with open(open_own(path), "rb") as file:
        yield from stream.cleaned(iter(lambda: file.read(stream.PIECE), b""), rules)


def spools_without_archive(home: str) -> list[str]:
    """Spools whose archive could not be made so far: it is not known which project their events belong to."""
    return [path for path in spool.waiting_files([home]) if not os.path.exists(_archive_of(home, path))]


def _archive_of(home: str, path: str) -> str:
    return os.path.join(home, os.path.basename(path).removesuffix(".spool"))


def clean_spools(home: str, rules: GivenRules, write: bool) -> Replacements:
    """Replace it in the events that wait in such spools."""
    found = Replacements()
    for path in spools_without_archive(home):
        descriptor = open_private(path, 0)
        try:
            wait_for_lock(descriptor, path, spool.LOCK_WAIT)
            _clean_spool(descriptor, path, rules, found, write)
        finally:
            os.close(descriptor)
    return found


def _clean_spool(descriptor: int, path: str, rules: GivenRules, found: Replacements, write: bool) -> None:
    """A hook may wait for the lock of this very file, so it is rewritten in place; a draft is there meanwhile."""
    draft = f"{path}.{os.urandom(4).hex()}"
    changed = False
    try:
        with open(descriptor, "rb+", closefd=False) as file, open(open_private(draft, os.O_EXCL), "wb+") as copy:
            for line in iter(lambda: file.readline(spool.LONGEST_LINE), b""):
                before = line.decode("utf-8", "surrogateescape")
                after = rules.cleaned(before)
                if after != before:
                    changed = True
                    found.add("waiting events", before, after)
                copy.write(after.encode("utf-8", "surrogateescape"))
            if write and changed:
                copy.flush()
                os.fsync(copy.fileno())
                copy.seek(0)
                file.seek(0)
                shutil.copyfileobj(copy, file)
                file.truncate()
                file.flush()
    finally:
        os.unlink(draft)


def out_of_reach(place: Place) -> list[str]:
    """Files beside the archive that may still hold what was replaced in it: damaged ones, copies, spools in use."""
    folder, name = os.path.split(os.path.abspath(place.db))
    own_folder = os.path.realpath(folder) == os.path.realpath(place.home)
    beside = [entry for entry in os.listdir(folder) if own_folder or entry.startswith(name)]
    return sorted({*files.not_redacted(folder, beside), *projects.waiting_spools(place)})


def _detector_of_value(value: str) -> Detector:
    if len(value) < SHORTEST_VALUE:
        raise SessionlogError(f"a value of fewer than {SHORTEST_VALUE} characters is in too much else")
    # JSON spells some characters otherwise, and the beginning of a tool's input is kept as JSON.
    forms = remembered.spellings(value)
    needles = tuple(form.encode("utf-8", "surrogateescape") for form in forms)
    return Detector("value", "|".join(map(re.escape, forms)), needles)


def _detector_of_pattern(pattern: str) -> Detector:
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise SessionlogError(f"{pattern!r} is no regular expression ({error})") from None
    return Detector("pattern", pattern, ())


def _open(place: Place) -> sqlite3.Connection:
    connection = batches.open_archive(place)
    connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
    return connection


def _sweep(
    connection: sqlite3.Connection, rules: GivenRules, found: Replacements, notebook: chain.Notebook | None = None
) -> Iterator[None]:
    """Every row of every table, those of later versions too; with a notebook, to change them.

    Transcripts go first: messages are made of them.
    """
    yield from _sweep_chunks(connection, rules, found, write=notebook is not None)
    tables = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> 'chain_changes'"
    )
    for (table,) in tables.fetchall():
        for (row_id,) in connection.execute(f'SELECT rowid FROM "{table}"').fetchall():
            cursor = connection.execute(f'SELECT * FROM "{table}" WHERE rowid = ?', (row_id,))
            names = [column[0] for column in cursor.description]
            for values in cursor.fetchall():
                row = dict(zip(names, values, strict=True))
                cleaned = _clean_row(table, row, rules)
                changes = [ChangedCell(name, cleaned[name]) for name in names if cleaned[name] != row[name]]
                if changes:
                    found.add(table, _all_text(row), _all_text(cleaned))
                if changes and notebook:
                    _update(connection, table, row_id, changes, notebook)
            yield


def _clean_row(table: str, row: dict[str, Any], rules: GivenRules) -> dict[str, Any]:
    if not rules.suspects(_all_text(row).encode("utf-8", "surrogateescape"), of_many=True):
        return row
    names = list(row)
    if table == "events" and (whole := _clean_event(row, rules)):
        # What may not be of the payload.
        row, names = whole, ["session_id", "event", "at", "via", "hash", "salt"]
    texts = [name for name in names if isinstance(row[name], str) and not chain.is_link(name, row[name])]
    return {**row, **{name: rules.cleaned(row[name]) for name in texts}}


def _clean_event(row: dict[str, Any], rules: GivenRules) -> dict[str, Any] | None:
    """As the hook would have: the payload is put together, cleaned, and taken apart again."""
    try:
        before, whole = ([rebuild.payload({**row, "envelope": None}), _envelope(row)] for _ in range(2))
        payload, envelope = rules.clean(whole, rules.suspects(encode_json(whole).encode("utf-8", "surrogatepass")))
        if [payload, envelope] == before:
            return row
        record = event.normalise(payload, at_ms=0, via=row["via"], event=row["event"], session_id=row["session_id"])
        if envelope is not None:
            record["envelope"] = encode_json(envelope)
    except (ValueError, TypeError, KeyError, AttributeError):  # written by another hand: column by column, then
        return None
    return {**row, **record, "at": row["at"]}


def _envelope(row: dict[str, Any]) -> Any:
    return parse_json(row["envelope"]) if row["envelope"] else None


def _sweep_chunks(
    connection: sqlite3.Connection, rules: GivenRules, found: Replacements, write: bool
) -> Iterator[None]:
    if write:  # where an import took something out before hashes had a key
        connection.execute(
            "UPDATE transcript_chunks SET hash = keyed_hash(hash) WHERE replacements > 0 AND length(hash) = ?",
            (chunks.HASH,),
        )
    keys = connection.execute("SELECT transcript_id, sequence FROM transcript_chunks").fetchall()
    for key in keys:
        row = connection.execute(
            "SELECT t.file, t.kind, t.session_id, t.agent_id, c.first_line, c.data, t.client "
            "FROM transcript_chunks AS c JOIN transcripts AS t ON t.id = c.transcript_id "
            "WHERE c.transcript_id = ? AND c.sequence = ?",
            key,
        ).fetchone()
        if row is None:  # an import has just replaced it
            continue
        file, kind, session_id, agent_id, first_line, packed, client = row
        try:
            data = chunks.unpack(packed)
        except chunks.Unreadable as error:
            found.not_searched[file] = str(error)
            yield
            continue
        in_lines = kind in transcript_files.LINE_KINDS
        cleaned = chunks.cleaned(data, kind, rules)
        lines = cleaned.split(b"\n") if in_lines else [cleaned]
        if cleaned != data:
            found.add("transcripts", data.decode("utf-8", "replace"), cleaned.decode("utf-8", "replace"))
            if write:
                replacements = max(0, cleaned.count(chunks.MARKER) - data.count(chunks.MARKER))
                _store_chunk(connection, key, cleaned, replacements)
                reader = transcripts.reader(client, session_id or "", agent_id)
                only = frozenset[str]() if kind == transcript_files.HISTORY else None
                span = chunks.Span(file, kind, session_id or "", agent_id, 0, len(cleaned), only)
                marks: tuple[bytes, ...] = getattr(reader, "CONTEXT", ())
                chunks.resume(reader, _lines_before(connection, key, marks), rules)
                chunks.understand(lines, span, reader)
                _update_messages(connection, key[0], first_line, reader)
        yield


def _lines_before(connection: sqlite3.Connection, key: tuple[int, int], marks: tuple[bytes, ...]) -> list[bytes]:
    """What the reader of a chunk needs to know of those before it."""
    transcript_id, sequence = key

    def lines(number: int) -> list[bytes]:
        row = connection.execute(
            "SELECT data FROM transcript_chunks WHERE transcript_id = ? AND sequence = ?", (transcript_id, number)
        ).fetchone()
        try:
            return chunks.unpack(row[0]).split(b"\n") if row else []
        except chunks.Unreadable:
            return []

    return stored_lines.lines_before(lines, sequence, marks)


def _store_chunk(connection: sqlite3.Connection, key: tuple[int, int], data: bytes, replacements: int) -> None:
    """Its length stays, and its hash, with a key from now on: by them, `import` knows the file."""
    connection.execute(
        "UPDATE transcript_chunks SET data = ?, hash = keyed_hash(hash), replacements = replacements + ? "
        "WHERE transcript_id = ? AND sequence = ?",
        (chunks.pack(data), replacements, *key),
    )
    connection.execute("UPDATE transcripts SET replacements = replacements + ? WHERE id = ?", (replacements, key[0]))


def _update_messages(connection: sqlite3.Connection, transcript_id: int, first_line: int, reader: Reader) -> None:
    """A message holds the beginning of a long text, and with it the beginning of a secret that no rule finds there."""
    for message in reader.rows:
        line, part, *_ = message
        connection.execute(
            f"UPDATE transcript_parts SET ({', '.join(TEXTS)}) = ({', '.join('?' * len(TEXTS))}) "
            "WHERE transcript_id = ? AND line = ? AND part = ?",
            (*message[-len(TEXTS) :], transcript_id, first_line + line, part),
        )


def _update(
    connection: sqlite3.Connection, table: str, row_id: int, changes: list[ChangedCell], notebook: chain.Notebook
) -> None:
    with notebook.change(row_id) if table == "events" else nullcontext():
        connection.execute(
            f'UPDATE "{table}" SET {", ".join(f"{name} = ?" for name, _ in changes)} WHERE rowid = ?',
            (*(_storable(value) for _, value in changes), row_id),
        )
    if table == "chain_notes":
        chain.rechain_notes(connection, row_id)


def _storable(value: Any) -> Any:
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _all_text(row: dict[str, Any]) -> str:
    return "\n".join(value for value in row.values() if isinstance(value, str))
