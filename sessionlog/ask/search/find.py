"""Asking the archive: full text by the index, or a scan for a substring or a regular expression."""

from __future__ import annotations

import heapq
import itertools
import re
import sqlite3
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from sessionlog.archive import one_client, read
from sessionlog.archive.place import Place
from sessionlog.archive.time_limit import limited
from sessionlog.ask.search import build, index
from sessionlog.ask.search import query as words
from sessionlog.ask.search.partial import Partial
from sessionlog.fastlib import parse_json
from sessionlog.transcripts.packed import load_orjson
from sessionlog.transcripts.stored_lines import Lines

Row = dict[str, Any]
# The key, the row of `events` or `transcript_parts`, whether it is a message, and how well it matches.
Found = tuple[int, Row, bool, float]

LAST_KEY = 2**63 - 1
SNIPPET = 160
WEIGHED = 2000  # as many hits as bm25 sorts while one waits


class Filters(NamedTuple):
    """What a hit must be, beside holding the words."""

    session: str | None = None
    tool: str | None = None
    event: str | None = None
    file: str | None = None
    since: str | None = None
    until: str | None = None
    branch: str | None = None
    agent: str | None = None
    role: str | None = None
    failed: bool = False
    client: str | None = None


NO_FILTERS = Filters()


class Hit(NamedTuple):
    """A moment in a session that answers the question."""

    place: Place
    row: Row  # of `events` or of `transcript_parts`
    is_message: bool
    field: str  # where the words stand: said, input, path, code or output
    snippet: str
    marks: list[tuple[int, int]]  # what to highlight in the snippet
    key: int = 0  # grows with time; what comes after this hit, newest first, has a smaller one
    score: float = 0  # the smaller the better, where the best come first

    @property
    def name(self) -> str:
        """How to ask for this moment: e12 is an event, m34 a message."""
        return f"{'m' if self.is_message else 'e'}{self.row['id']}"


def find(
    place: Place,
    question: str,
    filters: Filters = NO_FILTERS,
    *,
    best_first: bool = False,
    progress: build.Progress | None = None,
    partial: Partial | None = None,
    before: int = LAST_KEY,
    as_it_is: bool = False,
    seconds: float | None = None,
) -> Generator[Hit, None, None]:
    """The hits for a question of words, newest or best first.

    `partial` allows an answer from a part of the archive; `before` goes on where a hit with that key was; `as_it_is`
    asks the index without letting it catch up first; TookTooLong is raised after so many seconds.
    """
    groups = words.terms(question)
    if not groups and question.strip():  # nothing but punctuation: no index knows it
        yield from scan(place, re.compile(re.escape(question.strip())), filters)
        return
    with ExitStack() as stack:
        archive = stack.enter_context(closing(read.connect(place)))
        indexed = place
        if not as_it_is:
            until = partial.until if partial else None
            indexed, coverage = stack.enter_context(build.brought_up_to_date(place, archive, progress, until))
            if partial and coverage and (not filters.since or filters.since < coverage.back_to):
                partial.searched(place, coverage, goes_on=indexed is place)
        one_client.narrow(archive, filters.client)  # after the index has seen everything
        index.attach(indexed, archive)
        with limited(archive, seconds):
            find_rows = _best if best_first else _newest
            found = find_rows(archive, groups, filters, before)
            yield from _hits(place, archive, found, words.pattern(groups), filters)


def hits_of(place: Place, question: str, documents: Iterable[Row]) -> list[Hit]:
    """The hits that these documents of the index are."""
    with closing(read.connect(place)) as archive:
        pattern = words.pattern(words.terms(question))
        return list(_hits(place, archive, _rows(archive, documents), pattern, NO_FILTERS))


def scan(place: Place, pattern: re.Pattern[str], filters: Filters = NO_FILTERS) -> Iterator[Hit]:
    """The hits of a pattern, newest first, by looking at everything."""
    with closing(one_client.connect(place, filters.client)) as archive:
        is_hit = matcher(archive, pattern, filters)
        lines = Lines(archive)
        for row, is_message in _everything(archive, filters):
            if hit := is_hit(place, row, is_message, lines):
                yield hit


def matcher(
    archive: sqlite3.Connection, pattern: re.Pattern[str], filters: Filters
) -> Callable[[Place, Row, bool, Lines], Hit | None]:
    """What tells whether a row is a hit of a pattern; of the rows of one call, the first that is."""
    load_orjson()
    is_wanted = outside_index(archive, filters)
    required = tags(filters)
    calls: set[tuple[str, str]] = set()

    def hit(place: Place, row: Row, is_message: bool, lines: Lines) -> Hit | None:
        if (row["session_id"], row["tool_use_id"]) in calls or not is_wanted(row):
            return None
        document = _document(index.whole(row, lines) if is_message else row, is_message)
        if document is None or not all(_has_tag(document, tag) for tag in required):
            return None
        if not any(pattern.search(text) for text in document.fields.values()):
            return None
        if row["tool_use_id"]:
            calls.add((row["session_id"], row["tool_use_id"]))
        return Hit(place, row, is_message, *snippet(document, pattern), index.key(row["at"], row["id"]))

    return hit


def merged(streams: Sequence[Iterator[Hit]], best_first: bool = False, limit: int | None = None) -> Iterator[Hit]:
    """The hits of several archives as one stream; of the best, no more than the limit from each."""
    if len(streams) == 1:
        return streams[0]
    if best_first:
        return iter(sorted((hit for stream in streams for hit in itertools.islice(stream, limit)), key=_by_score))
    return heapq.merge(*streams, key=lambda hit: str(hit.row["at"]), reverse=True)


def _by_score(hit: Hit) -> tuple[float, int]:
    return hit.score, -hit.key


def key_range(filters: Filters, before: int = LAST_KEY) -> tuple[int, int]:
    """The keys from and below which the limits of time lie."""
    earliest = index.key_of_time(filters.since) if filters.since else 0
    latest = index.key_of_time(filters.until) if filters.until else LAST_KEY
    return earliest, min(latest, before)


def _newest(
    archive: sqlite3.Connection,
    groups: list[list[words.Term]],
    filters: Filters,
    before: int,
    fields: Sequence[str] = (),
) -> Iterator[Found]:
    return _by_index(archive, words.expression(groups, tags(filters), fields), filters, before, "words.rowid DESC")


def _best(
    archive: sqlite3.Connection, groups: list[list[words.Term]], filters: Filters, before: int
) -> Iterator[Found]:
    """By bm25; of words that are everywhere, whose weights take long to find out, by where they stand, newest first."""
    expression = words.expression(groups, tags(filters))
    beyond = archive.execute(
        "SELECT rowid FROM search.words WHERE words MATCH ? LIMIT 1 OFFSET ?", (expression, WEIGHED)
    ).fetchone()
    if not beyond:
        yield from _by_index(archive, expression, filters, before, _BM25)
        return
    given: set[int] = set()
    for fields in (("said",), ("input", "path"), ("code",), ("output",), ()):
        for found in _newest(archive, groups, filters, before, fields):
            key, row, is_message, _ = found
            if key not in given:
                given.add(key)
                weigh = f"SELECT {_BM25} AS score FROM search.words AS words WHERE words MATCH ? AND words.rowid = ?"
                yield key, row, is_message, archive.execute(weigh, (expression, key)).fetchone()["score"]


# A word that was said counts more than one in a path, and that more than one in the output.
_BM25 = "bm25(words, 10, 5, 5, 2, 1, 0)"


def _by_index(
    archive: sqlite3.Connection, expression: str, filters: Filters, before: int, order: str
) -> Iterator[Found]:
    score = _BM25 if order == _BM25 else "0"
    documents = archive.execute(
        f"SELECT words.rowid AS key, event_id, message_id, {score} AS score FROM search.words AS words "
        "JOIN search.documents AS documents ON documents.key = words.rowid "
        f"WHERE words MATCH ? AND words.rowid >= ? AND words.rowid < ? ORDER BY {order}",
        (expression, *key_range(filters, before)),
    )
    return _rows(archive, documents)


def _rows(archive: sqlite3.Connection, documents: Iterable[Row]) -> Iterator[Found]:
    for document in documents:
        is_message = document["event_id"] is None
        table, row_id = ("transcript_parts", document["message_id"]) if is_message else ("events", document["event_id"])
        row = archive.execute(f"SELECT * FROM {table} WHERE id = ?", (row_id,)).fetchone()
        if row:  # else it was pruned since, or another agent's
            yield document["key"], row, is_message, document.get("score", 0)


def _everything(archive: sqlite3.Connection, filters: Filters) -> Iterator[tuple[Row, bool]]:
    """All events and messages, newest first."""

    def table(name: str) -> Iterator[tuple[Row, bool]]:
        query = f"SELECT * FROM {name} WHERE at >= ? AND at < ? ORDER BY at DESC"
        for row in archive.execute(query, (filters.since or "", filters.until or "~")):
            yield row, name == "transcript_parts"

    return heapq.merge(table("events"), table("transcript_parts"), key=lambda found: str(found[0]["at"]), reverse=True)


def _hits(
    place: Place,
    archive: sqlite3.Connection,
    found: Iterator[Found],
    pattern: re.Pattern[str] | None,
    filters: Filters,
) -> Iterator[Hit]:
    """What was found, less what the filters without an index refuse, and each tool call once."""
    is_wanted = outside_index(archive, filters)
    calls: set[tuple[str, str]] = set()
    lines = Lines(archive)
    for key, row, is_message, score in found:
        if not is_wanted(row):
            continue
        if row["tool_use_id"]:
            call = (row["session_id"], row["tool_use_id"])
            if call in calls:
                continue
            calls.add(call)
        document = _document(index.whole(row, lines) if is_message else row, is_message)
        if document:
            yield Hit(place, row, is_message, *snippet(document, pattern), key, score)


def _document(row: Row, is_message: bool) -> index.Document | None:
    return index.document_of_message(row) if is_message else index.document_of_event(row)


def tags(filters: Filters) -> list[words.Term]:
    """The filters that the index knows. Ids may be shortened."""
    wanted = []
    for name in ("session", "agent", "tool", "event", "role"):
        value = getattr(filters, name)
        if value:
            wanted.append(words.Term(words.tag(name, value), prefix=name in ("session", "agent")))
    if filters.failed:
        wanted.append(words.Term("failed"))
    return wanted


def _has_tag(document: index.Document, tag: words.Term) -> bool:
    return any(own == tag.text or (tag.prefix and own.startswith(tag.text)) for own in document.tags)


def is_file(row: Row, pattern: str) -> bool:
    """Whether the file of a hit matches: `cart.py` anywhere, `src/*.py` at the end, `/home/*` as a whole."""
    path = row.get("file_path")
    return isinstance(path, str) and (fnmatchcase(path, pattern) or fnmatchcase(path, f"*/{pattern}"))


def outside_index(archive: sqlite3.Connection, filters: Filters) -> Callable[[Row], bool]:
    """Whether a row passes the filters that the index does not know."""
    branches: dict[str, bool] = {}
    lines = Lines(archive)

    def is_wanted(row: Row) -> bool:
        if filters.file and not is_file(row, filters.file):
            # A patch may change several files, of which its row names the first.
            others = _files_of_patch(row, lines) if row.get("tool_name") == "apply_patch" else ()
            if not any(is_file({"file_path": path}, filters.file) for path in others):
                return False
        session_id = row["session_id"]
        if filters.branch and session_id not in branches:
            branches[session_id] = _was_on_branch(archive, session_id, filters.branch)
        return not filters.branch or branches[session_id]

    return is_wanted


def _files_of_patch(row: Row, lines: Lines) -> list[str]:
    from sessionlog.session import call as calls  # for few hits, and much to import

    if "kind" in row:  # of a transcript
        return calls.paths_of_part(lines, row["id"], row["tool_name"], row["text"])
    try:
        return calls.paths_of_input(parse_json(row["tool_input"] or "null"))
    except ValueError:
        return []


def _was_on_branch(archive: sqlite3.Connection, session_id: str, branch: str) -> bool:
    """What is known of the session as a whole says it for most; its messages say it when it changed branches."""
    asked = {"session_id": session_id, "branch": branch}
    for table in ("session_facts", "transcript_parts"):
        query = f"SELECT 1 FROM {table} WHERE session_id = :session_id AND git_branch = :branch LIMIT 1"
        if archive.execute(query, asked).fetchone():
            return True
    return False


def snippet(document: index.Document, pattern: re.Pattern[str] | None) -> tuple[str, str, list[tuple[int, int]]]:
    """The field that holds the words, the line they are in, and where they are in it."""
    for field, text in document.fields.items():
        match = pattern.search(text) if pattern and text else None
        if pattern and match:
            piece = _line_around(text, match.start(), match.end())
            return field, piece, [found.span() for found in pattern.finditer(piece)]
    field, text = next(((field, text) for field, text in document.fields.items() if text.strip()), ("said", ""))
    text = text.lstrip()
    return field, _line_around(text, 0, 0), []


def _line_around(text: str, start: int, end: int) -> str:
    """The line of a place in a text; of a long one the words around it, and no word in part."""
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", end)
    last = len(text) if last < 0 else last
    begin, stop = max(first, start - SNIPPET // 3), min(last, end + SNIPPET)
    if begin > first:
        begin = next((at + 1 for at in range(begin, start) if text[at].isspace()), begin)
    if stop < last:
        stop = next((at for at in range(stop, end, -1) if text[at].isspace()), stop)
    # Words may stand in two lines, such as the end of a command and the beginning of its description.
    piece = " · ".join(filter(None, (" ".join(line.split()) for line in text[begin:stop].split("\n"))))
    return f"{'…' if begin > first else ''}{piece}{'…' if stop < last else ''}"
