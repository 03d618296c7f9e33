"""What the specification (V-HK) and today's client (V-CC) ask of a hook, as far as the JSON alone tells."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from sessionlog.agents.claude_code.events import EVENTS
from sessionlog.install import commands
from sessionlog.install.validate import javascript_regex
from sessionlog.install.validate.rulebook import SPECIFICATION, Problem, Rulebook, Site, is_list_of_strings, shown, step

RULES = Rulebook()


class HandlerType(NamedTuple):
    """A kind of handler: since which client, which fields it needs, and which it may have."""

    since: str
    needs: tuple[str, ...]
    fields: frozenset[str]


HANDLERS: dict[str, HandlerType] = {
    "command": HandlerType(
        "1.0.38", ("command",), frozenset({"command", "async", "args", "asyncRewake", "shell", "onFailure"})
    ),
    "prompt": HandlerType("2.0.30", ("prompt",), frozenset({"prompt", "model", "continueOnBlock"})),
    "agent": HandlerType("2.1.0", ("prompt",), frozenset({"prompt", "model"})),
    "http": HandlerType("2.1.63", ("url",), frozenset({"url", "headers", "allowedEnvVars", "onFailure"})),
    "mcp_tool": HandlerType("2.1.118", ("server", "tool"), frozenset({"server", "tool", "input"})),
}
_SPECIFIED_TYPES = ("command", "prompt", "agent")
_COMMON_FIELDS = {"type", "timeout", "statusMessage", "once", "if"}
# Fields that the specification does not name, and what an older client makes of them.
_CLIENT_FIELDS = {
    "if": "clients before 2.1.85 run the handler on every call",
    "args": "clients before 2.1.139 run `command` alone, in a shell",
    "asyncRewake": "clients before 2.1.69 wait for the command",
    "shell": "clients before 2.1.81 take the shell of the system",
    "onFailure": "clients before 2.1.295 go on after a failure",
    "continueOnBlock": "older clients ignore it",
}
# The only events on which the client asks a model; all others run commands, http and mcp_tool handlers.
_ASKS_A_MODEL = {
    *("PermissionDenied", "PermissionRequest", "PostToolBatch", "PostToolUse", "PostToolUseFailure", "PreToolUse"),
    *("Stop", "SubagentStop", "TaskCompleted", "TaskCreated", "TeammateIdle"),
    *("UserPromptExpansion", "UserPromptSubmit"),
}
_NO_HTTP = {"SessionStart", "Setup"}  # they run before the client opens any connection
_MUST_BE: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "if": ('a string such as "Bash(git *)"', lambda value: isinstance(value, str)),
    "args": ("a list of strings", is_list_of_strings),
    "asyncRewake": ("true or false", lambda value: isinstance(value, bool)),
    "shell": ('"bash" or "powershell"', lambda value: value in ("bash", "powershell")),
    "onFailure": ('"continue" or "block"', lambda value: value in ("continue", "block")),
    "model": ("a string", lambda value: isinstance(value, str)),
    "headers": ("an object", lambda value: isinstance(value, dict)),
    "allowedEnvVars": ("a list", lambda value: isinstance(value, list)),
    "input": ("an object", lambda value: isinstance(value, dict)),
}


def _instead(word: Any, known: list[str]) -> str:
    """An advice: the closest known word, else all of them."""
    lower = {name.lower(): name for name in known}
    close = difflib.get_close_matches(str(word).lower(), lower, n=1, cutoff=0.7)
    return f"Did you mean {shown(lower[close[0]])}?" if close else f"Known are: {', '.join(known)}."


@RULES.rule("V-HK-01", "error", "The file is valid JSON.", "file")
def valid_json(site: Site) -> Iterator[Problem]:
    broken = site.document.broken
    if broken:
        advice = "Correct it there; Claude Code ignores a file that it cannot parse."
        yield Problem(broken.offset, "", f"not valid JSON: {broken.problem}", advice, None, None)
    elif site.document.bom:
        message = "the file begins with a byte order mark, which the client takes and its desktop app does not"
        yield Problem(0, "", message, "Save it as UTF-8 without BOM.", "warning", None)


@RULES.rule(
    "V-HK-02", "error", "The root object has a `hooks` object (in a settings file: if it has hooks at all).", "file"
)
def has_hooks(site: Site) -> Iterator[Problem]:
    if site.document.broken:
        return
    if not isinstance(site.node.value, dict):
        yield site.problem("the root is no object", 'Write { "hooks": { … } }.')
    elif "hooks" not in site.fields:
        if site.document.kind == "hooks":
            bare = any(name in EVENTS for name in site.fields)
            advice = 'Put the events inside: { "hooks": { … } }.' if bare else 'Add "hooks": { … }.'
            yield site.problem("the root object has no `hooks`", advice)
    elif not isinstance(site.fields["hooks"], (dict, str, list) if site.document.kind == "manifest" else dict):
        yield site.problem("`hooks` is no object", 'Write "hooks": { "<event>": [ … ] }.', "hooks")


@RULES.rule("V-HK-03", "error", "Each event name is a known one; upper and lower case matter.", "event")
def known_event(site: Site) -> Iterator[Problem]:
    event = site.known_event
    if event is None:
        message = f"there is no event {shown(site.event)}, neither in the specification nor in the client"
        yield site.problem(message, _instead(site.event, list(EVENTS)), at_key=True)
    elif not event.in_specification and not _is_ours_alone(site):
        since = ".".join(map(str, event.since))
        message = f"{shown(site.event)} is known to the client since {since}, but not to the specification"
        skip = " skip it, and those before 2.1.101" if event.since > (2, 1, 101) else ""
        advice = f"Clients before {since}{skip} ignore the whole file for one unknown name."
        yield site.problem(message, advice, at_key=True, severity="warning")


def _is_ours_alone(site: Site) -> bool:
    """Whether only `install` wrote this event, which asked for the version of the client before it did."""
    groups = site.node.value if isinstance(site.node.value, list) else []
    handlers = [
        handler
        for group in groups
        if isinstance(group, dict) and isinstance(group.get("hooks"), list)
        for handler in group["hooks"]
    ]
    return bool(handlers) and all(isinstance(one, dict) and commands.is_ours(one.get("command")) for one in handlers)


@RULES.rule(
    "V-HK-04", "error", "Each event holds a list of groups, and each group has a `hooks` list.", "event", "group"
)
def has_handlers(site: Site) -> Iterator[Problem]:
    shape = '[ { "matcher": "…", "hooks": [ … ] } ]'
    if site.level == "event":
        if not isinstance(site.node.value, list):
            yield site.problem(f"{shown(site.event)} holds no list of groups", f"Write {shape}.")
    elif not isinstance(site.node.value, dict):
        yield site.problem("a group is an object with a `hooks` list", f"Write {shape}.")
    elif "hooks" not in site.fields:
        bare = "type" in site.fields
        advice = f"Put the handler inside a group: {shape}." if bare else 'Add "hooks": [ … ].'
        yield site.problem("the group has no `hooks`", advice)
    elif not isinstance(site.fields["hooks"], list):
        yield site.problem("the `hooks` of a group is no list", 'Write "hooks": [ { "type": … } ].', "hooks")


@RULES.rule("V-HK-05", "error", "Each handler has a known `type`: command, prompt or agent.", "handler")
def known_type(site: Site) -> Iterator[Problem]:
    kind = site.fields.get("type")
    if not isinstance(site.node.value, dict):
        yield site.problem("a handler is an object", 'Write { "type": "command", "command": … }.')
    elif kind is None:
        yield site.problem("the handler has no `type`", 'Add "type": "command", "prompt" or "agent".')
    elif site.type not in HANDLERS:
        yield site.problem(f"there is no handler type {shown(kind)}", _instead(kind, list(HANDLERS)), "type")
    elif site.type not in _SPECIFIED_TYPES:
        since = HANDLERS[site.type].since
        message = f"{shown(kind)} is known to the client since {since}, but not to the specification"
        yield site.problem(message, f"Clients before {since} do not run it.", "type", severity="warning")
    elif site.event == "TeammateIdle" and site.type != "command":
        message = f"TeammateIdle runs no {site.type} handlers by the specification; today's client does"
        yield site.problem(message, "Use a command handler to be safe with older clients.", "type", severity="warning")


@RULES.rule("V-HK-08", "error", "A prompt or agent handler has a `prompt`.", "handler")
def has_prompt(site: Site) -> Iterator[Problem]:
    if site.type in ("prompt", "agent"):
        yield from _needs(site, "prompt", "Add the text for the model; $ARGUMENTS stands for the event.")


@RULES.rule("V-HK-09", "error", "A `matcher` is a valid regular expression.", "group")
def valid_matcher(site: Site) -> Iterator[Problem]:
    matcher = site.fields.get("matcher", "")
    if not isinstance(matcher, str):
        yield site.problem(
            f"`matcher` is {shown(matcher)}, not a string", 'Write "" or leave it out for all.', "matcher"
        )
    elif matcher != "*" and site.event != "FileChanged":  # there it is a list of file names
        wrong = javascript_regex.error(matcher)
        if wrong:
            message = f"the matcher {shown(matcher)} is no regular expression: {wrong}"
            yield site.problem(
                message, 'Write "Edit|Write" for a choice, ".*" for any text, \\\\( for a bracket.', "matcher"
            )


@RULES.rule("V-HK-12", "warning", "`timeout` is a positive integer.", "handler")
def positive_timeout(site: Site) -> Iterator[Problem]:
    timeout = site.fields.get("timeout", 1)
    advice = "Give the seconds as a whole number, or leave it out for the default."
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or timeout <= 0:
        yield site.problem(f"`timeout` is {shown(timeout)}, not a positive integer", advice, "timeout")
    elif isinstance(timeout, float) and not timeout.is_integer():
        message = f"`timeout` is {shown(timeout)}: the client takes fractions, the specification does not"
        yield site.problem(message, advice, "timeout")


@RULES.rule("V-HK-13", "warning", "`statusMessage`, if given, is a string.", "handler")
def text_message(site: Site) -> Iterator[Problem]:
    if not isinstance(site.fields.get("statusMessage", ""), str):
        yield site.problem("`statusMessage` is no string", "Put it in double quotes.", "statusMessage")


@RULES.rule("V-HK-14", "warning", "`once`, if given, is true or false.", "handler")
def boolean_once(site: Site) -> Iterator[Problem]:
    if not isinstance(site.fields.get("once", False), bool):
        yield site.problem("`once` is neither true nor false", "Write true or false, without quotes.", "once")


@RULES.rule("V-HK-15", "warning", "`async`, if given, is true or false, and is on command handlers only.", "handler")
def boolean_async(site: Site) -> Iterator[Problem]:
    if not isinstance(site.fields.get("async", False), bool):
        yield site.problem("`async` is neither true nor false", "Write true or false, without quotes.", "async")
    elif "async" in site.fields and site.type != "command":
        message = f"`async` has no effect on a handler of type {shown(site.fields.get('type'))}"
        yield site.problem(message, "Remove it; only command handlers run in the background.", "async", at_key=True)


@RULES.rule("V-CC-01", "warning", "No key appears twice in one object.", "file")
def unique_keys(site: Site) -> Iterator[Problem]:
    waiting = [(site.node, "")]
    while waiting:
        node, path = waiting.pop()
        for key in node.overridden:
            where = (path + step(key.name)).removeprefix(".")
            message = f"the key {shown(key.name)} comes again later in the same object, and only the last one counts"
            yield Problem(key.start, where, message, "Merge the two.", None, None)
        waiting += [(child, path + step(name)) for name, child in node.members().items()]
        waiting += [(child, path + step(number)) for number, child in enumerate(node.items())]


@RULES.rule("V-CC-02", "error", "An http handler has a `url`; an mcp_tool handler has `server` and `tool`.", "handler")
def has_target(site: Site) -> Iterator[Problem]:
    if site.type in ("http", "mcp_tool"):
        for name in HANDLERS[site.type].needs:
            yield from _needs(site, name, f'Add "{name}"; without it the client drops the handler.')


@RULES.rule("V-CC-03", "error", "The event can run handlers of this type.", "handler")
def runs_here(site: Site) -> Iterator[Problem]:
    if not site.known_event or site.type not in HANDLERS:
        return
    asks = site.type in ("prompt", "agent") and site.event not in _ASKS_A_MODEL
    if asks or (site.type == "http" and site.event in _NO_HTTP):
        message = f"{site.event} runs no {site.type} handlers"
        yield site.problem(message, "Use a command handler here.", "type")


@RULES.rule("V-CC-04", "warning", "Every field is a known one.", "file", "group", "handler")
def known_fields(site: Site) -> Iterator[Problem]:
    known = {"matcher", "hooks"}
    if site.level == "file":
        known = {"description", "hooks"}
    elif site.level == "handler" and site.type in HANDLERS:
        known = _COMMON_FIELDS | HANDLERS[site.type].fields | {"async"}  # `async` in the wrong place is V-HK-15
    elif site.level == "handler":
        return
    if site.level == "file" and site.document.kind != "hooks":  # settings hold much else
        return
    for name in site.fields:
        if name not in known:
            what = {"file": "hooks.json", "group": "a group"}.get(site.level, f"a {site.type} handler")
            message = f"{shown(name)} is no field of {what}, neither in the specification nor in the client"
            yield site.problem(message, _instead(name, sorted(known)), name, at_key=True)
        elif name in _CLIENT_FIELDS and site.type in _SPECIFIED_TYPES:
            message = f"`{name}` is known to the client, but not to the specification"
            advice = f"Mind that {_CLIENT_FIELDS[name]}."
            yield site.problem(message, advice, name, at_key=True, source=SPECIFICATION)


@RULES.rule("V-CC-05", "warning", "A `matcher` is on events that have something to match.", "group")
def useful_matcher(site: Site) -> Iterator[Problem]:
    event, matcher = site.known_event, site.fields.get("matcher")
    if not event or not isinstance(matcher, str) or matcher in ("", "*"):
        return
    if event.matches is None:
        message = f"{site.event} has nothing to match: the client ignores the matcher and always runs the group"
        yield site.problem(message, "Remove the matcher.", "matcher")
    elif event.matches == "tool name" and matcher.endswith(")") and matcher.partition("(")[0].isalpha():
        message = f"the matcher {shown(matcher)} is compared with tool names only, so it never matches"
        yield site.problem(message, 'Match the tool, and put the rest into the handler as "if".', "matcher")


@RULES.rule("V-CC-06", "warning", "`if` is on tool events, `once` in the frontmatter of a skill.", "handler")
def fields_take_effect(site: Site) -> Iterator[Problem]:
    if "if" in site.fields and site.known_event and site.known_event.matches != "tool name":
        message = f"{site.event} is no tool event: a handler with `if` never runs there"
        yield site.problem(message, "Remove `if`.", "if", at_key=True, severity="error")
    if site.fields.get("once") is True:
        message = "`once` works in the frontmatter of a skill only, the handler will run every time"
        yield site.problem(message, "Remove it.", "once", at_key=True)


@RULES.rule("V-CC-07", "error", "The fields that only the client knows hold what it expects.", "handler")
def field_types(site: Site) -> Iterator[Problem]:
    for name, (expected, fits) in _MUST_BE.items():
        if name in site.fields and not fits(site.fields[name]):
            yield site.problem(f"`{name}` is {shown(site.fields[name])}", f"Make it {expected}.", name)


def _needs(site: Site, name: str, advice: str) -> Iterator[Problem]:
    value = site.fields.get(name)
    if not isinstance(value, str) or not value.strip():
        wrong = "is no text" if name in site.fields else "is missing"
        yield site.problem(f"the `{name}` of the {site.type} handler {wrong}", advice, name)
