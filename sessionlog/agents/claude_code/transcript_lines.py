"""What a line of a transcript says: messages, tokens, and facts about its session."""

from sessionlog.fastlib import encode_json, utc_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Entry = dict[str, Any]

# The columns of `messages` that an entry fills, in the order of a row.
COLUMNS = (
    "line",
    "part",
    "session_id",
    "agent_id",
    "uuid",
    "parent_uuid",
    "type",
    "kind",
    "role",
    "at",
    "model",
    "message_id",
    "request_id",
    "prompt_id",
    "tool_name",
    "tool_use_id",
    "is_error",
    "is_sidechain",
    "git_branch",
    "text",
    "thinking",
)

# Tool calls, their results and attachments are machine text, most of it twice in the same line, and as a rule in
# `events` too: a row has their beginning, the chunk has them whole. Words of people and models are never cut.
EXCERPT = 500

# User lines that nobody typed, by how they begin.
INJECTED = (
    ("<task-notification>", "notification"),
    ("<command-name>", "command"),
    ("<command-message>", "command"),
    ("<local-command-stdout>", "command_output"),
    ("<local-command-stderr>", "command_output"),
    ("<local-command-caveat>", "meta"),
    ("<system-reminder>", "meta"),
    ("[Request interrupted by user", "interruption"),
)
STARTS_TURN = ("prompt", "notification", "command")

# Entries about the session as a whole: type -> (their field, the column of session_facts).
FACTS = {
    "custom-title": ("customTitle", "custom_title"),
    "ai-title": ("aiTitle", "ai_title"),
    "summary": ("summary", "summary"),
    "tag": ("tag", "tag"),
}

TOKENS = (
    "input_tokens",
    "output_tokens",
    "thinking_tokens",
    "cache_read_tokens",
    "cache_write_5m_tokens",
    "cache_write_1h_tokens",
    "web_searches",
)


class Reader:
    """Collects what the lines of one part of a file say."""

    def __init__(self, session_id: str, agent_id: str | None) -> None:
        self.session_id = session_id
        self.agent_id = agent_id
        self.rows: list[tuple[Any, ...]] = []
        self.usage: dict[tuple[str, str], list[Any]] = {}
        self.facts: dict[str, dict[str, Any]] = {}
        self.types: dict[str, int] = {}
        self._context: tuple[Any, ...] = ()

    def read(self, entry: "Entry", line: int) -> None:
        """Take in one entry. Whatever is not as it should be is passed over: the bytes are kept anyway."""
        type_ = _text(entry.get("type")) or "unknown"
        self.types[type_] = self.types.get(type_, 0) + 1
        session_id = _text(entry.get("sessionId")) or self.session_id
        uuid = _text(entry.get("uuid"))
        if type_ in FACTS or type_ == "cost-state":
            self._read_fact(entry, type_, session_id)
        if not uuid and type_ != "summary":
            return

        message = entry.get("message")
        if not isinstance(message, dict):
            message = {}
        at = time_of(entry.get("timestamp"))
        agent_id = _text(entry.get("agentId")) or self.agent_id
        usage = message.get("usage")
        model = _text(message.get("model"))
        if isinstance(usage, dict) and model and model != "<synthetic>":
            self._read_usage(entry, message, usage, model, session_id, agent_id, at)
        branch = _text(entry.get("gitBranch"))
        self._read_context(entry, session_id, at, branch, model)

        prompt_id = _text(entry.get("promptId"))
        before = (session_id, agent_id, uuid, _text(entry.get("parentUuid")), type_)
        middle = (
            _text(message.get("role")),
            at,
            model,
            _text(message.get("id")),
            _text(entry.get("requestId")),
        )
        is_sidechain = 1 if entry.get("isSidechain") is True else 0
        for part, (kind, tool_name, tool_use_id, is_error, text, thinking) in enumerate(parts(entry, type_, message)):
            self.rows.append(
                (
                    line,
                    part,
                    *before,
                    kind,
                    *middle,
                    prompt_id if kind in STARTS_TURN else None,
                    tool_name,
                    tool_use_id,
                    is_error,
                    is_sidechain,
                    branch,
                    text,
                    thinking,
                )
            )

    def read_history(self, entry: "Entry", line: int) -> None:
        """A prompt as it was typed, from the file of all prompts of all projects."""
        self.types["history"] = self.types.get("history", 0) + 1
        stamp = entry.get("timestamp")
        at = utc_text(stamp) if type(stamp) is int and 0 <= stamp < 4e12 else None
        row: dict[str, Any] = dict.fromkeys(COLUMNS)
        row |= {"line": line, "part": 0, "is_sidechain": 0, "type": "history", "kind": "history", "role": "user"}
        row |= {"session_id": _text(entry.get("sessionId")) or "", "at": at, "text": _text(entry.get("display"))}
        self.rows.append(tuple(row.values()))

    def _read_fact(self, entry: "Entry", type_: str, session_id: str) -> None:
        facts = self.facts.setdefault(session_id, {})
        if type_ == "cost-state":
            cost, usage = entry.get("totalCostUSD"), entry.get("modelUsage")
            if isinstance(cost, (int, float)) and isinstance(usage, dict):
                counts = {model: _counts(numbers) for model, numbers in usage.items() if isinstance(numbers, dict)}
                facts["client_cost_usd"], facts["client_usage"] = float(cost), encode_json(counts)
        else:
            field, column = FACTS[type_]
            if value := _text(entry.get(field)):
                facts[column] = value

    def _read_context(
        self, entry: "Entry", session_id: str, at: str | None, branch: str | None, model: str | None
    ) -> None:
        facts = self.facts.setdefault(session_id, {})
        if at:
            if at < facts.setdefault("first_at", at):
                facts["first_at"] = at
            if at > facts.setdefault("last_at", at):
                facts["last_at"] = at
        if self.agent_id:  # a sub-agent may work in a worktree of its own
            return
        context = (
            session_id,
            branch,
            model,
            *map(entry.get, ("version", "entrypoint", "sessionKind", "forkedFrom", "cwd")),
        )
        if context == self._context:  # as a rule all lines say the same
            return
        self._context = context
        version, entrypoint, kind, origin, cwd = context[3:]
        origin = _object(origin)
        found = {
            "git_branch": branch,
            "model": None if model == "<synthetic>" else model,
            "client_version": _text(version),
            "entrypoint": _text(entrypoint),
            "session_kind": _text(kind),
            "forked_from": _text(origin.get("sessionId")),
            "forked_at_uuid": _text(origin.get("messageUuid")),
            "cwd": facts.get("cwd") or _text(cwd),
        }
        facts.update({column: value for column, value in found.items() if value})

    def _read_usage(
        self,
        entry: "Entry",
        message: "Entry",
        usage: "Entry",
        model: str,
        session_id: str,
        agent_id: str | None,
        at: str | None,
    ) -> None:
        key = (_text(message.get("id")) or _text(entry.get("uuid")) or "", _text(entry.get("requestId")) or "")
        is_copy = 1 if "forkedFrom" in entry or session_id != self.session_id else 0
        counts = tokens(usage)
        known = self.usage.get(key)
        if known:
            known[-len(counts) :] = map(max, known[-len(counts) :], counts)
        else:
            self.usage[key] = [*key, session_id, agent_id, is_copy, model, at, *counts]


def tokens(usage: "Entry") -> list[int]:
    """The counts of one answer, in the order of TOKENS."""
    writes = _object(usage.get("cache_creation"))
    short, long = _count(writes.get("ephemeral_5m_input_tokens")), _count(writes.get("ephemeral_1h_input_tokens"))
    # Clients before 2.1.152 gave only the parts, others only the sum: what has no part is a short-lived write.
    short += max(0, _count(usage.get("cache_creation_input_tokens")) - short - long)
    return [
        _count(usage.get("input_tokens")),
        _count(usage.get("output_tokens")),
        _count(_object(usage.get("output_tokens_details")).get("thinking_tokens")),
        _count(usage.get("cache_read_input_tokens")),
        short,
        long,
        _count(_object(usage.get("server_tool_use")).get("web_search_requests")),
    ]


Part = tuple[str, "str | None", "str | None", "int | None", "str | None", "str | None"]


def parts(entry: "Entry", type_: str, message: "Entry") -> list[Part]:
    """The parts of an entry: (kind, tool_name, tool_use_id, is_error, text, thinking)."""
    if type_ == "attachment":
        attachment = _object(entry.get("attachment"))
        said = [_text(attachment.get(key)) for key in ("content", "prompt", "text", "filename", "displayPath")]
        text = next(filter(None, said), None)
        return [(_text(attachment.get("type")) or type_, None, None, None, text and text[:EXCERPT], None)]
    if type_ not in ("user", "assistant"):
        text = _text(entry.get("content")) or _text(entry.get("summary"))
        return [(_text(entry.get("subtype")) or type_, None, None, None, text, None)]

    content = message.get("content")
    if isinstance(content, str):
        text = _text(content)
        return [(_kind(entry, type_, text or ""), None, None, None, text, None)]
    words: list[str] = []
    thoughts: list[str] = []
    tools: list[Part] = []
    for block in content if isinstance(content, list) else ():
        if not isinstance(block, dict):
            continue
        kind = block.get("type")
        if kind == "text":
            words.append(_text(block.get("text")) or "")
        elif kind == "thinking":
            thoughts.append(_text(block.get("thinking")) or "")
        elif kind in ("tool_use", "server_tool_use"):
            text = _excerpt_of_input(block.get("input"))
            tools.append(("tool_use", _text(block.get("name")), _text(block.get("id")), None, text, None))
        elif kind == "tool_result":
            text = _excerpt(block.get("content"))
            failed = 1 if block.get("is_error") is True else 0
            tools.append(("tool_result", None, _text(block.get("tool_use_id")), failed, text, None))
        elif isinstance(kind, str):
            words.append(f"[{kind}]")
    if not tools or any(words) or any(thoughts):
        text, thinking = "\n".join(words) or None, "\n".join(thoughts) or None
        kind = _kind(entry, type_, text or "") if text or not thinking else "thinking"
        tools.insert(0, (kind, None, None, None, text, thinking))
    return tools


def _kind(entry: "Entry", type_: str, text: str) -> str:
    if type_ == "assistant":
        return "api_error" if entry.get("isApiErrorMessage") is True else "text"
    if entry.get("isCompactSummary") is True:
        return "compact_summary"
    if entry.get("isMeta") is True:
        return "meta"
    for beginning, kind in INJECTED:
        if text.startswith(beginning):
            return kind
    return "prompt"


def _excerpt_of_input(value: "Any") -> str:
    if isinstance(value, dict):  # a whole file need not be spelled out to be cut
        value = {key: item[:EXCERPT] if type(item) is str else item for key, item in value.items()}
    return encode_json(value)[:EXCERPT].replace("\0", "\u2400")  # type: ignore[no-any-return]


def _excerpt(content: "Any") -> str | None:
    if isinstance(content, str):
        return _text(content[:EXCERPT])
    pieces, length = [], 0
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and length < EXCERPT:
            piece = (_text(block.get("text")) or f"[{_text(block.get('type'))}]")[: EXCERPT - length]
            length += len(piece)
            pieces.append(piece)
    return "\n".join(pieces) or None


def _text(value: "Any") -> str | None:
    """A text as SQLite can hold it: its functions would stop at a NUL."""
    if type(value) is not str or not value:
        return None
    return value.replace("\0", "\u2400") if "\0" in value else value


def time_of(value: "Any") -> str | None:
    """A time as the archive writes it."""
    fits = type(value) is str and len(value) >= 20 and value[4] == "-" and value[10] == "T" and value[-1] == "Z"
    return value if fits else None


def _object(value: "Any") -> "Entry":
    return value if isinstance(value, dict) else {}


def _counts(numbers: "Entry") -> "Entry":
    """What can be added up in SQL: the view of costs does."""
    return {name: value for name, value in numbers.items() if type(value) is not int or abs(value) < 2**53}


def _count(value: "Any") -> int:
    return value if type(value) is int and 0 <= value < 2**53 else 0
