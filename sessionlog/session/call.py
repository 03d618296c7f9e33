"""What a tool call comes down to: its one telling argument, what it changed, what it gave back. Text as it came."""

from __future__ import annotations

import difflib
import json
from typing import Any

from sessionlog.timeline import Call

# difflib takes time that grows with the square of the lines: above this, all old lines go and all new ones come.
COMPARED_LINES = 2000


def argument(call: Call) -> str:
    """The one argument that matters: the command, the file, else the first text."""
    inputs = call.input if isinstance(call.input, dict) else {}
    if isinstance(command := inputs.get("command"), str):
        return f"$ {command}"
    if isinstance(path := inputs.get("file_path", inputs.get("notebook_path")), str):
        return path.removeprefix(f"{call.cwd}/") if call.cwd else path
    questions = inputs.get("questions")
    if isinstance(questions, list):
        return " · ".join(str(item["question"]) for item in questions if isinstance(item, dict) and "question" in item)
    first = next(
        (value for value in (inputs.get("description"), *inputs.values()) if isinstance(value, str) and value), ""
    )
    return first or (_json(call.input) if call.input else "")


def exit_code(call: Call) -> str | None:
    """The code of a command that failed; told only by the first line of its error."""
    first = call.error.partition("\n")[0]
    return first.removeprefix("Exit code ") if first.startswith("Exit code ") else None


def changes(call: Call) -> list[str]:
    """What the call did to a file, as lines of a unified diff; empty when it changed none."""
    inputs = call.input if isinstance(call.input, dict) else {}
    if call.name not in ("Edit", "MultiEdit", "Write", "NotebookEdit"):
        return []
    response = call.response if isinstance(call.response, dict) else {}
    if patch := _structured(response.get("structuredPatch")):
        return patch
    match call.name:
        case "Edit":
            return _compared(inputs.get("old_string"), inputs.get("new_string"))
        case "MultiEdit":
            edits = inputs.get("edits")
            pairs = [edit for edit in edits if isinstance(edit, dict)] if isinstance(edits, list) else []
            return [line for edit in pairs for line in _compared(edit.get("old_string"), edit.get("new_string"))]
        case "Write":
            return _compared("", inputs.get("content"))
    return _compared("", inputs.get("new_source"))


def counts(diff: list[str]) -> str:
    """(+3 -1)"""
    added = sum(line.startswith("+") for line in diff)
    removed = sum(line.startswith("-") for line in diff)
    return f"(+{added} -{removed})" if removed else f"(+{added})"


def output(call: Call) -> str:
    """What the call gave back, as text; for a failure, what went wrong."""
    if call.error:
        return call.error.partition("\n")[2] if exit_code(call) is not None else call.error
    if (
        call.name == "AskUserQuestion"
        and isinstance(call.response, dict)
        and isinstance(call.response.get("answers"), dict)
    ):
        return "\n".join(f"{question} → {answer}" for question, answer in call.response["answers"].items())
    return text_of(call.response)


def text_of(value: Any) -> str:
    """The text in a result: itself, its streams, the file that was read, its blocks; else it is shown as JSON."""
    match value:
        case None:
            return ""
        case str():
            return value
        case {"stdout": str(out), "stderr": str(err)}:
            return "\n".join(filter(None, (out, err)))
        case {"file": {"content": str(content)}}:
            return content
        case {"content": str(content)} if content:
            return content
        case {"filenames": [*names]}:
            return "\n".join(map(str, names))
        case {"isAsync": True, "status": str(status)}:  # a sub-agent that goes on by itself
            return status
        case {"content": [*blocks]} | [*blocks] if blocks and all(isinstance(block, dict) for block in blocks):
            return "\n".join(str(block.get("text") or f"[{block.get('type', 'data')}]") for block in blocks)
    return _json(value)


def is_change(call: Call) -> bool:
    """Whether the call's result only repeats what its diff shows."""
    return call.outcome == "ok" and call.name in ("Edit", "MultiEdit", "Write", "NotebookEdit")


def _structured(hunks: Any) -> list[str]:
    """The client's own patch, which knows the line numbers."""
    lines = []
    try:
        for hunk in hunks or ():
            lines.append(f"@@ -{hunk['oldStart']},{hunk['oldLines']} +{hunk['newStart']},{hunk['newLines']} @@")
            lines += map(str, hunk["lines"])
    except (TypeError, LookupError):
        return []
    return lines


def _compared(old: Any, new: Any) -> list[str]:
    before = old.splitlines() if isinstance(old, str) else []
    after = new.splitlines() if isinstance(new, str) else []
    if not before or not after or len(before) + len(after) > COMPARED_LINES:
        return [f"-{line}" for line in before] + [f"+{line}" for line in after]
    lines = difflib.unified_diff(before, after, n=3, lineterm="")
    return [line for number, line in enumerate(lines) if number > 1 and not line.startswith("@@")]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
