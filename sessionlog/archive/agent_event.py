"""Appends an event of another agent: what Claude Code says in its payload has to be found out here.

Some agents give their tool calls no ids, and some end a session three times.
"""

from sessionlog.archive import append as archive
from sessionlog.archive import event as events
from sessionlog.fastlib import blake2b, encode_json, parse_json, utc_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from typing import Any

    from sessionlog.archive.event import Record

# An envelope with this step takes the id out again that is given here.
WITHOUT_ID = ["drop", "tool_use_id"]

STARTS = ("PreToolUse", "PreToolUse")
ENDS = ("PostToolUse", "PostToolUseFailure")
# How long before a permission question its call may have started, in milliseconds.
ASKED_WITHIN = 3_600_000

_COPY = (
    "SELECT 1 FROM events WHERE session_id = :session_id AND at BETWEEN :earliest AND :latest AND via <> :via AND "
    + " AND ".join(f"+{name} IS :{name}" for name in events.COLUMNS if name not in ("at", "via", "tool_use_id"))
)
# The start that a question is about has the same command or file. The rest of the input may be put in other words, and
# Copilot asks about a new file as an edit.
_ASKED_ABOUT = """
SELECT tool_use_id FROM events AS started
WHERE session_id = :session_id AND at >= :since AND event = 'PreToolUse'
    AND agent_id IS :agent_id AND command IS :command AND file_path IS :file_path
    AND (tool_name IS :tool_name OR file_path IS NOT NULL)
    AND NOT EXISTS (
        SELECT 1 FROM events AS later WHERE later.tool_use_id = started.tool_use_id
        AND later.event IN ('PostToolUse', 'PostToolUseFailure', 'PermissionRequest')
    )
ORDER BY at DESC LIMIT 1
"""
_COUNT = "SELECT count(*) FROM events WHERE tool_use_id > ? AND tool_use_id < ? AND event IN (?, ?)"


def append(connection: "sqlite3.Connection", record: "Record", at_ms: int, envelope: "dict[str, Any]") -> None:
    """Write one event, unless it is the second copy of one that is there."""
    archive.in_transaction(connection, _append, record, at_ms, envelope)


def _append(connection: "sqlite3.Connection", record: "Record", at_ms: int, envelope: "dict[str, Any]") -> None:
    if WITHOUT_ID in envelope.get("undo", ()):
        moment = {
            "earliest": utc_text(at_ms - archive.TWIN_WINDOW_MS),
            "latest": utc_text(at_ms + archive.TWIN_WINDOW_MS),
        }
        if connection.execute(_COPY, record | moment).fetchone():
            return
        record["tool_use_id"] = _id_of_call(connection, record, at_ms)
    if not _is_second_end(connection, record):
        archive.append(connection, record, at_ms)


def _id_of_call(connection: "sqlite3.Connection", record: "Record", at_ms: int) -> str | None:
    """An id for a call that has none: a hash of what it does, and its number among equal calls, oldest first."""
    if record["event"] == "PermissionRequest":
        since = {"since": utc_text(at_ms - ASKED_WITHIN)}
        row = connection.execute(_ASKED_ABOUT, record | since).fetchone()
        return row[0] if row else None
    side = STARTS if record["event"] in STARTS else ENDS
    if record["event"] not in side:
        return None
    inputs = parse_json(record["tool_input"]) if record["tool_input"] else None
    if isinstance(inputs, dict):
        inputs |= {name: record[name] for name in events.INPUT_TEXTS if record[name] is not None}
    call = key_of_call(record["session_id"], record["tool_name"], inputs)
    # One statement of its own, by the index of the ids; "." and "/" are neighbours.
    (count,) = connection.execute(_COUNT, (f"{call}.", f"{call}/", *side)).fetchone()
    return f"{call}.{count + 1}"


def key_of_call(session_id: str, tool_name: "Any", inputs: "Any") -> str:
    """What a call does, in 16 digits: the same for its start, its end, and its line in the transcript."""
    known = sorted(inputs.items()) if isinstance(inputs, dict) else inputs
    same = encode_json([session_id, tool_name, known]).encode("utf-8", "surrogatepass")
    return blake2b(same, digest_size=8).hexdigest()


def _is_second_end(connection: "sqlite3.Connection", record: "Record") -> bool:
    if record["event"] != "SessionEnd":
        return False
    ended = "SELECT 1 FROM sessions WHERE session_id = :session_id AND ended_at IS NOT NULL"
    return connection.execute(ended, record).fetchone() is not None
