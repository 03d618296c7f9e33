"""What only a whole session tells of the parts of its transcripts, found out when an import is done with it.

A file is read in pieces, by several processes, often while it grows. So these wait until now: which prompts only the
queue has, which sub-agent a line of an old client belongs to, and which tool a result came from.
"""

import sqlite3
from collections import defaultdict
from typing import Any

# A prompt that waited comes again when its turn has come; its time may be rounded down (s).
DRIFT = 1
HEAD = 500  # what other entries of the queue have of their text


def settle(connection: sqlite3.Connection, session_id: str) -> None:
    """Complete the parts of a session. Doing it again changes nothing."""
    _name_tools(connection, session_id)
    _name_sidechains(connection, session_id)
    _settle_queue(connection, session_id)


# --- Results ----------------------------------------------------------------------------------------------------------

# Those whose call stands in another piece of the file. The unary plus keeps SQLite on the index of the session.
_NAME_TOOLS = """
UPDATE transcript_parts SET (tool_name, file_path) = (
    SELECT call.tool_name, call.file_path FROM transcript_parts AS call
    WHERE call.tool_use_id = transcript_parts.tool_use_id AND +call.session_id = transcript_parts.session_id
        AND call.kind = 'tool_use'
)
WHERE session_id = ? AND +kind = 'tool_result' AND tool_name IS NULL AND tool_use_id IS NOT NULL
"""


def _name_tools(connection: sqlite3.Connection, session_id: str) -> None:
    connection.execute(_NAME_TOOLS, (session_id,))


# --- Sub-agents of clients 1.0, whose lines stand among those of the session -----------------------------------------

_SIDECHAINS = """
SELECT id, uuid, parent_uuid, agent_id, kind, text FROM transcript_parts
WHERE session_id = ? AND is_sidechain AND (agent_id IS NULL OR agent_id GLOB 'sidechain-*') ORDER BY id
"""
_TASKS = """
SELECT tool_use_id, iif(json_valid(text), json_extract(text, '$.subagent_type'), NULL),
    iif(json_valid(text), json_extract(text, '$.description'), NULL),
    iif(json_valid(text), json_extract(text, '$.prompt'), text)
FROM transcript_parts WHERE session_id = ? AND kind = 'tool_use' AND action = 'agent' ORDER BY id
"""


def _name_sidechains(connection: sqlite3.Connection, session_id: str) -> None:
    """A sub-agent is the lines that follow from one task; they are a tree, as those of others stand in between."""
    rows = _tuples(connection, _SIDECHAINS, session_id)
    if not rows:
        return
    parents = {uuid: parent for _, uuid, parent, *_ in rows}
    tasks = {uuid: text for _, uuid, _, _, kind, text in rows if kind == "task"}
    roots: dict[str, str] = {}

    def root_of(uuid: str) -> str:
        path = []
        while uuid not in roots and uuid not in path:
            path.append(uuid)
            parent: str | None = parents.get(uuid)
            # A new task is a new agent, even if an old client lets it follow from the one before.
            if uuid in tasks or parent is None or parent not in parents:
                break
            uuid = parent
        root = roots.get(uuid, uuid)
        roots.update(dict.fromkeys(path, root))
        return root

    for row_id, uuid, _, agent_id, *_ in rows:
        name = f"sidechain-{root_of(uuid or str(row_id))[:13]}"
        if name != agent_id:
            connection.execute("UPDATE transcript_parts SET agent_id = ? WHERE id = ?", (name, row_id))
            connection.execute(
                "UPDATE model_answers SET agent_id = ? WHERE session_id = ? AND message_id = "
                "(SELECT message_id FROM transcript_parts WHERE id = ?)",
                (name, session_id, row_id),
            )
    calls = _tuples(connection, _TASKS, session_id)
    for uuid, text in tasks.items():
        call = next((call for call in calls if call[3] and (text or "").startswith(call[3][:300])), None)
        if call:
            calls.remove(call)
        tool_use_id, agent_type, description = call[:3] if call else (None, None, None)
        connection.execute(
            "INSERT OR IGNORE INTO subagent_facts (session_id, agent_id, agent_type, description, tool_use_id) "
            "VALUES (?, ?, ?, ?, ?)",
            (session_id, f"sidechain-{root_of(uuid)[:13]}", agent_type, description, tool_use_id),
        )


# --- Prompts in the queue ---------------------------------------------------------------------------------------------

_QUEUE = """
SELECT id, kind, ifnull(text, ''), ifnull(CAST(strftime('%s', at) AS INTEGER), 0) FROM transcript_parts
WHERE session_id = ? AND type = 'queue-operation' ORDER BY at, id
"""
_PROMPTS = """
SELECT text, ifnull(CAST(strftime('%s', at) AS INTEGER), 0) FROM transcript_parts
WHERE session_id = ? AND kind = 'prompt' AND type <> 'queue-operation' ORDER BY at, id
"""


def _settle_queue(connection: sqlite3.Connection, session_id: str) -> None:
    """A prompt that waited and neither came again nor was taken back is known from the queue alone."""
    queue = _tuples(connection, _QUEUE, session_id)
    if not queue:
        return
    taken_back = _taken_back(queue)
    delivered: dict[str, list[int]] = defaultdict(list)
    for text, at in _tuples(connection, _PROMPTS, session_id):
        delivered[text].append(at)
    for row_id, kind, text, at in queue:
        if kind not in ("queued", "prompt"):
            continue
        twin = next((time for time in delivered[text] if time >= at - DRIFT), None)
        if twin is not None:
            delivered[text].remove(twin)
        wanted = "prompt" if twin is None and row_id not in taken_back else "queued"
        if kind != wanted:
            connection.execute("UPDATE transcript_parts SET kind = ? WHERE id = ?", (wanted, row_id))


def _taken_back(queue: list[tuple[Any, ...]]) -> set[int]:
    """The prompts that went from the queue back into the input line: first in, first out, or by their words."""
    waiting: list[tuple[int, str]] = []
    found: set[int] = set()
    for row_id, kind, text, _ in queue:
        if kind in ("queued", "queued_other", "prompt"):
            waiting.append((row_id, text[:HEAD]))
            continue
        named = [entry for entry in waiting if entry[1] == text[:HEAD]][:1]
        if kind == "unqueued":
            leaving = named or waiting  # by an old client, or all of them in one text
            found.update(row_id for row_id, _ in leaving)
        else:
            leaving = named if text else waiting[:1]
        waiting = [entry for entry in waiting if entry not in leaving]
    return found


def _tuples(connection: sqlite3.Connection, query: str, session_id: str) -> list[tuple[Any, ...]]:
    cursor = connection.cursor()
    cursor.row_factory = None
    return cursor.execute(query, (session_id,)).fetchall()
