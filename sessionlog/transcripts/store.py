"""Transcripts in the database of a project: what is there, how more goes in, how the bytes come out again."""

import sqlite3
import time
from itertools import chain, islice

from sessionlog.agents.claude_code import prices, transcript_files, transcript_lines
from sessionlog.agents.registry import CLAUDE_CODE
from sessionlog.archive import bulk, transcript_counts
from sessionlog.fastlib import encode_json, utc_text
from sessionlog.transcripts import chunks
from sessionlog.transcripts.settle import settle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, NamedTuple

    from sessionlog.archive.place import Place
else:
    from typing import NamedTuple

# What a chunk holds whose bytes were pruned. Its place and hash stay, so that an import knows the file.
PRUNED = chunks.pack(b"")

# So many parts go into one statement: SQLite prepares the generated columns anew for each statement that it runs, which
# takes as long as the rest of the row.
AT_ONCE = 32

_AT, _TYPE, _PARENT, _TEXT = map(transcript_lines.COLUMNS.index, ("at", "type", "parent_uuid", "text"))

FACT_COLUMNS = (
    "custom_title",
    "ai_title",
    "summary",
    "tag",
    "git_branch",
    "client_version",
    "entrypoint",
    "session_kind",
    "forked_from",
    "forked_at_uuid",
    "client_cost_usd",
    "client_usage",
)


class Known(NamedTuple):
    """A transcript in the archive, and its last chunk."""

    id: int
    file: str
    name: str
    generation: int
    size: int
    lines: int
    file_size: int
    file_mtime_ns: int
    last_sequence: int
    last_offset: int
    last_length: int
    last_hash: bytes
    last_lines: int
    pruned_bytes: int


_KNOWN = """
SELECT
    t.id, t.file, t.name, t.generation, t.bytes, t.lines, t.file_size, t.file_mtime_ns,
    coalesce(c.sequence, -1), coalesce(c.offset, 0), coalesce(c.length, 0), coalesce(c.hash, x''), coalesce(c.lines, 0),
    t.pruned_bytes
FROM transcripts AS t
LEFT JOIN transcript_chunks AS c
    ON c.transcript_id = t.id
    AND c.sequence = (SELECT max(sequence) FROM transcript_chunks WHERE transcript_id = t.id)
WHERE t.generation = (SELECT max(generation) FROM transcripts AS newer WHERE newer.file = t.file)
"""


def open_archive(place: "Place") -> sqlite3.Connection:
    """A connection for an import of transcripts."""
    connection = bulk.connect(place)
    prices.register(connection, place.home)
    chunks.register(connection, place.home)
    return connection


def known_transcripts(connection: sqlite3.Connection) -> "list[Known]":
    """The newest generation of every file in the archive."""
    return [Known(*row) for row in connection.execute(_KNOWN)]


def still_holds(connection: sqlite3.Connection, known: Known, path: str, every_byte: bool) -> bool:
    """Whether the file begins with what is archived of it, by its first and last chunk or by all."""
    rows = connection.execute(
        "SELECT offset, length, hash FROM transcript_chunks WHERE transcript_id = ? AND (? OR sequence IN (0, ?))",
        (known.id, every_byte, known.last_sequence),
    )
    for offset, length, wanted in rows.fetchall():
        found = chunks.hash_in_file(path, offset, length)
        if found != wanted and connection.execute("SELECT keyed_hash(?)", (found,)).fetchone()[0] != wanted:
            return False
    return True


def content(connection: sqlite3.Connection, transcript_id: int) -> "Iterator[bytes]":
    """The bytes of a transcript as they are archived, piece by piece."""
    query = "SELECT data FROM transcript_chunks WHERE transcript_id = ? ORDER BY sequence"
    for (data,) in _tuples(connection, query, transcript_id):
        yield chunks.unpack(data)


def entry(connection: sqlite3.Connection, message_id: int) -> "Any":
    """The whole entry that a message is a part of, as it stands in the transcript."""
    query = (
        "SELECT m.line, c.first_line, c.data FROM transcript_parts AS m JOIN transcript_chunks AS c "
        "ON c.transcript_id = m.transcript_id AND m.line BETWEEN c.first_line AND c.first_line + c.lines "
        "WHERE m.id = ? ORDER BY c.sequence DESC LIMIT 1"
    )
    line, first_line, data = next(_tuples(connection, query, message_id))
    return chunks.parse(chunks.unpack(data).split(b"\n")[line - first_line])


def _tuples(connection: sqlite3.Connection, query: str, *parameters: object) -> "Iterator[Any]":
    """Rows as SQLite gives them, whatever the connection makes of rows otherwise."""
    cursor = connection.cursor()
    cursor.row_factory = None
    # Not `yield from`: a reader who is interrupted would have it close a cursor whose connection is gone.
    return cursor.execute(query, parameters)


class Writer:
    """Appends one file to the archive, a chunk and a short transaction at a time.

    Others may import the same file at the same time: who comes second notices by the count of bytes and leaves it.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        source: transcript_files.Source,
        known: "Known | None",
        renew: bool,
        status: "Any",
    ) -> None:
        self.connection = connection
        self.source = source
        self.status = status
        self.id: int | None = None if renew or known is None else known.id
        self.generation = 1 if known is None else known.generation + renew
        self.bytes = 0 if self.id is None or known is None else known.size
        self.sequence = 0
        self.offset = 0
        self.first_line = 1
        self.new_messages = 0
        if self.id is not None and known is not None:
            again = continues_last_chunk(known)
            self.sequence = known.last_sequence + (not again)
            self.offset = known.last_offset if again else known.size
            self.first_line = known.lines - known.last_lines * again + 1

    def write(self, digest: chunks.Digest) -> bool:
        """Store the next chunk; False if another importer was faster."""
        connection = self.connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            if not self._claim(digest):
                connection.execute("ROLLBACK")
                return False
            connection.execute(
                "REPLACE INTO transcript_chunks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    self.id,
                    self.sequence,
                    self.offset,
                    digest.length,
                    digest.hash,
                    self.first_line,
                    digest.lines,
                    digest.replacements,
                    encode_json(digest.types),
                    digest.data,
                ),
            )
            if self.source.client == CLAUDE_CODE:
                self.new_messages = self._add_parts(self._with_times(digest.messages))
            else:
                self.new_messages = self._add_parts(self._with_ids(digest.messages), 1)
            if digest.usage:
                connection.execute(prices.NOTE_TABLE)
                connection.executemany(ADD_USAGE, digest.usage)
            for session_id, facts in digest.facts.items():
                self._write_facts(session_id, facts)
            if self.source.kind in transcript_files.LINE_KINDS and digest.data != PRUNED:
                self._make_reachable()
            if digest.agent is not None:
                self._write_agent(digest.agent)
            connection.execute(
                "UPDATE transcripts SET replacements = (SELECT sum(replacements) FROM transcript_chunks "
                "WHERE transcript_id = transcripts.id) WHERE id = ?",
                (self.id,),
            )
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        self.sequence += 1
        self.offset = self.bytes
        self.first_line += digest.lines
        return True

    def _add_parts(self, messages: "Iterable[tuple[Any, ...]]", at_once: int = AT_ONCE) -> int:
        """Insert parts, some in one statement; returns how many are new."""
        columns = ", ".join(transcript_lines.COLUMNS)
        # The digest counts its lines from 0, as it was made before it was known how many come first.
        first = (self.id, self.first_line)
        values = f"(?1, ?2 + ?, {', '.join('?' * (len(transcript_lines.COLUMNS) - 1))})"
        insert = f"INSERT OR IGNORE INTO transcript_parts (transcript_id, {columns}) VALUES "
        done, rest = 0, iter(messages)
        if at_once > 1:
            several = insert + ", ".join([values] * at_once)
            while len(rows := [*islice(rest, at_once)]) == at_once:
                done += self.connection.execute(several, [*first, *chain.from_iterable(rows)]).rowcount
            rest = iter(rows)
        # One after the other: the number of a call depends on the rows before it.
        one_by_one = ((*first, *row) for row in rest)
        return done + max(0, self.connection.executemany(insert + values, one_by_one).rowcount)

    def _make_reachable(self) -> None:
        """Whatever is archived belongs to a session, by which it is shown, restored and removed."""
        if self.source.session_id:
            at = utc_text(self.status.st_mtime_ns // 1_000_000)
            self.connection.execute(
                "INSERT OR IGNORE INTO sessions (session_id, started_at, last_at, transcript_path, client) "
                "VALUES (?, ?, ?, ?, ?)",
                (self.source.session_id, at, at, self.source.main_path or None, self.source.client),
            )

    def _with_times(self, messages: "list[tuple[Any, ...]]") -> "list[tuple[Any, ...]]":
        """What was said without a time, by anybody before it either, was said when the file was written."""
        if all([row[_AT] or row[_TYPE] not in transcript_lines.SPOKEN for row in messages]):
            return messages
        at = utc_text(self.status.st_mtime_ns // 1_000_000)
        return [
            row if row[_AT] or row[_TYPE] not in transcript_lines.SPOKEN else (*row[:_AT], at, *row[_AT + 1 :])
            for row in messages
        ]

    def _with_ids(self, messages: "list[tuple[Any, ...]]") -> "Iterator[tuple[Any, ...]]":
        """Calls that have no id of the agent's get the number that the hook gave them (archive/agent_event.py)."""
        for row in messages:
            fields = dict(zip(transcript_lines.COLUMNS, row, strict=True))
            call, kind = fields["tool_use_id"], fields["kind"]
            if call and call.endswith("."):
                # One that is there already keeps its number: its line is read again, and ignored.
                query = "SELECT count(*) FROM transcript_parts WHERE tool_use_id > ? AND tool_use_id < ? AND kind = ?"
                (count,) = self.connection.execute(query, (call, f"{call[:-1]}/", kind)).fetchone()
                fields["tool_use_id"] = f"{call}{count + 1}"
            yield tuple(fields.values())

    def finish(self) -> None:
        """All that was there is in: as long as the file keeps its size and time, it need not be opened again."""
        if self.id is not None:
            self.connection.execute(
                "UPDATE transcripts SET file = ?, name = ?, file_size = ?, file_mtime_ns = ? "
                "WHERE id = ? AND bytes = ?",
                (self.source.path, self.source.name, self.status.st_size, self.status.st_mtime_ns, self.id, self.bytes),
            )

    def _claim(self, digest: chunks.Digest) -> bool:
        """Move the end of the transcript forward, if it is where we left it."""
        now = utc_text(time.time_ns() // 1_000_000)
        source, end, lines = self.source, self.offset + digest.length, self.first_line - 1 + digest.lines
        if self.id is None:
            done = self.connection.execute(
                "INSERT OR IGNORE INTO transcripts (file, name, kind, session_id, agent_id, generation, bytes, lines, "
                "first_import_at, last_import_at, client) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    source.path,
                    source.name,
                    source.kind,
                    source.session_id,
                    source.agent_id,
                    self.generation,
                    end,
                    lines,
                    now,
                    now,
                    source.client,
                ),
            )
            self.id = done.lastrowid if done.rowcount else None
        else:
            done = self.connection.execute(
                "UPDATE transcripts SET bytes = ?, lines = ?, last_import_at = ? WHERE id = ? AND bytes = ?",
                (end, lines, now, self.id, self.bytes),
            )
        self.bytes = end
        return bool(done.rowcount)

    def _write_facts(self, session_id: str, facts: "dict[str, Any]") -> None:
        first_at = facts.get("first_at") or utc_text(self.status.st_mtime_ns // 1_000_000)
        path = self.source.main_path or None if session_id == self.source.session_id else None
        last_at = facts.get("last_at") or first_at
        self.connection.execute(
            _ADD_SESSION,
            (session_id, first_at, last_at, facts.get("model"), facts.get("cwd"), path, self.source.client),
        )
        values = {column: facts[column] for column in FACT_COLUMNS if facts.get(column) is not None}
        columns = ", ".join(("session_id", *values))
        update = ", ".join(f"{column} = excluded.{column}" for column in values)
        self.connection.execute(
            f"INSERT INTO session_facts ({columns}) VALUES (?{', ?' * len(values)}) "
            f"ON CONFLICT (session_id) DO {f'UPDATE SET {update}' if update else 'NOTHING'}",
            (session_id, *values.values()),
        )

    def _write_agent(self, meta: "dict[str, Any]") -> None:
        fields = ("agentType", "description", "toolUseId", "parentAgentId", "model")
        self.connection.execute(
            "REPLACE INTO subagent_facts VALUES (?, ?, ?, ?, ?, ?, ?)",
            (self.source.session_id, self.source.agent_id, *map(meta.get, fields)),
        )


_ANSWER = (
    *("message_id", "request_id", "session_id", "agent_id", "is_copy", "model", "at", "speed", "inference_geo"),
    *transcript_lines.TOKENS,
)
ANSWER = ", ".join(_ANSWER)
# What an answer has that is known already, with what a line says of it.
_GROWN = {
    "at": "min(coalesce(at, excluded.at), coalesce(excluded.at, at))",
    "speed": "coalesce(speed, excluded.speed)",
    "inference_geo": "coalesce(inference_geo, excluded.inference_geo)",
    **{column: f"max({column}, excluded.{column})" for column in transcript_lines.TOKENS},
}
# Needs prices.register().
ADD_USAGE = f"""
INSERT INTO model_answers ({ANSWER}, cost_usd) VALUES (
    {", ".join("?" * len(_ANSWER))},
    cost_of_answer({", ".join(f"?{_ANSWER.index(column) + 1}" for column in prices.PRICED)})
)
ON CONFLICT (message_id, request_id) DO UPDATE SET
    session_id = iif(is_copy > excluded.is_copy, excluded.session_id, session_id),
    agent_id = iif(is_copy > excluded.is_copy, excluded.agent_id, agent_id),
    is_copy = min(is_copy, excluded.is_copy),
    {", ".join(f"{column} = {grown}" for column, grown in _GROWN.items())},
    cost_usd = cost_of_answer({", ".join(_GROWN.get(column, column) for column in prices.PRICED)})
"""

# What a session is known by already stays; its time grows.
WIDEN_SESSION = """
ON CONFLICT (session_id) DO UPDATE SET
    started_at = min(started_at, excluded.started_at),
    last_at = max(last_at, excluded.last_at),
    model = coalesce(model, excluded.model),
    cwd = coalesce(cwd, excluded.cwd),
    transcript_path = coalesce(transcript_path, excluded.transcript_path)
"""
_ADD_SESSION = f"""
INSERT INTO sessions (session_id, started_at, last_at, model, cwd, transcript_path, client)
VALUES (?, ?, ?, ?, ?, ?, ?)
{WIDEN_SESSION}
"""

_SUMMARISE = """
INSERT INTO session_facts (session_id, summary)
SELECT session_id, ? FROM transcript_parts WHERE uuid = ? AND true LIMIT 1
ON CONFLICT (session_id) DO UPDATE SET summary = excluded.summary
"""


def summaries(digest: chunks.Digest) -> "list[tuple[str, str]]":
    """The summaries that name a message, each with that message."""
    if not digest.types.get("summary"):
        return []
    return [(row[_PARENT], row[_TEXT]) for row in digest.messages if row[_TYPE] == "summary" and row[_PARENT]]


def summarise(connection: sqlite3.Connection, leaf: str, summary: str) -> None:
    """Give a summary to the session that it is of: the one with that message. It may stand in any file."""
    connection.execute(_SUMMARISE, (summary, leaf))


def continues_last_chunk(known: Known) -> bool:
    """Whether what is new goes to the last chunk, because that is not full yet, and nothing in it was pruned."""
    return known.last_length < chunks.CHUNK and known.last_offset >= known.pruned_bytes


def count_messages(connection: sqlite3.Connection, session_ids: "Iterable[str]") -> None:
    """Complete the parts of these sessions and keep their counts, so that a list of sessions reads no part."""
    for session_id in session_ids:
        settle(connection, session_id)
        transcript_counts.update(connection, session_id)
