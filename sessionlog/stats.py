"""How much was done, and what it cost: by day, model, project or tool."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import closing
from typing import Any

from sessionlog import reading
from sessionlog.projects import Place

Row = dict[str, Any]

# What each thing that happened counts for. A session that no hook saw is counted by its transcript, as in
# `session_summary`. There is no index on time: a query starts at the first event of the sessions still alive then. The
# unary plus keeps SQLite from the index of events, by which it would fetch most rows one by one, much more slowly.
_HAPPENED = """
    SELECT
        session_id, at, tool_name,
        event = 'UserPromptSubmit' AS prompt,
        event IN ('PostToolUse', 'PostToolUseFailure') AS tool,
        event IN ('PostToolUseFailure', 'StopFailure') AS failure,
        iif(event = 'PostToolUse' AND tool_name IN ('Edit', 'MultiEdit', 'Write'), file_path, NULL) AS file,
        duration_ms
    FROM events
    WHERE +event IN ('SessionStart', 'UserPromptSubmit', 'PostToolUse', 'PostToolUseFailure', 'StopFailure')
        AND at >= :since
        AND id >= iif(:since = '', 0, (
            SELECT min(id) FROM events
            WHERE session_id IN (SELECT session_id FROM sessions WHERE last_at >= :since) AND at >= :since
        ))
    UNION ALL
    SELECT
        message.session_id, message.at, coalesce(message.tool_name, asked.tool_name),
        message.kind = 'prompt', message.kind = 'tool_use', message.kind = 'tool_result',
        iif(
            message.tool_name IN ('Edit', 'MultiEdit', 'Write') AND json_valid(message.text),
            json_extract(message.text, '$.file_path'), NULL
        ),
        NULL
    FROM sessions
    CROSS JOIN messages AS message ON message.session_id = sessions.session_id
    LEFT JOIN messages AS asked
        ON message.kind = 'tool_result' AND asked.kind = 'tool_use'
        AND asked.tool_use_id = message.tool_use_id AND asked.session_id = message.session_id
    WHERE sessions.events = 0 AND coalesce(message.at, '') >= :since AND (
        (message.kind = 'prompt' AND message.agent_id IS NULL)
        OR message.kind = 'tool_use'
        OR (message.kind = 'tool_result' AND message.is_error)
    )
"""

_ACTIVITY = f"""
    SELECT
        {{key}} AS key, count(DISTINCT session_id) AS sessions, sum(prompt) AS prompts, sum(tool) AS tools,
        sum(failure) AS failures, count(DISTINCT file) AS files
    FROM ({_HAPPENED})
    GROUP BY key
"""

_TOOLS = f"""
    SELECT
        tool_name AS key, count(DISTINCT session_id) AS sessions, sum(tool) AS tools, sum(failure) AS failures,
        sum(duration_ms) AS milliseconds
    FROM ({_HAPPENED})
    WHERE tool_name IS NOT NULL
    GROUP BY key
"""

# As `session_usage` counts, by other keys than the session.
_USAGE = """
    SELECT
        {key} AS key, count(DISTINCT session_id) AS token_sessions, count(*) AS answers,
        sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens,
        sum(cache_read_tokens) AS cache_read_tokens,
        sum(cache_write_5m_tokens + cache_write_1h_tokens) AS cache_write_tokens,
        round(sum(
            input_tokens * price.input + output_tokens * price.output + cache_read_tokens * price.cache_read
            + cache_write_5m_tokens * price.cache_write_5m + cache_write_1h_tokens * price.cache_write_1h
        ) / 1e6, 6) AS cost_usd,
        -- Of models without a price: tokens, and never a guess.
        sum(iif(price.model IS NULL, input_tokens + output_tokens, 0)) AS unpriced_tokens
    FROM api_messages AS usage
    LEFT JOIN model_prices AS price ON price.model = usage.model
    WHERE coalesce(at, '') >= :since
    GROUP BY key
"""

_DAY = "coalesce(date(at, 'localtime'), '')"
_ALL = "''"

ACTIVITY = ("sessions", "prompts", "tools", "failures", "files")
USAGE = ("answers", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "unpriced_tokens")


def by_day(places: Iterable[Place], since: str) -> list[Row]:
    """One row a day of this machine's clock, oldest first."""
    rows = _gathered(places, since, _ACTIVITY.format(key=_DAY), _USAGE.format(key=_DAY))
    return [_shaped("day", key, row, *ACTIVITY, *USAGE) for key, row in sorted(rows.items())]


def by_project(places: Iterable[Place], since: str) -> list[Row]:
    """One row a project, the busiest first."""
    found = []
    for place in places:
        total = totals([place], since)
        if any(total[name] for name in (*ACTIVITY, *USAGE)):
            found.append({"project": place.project, **total})
    return sorted(found, key=lambda row: -row["tools"])


def by_model(places: Iterable[Place], since: str) -> list[Row]:
    """One row a model, the costliest first."""
    rows = _gathered(places, since, _USAGE.format(key="usage.model"))
    for row in rows.values():
        row["sessions"] = row.pop("token_sessions")
    found = [_shaped("model", key, row, "sessions", *USAGE) for key, row in rows.items()]
    return sorted(found, key=lambda row: (-(row["cost_usd"] or 0), -row["output_tokens"]))


def by_tool(places: Iterable[Place], since: str) -> list[Row]:
    """One row a tool, the most used first."""
    rows = _gathered(places, since, _TOOLS)
    found = [
        {"tool": key, **{name: row.get(name) or 0 for name in ("sessions", "tools", "failures", "milliseconds")}}
        for key, row in rows.items()
    ]
    return sorted(found, key=lambda row: -row["tools"])


def totals(places: Iterable[Place], since: str) -> Row:
    """All of it in one row."""
    rows = _gathered(places, since, _ACTIVITY.format(key=_ALL), _USAGE.format(key=_ALL))
    return _shaped(None, "", rows.get("", {}), *ACTIVITY, *USAGE)


BY: dict[str, Callable[[Iterable[Place], str], list[Row]]] = {
    "day": by_day,
    "model": by_model,
    "project": by_project,
    "tool": by_tool,
}


def _gathered(places: Iterable[Place], since: str, *queries: str) -> dict[str, Row]:
    """The rows of these queries over all archives, added up by their key; a cost that nobody knows stays unknown."""
    found: dict[str, Row] = {}
    for place in places:
        with closing(reading.connect(place)) as connection:
            for query in queries:
                for row in connection.execute(query, {"since": since}):
                    into = found.setdefault(str(row.pop("key")), {})
                    for name, value in row.items():
                        if value is not None:
                            into[name] = into.get(name, 0) + value
    return found


def _shaped(label: str | None, key: str, row: Row, *names: str) -> Row:
    shaped = {label: key} if label else {}
    shaped |= {name: row.get(name, 0) for name in names}
    cost = row.get("cost_usd")
    return {**shaped, "cost_usd": None if cost is None else round(cost, 6)}
