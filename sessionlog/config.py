"""What the user chose in `<home>/config.json`. A file that cannot be read chooses nothing; `doctor` tells of it.

Imported by a hook only if there is such a file.
"""

from sessionlog.fastlib import os, parse_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LONGEST = 1 << 20
# Permissions of group and others, as `stat` names them; importing it costs the hook 0.3 ms.
MAY_WRITE, MAY_ENTER = 0o022, 0o011


def read(home: str, name: str = "config.json") -> "tuple[bytes, str]":
    """What stands in the file, and why it does not count; both are empty where there is none.

    It can turn redaction off, or on for everything, so nothing counts that another user could have written:
    $SESSIONLOG_HOME may name a folder that others share.
    """
    path = f"{home}/{name}"
    try:
        # Not with system.files: it imports more than the hook needs. A pipe in the place of the file is not waited for.
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            status = os.fstat(file.fileno())
            if status.st_mode & 0o170000 != 0o100000:
                return b"", "it is ignored, as it is no regular file"
            problem = _written_by_others(os.stat(home), status)
            content = b"" if problem else file.read(LONGEST + 1)
    except FileNotFoundError:
        return b"", ""
    except OSError as error:
        return b"", f"it cannot be read ({error})"
    if len(content) > LONGEST:
        return b"", f"it is ignored, as it has more than {LONGEST:,} bytes"
    return content, problem


def _written_by_others(folder: "os.stat_result", file: "os.stat_result") -> str:
    if not hasattr(os, "geteuid"):
        return ""
    trusted = (os.geteuid(), 0)
    if folder.st_uid not in trusted or file.st_uid not in trusted:
        return "it is ignored, as another user owns it or its folder"
    # In a folder that only its owner can enter, the permissions of the file do not matter.
    if folder.st_mode & MAY_WRITE or (file.st_mode & MAY_WRITE and folder.st_mode & MAY_ENTER):
        return "it is ignored, as others can write to it or its folder; `sessionlog doctor --fix` closes them"
    return ""


def _section(home: str, name: str) -> "dict[str, Any]":
    try:
        section = parse_json(read(home)[0].decode())[name]
    except (ValueError, KeyError, TypeError):
        return {}
    return section if isinstance(section, dict) else {}


def keeps_transcripts_raw(home: str) -> bool:
    """Whether transcripts are archived with their secrets, every byte as it was."""
    return _section(home, "transcripts").get("raw") is True


def follows_transcripts(home: str) -> bool:
    """Whether the hooks start an importer when there is something new in a transcript."""
    return _section(home, "transcripts").get("follow") is not False


def max_iterations(home: str) -> int | None:
    """After how many reviews the supervisor lets a session go, if the user chose a number."""
    number = _section(home, "supervisor").get("max_iterations")
    return number if type(number) is int and number >= 0 else None


class Redaction:
    """What is sound in the section `redact`: a mistake costs its own entry, never the redaction."""

    def __init__(self, text: bytes) -> None:
        self.enabled = True
        self.allow: list[str] = []
        self.patterns: list[tuple[str, str, bytes]] = []  # kind, regex, and what a payload has to contain
        self.problems: list[str] = []
        try:
            config = parse_json(text.decode())
        except ValueError as error:
            self.problems.append(f"it is not JSON ({error})")
            return
        section = self._take(config if isinstance(config, dict) else {"redact": None}, "redact", {})
        self.enabled = self._take(section, "enabled", True)
        allow = self._take(section, "allow", [])
        self.allow = [value for value in allow if isinstance(value, str)]
        if len(self.allow) < len(allow):
            self.problems.append('"allow" holds more than strings')
        for item in self._take(section, "patterns", []):
            self._add_pattern(item if isinstance(item, dict) else {})

    def _add_pattern(self, entry: "dict[str, Any]") -> None:
        kind, regex, contains = (self._take(entry, name, "") for name in ("kind", "regex", "contains"))
        if not (regex and kind.isascii() and kind.replace("-", "").isalnum() and len(kind) <= 40):
            self.problems.append('a pattern needs a "regex", and a "kind" of letters, digits and hyphens')
            return
        # Without `contains`, or with one that JSON spells otherwise, it runs on every event, for 8 ms and more.
        plain = contains.isascii() and contains.isprintable() and not {'"', "\\"} & set(contains)
        self.patterns.append((kind, regex, contains.encode() if plain else b""))

    def _take(self, source: "dict[str, Any]", name: str, default: "Any") -> "Any":
        value = source.get(name, default)
        if type(value) is type(default):
            return value
        terms = {bool: "true or false", dict: "an object", list: "a list", str: "a string"}
        self.problems.append(f'"{name}" is not {terms[type(default)]}')
        return default
