"""What there is to say of a session before its first entry: title, times, counts, models, tokens."""

from __future__ import annotations

import sqlite3
from typing import Any, NamedTuple

from sessionlog.agents.registry import CLAUDE_CODE
from sessionlog.text import plain

Row = dict[str, Any]

COUNTS = (
    ("prompts", "prompt"),
    ("tool_calls", "tool call"),
    ("edits", "edit"),
    ("failures", "failure"),
    ("compactions", "compaction"),
)


class Overview(NamedTuple):
    """A session, its project, and what each model used for it."""

    session: Row
    project: str
    usage: list[Row]
    # Others that it goes on from: old clients give a resumed session a new id, and may write both ids to one file.
    continues: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """What the session is about, as far as anybody said."""
        from sessionlog.agents.claude_code import tags  # `show` prints no title of its own

        asked = tags.without((self.session["first_prompt"] or "")[:2000])
        return self.session.get("title") or asked or f"Session {self.session['session_id'][:8]}"

    @property
    def agent(self) -> str:
        """The agent, if it is another than Claude Code."""
        client = self.session.get("client") or CLAUDE_CODE
        return "" if client == CLAUDE_CODE else str(client)

    @property
    def took(self) -> str:
        """From the first event to the last."""
        return plain.duration((self.session["seconds"] or 0) * 1000)

    @property
    def counts(self) -> str:
        """2 prompts · 9 tool calls · 1 edit; of failures and compactions only if there are any."""
        shown = [
            plain.counted(self.session[column], noun)
            for column, noun in COUNTS
            if self.session.get(column) or noun not in ("failure", "compaction")
        ]
        return " · ".join(shown)

    @property
    def models(self) -> list[str]:
        """One line for each model: tokens in and out, and the cost where the price is known."""
        if not self.usage:
            return [self.session["model"]] if self.session["model"] else []
        return [_used(row) for row in self.usage]

    @property
    def links(self) -> list[str]:
        """One line for each session that has a part of the same conversation."""
        return [f"goes on from lines of session {session_id}" for session_id in self.continues]


def load(connection: sqlite3.Connection, session: Row, project: str) -> Overview:
    """The overview of a session, given as a row of `session_summary`."""
    try:
        usage = connection.execute(
            "SELECT * FROM session_usage WHERE session_id = ? ORDER BY model", (session["session_id"],)
        ).fetchall()
    except sqlite3.OperationalError:  # an old archive on a disk that cannot be written
        usage = []
    before = connection.execute(_CONTINUES, (session["session_id"],)) if session.get("messages") else ()
    return Overview(session, project, usage, tuple(row["session_id"] for row in before))


# A fork repeats the lines before it as its own.
_CONTINUES = """
SELECT DISTINCT before.session_id FROM transcript_parts AS part
JOIN transcript_parts AS before ON before.uuid = part.parent_uuid AND before.session_id <> part.session_id
WHERE part.session_id = ? AND part.part = 0 AND NOT EXISTS (
    SELECT 1 FROM transcript_parts AS own WHERE own.uuid = part.parent_uuid AND own.session_id = part.session_id
)
AND before.session_id NOT IN (SELECT session_id FROM session_facts WHERE forked_from IS NOT NULL)
ORDER BY before.session_id
"""


def _used(row: Row) -> str:
    cached = f" ({row['cache_read_tokens']:,} from the cache)" if row["cache_read_tokens"] else ""
    read = row["input_tokens"] + row["cache_read_tokens"] + row["cache_write_tokens"]
    price = plain.cost(row["cost_usd"], row.get("unpriced_tokens"))
    cost = f", {price}" if price else ""
    return f"{row['model']}: {read:,} tokens in{cached}, {row['output_tokens']:,} out{cost}"
