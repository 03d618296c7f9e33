"""The counts in `session_facts`: what only the transcripts of a session have.

They depend on events too, as what a hook saw is counted in `sessions`.
"""

import sqlite3

# Beside its times, what only the transcripts have of a session: what hooks saw too is counted in `sessions`.
_COUNT = """
UPDATE session_facts SET (first_at, last_at, messages, prompts, tool_calls, edits, failures, compactions) = (
    SELECT
        min(at), max(at), count(*),
        ifnull(sum(kind = 'prompt' AND NOT is_known), 0),
        -- A call once, though some clients write its result again after a compaction.
        count(DISTINCT iif(outcome IN ('ok', 'failed') AND NOT is_known, tool_use_id, NULL)),
        count(DISTINCT iif(outcome = 'ok' AND action IN ('edit', 'write') AND NOT is_known, tool_use_id, NULL)),
        count(DISTINCT iif(outcome = 'failed' AND NOT has_failed, tool_use_id, NULL))
            + ifnull(sum(kind = 'api_error' AND outcome = 'failed' AND NOT is_known), 0),
        ifnull(sum(kind = 'compact_boundary'), 0)
    FROM (
        SELECT
            at, kind, outcome, tool_use_id, iif(tool_name IS NULL, NULL, action) AS action,
            CASE
                WHEN kind = 'prompt' THEN coalesce(prompt_id, text, '') IN (
                    SELECT prompt_id FROM events
                    WHERE session_id = :session_id AND +event = 'UserPromptSubmit' AND prompt_id IS NOT NULL
                    UNION ALL SELECT prompt FROM events
                    WHERE session_id = :session_id AND +event = 'UserPromptSubmit' AND prompt IS NOT NULL
                ) OR ifnull(text, '') IN (
                    SELECT prompt FROM events
                    WHERE session_id = :session_id AND +event = 'UserPromptSubmit' AND prompt_id IS NULL
                        AND prompt IS NOT NULL
                )
                WHEN kind = 'tool_result' AND :has_events THEN EXISTS (
                    SELECT 1 FROM events
                    WHERE events.tool_use_id = part.tool_use_id AND +events.session_id = :session_id
                        AND events.event IN ('PostToolUse', 'PostToolUseFailure')
                )
                WHEN kind = 'tool_result' THEN 0
                WHEN kind = 'api_error' THEN ifnull(text, '') IN (
                    SELECT last_assistant_message FROM events
                    WHERE session_id = :session_id AND +event = 'StopFailure' AND last_assistant_message IS NOT NULL
                )
            END AS is_known,
            outcome = 'failed' AND EXISTS (
                SELECT 1 FROM events
                WHERE events.tool_use_id = part.tool_use_id AND +events.session_id = :session_id
                    AND events.event = 'PostToolUseFailure'
            ) AS has_failed
        FROM transcript_parts AS part
        WHERE session_id = :session_id AND type <> 'history'
    )
)
WHERE session_id = :session_id
"""


# A session that no hook saw has the times of its messages, and not those of its file.
_DATE = """
UPDATE sessions SET (started_at, last_at) = (
    SELECT facts.first_at, facts.last_at FROM session_facts AS facts WHERE facts.session_id = sessions.session_id
)
WHERE session_id = ? AND events = 0 AND EXISTS (
    SELECT 1 FROM session_facts AS facts WHERE facts.session_id = sessions.session_id AND facts.first_at IS NOT NULL
)
"""


def update(connection: sqlite3.Connection, session_id: str) -> None:
    """Count a session again; does nothing if it has no transcript."""
    known = connection.execute("SELECT EXISTS (SELECT 1 FROM events WHERE session_id = ?)", (session_id,)).fetchone()[0]
    connection.execute(_COUNT, {"session_id": session_id, "has_events": known})
    connection.execute(_DATE, (session_id,))


def update_since(connection: sqlite3.Connection, event_id: int) -> None:
    """Count the sessions again that have events after this one."""
    query = (
        "SELECT DISTINCT session_id FROM events WHERE id > ? AND session_id IN (SELECT session_id FROM session_facts)"
    )
    for (session_id,) in connection.execute(query, (event_id,)).fetchall():
        update(connection, session_id)
