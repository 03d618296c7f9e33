"""A tool call: its most important argument, what it changed, what it returned. Text as it came."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from sessionlog.archive import rebuild
from sessionlog.fastlib import parse_json
from sessionlog.session.outline import EDITING
from sessionlog.text import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sessionlog.transcripts.stored_lines import Lines

# difflib takes time that grows with the square of the lines: above this, all old lines go and all new ones come.
COMPARED_LINES = 2000

_PATH = r'"(?:file|notebook)_path": ?("(?:[^"\\]|\\.)*")'

Row = dict[str, Any]


class Call(NamedTuple):
    """A tool call from its start to its end, as far as it came."""

    name: str
    input: Any
    response: Any = None
    outcome: str = "no result"  # or ok, failed, denied
    error: str = ""
    duration_ms: int | None = None
    cwd: str | None = None
    asked: str = ""  # of a call for which permission was asked: allowed, denied, denied or not answered
    action: str = ""  # what the tool does: run, edit, write, read, fetch, agent, ask


def call_of_events(events: list[Row]) -> Call:
    """A call from its rows in `events`."""
    start = events[0]
    done = next((event for event in events if event["outcome"]), None)
    last = done or start
    return Call(
        start["tool_name"] or "tool",
        *rebuild.call(last),
        done["outcome"] if done else "no result",
        last["error"] or "",
        last["duration_ms"],
        last["cwd"],
        action=start["action"] or "",
    )


def argument(call: Call) -> str:
    """The one argument that matters: the command, the file, else the first text."""
    inputs = call.input if isinstance(call.input, dict) else {}
    if isinstance(command := inputs.get("command"), str):
        return f"$ {command}"
    if path := path_of_input(call.input):
        return path.removeprefix(f"{call.cwd}/") if call.cwd else path
    questions = inputs.get("questions")
    if isinstance(questions, list):
        return " · ".join(str(item["question"]) for item in questions if isinstance(item, dict) and "question" in item)
    first = next(
        (value for value in (inputs.get("description"), *inputs.values()) if isinstance(value, str) and value), ""
    )
    return first or (_json(call.input) if call.input else "")


def path_of_input(inputs: Any) -> str:
    """The file that a call with this input is about; empty if it is about none."""
    found = inputs.get("file_path", inputs.get("notebook_path")) if isinstance(inputs, dict) else None
    return found if isinstance(found, str) else ""


def paths_of_input(inputs: Any) -> list[str]:
    """All files that a call with this input is about: a patch may change several, each edit names its own."""
    edits = inputs.get("edits") if isinstance(inputs, dict) else None
    named = [path_of_input(edit) for edit in edits] if isinstance(edits, list) else []
    return list(dict.fromkeys(filter(None, [path_of_input(inputs), *named])))


def paths_of_part(lines: Lines, part_id: int, tool_name: str | None, text: str | None) -> list[str]:
    """The same of a call in a transcript. Its row has the beginning of the input: as a rule, a file that is alone."""
    if tool_name != "apply_patch" and (path := path_in(text)):
        return [path]
    block, _ = lines.block(part_id)
    return paths_of_input((block or {}).get("input"))


def on_file(call: Call, path: str) -> Call:
    """What a call did to one file, if it changed several."""
    if len(paths := paths_of_input(call.input)) < 2 or path not in paths:
        return call
    own = [edit for edit in call.input["edits"] if path_of_input(edit) == path]
    return call._replace(input={**call.input, "file_path": path, "edits": own})


def path_in(text: str | None) -> str:
    """The same, of an input as JSON or the beginning of one; empty if it has none."""
    match = re.search(_PATH, text or "")
    try:
        return str(parse_json(match[1])) if match else ""
    except ValueError:
        return ""


def path(call: Call) -> str:
    """The file that a call is about; empty if it is about none."""
    return path_of_input(call.input)


def purpose(call: Call) -> str:
    """What a command is for, in the model's words; other calls say it as their argument."""
    inputs = call.input if isinstance(call.input, dict) else {}
    about = inputs.get("description")
    return about if isinstance(about, str) and isinstance(inputs.get("command"), str) else ""


def exit_code(call: Call) -> str | None:
    """The code of a command that failed; only the first line of its error has it."""
    first = call.error.partition("\n")[0]
    return first.removeprefix("Exit code ") if first.startswith("Exit code ") else None


def changes(call: Call) -> list[str]:
    """What the call did to a file, as lines of a unified diff; empty when it changed none."""
    if call.action not in EDITING:
        return []
    inputs = call.input if isinstance(call.input, dict) else {}
    response = call.response if isinstance(call.response, dict) else {}
    if patch := _structured(response.get("structuredPatch")):
        return patch
    edits = inputs.get("edits")  # several in one call, anywhere in the file: each is a hunk
    if isinstance(edits, list):
        some = [edit for edit in edits if isinstance(edit, dict)]
        return [
            line
            for number, edit in enumerate(some, 1)
            for line in (
                *([f"@@ edit {number} of {len(some)} @@"] if len(some) > 1 else []),
                *_compared(edit.get("old_string"), edit.get("new_string")),
            )
        ]
    new = next((inputs[key] for key in ("new_string", "content", "new_source") if key in inputs), None)
    return _compared(inputs.get("old_string", response.get("old_source")), new)


def counts(diff: list[str]) -> str:
    """(+3 -1)"""
    signs = [line[:1] for line in diff]
    added, removed = signs.count("+"), signs.count("-")
    return f"(+{added} -{removed})" if removed else f"(+{added})"


def output(call: Call) -> str:
    """What the call gave back, as text; for a failure, what went wrong."""
    if call.error:
        if exit_code(call) is not None:
            return call.error.partition("\n")[2]
        from sessionlog.agents.claude_code import tags  # for errors of the client, which are rare

        return tags.error(call.error)
    if call.action == "ask" and isinstance(call.response, dict) and isinstance(call.response.get("answers"), dict):
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
        case {"type": "image" | "pdf" as kind, "file": {"base64": str(data)}}:
            return f"[{kind}, {plain.size(len(data) * 3 // 4)}]"
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
    return call.outcome == "ok" and call.action in EDITING


def new_output(call: Call) -> str:
    """What the call gave back beside its diff, without empty lines around it."""
    return "" if is_change(call) else output(call).strip("\n")


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
    from difflib import unified_diff  # for edits whose patch the client did not send

    lines = list(unified_diff(before, after, n=3, lineterm=""))[3:]
    # Where these lines are in the file is not known, but that some are left out between them is.
    return ["@@" if line.startswith("@@") else line for line in lines]


def _json(value: Any) -> str:
    import json  # with the regular expressions that it compiles; most sessions need none of it

    return json.dumps(value, ensure_ascii=False, indent=2)
