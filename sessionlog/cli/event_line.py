"""A line for an event, as `tail` prints it."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from sessionlog.agents.claude_code import tags
from sessionlog.fastlib import parse_json
from sessionlog.text.plain import duration, one_line, safe

Row = dict[str, Any]


class EventLine(NamedTuple):
    """One thing that happened: when, what kind, what; colour says prompt, answer, tool, trouble."""

    at: str
    kind: str
    text: str
    colour: str | None = None
    indent: int = 0


def line(row: Row, live: bool = False) -> EventLine:
    """One event. While it is `live`, a call without an end is not shown as failed."""
    indent = 1 if row["agent_id"] and row["event"] != "SubagentStart" else 0
    if live and row["event"] == "PreToolUse":
        return EventLine(row["at"], row["tool_name"] or "tool", f"{_argument(row)}  …", None, indent)
    kind, text, colour = _describe(row)
    return EventLine(row["at"], kind, text, colour, indent)


def _describe(row: Row) -> tuple[str, str, str | None]:
    extra = _object(row["extra"])
    match row["event"]:
        case "UserPromptSubmit" if not row.get("is_typed", 1):  # a notification of the client
            return "notice", one_line(tags.without(row["prompt"] or "")), "cyan"
        case "UserPromptSubmit":
            return "prompt", one_line(row["prompt"] or ""), "blue"
        case "UserPromptExpansion":
            words = [str(extra[key]) for key in ("command_name", "command_args") if extra.get(key)]
            return "command", one_line(f"/{' '.join(words)}" if words else row["prompt"] or ""), "blue"
        case "PostToolUse":
            return row["tool_name"] or "tool", f"{_argument(row)}{_took(row)}", None
        case "PostToolUseFailure":
            return row["tool_name"] or "tool", f"{_argument(row)}{_took(row)}  {_failure(row)}", "red"
        case "PreToolUse":
            return row["tool_name"] or "tool", f"{_argument(row)}  no result: denied, cancelled or cut off", "yellow"
        case "PermissionRequest":
            return "permission", f"asked for {_named(row)} {_argument(row)}", "yellow"
        case "PermissionDenied":
            return "permission", f"denied {_named(row)} {_argument(row)}", "red"
        case "Stop":
            return "answer", one_line(row["last_assistant_message"] or "stopped"), "magenta"
        case "SubagentStart":
            return (
                "sub-agent",
                f"{one_line(row['agent_type'] or 'agent', 40)} {safe((row['agent_id'] or '')[:8])} started",
                "green",
            )
        case "SubagentStop":
            return "sub-agent", one_line(row["last_assistant_message"] or "stopped"), "green"
        case "Notification":
            return "notice", one_line(row["message"] or ""), "cyan"
        case "SessionStart":
            return (
                "start",
                " · ".join(one_line(str(extra[key])) for key in ("source", "model") if extra.get(key)),
                "cyan",
            )
        case "SessionEnd":
            return "end", one_line(str(extra.get("reason", ""))), "cyan"
        case "SupervisorReview":
            text = f"{extra.get('iteration')} of {extra.get('max_iterations')} begins, by {extra.get('reviewer')}"
            return "review", one_line(text), "cyan"
        case "SupervisorDecision":
            decided = str(extra.get("decision"))
            text = f"{_DECIDED.get(decided, 'no verdict')}: {row['message'] or row['error'] or ''}"
            return "review", one_line(text), "green" if decided == "allow" else "red"
        case "StopFailure":
            return "failure", one_line(row["error"] or ""), "red"
        case other:
            text = row["message"] or row["file_path"] or json.dumps(extra, ensure_ascii=False)
            return one_line(other, 24), one_line(text if text != "{}" else ""), "cyan"


_DECIDED = {"allow": "allowed", "block": "not allowed"}


def _argument(row: Row) -> str:
    """The one argument of a tool call that matters."""
    if row["command"] is not None:
        return f"$ {one_line(row['command'])}"
    if row["file_path"] is not None:
        changed = ""
        if row["old_string"] is not None and row["new_string"] is not None:
            changed = f" (+{_line_count(row['new_string'])} -{_line_count(row['old_string'])})"
        elif row["content"] is not None:
            changed = f" (+{_line_count(row['content'])})"
        return one_line(_shortened(row["file_path"], row["cwd"])) + changed
    inputs = _object(row["tool_input"])
    first = next((value for value in (row["description"], *inputs.values()) if isinstance(value, str) and value), None)
    return one_line(first) if first else one_line(json.dumps(inputs, ensure_ascii=False)) if inputs else ""


def _named(row: Row) -> str:
    return one_line(row["tool_name"] or "tool", 60)


def _failure(row: Row) -> str:
    first, _, rest = (row["error"] or "").partition("\n")
    if first.startswith("Exit code "):
        return f"exit {one_line(first[10:], 12)}" + (f" · {one_line(rest, 80)}" if rest else "")
    return f"failed · {one_line(row['error'] or '', 80)}"


def _took(row: Row) -> str:
    return "" if row["duration_ms"] is None else f"  {duration(row['duration_ms'])}"


def _line_count(text: str) -> int:
    return len(text.splitlines())


def _shortened(path: str, cwd: str | None) -> str:
    return path.removeprefix(f"{cwd}/") if cwd else path


def _object(text: str | None) -> dict[str, Any]:
    value = parse_json(text) if text else {}
    return value if isinstance(value, dict) else {}
