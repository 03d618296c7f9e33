"""Changes of a payload that can be undone: how another agent's event takes Claude Code's form, and the way back.

Only the way back is stored, in the `envelope` of the row, so that a payload can be rebuilt without knowing the agent.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Payload = dict[str, Any]


class Translation:
    """A payload while it is translated, and the steps back to what it was. A path names nested keys: tool_input.path"""

    __slots__ = ("client", "payload", "undo")

    def __init__(self, client: str, payload: "Payload") -> None:
        self.client = client
        self.payload = payload  # changed in place
        self.undo: list[list[Any]] = []

    @property
    def envelope(self) -> "dict[str, Any]":
        """What is stored beside the payload."""
        return {"client": self.client, "undo": self.undo}

    def get(self, path: str) -> "Any":
        """The value at a path, or None."""
        container, key = _find(self.payload, path)
        return container.get(key) if container is not None else None

    def has(self, path: str) -> bool:
        """Whether there is a value at a path."""
        container, key = _find(self.payload, path)
        return container is not None and key in container

    def move(self, old: str, new: str) -> None:
        """Give a value another name. Nothing is overwritten."""
        source, old_key = _find(self.payload, old)
        if source is None or old_key not in source or self.has(new):
            return
        self._make_way(new)
        target, new_key = _find(self.payload, new)
        if target is not None:
            target[new_key] = source.pop(old_key)
            self.undo.append(["move", new, old])

    def put(self, path: str, value: "Any") -> None:
        """Set a value, in the place of another or where there was none."""
        self._make_way(path)
        container, key = _find(self.payload, path)
        if container is None or (key in container and container[key] == value):
            return
        self.undo.append(["set", path, container[key]] if key in container else ["drop", path])
        container[key] = value

    def cut(self, old: str, new: str, start: int, end: int, head: str = "") -> None:
        """Move a part of a text, behind a head of ours: no long text is stored twice."""
        text = self.get(old)
        if not isinstance(text, str) or (new != old and self.has(new)):
            return
        self._make_way(new)
        source, old_key = _find(self.payload, old)
        target, new_key = _find(self.payload, new)
        if source is not None and target is not None:
            del source[old_key]
            target[new_key] = head + text[start:end]
            self.undo.append(["cut", new, old, len(head), text[:start], text[end:]])

    def wrap(self, path: str, key: str) -> None:
        """Put a value into an object of its own, under this key."""
        container, name = _find(self.payload, path)
        if container is not None and name in container:
            container[name] = {key: container[name]}
            self.undo.append(["unwrap", path, key])

    def _make_way(self, path: str) -> None:
        container, _, _key = path.rpartition(".")
        if container and not self.has(container):
            self.put(container, {})


def restore(payload: "Payload", undo: "list[list[Any]]") -> None:
    """Make a payload what it was before its translation."""
    for step, path, *rest in reversed(undo):
        container, key = _find(payload, path)
        if container is None:
            continue
        if step == "drop":
            container.pop(key, None)
        elif step == "set":
            container[key] = rest[0]
        elif key not in container:
            continue
        elif step == "unwrap":
            container[key] = container[key][rest[0]]
        else:
            value = container.pop(key)
            target, name = _find(payload, rest[0])
            if target is not None:
                target[name] = value if step == "move" else rest[2] + value[rest[1] :] + rest[3]


def _find(payload: "Payload", path: str) -> "tuple[Payload | None, str]":
    """The object that holds the last key of a path; None if there is none."""
    *names, key = path.split(".")
    container: Any = payload
    for name in names:
        container = container.get(name) if isinstance(container, dict) else None
    return (container if isinstance(container, dict) else None), key
