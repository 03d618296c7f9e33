"""Our hooks in the text of a settings file: put in and taken out without moving any other byte.

To add is only ever to append: a last item to an array, a last member to an object. To cut from the end of what stands
before it to its own end is the exact inverse, even if the user edited other parts. The one thing that the text
cannot tell afterwards is what was there but empty (`"hooks": {}`, an empty file, no file), so `add` says it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from sessionlog.install.commands import Group, Handler, is_ours, is_supervisor
from sessionlog.install.json_positions import InvalidJSON, Key, Node, parse

WHITESPACE = " \t\r\n"  # JSON's own; str.strip() knows more

Whose = Callable[[object], bool]  # tells by its command whether a handler is meant

Edit = tuple[int, int, str]  # replace the text from here to there
# What was there but empty: where ("hooks/Stop") -> its text. "" is the file as a whole, and None means: no file.
Empty = dict[str, "str | None"]


def settings(text: str | None) -> Node:
    """The settings in a text. Raises InvalidJSON, also for what we could only guess about."""
    if text is None or not text.strip(WHITESPACE):
        return parse("{}")
    root = parse(text)
    for key in _overridden(root):
        raise InvalidJSON(f'the key "{key.name}" comes again later in the same object', text, key.start)
    if not isinstance(root.value, dict):
        raise InvalidJSON("settings are an object", text, root.start)
    hooks = root.get("hooks")
    if hooks and not isinstance(hooks.value, dict):
        raise InvalidJSON('"hooks" should be an object', text, hooks.start)
    for event, groups in hooks.members().items() if hooks else ():
        if not isinstance(groups.value, list):
            raise InvalidJSON(f'"{event}" should be an array', text, groups.start)
    return root


def is_anything_of_ours(command: object) -> bool:
    """Whether `sessionlog install` wrote this command, to record or to supervise."""
    return is_ours(command) or is_supervisor(command)


def registered(values: Mapping[str, Any], whose: Whose = is_ours) -> dict[str, list[Handler]]:
    """Our handlers in the settings, by event; those that record, if nothing else is asked for."""
    found: dict[str, list[Handler]] = {}
    hooks = values.get("hooks")
    for event, groups in hooks.items() if isinstance(hooks, dict) else ():
        for group in groups if isinstance(groups, list) else ():
            handlers = group.get("hooks") if isinstance(group, dict) else None
            ours = [handler for handler in handlers if _is(whose, handler)] if isinstance(handlers, list) else []
            if ours:
                found[event] = found.get(event, []) + ours
    return found


def add(text: str | None, groups: Mapping[str, list[Group]]) -> tuple[str, Empty]:
    """The text with these groups at the end of each event's list, and what was empty before."""
    text, root, empty = _begun(text)
    style = _style(text, root)
    missing = dict(groups)
    hooks = root.get("hooks")
    if hooks is None:
        return _edited(text, [_appended(text, root, {"hooks": missing}, style)]), empty
    if not hooks.children:
        empty["hooks"] = text[hooks.start : hooks.end]
    edits = []
    for event, there in hooks.members().items():
        if event in missing:
            if not there.children:
                empty[f"hooks/{event}"] = text[there.start : there.end]
            edits.append(_appended(text, there, missing.pop(event), style))
    if missing:
        edits.append(_appended(text, hooks, missing, style))
    return _edited(text, edits), empty


def take_out(text: str | None, empty: Empty, whose: Whose = is_anything_of_ours) -> str | None:
    """The text without our handlers and without what they alone kept from being empty; None: no file."""
    root = settings(text)
    if text is None or not registered(root.value, whose):
        return text
    cuts = _cuts(root, (), empty, whose)
    if cuts is None:
        return empty[""] if "" in empty else _edited(text, [(root.start, root.end, "{}")])
    return _edited(text, cuts)


def members(text: str | None, name: str) -> dict[str, Any]:
    """The members of an object at the top of the text; none if there is no such object."""
    found = settings(text).value.get(name)
    return found if isinstance(found, dict) else {}


def _begun(text: str | None) -> tuple[str, Node, Empty]:
    """The text, with an object if it had nothing, the parsed object, and what was empty before."""
    empty: Empty = {}
    if text is None or not text.strip(WHITESPACE):
        empty[""], text = text, "{}\n"
    root = parse(text)
    if not root.children:
        empty.setdefault("", text)
    return text, root, empty


def with_member(text: str | None, name: str, key: str, value: Any) -> tuple[str, Empty]:
    """The text with a member more in an object at its top, and what was empty before."""
    text, root, empty = _begun(text)
    style = _style(text, root)
    there = root.get(name)
    if there is None:
        return _edited(text, [_appended(text, root, {name: {key: value}}, style)]), empty
    if not there.children:
        empty[name] = text[there.start : there.end]
    return _edited(text, [_appended(text, there, {key: value}, style)]), empty


def without_member(text: str | None, name: str, key: str, empty: Empty) -> str | None:
    """The text without that member, and without what it alone kept from being empty; None: no file."""
    root = settings(text)
    there = root.get(name)
    if text is None or there is None:
        return text
    if len(there.members()) > 1:
        return _edited(text, [_cut(there, key)])
    if name in empty:
        return _edited(text, [(there.start, there.end, empty[name] or "{}")])
    if len(root.members()) > 1:
        return _edited(text, [_cut(root, name)])
    return empty[""] if "" in empty else _edited(text, [(root.start, root.end, "{}")])


def _cut(node: Node, key: str) -> Edit:
    """The edit that removes a member which is not the only one."""
    children = list(_children(node))
    index = next(number for number, (name, _, _) in enumerate(children) if name == key)
    _, start, child = children[index]
    return (children[index - 1][2].end, child.end, "") if index else (start, children[index + 1][1], "")


def _cuts(node: Node, place: tuple[str, ...], empty: Empty, whose: Whose) -> list[Edit] | None:
    """The cuts that free a node of our handlers; None: nothing is left of it."""
    depth = len(place)  # hooks/Stop/0/hooks/0 is a handler
    if depth == 5:
        return None if _is(whose, node.value) else []
    edits: list[Edit] = []
    children = list(_children(node))
    stays = [True] * len(children)
    for index, (name, _, child) in enumerate(children):
        if depth in (0, 3) and name != "hooks":
            continue
        cuts = _cuts(child, (*place, name), empty, whose)
        stays[index] = cuts is not None
        edits += cuts or []
    if all(stays):
        return edits
    if depth == 3 or not any(stays):  # a group without handlers does nothing
        text = empty.get("/".join(place)) if place else None
        return None if text is None else [(node.start, node.end, text)]
    for index, (_, start, child) in enumerate(children):
        if not stays[index]:
            before = any(stays[:index])
            edits.append((children[index - 1][2].end, child.end, "") if before else (start, children[index + 1][1], ""))
    return edits


def _is(whose: Whose, handler: Any) -> bool:
    return isinstance(handler, dict) and whose(handler.get("command"))


def _children(node: Node) -> Iterator[tuple[str, int, Node]]:
    """Each member or item: its name, where it begins (with its key), itself."""
    for name, child in node.members().items():
        yield name, child.key.start if child.key else child.start, child
    for index, child in enumerate(node.items()):
        yield str(index), child.start, child


def _edited(text: str, edits: list[Edit]) -> str:
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _overridden(node: Node) -> Iterator[Key]:
    yield from node.overridden
    for _, _, child in _children(node):
        yield from _overridden(child)


# --- As if the user had written it ------------------------------------------------------------------------------------


class _Style(NamedTuple):
    newline: str  # nothing in a file of one line
    indent: str  # of one level
    gap: str  # after a comma or a colon


def _style(text: str, root: Node) -> _Style:
    first = next(iter(root.members().values()), None)
    if first is None or first.key is None:
        return _Style("\r\n" if "\r\n" in text else "\n", "  ", " ")
    if "\n" not in text.strip(WHITESPACE):
        return _Style("", "", _space_before(text, first.start) and " ")
    before_first = _space_before(text, first.key.start)
    indent = before_first.rpartition("\n")[2] if "\n" in before_first else "  "
    return _Style("\r\n" if "\r\n" in text else "\n", indent, " ")


def _appended(text: str, container: Node, new: dict[str, Any] | list[Any], style: _Style) -> Edit:
    """The edit that adds members to an object or items to an array, laid out as their neighbours are."""
    *_, last = (None, *_children(container))
    space = _space_before(text, last[1]) if last else style.newline
    if "\n" not in space:
        inside = json.dumps(new, ensure_ascii=False, separators=(f",{style.gap}", f":{style.gap}"))[1:-1]
        lead, tail = style.gap if last else "", ""
    else:
        line = text[text.rfind("\n", 0, container.start) + 1 :]
        outer = line[: len(line) - len(line.lstrip(" \t"))]
        inner = space.rpartition("\n")[2] if last else outer + style.indent
        lead, tail = style.newline + inner, style.newline + outer
        lines = json.dumps(new, ensure_ascii=False, indent=style.indent).split("\n")[1:-1]  # without the brackets
        inside = lead.join(line.removeprefix(style.indent) for line in lines)
    if last:
        return last[2].end, last[2].end, f",{lead}{inside}"
    return container.start + 1, container.end - 1, f"{lead}{inside}{tail}"


def _space_before(text: str, offset: int) -> str:
    return text[len(text[:offset].rstrip(WHITESPACE)) : offset]
