"""How much was done, and what it cost: by day, hour, model, project, tool or file. Answered by the digest."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from datetime import date, datetime, time, timedelta
from types import TracebackType
from typing import Any

from sessionlog.archive.place import Place
from sessionlog.ask.rollup import open as rollup
from sessionlog.ask.rollup.build import QUARTER, STEPS

Row = dict[str, Any]

_LOCAL = f"quarter * {QUARTER}, 'unixepoch', 'localtime'"
_DAY = f"iif(quarter, date({_LOCAL}), '')"
# A week is named by its Monday.
_WEEK = f"iif(quarter, date({_LOCAL}, 'weekday 0', '-6 days'), '')"
_MONTH = f"iif(quarter, strftime('%Y-%m', {_LOCAL}), '')"
_OF_SESSION = "(SELECT ifnull({column}, '') FROM main.sessions AS own WHERE own.number = session)"
# 0 is Sunday.
_HOUR = f"iif(quarter, strftime('%w %H', {_LOCAL}), '')"
_ALL = "''"
_HOURS = f"""
    SELECT CAST(strftime('%H', {_LOCAL}) AS INTEGER) AS hour, sum(tools) AS tools
    FROM spans WHERE quarter >= ? AND quarter < ? GROUP BY hour
"""

_ACTIVITY = """
    SELECT
        {key} AS key, count(DISTINCT session) AS sessions, sum(prompts) AS prompts, sum(tools) AS tools,
        sum(failures) AS failures, sum(edits) AS edits
    FROM spans GROUP BY key
"""
_FILES = "SELECT {key} AS key, count(DISTINCT path) AS files FROM changes GROUP BY key"
_ALL_FILES = "SELECT '' AS key, count(*) AS files FROM (SELECT path FROM changes GROUP BY path)"
_USAGE = """
    SELECT
        {key} AS key, count(DISTINCT session) AS token_sessions, sum(answers) AS answers,
        sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens,
        sum(cache_read_tokens) AS cache_read_tokens,
        sum(cache_write_5m_tokens + cache_write_1h_tokens) AS cache_write_tokens,
        round(sum(cost_usd), 6) AS cost_usd,
        -- Of answers without a price: tokens, and never a guess.
        sum(unpriced_tokens) AS unpriced_tokens
    FROM usage
    GROUP BY key
"""
_EVER = """
    SELECT
        '' AS key, count(*) AS sessions, sum(prompts) AS prompts, sum(tool_calls) AS tools, sum(edits) AS edits,
        sum(failures) AS failures, sum(tokens) AS tokens, sum(cost_usd) AS cost_usd,
        sum(unpriced_tokens) AS unpriced_tokens
    FROM sessions
"""
_TOOLS = """
    SELECT
        tool AS key, count(DISTINCT session) AS sessions, sum(tools) AS tools, sum(failures) AS failures,
        sum(milliseconds) AS milliseconds
    FROM tools GROUP BY key
"""
_DURATIONS = """
    SELECT
        tool, step, sum(tools) AS calls, sum(failures) AS failures, sum(milliseconds) AS milliseconds,
        max(slowest) AS slowest
    FROM tools GROUP BY tool, step
"""
_CHANGES = """
    SELECT path.path, found.edits, found.sessions
    FROM (
        SELECT path, sum(edits) AS edits, count(DISTINCT session) AS sessions
        FROM changes GROUP BY path ORDER BY edits DESC LIMIT :limit
    ) AS found JOIN paths AS path ON path.number = found.path
    ORDER BY edits DESC, path.path
"""

_PATHS = "SELECT path FROM paths WHERE instr(lower(path), lower(?)) ORDER BY length(path) LIMIT ?"

ACTIVITY = ("sessions", "prompts", "tools", "failures", "files")
USAGE = ("answers", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "unpriced_tokens")


Connect = Callable[[Place, str, "str | None"], sqlite3.Connection]


class Counted:
    """The counts of these projects, from a moment on and of one agent if asked; open while its block runs."""

    def __init__(
        self,
        places: Iterable[Place],
        since: str = "",
        client: str | None = None,
        connect: Connect = rollup.connect,
    ) -> None:
        self.places = list(places)
        self.connect = connect
        self.since = since
        self.client = client
        self.connections: list[tuple[Place, sqlite3.Connection]] = []

    def __enter__(self) -> Counted:
        try:
            for place in self.places:
                self.connections.append((place, self.connect(place, self.since, self.client)))
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for _, connection in self.connections:
            connection.close()

    def only(self, place: Place) -> Counted:
        """Those of one project."""
        one = Counted([place], self.since, self.client)
        one.connections = [(own, connection) for own, connection in self.connections if own is place]
        return one


def by_day(counted: Counted) -> list[Row]:
    """One row per day of this machine's clock, oldest first."""
    return _by(counted, "day", _DAY)


def by_week(counted: Counted) -> list[Row]:
    """One row per week, named by its Monday, oldest first."""
    return _by(counted, "week", _WEEK)


def by_month(counted: Counted) -> list[Row]:
    """One row per month, oldest first."""
    return _by(counted, "month", _MONTH)


def by_branch(counted: Counted) -> list[Row]:
    """One row per git branch, the busiest first."""
    return sorted(_by(counted, "branch", _OF_SESSION.format(column="git_branch")), key=lambda row: -row["tools"])


def by_client(counted: Counted) -> list[Row]:
    """One row per agent, the busiest first."""
    return sorted(_by(counted, "client", _OF_SESSION.format(column="client")), key=lambda row: -row["tools"])


def _by(counted: Counted, name: str, key: str) -> list[Row]:
    rows = _gathered(counted, *(query.format(key=key) for query in (_ACTIVITY, _FILES, _USAGE)))
    return [_shaped(name, value, row, *ACTIVITY, *USAGE) for value, row in sorted(rows.items())]


def by_project(counted: Counted) -> list[Row]:
    """One row a project, the busiest first."""
    found = []
    for place in counted.places:
        total = totals(counted.only(place))
        if any(total[name] for name in (*ACTIVITY, *USAGE)):
            found.append({"project": place.project, **total})
    return sorted(found, key=lambda row: -row["tools"])


def by_model(counted: Counted) -> list[Row]:
    """One row a model, the costliest first."""
    rows = _gathered(counted, _USAGE.format(key="usage.model"))
    for row in rows.values():
        row["sessions"] = row.pop("token_sessions")
    found = [_shaped("model", key, row, "sessions", *USAGE) for key, row in rows.items()]
    return sorted(found, key=lambda row: (-(row["cost_usd"] or 0), -row["output_tokens"]))


def by_tool(counted: Counted) -> list[Row]:
    """One row a tool, the most used first."""
    rows = _gathered(counted, _TOOLS)
    found = [
        {"tool": key, **{name: row.get(name) or 0 for name in ("sessions", "tools", "failures", "milliseconds")}}
        for key, row in rows.items()
    ]
    return sorted(found, key=lambda row: -row["tools"])


def totals(counted: Counted) -> Row:
    """All of it in one row."""
    rows = _gathered(counted, _ACTIVITY.format(key=_ALL), _ALL_FILES, _USAGE.format(key=_ALL))
    return _shaped(None, "", rows.get("", {}), *ACTIVITY, *USAGE)


def ever(counted: Counted) -> Row:
    """What a glance at the sessions themselves tells, without their parts."""
    row = _gathered(counted, _EVER)[""]
    names = ("sessions", "prompts", "tools", "edits", "failures", "tokens", "unpriced_tokens")
    return {name: row.get(name, 0) for name in names} | {
        "cost_usd": row.get("cost_usd"),
        "last_at": max((at for _, connection in counted.connections for at in _last_at(connection)), default=None),
    }


BY: dict[str, Callable[[Counted], list[Row]]] = {
    "day": by_day,
    "week": by_week,
    "month": by_month,
    "branch": by_branch,
    "client": by_client,
    "model": by_model,
    "project": by_project,
    "tool": by_tool,
}


def activity(counted: Counted) -> dict[str, Row]:
    """What was done, by day; no day for what has no time."""
    return _gathered(counted, _ACTIVITY.format(key=_DAY))


def hours_of(counted: Counted, day: date) -> dict[int, int]:
    """How many tools were called in each hour of a day."""
    begin = datetime.combine(day, time.min).astimezone()
    end = datetime.combine(day + timedelta(days=1), time.min).astimezone()
    found: dict[int, int] = {}
    for _, connection in counted.connections:
        for row in connection.execute(_HOURS, (begin.timestamp() // QUARTER, end.timestamp() // QUARTER)):
            found[row["hour"]] = found.get(row["hour"], 0) + row["tools"]
    return found


def by_hour(counted: Counted) -> dict[tuple[int, int], Row]:
    """What was done in each hour of the week, by (weekday, hour); Monday is 0."""
    rows = _gathered(counted, _ACTIVITY.format(key=_HOUR))
    return {((int(key[0]) - 1) % 7, int(key[2:])): row for key, row in rows.items() if key}


def by_day_and_model(counted: Counted) -> dict[tuple[str, str], Row]:
    """Tokens and cost, by (day, model)."""
    rows = _gathered(counted, _USAGE.format(key=f"{_DAY} || ' ' || usage.model"))
    split = ((key.partition(" "), row) for key, row in rows.items())
    return {(day, model): row for (day, _, model), row in split if day}


def tools(counted: Counted) -> list[Row]:
    """One row a tool, the most used first, with how long its calls take (ms): average, median, 95 of 100, the slowest.

    Only hooks tell how long a call took; of a tool without such calls, these are None.
    """
    steps: dict[str, dict[int, int]] = {}
    found: dict[str, Row] = {}
    for _, connection in counted.connections:
        for row in connection.execute(_DURATIONS):
            into = found.setdefault(row["tool"], dict.fromkeys(("calls", "failures", "timed", "milliseconds"), 0))
            into["calls"] += row["calls"]
            into["failures"] += row["failures"]
            if row["step"] is not None:
                own = steps.setdefault(row["tool"], {})
                own[row["step"]] = own.get(row["step"], 0) + row["calls"]
                into["timed"] += row["calls"]
                into["milliseconds"] += row["milliseconds"]
                into["slowest"] = max(into.get("slowest", 0), row["slowest"])
    for tool, row in found.items():
        row["tool"], row["average"], row["median"], row["p95"] = tool, None, None, None
        if row["timed"]:
            row["average"] = row["milliseconds"] / row["timed"]
            row["median"], row["p95"] = (_quantile(steps[tool], share, row["slowest"]) for share in (0.5, 0.95))
    return sorted(found.values(), key=lambda row: (-row["calls"], row["tool"]))


def by_file(counted: Counted, limit: int) -> list[Row]:
    """The files that were changed most often."""
    found = [
        {**row, "place": place}
        for place, connection in counted.connections
        for row in connection.execute(_CHANGES, {"limit": limit})
    ]
    return sorted(found, key=lambda row: (-row["edits"], row["path"]))[:limit]


def changed_paths(connection: sqlite3.Connection, text: str, limit: int) -> list[str]:
    """Files that were changed and have this text in their path, the shortest paths first."""
    return [row["path"] for row in connection.execute(_PATHS, (text, limit))]


def _quantile(steps: dict[int, int], share: float, slowest: int) -> float:
    """At most how long (ms) this share of the calls takes, estimated from the counts between two steps."""
    wanted = share * sum(steps.values())
    for step, calls in sorted(steps.items()):
        if wanted <= calls:
            low = STEPS[step - 1] if 0 < step <= len(STEPS) else 0 if step == 0 else STEPS[-1]
            high = min(STEPS[step], slowest) if step < len(STEPS) else slowest
            return min(low + (high - low) * wanted / calls, slowest)
        wanted -= calls
    return slowest


def _last_at(connection: sqlite3.Connection) -> list[str]:
    row = connection.execute("SELECT max(last_at) AS at FROM sessions").fetchone()
    return [row["at"]] if row["at"] else []


def _gathered(counted: Counted, *queries: str) -> dict[str, Row]:
    """The rows of these queries over all projects, added up by their key; a cost that nobody knows stays unknown."""
    found: dict[str, Row] = {}
    for _, connection in counted.connections:
        for query in queries:
            for row in connection.execute(query):
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
