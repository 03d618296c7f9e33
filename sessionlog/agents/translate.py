"""The events of other agents in Claude Code's form, by the table of each: agents/<name>/hook_table.py.

A table has names, as far as they differ from Claude Code's:

    EVENTS  {its name: ours}; None: not recorded    FIELDS  {its path: our path}, moved in this order
    TOOLS   {its name: ours}                        INPUTS  {its key of tool_input: ours}
    MODES   {its permission mode: ours}             UNPAIRED  True if its tool calls have no ids
    PROJECT_VARIABLE  the environment variable with the project's folder
    LOCK_WAIT  {event: seconds}, where the agent waits for less than usual

and, for what no table can say, `adjust(translation)`, which returns False for an event that is not to be recorded.
This runs in the hook, where importing the standard library costs too much.
"""

from sessionlog.archive.agent_event import WITHOUT_ID
from sessionlog.archive.append import LOCK_WAIT
from sessionlog.archive.translation import Translation, restore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def part(client: str, name: str) -> "Any":
    """A module in the folder of an agent. Raises ImportError if there is none."""
    folder = client.replace("-", "_")
    if not folder.isidentifier():
        raise ImportError(f"{client!r} is no agent")
    return __import__(f"sessionlog.agents.{folder}.{name}", fromlist=[name])


def for_hook(client: str, payload: "dict[str, Any]", event: str | None) -> "tuple[dict[str, Any], str, float] | None":
    """Translate an event, in place; returns its envelope, where the project is named, and how long to wait for a lock.

    None if the event is not to be recorded.
    """
    translation = translate(client, payload, event)
    if translation is None:
        return None
    names = part(client, "hook_table")
    wait = names.LOCK_WAIT.get(payload.get("hook_event_name"), LOCK_WAIT)
    return translation.envelope, names.PROJECT_VARIABLE, wait


def translate(client: str, payload: "dict[str, Any]", event: str | None) -> "Translation | None":
    """The event as Claude Code would have said it; None if it is not to be recorded.

    `event` is what the hook was registered for. If a value is not as the table expects it, the payload stays as it is.
    """
    names = part(client, "hook_table")
    translation = Translation(client, payload)
    try:
        for old, new in names.FIELDS.items():
            translation.move(old, new)
        name = translation.get("hook_event_name") or event or ""
        known = names.EVENTS.get(name, name)
        if known is None:
            return None
        translation.put("hook_event_name", known)
        if "permission_mode" in payload:
            translation.put("permission_mode", names.MODES.get(payload["permission_mode"], payload["permission_mode"]))
        if isinstance(tool := payload.get("tool_name"), str):
            translation.put("tool_name", names.TOOLS.get(tool, tool))
            if isinstance(payload.get("tool_input"), dict):
                for old, new in names.INPUTS.items():
                    translation.move(f"tool_input.{old}", f"tool_input.{new}")
        if not names.adjust(translation):
            return None
        event = payload["hook_event_name"]
        if "tool_name" in payload and "tool_use_id" not in payload and (names.UNPAIRED or event == "PermissionRequest"):
            translation.undo.append(WITHOUT_ID)
    except (TypeError, ValueError, AttributeError, LookupError):
        restore(payload, translation.undo)
        translation.undo.clear()
    return translation


# --- For the tables ---------------------------------------------------------------------------------------------------

NO_SIGN = -1


def end_of_command(translation: Translation, path: str, start: int, end: int, code: int) -> None:
    """A command came to its end: its output is between start and end of the text at `path`."""
    if code:
        translation.put("hook_event_name", "PostToolUseFailure")
        translation.cut(path, "error", start, end, f"Exit code {code}\n")
    else:
        translation.cut(path, "tool_response.stdout", start, end)
        translation.put("tool_response.stderr", "")


def number_after(text: str, mark: str) -> int:
    """The number that follows the last mark in a text; NO_SIGN if there is none."""
    place = text.rfind(mark)
    digits = text[place + len(mark) : place + len(mark) + 10] if place >= 0 else ""
    count = 0
    while count < len(digits) and digits[count].isdigit():
        count += 1
    return int(digits[:count]) if count else NO_SIGN


def labelled_output(translation: Translation, path: str) -> None:
    """The end of a shell command of Gemini CLI and its descendants: lines with labels, in one text."""
    text = translation.get(path)
    if not isinstance(text, str) or "Output: " not in text:
        return
    start = text.index("Output: ") + 8
    ends = [text.rfind(f"\n{label}: ", start) for label in ("Error", "Exit Code", "Signal", "Process Group PGID")]
    end = min([place for place in ends if place >= 0], default=len(text))
    if text[start:end] == "(empty)":
        end = start
    code = number_after(text[end:], "\nExit Code: ")
    if path != "error" or code > 0:
        end_of_command(translation, path, start, end, max(0, code))


def patch_as_edits(translation: Translation, patch_key: str) -> None:
    """A patch in the form of `apply_patch`, as edits of files: what it changes, in the words of Edit and Write."""
    patch = translation.get(f"tool_input.{patch_key}")
    if not isinstance(patch, str):
        return
    cwd = translation.get("cwd")
    edits: list[dict[str, str]] = []
    path = ""
    for line in patch.split("\n"):
        verb, mark, name = line.partition(" File: ")
        if mark and verb in ("*** Add", "*** Update", "*** Delete"):
            path = name.strip()
            path = f"{cwd}/{path}" if isinstance(cwd, str) and not path.startswith("/") else path
            edits.append({"file_path": path, "old_string": "", "new_string": ""})
        elif line.startswith("@@") and edits and (edits[-1]["old_string"] or edits[-1]["new_string"]):
            edits.append({"file_path": path, "old_string": "", "new_string": ""})
        elif edits and line[:1] in ("+", "-", " "):
            if line[0] != "+":
                edits[-1]["old_string"] += line[1:] + "\n"
            if line[0] != "-":
                edits[-1]["new_string"] += line[1:] + "\n"
    if not edits:
        return
    is_new_file = patch.count("*** Add File: ") == 1 and len(edits) == 1
    translation.move(f"tool_input.{patch_key}", "tool_input.patch")
    translation.put("tool_input.file_path", edits[0]["file_path"])
    if is_new_file:
        translation.put("tool_name", "Write")
        translation.put("tool_input.content", edits[0]["new_string"])
    elif len({edit["file_path"] for edit in edits}) > 1:
        translation.put("tool_input.edits", edits)
    else:
        translation.put("tool_name", "Edit")
        if len(edits) == 1:
            translation.put("tool_input.old_string", edits[0]["old_string"])
            translation.put("tool_input.new_string", edits[0]["new_string"])
        else:
            translation.put("tool_input.edits", edits)
