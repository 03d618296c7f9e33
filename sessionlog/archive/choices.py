"""What the user chose not to record: folders and files that are excluded, times of a pause, the output of tools.

The section `record` of config.json. Imported by a hook only if there is such a section.
"""

from sessionlog import config
from sessionlog.fastlib import parse_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Stands where the output of a tool was.
NOT_RECORDED = "[not recorded]"
# How agents call the output of a tool.
OUTPUTS = ("tool_response", "tool_result", "tool_output")


class Choices:
    """What is not to be recorded. A mistake in the section costs its own entry, never the others."""

    __slots__ = ("exclude", "home", "pauses", "problems", "tool_output")

    def __init__(self, content: bytes, user_home: str) -> None:
        self.home = user_home
        self.problems: list[str] = []
        try:
            section = parse_json(content.decode()).get("record", {}) if content else {}
        except (ValueError, AttributeError):
            section = {}  # `redact` tells that the file is not JSON
        if not isinstance(section, dict):
            self.problems.append('"record" is not an object')
            section = {}
        exclude = section.get("exclude", [])
        self.exclude = [text for text in exclude if isinstance(text, str) and text] if isinstance(exclude, list) else []
        pauses = section.get("pauses", [])
        self.pauses = [pause for pause in pauses if _is_pause(pause)] if isinstance(pauses, list) else []
        self.tool_output = section.get("tool_output", True) is not False
        if [*self.exclude] != exclude:
            self.problems.append('"exclude" is not a list of patterns')
        if [*self.pauses] != pauses:
            self.problems.append('"pauses" is not a list of pairs of times')
        if not isinstance(section.get("tool_output", True), bool):
            self.problems.append('"tool_output" is neither true nor false')

    def leaves_out(self, project: str, payload: "dict[str, Any]", at: str) -> bool:
        """Whether an event of this project and moment is not to be recorded."""
        return (
            self.is_paused(at)
            or self.excludes(project)
            or any([self.excludes(path, project) for path in _files(payload)])
        )

    def is_paused(self, at: str) -> bool:
        """Whether a moment, as the archive writes it, lies in a pause."""
        return any([begin <= at < end for begin, end in self.pauses])

    def excludes(self, path: str, project: str = "") -> bool:
        """Whether a folder is excluded, or a file of a project: by itself or by a folder around it."""
        path = path.replace("\\", "/")
        below = path[len(project) + 1 :] if project and path.startswith(f"{project}/") else ""
        excluded = False
        for pattern in self.exclude:
            wanted, is_again = (pattern[1:], True) if pattern.startswith("!") else (pattern, False)
            if wanted.startswith("~/") or wanted == "~":
                wanted = self.home + wanted[1:]
            # What begins with / or ~ is a path of this machine; all else is looked for within the project.
            found = _matches(wanted, path) if wanted.startswith("/") else bool(below) and _matches(wanted, below)
            if found:
                excluded = not is_again
        return excluded


def load(home: str, user_home: str) -> Choices:
    """What the config.json of a home folder says."""
    return Choices(config.read(home)[0], user_home)


def silence(payload: "dict[str, Any]") -> None:
    """Take the output of a tool out of an event. Of an error the first line stays: it has the exit code."""
    for part in (payload, payload.get("data")):
        if isinstance(part, dict):
            for name in OUTPUTS:
                if name in part:
                    part[name] = NOT_RECORDED
            if isinstance(part.get("error"), str):
                first, newline, _ = part["error"].partition("\n")
                part["error"] = first + (f"\n{NOT_RECORDED}" if newline else "")


def _files(payload: "dict[str, Any]") -> "list[str]":
    """The files that the tool call of an event is about."""
    data = payload.get("data")
    given = payload.get("tool_input") or (data.get("tool_input") if isinstance(data, dict) else None)
    names = ("file_path", "notebook_path", "path")
    return [given[name] for name in names if isinstance(given.get(name), str)] if isinstance(given, dict) else []


def _matches(pattern: str, path: str) -> bool:
    """As in .gitignore: a pattern without / in it matches a name at any depth; * stops at /, ** does not."""
    anchored = "/" in pattern.rstrip("/")
    pattern = pattern.strip("/")
    if not pattern:
        return False
    parts = path.strip("/").split("/")
    if not {*pattern} & {*"*?[\\"}:  # an ordinary path, without a regular expression
        wanted = pattern.split("/")
        return parts[: len(wanted)] == wanted if anchored else pattern in parts
    import re

    expression = re.compile(_expression(pattern))
    if not anchored:
        return any([expression.fullmatch(part) for part in parts])
    return any([expression.fullmatch("/".join(parts[:length])) for length in range(1, len(parts) + 1)])


def _expression(pattern: str) -> str:
    import re

    pieces, rest = [], pattern
    while rest:
        if rest.startswith("**/"):
            pieces.append("(?:[^/]+/)*")
            rest = rest[3:]
        elif rest == "/**":
            pieces.append("/.+")
            rest = ""
        elif rest.startswith("*"):
            rest = rest.lstrip("*")
            pieces.append("[^/]*")
        elif rest.startswith("?"):
            pieces.append("[^/]")
            rest = rest[1:]
        elif rest.startswith("[") and "]" in rest[2:]:
            end = rest.index("]", 2)
            inner = rest[1:end].replace("\\", "\\\\")
            pieces.append(f"(?!/)[{'^' + inner[1:] if inner.startswith(('!', '^')) else inner}]")
            rest = rest[end + 1 :]
        else:
            literal = rest[1:2] if rest.startswith("\\") else rest[0]
            pieces.append(re.escape(literal))
            rest = rest[2:] if rest.startswith("\\") else rest[1:]
    return "".join(pieces)


def _is_pause(pause: "Any") -> bool:
    return isinstance(pause, list) and len(pause) == 2 and all([isinstance(text, str) for text in pause])
