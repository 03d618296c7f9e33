"""One row for one event: both input shapes in. archive/rebuild.py gets the payload out again."""

from sessionlog.fastlib import encode_ascii, encode_json, utc_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Record = dict[str, Any]

# Fields of the payload, and of its tool_input, that have a column of their own.
PAYLOAD_TEXTS = (
    "prompt_id",
    "agent_id",
    "agent_type",
    "permission_mode",
    "cwd",
    "transcript_path",
    "tool_name",
    "tool_use_id",
    "prompt",
    "message",
    "error",
    "last_assistant_message",
)
INPUT_TEXTS = ("file_path", "old_string", "new_string", "content", "command", "description")

# The columns of the table `events`, in its order, less its id.
COLUMNS = (
    "session_id",
    "event",
    "at",
    "via",
    *PAYLOAD_TEXTS,
    "duration_ms",
    *INPUT_TEXTS,
    "tool_input",
    "tool_response",
    "extra",
    "envelope",
)

# The nested shape {event, data: {…}} has names of its own for two fields.
NESTED_NAMES = {"tool": "tool_name", "tool_result": "tool_response"}

# An event without a name is recognised by the fields that only it has; the first match counts.
TELLING_FIELDS = (
    ("PostToolUse", ("tool_name", "tool_response")),
    ("PostToolUseFailure", ("tool_name", "error")),
    ("PermissionRequest", ("tool_name", "permission_suggestions")),
    ("PreToolUse", ("tool_name", "tool_use_id")),
    ("UserPromptSubmit", ("prompt",)),
    ("SubagentStop", ("stop_hook_active", "agent_id")),
    ("Stop", ("stop_hook_active",)),
    ("Notification", ("message",)),
    ("PostCompact", ("compact_summary",)),
    ("PreCompact", ("trigger", "custom_instructions")),
    ("TaskCompleted", ("task_id", "task_subject")),
    ("TeammateIdle", ("teammate_name",)),
    ("SubagentStart", ("agent_id", "agent_type")),
    ("SessionStart", ("source",)),
    ("SessionEnd", ("reason",)),
)

# Some agents take a failing hook of these events for a refusal. Copilot, which runs Claude Code's hooks, denies a tool
# call when its PreToolUse hook ends with anything but 0. In the spelling of each agent.
DENYING = ("PreToolUse", "PermissionRequest", "preToolUse", "permissionRequest", "preMcpToolCall", "BeforeTool")

UNKNOWN_EVENT = "Unknown"
UNKNOWN_SESSION = "unknown"


def normalise(
    payload: "dict[str, Any]",
    *,
    at_ms: int,
    via: str,
    event: str | None = None,
    session_id: str | None = None,
    envelope: "dict[str, Any] | None" = None,
    exact: bool = False,
) -> "Record":
    """The payload as a row of `events`: every value in its column, the rest as JSON in `extra`.

    `event` and `session_id` are what the caller knows, for payloads that do not say. `envelope` is that of a payload
    which was translated from another agent's form (archive/translation.py). A value that a column cannot hold
    exactly (another type, a lone surrogate, a NUL) stays in the JSON, which wins over the column on the way back.
    `exact`: the caller knows that no text has a lone surrogate or a NUL, which takes long to find out.
    """
    if envelope is None:
        envelope = {}
    absent: list[str] = []
    if is_nested(payload):
        outer, rest = dict(payload), dict(payload["data"])
        del outer["data"]
        name_key, named = "event", outer
        envelope["shape"] = "nested"
        envelope["renamed"] = [old for old, new in NESTED_NAMES.items() if old in rest and new not in rest]
        for old in envelope["renamed"]:
            rest[NESTED_NAMES[old]] = rest.pop(old)
    else:
        outer, rest = {}, dict(payload)
        name_key, named = "hook_event_name", rest

    if name_key not in named:
        absent.append(name_key)
    if "session_id" not in rest:
        absent.append("session_id")
    record: Record = dict.fromkeys(COLUMNS)
    record["event"] = _take_name(named, name_key, exact) or event or _told_by_fields(rest)
    record["session_id"] = (
        _take_name(rest, "session_id", exact) or _text(outer.get("session_id")) or session_id or UNKNOWN_SESSION
    )
    record["at"] = utc_text(at_ms)
    record["via"] = via

    for key in PAYLOAD_TEXTS:
        if key in rest:
            record[key] = _take(rest, key, exact)
    duration = rest.get("duration_ms")
    if type(duration) is int and -(2**53) < duration < 2**53:  # beyond that, a sum of a few would overflow in SQL
        record["duration_ms"] = rest.pop("duration_ms")

    inputs = rest.get("tool_input")
    if isinstance(inputs, dict):
        inputs = rest["tool_input"] = dict(inputs)
        for key in INPUT_TEXTS:
            if key in inputs:
                record[key] = _take(inputs, key, exact)
    elif "file_path" in rest:  # events about a file rather than a tool: InstructionsLoaded, ConfigChange
        record["file_path"] = _take(rest, "file_path", exact)
    for key in ("tool_input", "tool_response"):
        if key in rest:
            record[key] = _json_text(rest.pop(key), exact)

    if outer:
        envelope["outer"] = outer
    if absent:
        envelope["absent"] = absent
    if rest:
        record["extra"] = _json_text(rest, exact)
    if envelope:
        record["envelope"] = _json_text(envelope, exact)
    return record


def is_nested(payload: "dict[str, Any]") -> bool:
    """Whether this is the {event, data} shape. FileChanged, too, has a field `event`, but also its name."""
    return (
        isinstance(payload.get("data"), dict)
        and "hook_event_name" not in payload
        and ("event" in payload or "session_id" not in payload)
    )


def _told_by_fields(fields: "dict[str, Any]") -> str:
    return next((name for name, keys in TELLING_FIELDS if all(key in fields for key in keys)), UNKNOWN_EVENT)


def _take(source: "dict[str, Any]", key: str, exact: bool) -> str | None:
    """Move a text out of the payload; what SQLite cannot hold exactly is copied readably and stays."""
    value = source.get(key)
    readable = value if exact and type(value) is str else _text(value)
    if readable is not None and readable == value:
        del source[key]
    return readable


def _take_name(source: "dict[str, Any]", key: str, exact: bool) -> str | None:
    """Like `_take`; an empty name says nothing, so it stays where it is."""
    return _take(source, key, exact) if source.get(key) else None


def _text(value: object) -> str | None:
    """A string as SQLite text can hold it: no NUL (its functions would stop there), no lone surrogate."""
    if not isinstance(value, str):
        return None
    if value.isascii():
        return value.replace("\0", "\u2400")
    try:
        as_stored = value.encode()
    except UnicodeEncodeError:
        as_stored = value.encode("utf-8", "surrogatepass")
        value = as_stored.decode("utf-8", "replace")
    # In the bytes: a search for it in a text with Chinese takes thirty times as long.
    return value.replace("\0", "\u2400") if b"\0" in as_stored else value


def _json_text(value: "Any", exact: bool) -> str:
    """JSON as people and LIKE want to read it, or in ASCII when it holds a lone surrogate."""
    text: str = encode_json(value)
    if exact or text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return encode_ascii(value)  # type: ignore[no-any-return]
    return text
