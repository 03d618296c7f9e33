"""One stretch of a file made ready for the archive: without its secrets, understood, compressed.

Nothing here knows the database, so that other processes can do it.
"""

import os

from sessionlog.agents import transcripts
from sessionlog.agents.claude_code import transcript_files
from sessionlog.agents.claude_code.transcript_lines import Reader
from sessionlog.agents.registry import CLAUDE_CODE
from sessionlog.fastlib import blake2b, encode_json, parse_json
from sessionlog.redact import machine_key
from sessionlog.redact.rules import Rules
from sessionlog.system.files import open_regular
from sessionlog.transcripts import pruned
from sessionlog.transcripts.packed import Unreadable, entries, load_orjson, pack, parse, unpack

__all__ = ["Unreadable", "entries", "pack", "parse", "unpack"]  # a part of what chunks are, also for those who read few

load_orjson()

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator
    from typing import Any, BinaryIO, NamedTuple

    from sessionlog.transcripts.pruned import Limits, Unrecorded
else:
    from typing import NamedTuple

# What is read, understood and stored at once: whole lines, at least this many bytes if there are so many.
CHUNK = 3 << 19
# A file that is no sequence of lines is one chunk up to this size: a private key must not be cut in two.
WHOLE = 64 << 20
# A longer line is archived as it is, in pieces, and not understood.
LONGEST_LINE = 64 << 20
PIECE = 16 << 20

# Secrets are looked for in blocks, and line by line where one is suspected: a call for every line costs more.
BLOCK = 64 << 10

# Claude Code writes the output of a command twice into a line. Of the second, only both ends are searched for secrets:
# no rule looks further than this around a name or a value.
OUTPUT, AGAIN, END_OF_OUTPUT = b'"content":"', b'"toolUseResult":{"stdout":"', b'","stderr":"'
AROUND = 1024

MARKER = b"[redacted:"

# Bytes of a hash of what a file holds; and of one with the key of this machine.
HASH, KEYED_HASH = 16, 20


class Span(NamedTuple):
    """A stretch of a file: whole lines, or all of it."""

    path: str
    kind: str
    session_id: str
    agent_id: str | None
    offset: int
    length: int
    # Of the history of all prompts, only the lines of these projects.
    only: "frozenset[str] | None" = None
    is_piece: bool = False  # of a line that is too long
    client: str = "claude-code"
    limits: "Limits | None" = None  # what was pruned and stays out
    unrecorded: "Unrecorded | None" = None  # what the user chose not to record


class Skip(NamedTuple):
    """What could not be understood. Its bytes are kept if it was a line, but no message was made of them."""

    path: str
    line: int | None
    reason: str


class Digest(NamedTuple):
    """A stretch of a file, ready for the archive; its lines are counted from 0."""

    length: int
    hash: bytes
    lines: int
    data: bytes
    replacements: int
    types: "dict[str, int]"
    messages: "list[tuple[Any, ...]]"
    usage: "list[list[Any]]"
    facts: "dict[str, dict[str, Any]]"
    agent: "dict[str, Any] | None"
    skips: "list[Skip]"
    left_out: int = 0  # lines that were pruned before


def spans(
    source: transcript_files.Source,
    offset: int,
    size: int,
    only: "frozenset[str] | None" = None,
    to_the_end: bool = False,
    limits: "Limits | None" = None,
    unrecorded: "Unrecorded | None" = None,
) -> "Iterator[Span]":
    """Cut a file from `offset` to `size` into chunks; a last line that is not whole is left for another time.

    `to_the_end` takes that line too: its writer died, and nobody will finish it.
    """
    chunk = CHUNK if source.kind in transcript_files.LINE_KINDS else WHOLE
    head = (source.path, source.kind, source.session_id or "", source.agent_id)
    with open(open_regular(source.path), "rb") as file:
        while offset < size:
            end, is_piece = min(offset + chunk, size), False
            if end < size or (source.kind in transcript_files.LINE_KINDS and not to_the_end):
                end = _line_end(file, offset, end, size)
                if end <= offset and size - offset > LONGEST_LINE:
                    end, is_piece = offset + PIECE, True
                elif end <= offset and to_the_end:
                    end = size
            if end > offset:
                yield Span(*head, offset, end - offset, only, is_piece, source.client, limits or None, unrecorded)
            if end <= offset or end >= size:
                break
            offset = end


def hash_of(data: bytes) -> bytes:
    """Tells whether a file still holds what was archived."""
    return blake2b(data, digest_size=HASH).digest()


def keyed(found: bytes, key: bytes) -> bytes:
    """The hash as it is kept where something was taken out of the text: with the key of this machine.

    By a hash without a key, everybody who has the rest of the text could try guesses at what was taken out.
    """
    return blake2b(found, key=key, digest_size=KEYED_HASH).digest() if key and len(found) == HASH else found


def register(connection: "sqlite3.Connection", home: str) -> None:
    """Let `keyed_hash(hash)` be asked for on this connection. The key is read, or made, on first need."""
    keys: list[bytes] = []

    def keyed_hash(found: bytes) -> bytes:
        if not keys:
            keys.append(machine_key.read(home))
        return keyed(found, keys[0])

    connection.create_function("keyed_hash", 1, keyed_hash)


def hash_in_file(path: str, offset: int, length: int) -> bytes:
    """The hash of these bytes of a file."""
    found = blake2b(digest_size=HASH)
    with open(open_regular(path), "rb") as file:
        file.seek(offset)
        while length > 0 and (block := file.read(min(length, 1 << 20))):
            found.update(block)
            length -= len(block)
    return found.digest()


def rules_for(home: str, raw: bool) -> "Rules | None":
    """What is taken out of transcripts; None if nothing is. Also where every byte is wanted, a person may have named
    something that is not to come back."""
    rules = Rules(home)
    rules.enabled = rules.enabled and not raw
    return rules if rules.enabled or rules.named else None


def read(path: str, offset: int, length: int) -> bytes:
    """Bytes of a file, fewer if it has become shorter."""
    with open(open_regular(path), "rb") as file:
        file.seek(offset)
        return file.read(length)


def cleaned(data: bytes, kind: str, rules: "Rules | None") -> bytes:
    """The bytes of a file of this kind without secrets; the same object if there are none."""
    if rules is None:
        return data
    return clean_lines(data, rules) if kind in transcript_files.LINE_KINDS else clean_line(data, rules)


def digest(span: Span, rules: "Rules | None") -> Digest:
    """Read a stretch of a file and make it ready; without rules, its secrets stay in it."""
    data = read(span.path, span.offset, span.length)
    if len(data) < span.length and span.kind in transcript_files.LINE_KINDS:  # the file shrank since it was looked at
        data = data[: data.rfind(b"\n") + 1]
    fingerprint = hash_of(data)
    reader = transcripts.reader(span.client, span.session_id, span.agent_id)
    left_out = 0
    if span.is_piece:
        stored, skips, agent, ends = _piece(data, span, rules)
    elif span.kind in transcript_files.LINE_KINDS:
        stored = cleaned(data, span.kind, rules)
        lines = stored.split(b"\n")
        if span.only is not None:
            lines = _only_of_projects(lines, span.only)
            stored = b"\n".join(lines)
        understood = lines
        if span.unrecorded:
            understood = pruned.recorded_lines(lines, span.unrecorded._replace(tool_output=True), span.client)
            lines = pruned.recorded_lines(lines, span.unrecorded, span.client)
            stored = b"\n".join(lines)
        if span.limits:
            and_output = pruned.with_output(span.limits)
            understood = pruned.kept_lines(understood, span.kind, span.session_id, and_output, span.client)
            kept = pruned.kept_lines(lines, span.kind, span.session_id, span.limits, span.client)
            if kept != lines:
                left_out = sum(bool(line) for line in lines) - sum(bool(line) for line in kept)
                lines, stored = kept, b"\n".join(kept) if any(kept) else b""
        if span.offset:
            resume(reader, _lines_before(span.path, span.offset, getattr(reader, "CONTEXT", ())), rules)
        # Other agents say only in the output whether a call failed.
        skips = understand(lines if span.client == CLAUDE_CODE else understood, span, reader)
        if span.unrecorded and not span.unrecorded.tool_output:
            pruned.silence(reader)
        if span.limits:
            pruned.keep_out(reader, span.limits)
        ends, agent = len(lines) - 1, None
    else:
        stored = cleaned(data, span.kind, rules)
        skips, agent = [], _read_whole(stored, span, reader)
        ends = data.count(b"\n")
    if rules and stored is not data and stored != data:
        fingerprint = keyed(fingerprint, machine_key.of(rules))
    return Digest(
        len(data),
        fingerprint,
        ends,
        pack(stored),
        max(0, stored.count(MARKER) - data.count(MARKER)) if stored is not data else 0,
        reader.types,
        reader.rows,
        list(reader.usage.values()),
        reader.facts,
        agent,
        skips,
        left_out,
    )


# An agent's reader looks back in steps of so many bytes for lines that say something about those of a chunk, until
# it finds one, but not further than this.
LOOK_BACK, FURTHEST_BACK = 4 << 20, 64 << 20


def _lines_before(path: str, offset: int, marks: "tuple[bytes, ...]") -> "Iterator[bytes]":
    """The first line of a file, and the last ones before an offset, as far back as the nearest mark."""
    blocks: list[bytes] = []
    start = offset
    while (
        start > 0
        and offset - start < FURTHEST_BACK
        and not any(mark in block for mark in marks for block in blocks[:1])
    ):
        length = min(LOOK_BACK, start)
        start -= length
        blocks.insert(0, read(path, start, length))
    if start:
        yield read(path, 0, LOOK_BACK).partition(b"\n")[0]
    yield from b"".join(blocks).split(b"\n")  # of a line that is cut, no JSON is left


def resume(reader: "Any", before: "Iterable[bytes]", rules: "Rules | None" = None) -> None:
    """Let the reader of an agent whose lines depend on earlier ones know those before its first one."""
    marks = getattr(reader, "CONTEXT", ())
    for line in before if marks else ():
        if any(mark in line for mark in marks):
            try:
                value = parse(clean_line(line, rules) if rules else line)
            except ValueError:
                continue
            if isinstance(value, dict):
                reader.resume(value)


def _piece(data: bytes, span: Span, rules: "Rules | None") -> "tuple[bytes, list[Skip], None, int]":
    """A part of a line that is too long. Of the history, nobody can tell which project such a line belongs to."""
    stored = b"" if span.only is not None else data
    suspects = rules.suspects(stored) if rules else ()
    if rules and suspects:
        text = rules.clean_text(stored.decode("utf-8", "surrogateescape"), suspects)
        stored = text.encode("utf-8", "surrogateescape")
    reason = f"a line of more than {LONGEST_LINE >> 20} MB: archived as it is, and not understood"
    return stored, [Skip(span.path, 0, reason)], None, data.count(b"\n")


def clean_line(line: bytes, rules: Rules) -> bytes:
    """The line without its secrets. Where it can be, everything else stays as it was, to the byte."""
    suspects = rules.suspects(line)
    if not suspects:
        return line
    text = line.decode("utf-8", "surrogateescape")
    try:
        before = parse_json(text)
        after = rules.clean(parse_json(text), suspects)
    except ValueError:
        return rules.clean_text(text, suspects).encode("utf-8", "surrogateescape")
    if before == after:
        return line
    for old, new in _changes(before, after):
        text = text.replace(encode_json(old), encode_json(new))
    try:
        exact = parse_json(text) == after
    except ValueError:
        exact = False
    if not exact:  # spelled in another way than ours
        text = encode_json(after)
    return text.encode("utf-8", "surrogateescape" if exact else "replace")


def understand(lines: "list[bytes]", span: Span, reader: Reader) -> "list[Skip]":
    """Let the reader take in the lines; returns those that cannot be read."""
    skips: list[Skip] = []
    read = reader.read if span.only is None else reader.read_history
    for number, line in enumerate(lines):
        if not line or line.isspace():
            continue
        try:
            for entry in entries(line):
                if not isinstance(entry, dict):
                    raise ValueError(f"a JSON {type(entry).__name__}, not an object")
                if span.kind != transcript_files.JOURNAL:
                    read(entry, number)
        except Exception as error:  # whatever one line holds, the others are imported
            skips.append(Skip(span.path, number, f"{error}"[:200]))
    return skips


def _only_of_projects(lines: "list[bytes]", folders: "frozenset[str]") -> "list[bytes]":
    """The lines of the history that belong to these projects; the others are left empty, to keep the count."""

    def belongs(line: bytes) -> bool:
        try:
            entry = parse(line)
            return isinstance(entry, dict) and entry.get("project") in folders
        except ValueError:
            return False

    return [line if belongs(line) else b"" for line in lines]


def clean_lines(data: bytes, rules: Rules) -> bytes:
    """The lines without their secrets; the same object if there are none."""
    pieces: list[bytes] = []
    start = done = 0
    while start < len(data):
        end = data.find(b"\n", start + BLOCK) + 1 or len(data)
        block = data[start:end]
        if rules.suspects(_without_copies(block), of_many=True):
            cleaned = b"\n".join([clean_line(line, rules) for line in block.split(b"\n")])
            if cleaned != block:
                pieces += data[done:start], cleaned
                done = end
        start = end
    return b"".join([*pieces, data[done:]]) if pieces else data


def _without_copies(block: bytes) -> bytes:
    """The lines without the middle of each output that stands in its line before, byte for byte."""
    pieces: list[bytes] = []
    done = 0
    at = block.find(AGAIN)
    while at >= 0:
        copy = at + len(AGAIN)
        line_end = block.find(b"\n", copy)
        end = block.rfind(END_OF_OUTPUT, copy, line_end if line_end >= 0 else len(block))
        if end - copy > 2 * AROUND:
            start = block.find(OUTPUT, block.rfind(b"\n", 0, at) + 1, at) + len(OUTPUT)
            if start + end - copy <= at and block.startswith(block[copy:end], start):
                pieces.append(block[done : copy + AROUND])
                done = end - AROUND
        at = block.find(AGAIN, max(copy, end))
    return b"\n".join([*pieces, block[done:]]) if pieces else block


def _read_whole(data: bytes, span: Span, reader: Reader) -> "dict[str, Any] | None":
    """What the small files beside a transcript say; the fields of a sub-agent, if it is one's."""
    if span.kind == transcript_files.TOOL_RESULT:
        return None
    try:
        value = parse(data)
    except ValueError:
        return None
    if not isinstance(value, dict):
        return None
    if span.kind == transcript_files.AGENT_META:
        return {key: field for key, field in value.items() if isinstance(field, str)}
    if os.path.basename(span.path) == "custom-title.json" and isinstance(value.get("customTitle"), str):
        reader.facts[span.session_id] = {"custom_title": value["customTitle"]}
    return None


def _changes(before: "Any", after: "Any") -> "Iterator[tuple[str, str]]":
    """The strings that differ between a value and its cleaned copy, which has the same shape."""
    stack = [(before, after)]
    while stack:
        old, new = stack.pop()
        if isinstance(old, str):
            if old != new:
                yield old, new
        elif isinstance(old, dict):
            stack += zip(old, new, strict=True)
            stack += zip(old.values(), new.values(), strict=True)
        elif isinstance(old, list):
            stack += zip(old, new, strict=True)


def _line_end(file: "BinaryIO", start: int, end: int, size: int) -> int:
    """The end of the line that `end` lies in; of the line before it when that one is too long, or not whole yet."""
    file.seek(end - 1)
    block = file.read(1)
    position = end
    while block != b"\n":
        if position >= size:
            return _last_whole_line(file, start, size)
        if position - end > LONGEST_LINE:
            return _last_newline(file, start, end)
        block = file.read(min(1 << 16, size - position))
        if not block:
            return _last_whole_line(file, start, position)
        found = block.find(b"\n")
        if found >= 0:
            return position + found + 1
        position += len(block)
    return end


def _last_whole_line(file: "BinaryIO", start: int, end: int) -> int:
    """The end of the last line between these two that is whole: ended, or JSON as it stands."""
    position = _last_newline(file, start, end)
    if end - position > LONGEST_LINE:
        return position
    file.seek(position)
    rest = file.read(end - position)
    try:
        return end if rest and isinstance(parse(rest), dict) else position
    except ValueError:
        return position


def _last_newline(file: "BinaryIO", start: int, end: int) -> int:
    """Behind the last newline between these two; the start if there is none."""
    position = end
    while position > start:
        step = min(1 << 20, position - start)
        file.seek(position - step)
        found = file.read(step).rfind(b"\n")
        if found >= 0:
            return position - step + found + 1
        position -= step
    return position
