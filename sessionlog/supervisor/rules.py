"""A reviewer without a model: rules, each a query over the archive whose rows are reasons to go on."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from sessionlog.archive import read, readonly
from sessionlog.archive.place import Place
from sessionlog.errors import SessionlogError
from sessionlog.supervisor.verdict import Verdict
from sessionlog.text.plain import one_line

DEFAULT = Path(__file__).with_name("rules.yml")

SHOWN = 5  # rows of one rule
VALUE = 200  # characters of one value in a message
# How often a reason is given since the last prompt. Claude may have settled the matter where no hook sees it, or have
# said why it is settled; a query cannot be argued with, and would repeat itself to the limit of the supervisor.
TIMES = 2


class Rule(NamedTuple):
    """One rule of a file."""

    name: str
    message: str
    sql: str
    events: tuple[str, ...]
    times: int


def load(path: Path | None = None) -> list[Rule]:
    """The rules in a file, else those that come with sessionlog."""
    import yaml

    file = path or DEFAULT
    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise SessionlogError(f"{file} cannot be read: {error}") from error
    listed = content.get("rules") if isinstance(content, dict) else None
    if not isinstance(listed, list) or not listed:
        raise SessionlogError(f"{file} has no rules: it should begin with `rules:` and go on with a list")
    return [_rule(file, number, item) for number, item in enumerate(listed, 1)]


def judge(place: Place, session_id: str, event: str, rules: list[Rule], earlier: list[str]) -> Verdict:
    """What the rules say of a session; `earlier` is what they said since the last prompt."""
    kind = event if event == "PreToolUse" else "Stop"
    with closing(read.connect(place)) as connection:
        connection.create_function("regexp", 2, _regexp, deterministic=True)
        readonly.guard(connection)
        found = [
            (rule, line) for rule in rules if kind in rule.events for line in _reasons(connection, rule, session_id)
        ]
    again = [line for rule, line in found if sum(line in feedback for feedback in earlier) < rule.times]
    if again:
        return Verdict(False, "\n".join(f"- {line}" for line in again))
    if found:
        return Verdict(True, "\n".join(["Said often enough:", *(f"- {line}" for _, line in found)]))
    return Verdict(True, "No rule has anything against it.")


def _rule(file: Path, number: int, item: Any) -> Rule:
    fields = item if isinstance(item, dict) else {}
    name, message, sql = (fields.get(key) for key in ("name", "message", "sql"))
    events = fields.get("events", ["Stop"])
    times = fields.get("times", TIMES)
    unknown = set(fields) - {*Rule._fields}
    where = f"{file}: rule {number} ({name})" if name else f"{file}: rule {number}"
    if not all(isinstance(text, str) and text.strip() for text in (name, message, sql)):
        raise SessionlogError(f"{where} needs a name, a message and sql")
    if not isinstance(events, list) or not all(event in ("Stop", "PreToolUse") for event in events):
        raise SessionlogError(f"{where}: events is a list of Stop, PreToolUse or both")
    if type(times) is not int or times < 1:
        raise SessionlogError(f"{where}: times is a number from 1 on")
    if unknown:
        raise SessionlogError(
            f"{where}: {', '.join(map(str, unknown))} is not known; there are {', '.join(Rule._fields)}"
        )
    return Rule(str(name), str(message), str(sql), tuple(events), times)


def _reasons(connection: sqlite3.Connection, rule: Rule, session_id: str) -> list[str]:
    try:
        cursor = connection.execute(rule.sql, {"session_id": session_id})
        rows = cursor.fetchmany(SHOWN + 1)
    except (sqlite3.Error, sqlite3.Warning, re.error) as error:
        raise SessionlogError(f"the rule {rule.name} cannot be asked: {error}") from error
    reasons = [_message(rule, row) for row in rows[:SHOWN]]
    return [*reasons, f"And more of this ({rule.name})."] if len(rows) > SHOWN else reasons


def _message(rule: Rule, row: dict[str, Any]) -> str:
    """The message with the values of the row. Not str.format, which would do more than that."""

    def value(match: re.Match[str]) -> str:
        if match[1] not in row:
            columns = ", ".join(row)
            raise SessionlogError(f"the rule {rule.name} names {{{match[1]}}}, but its query gives: {columns}")
        return one_line(str(row[match[1]]), VALUE)

    return re.sub(r"\{(\w+)\}", value, rule.message)


def _regexp(pattern: str, text: object) -> bool | None:
    return None if text is None else re.search(pattern, str(text)) is not None
