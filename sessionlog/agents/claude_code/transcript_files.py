"""Where Claude Code keeps transcripts, and what each file there is."""

import os

from sessionlog.archive.place import is_path, user_home
from sessionlog.fastlib import getenv, parse_json
from sessionlog.system.files import open_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from mmap import mmap

# Kinds of files that grow line by line, each line an entry; the others are read as a whole.
MAIN, SUBAGENT, WORKFLOW, JOURNAL, HISTORY = "main", "subagent", "workflow", "workflow-journal", "history"
LINE_KINDS = (MAIN, SUBAGENT, WORKFLOW, JOURNAL, HISTORY)
AGENT_META, SIDECAR, TOOL_RESULT = "agent-meta", "sidecar", "tool-result"

# How much of a file is searched for the first entry that says where it belongs.
PEEK_BYTES = 4 << 20
PIECE = 1 << 20
# How much of the end of a file is searched for the time of its last entry.
LAST_BYTES = 1 << 16
# The entry that says where a session was moved to is short.
LONGEST_ENTRY = 1 << 20

# A longer name of a project's folder is cut, and a hash of the path follows.
LONGEST_FOLDER = 200


class Source:
    """One file: its kind, its session and agent as far as the path tells, and the folder of its project."""

    __slots__ = ("_name", "agent_id", "client", "folder", "kind", "path", "session_id")

    def __init__(
        self,
        path: str,
        kind: str,
        folder: str,
        session_id: str | None,
        agent_id: str | None = None,
        client: str = "claude-code",
        name: str = "",
    ) -> None:
        self.client = client
        self._name = name
        self.path = path
        self.kind = kind
        self.folder = folder
        self.session_id = session_id
        self.agent_id = agent_id

    @property
    def name(self) -> str:
        """The path below the folder in which the agent keeps its transcripts: Claude Code's folder of projects."""
        return self._name or os.path.relpath(self.path, os.path.dirname(self.folder)).replace("\\", "/")

    @property
    def main_path(self) -> str:
        """The transcript of the session that this file belongs to; empty if its path does not tell."""
        if self.kind == MAIN:
            return self.path
        return "" if self._name else os.path.join(self.folder, f"{self.session_id}.jsonl")


def config_folder() -> str:
    """Claude Code's own folder."""
    return getenv("CLAUDE_CONFIG_DIR") or f"{user_home()}/.claude"


def find(paths: "Iterable[str]" = (), classify: "Callable[[str], Source | None] | None" = None) -> "Iterator[Source]":
    """All transcripts in these files and folders, else all that Claude Code has. `classify` tells what a file is.

    Links that lead out of a folder are not followed: a transcript folder may hold links of strangers.
    """
    classify = classify or classify_own
    for path in paths or default_folders():
        top = os.path.realpath(path)
        if not os.path.isdir(top):
            if source := classify(top):
                yield source
            continue
        for folder, folders, names in os.walk(top):
            folders[:] = sorted(name for name in folders if name != "memory")
            for name in sorted(names):
                file = os.path.join(folder, name)
                if os.path.islink(file) and not os.path.realpath(file).startswith(top + os.sep):
                    continue
                if source := classify(file):
                    yield source


def default_folders() -> list[str]:
    """What there is to import when nobody says."""
    config = config_folder()
    places = [os.path.join(config, name) for name in ("projects", "transcripts", "history.jsonl")]
    return [place for place in places if os.path.exists(place)]


def of_session(transcript_path: str) -> "Iterator[Source]":
    """The transcript, and all that lies beside it for the same session."""
    for path in (transcript_path, os.path.splitext(transcript_path)[0]):
        if os.path.exists(path):
            yield from find([path])


def classify_own(path: str) -> "Source | None":
    """What a file of Claude Code is, by its path alone; None if it is none."""
    parts = path.replace("\\", "/").split("/")
    name = parts[-1]
    stem, ending = os.path.splitext(name)
    for inner in ("subagents", "tool-results"):
        if inner in parts[2:-1]:
            depth = len(parts) - 1 - parts[::-1].index(inner)
            folder, session_id = "/".join(parts[: depth - 1]), parts[depth - 1]
            if inner == "tool-results":
                return Source(path, TOOL_RESULT, folder, session_id)
            if name == "journal.jsonl":
                return Source(path, JOURNAL, folder, session_id)
            agent_id = name.partition(".")[0].removeprefix("agent-")
            if ending == ".jsonl":
                kind = WORKFLOW if "workflows" in parts[depth:-1] else SUBAGENT
                return Source(path, kind, folder, session_id, agent_id)
            return Source(path, AGENT_META, folder, session_id, agent_id) if name.endswith(".meta.json") else None
    folder = "/".join(parts[:-1])
    if name == "history.jsonl":
        return Source(path, HISTORY, folder, None)
    if ending == ".jsonl":
        if stem.startswith("agent-"):  # the layout of 2.0: beside the main transcript, which its entries name
            return Source(path, SUBAGENT, folder, peek(path)[0] or stem, stem.removeprefix("agent-"))
        return named_by_lines(path, folder)
    if name in ("custom-title.json", "archived.json"):
        return Source(path, SIDECAR, "/".join(parts[:-2]), parts[-2])
    return None


def named_by_lines(path: str, folder: str) -> Source:
    """A transcript of a session. Claude Code names it after the session; one that was renamed is known by its lines."""
    stem = os.path.splitext(os.path.basename(path))[0]
    return Source(path, MAIN, folder, stem if _is_session_id(stem) or _names(path, stem) else peek(path)[0] or stem)


def _names(path: str, session_id: str) -> bool:
    """Whether one of the first lines is of this session: the first of all may be a copy from another."""
    try:
        with open(open_regular(path), "rb") as file:
            return f'"{session_id}"'.encode("utf-8", "surrogateescape") in file.read(PEEK_BYTES)
    except OSError:
        return True


def _is_session_id(name: str) -> bool:
    return len(name) == 36 and name.count("-") == 4 and not name.translate(_NO_HEX)


_NO_HEX = dict.fromkeys(map(ord, "0123456789abcdefABCDEF-"))
# Lines of these types may come without an id of their own or of their session.
_TYPES = frozenset(
    "user assistant system summary attachment progress queue-operation file-history-snapshot custom-title ai-title tag "
    "cost-state relocated tool_use tool_result last-prompt agent-name mode".split()
)


def is_entry(value: object) -> bool:
    """Whether this is the JSON of a line of a transcript."""
    if not isinstance(value, dict) or not _text(value.get("type")):
        return False
    return value["type"] in _TYPES or bool(_text(value.get("sessionId")) or _text(value.get("uuid")))


def why_no_transcript(path: str) -> "tuple[int, str] | None":
    """Why a file is no transcript: the number of a line, and what is wrong with it. None if it is one.

    A single line is enough: others may be damaged. So is one that is too long to be looked at here.
    """
    found: tuple[int, str] | None = None
    with open(open_regular(path), "rb") as file:
        number = 0
        while file.tell() < PEEK_BYTES and (line := file.readline(PEEK_BYTES)):
            number += 1
            if len(line) >= PEEK_BYTES:
                return None
            if not line.strip():
                continue
            try:
                value = parse_json(line.decode("utf-8", "replace"))
                if is_entry(value):
                    return None
                reason = "no line of a transcript"
                if isinstance(value, dict) and "sessionlog" in value:
                    reason = "a line of an export, which is imported by its name"
            except ValueError:
                if is_glued(line):
                    return None
                reason = "not JSON"
            found = found or (number, reason)
    return found or (1, "the file is empty")


def is_glued(line: bytes) -> bool:
    """Whether entries stand on one line without a newline between them."""
    return any(map(is_entry, glued_values(line)))


def glued_values(line: bytes) -> "list[object]":
    """The JSON objects of a line on which several stand: of two programs that wrote at once, one lost its newline."""
    from json import JSONDecoder

    text, values, at = line.decode("utf-8", "replace").strip(), [], 0

    def refuse(name: str) -> None:
        raise ValueError(f"{name} is not JSON")

    decoder = JSONDecoder(strict=False, parse_constant=refuse)
    try:
        while at < len(text):
            value, at = decoder.raw_decode(text, at)
            values.append(value)
            while text[at : at + 1].isspace():
                at += 1
    except (ValueError, RecursionError):
        return []
    return values


def peek(path: str) -> "tuple[str | None, str | None]":
    """The session id and the working directory of the first entries that tell them."""
    session_id = cwd = None
    try:
        with open(open_regular(path), "rb") as file:
            while file.tell() < PEEK_BYTES and (line := file.readline(PEEK_BYTES)):
                if b'"sessionId"' not in line and b'"cwd"' not in line:
                    continue
                try:
                    entry = parse_json(line.decode("utf-8", "replace"))
                except ValueError:
                    continue
                if isinstance(entry, dict):
                    session_id = session_id or _text(entry.get("sessionId"))
                    cwd = cwd or _path(entry.get("cwd"))
                if session_id and cwd:
                    break
    except OSError:
        pass
    return session_id, cwd


def working_directory(source: Source) -> str:
    """Where a session worked: by its own entries, else by those of its sub-agents or neighbours, else a guess."""
    own = relocated_to(source.main_path) or peek(source.main_path)[1] or peek(source.path)[1]
    return own or _by_others(source) or decoded_folder(source)


def _by_others(source: Source) -> str | None:
    """An empty transcript does not say where it belongs. The folder's name does, for who knows one path it fits."""
    name = os.path.basename(source.folder)
    agents = _transcripts_in(os.path.join(source.folder, source.session_id or "", "subagents"))
    found = None
    for path in (*agents, *_transcripts_in(source.folder)):
        cwd = peek(path)[1]
        if cwd and encoded_folder(cwd) == name:
            return cwd
        found = found or (cwd if path in agents else None)
    return found


def _transcripts_in(folder: str) -> list[str]:
    try:
        return [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".jsonl")][:_MOST]
    except OSError:
        return []


_MOST = 100  # files that are asked where a silent one belongs


def encoded_folder(path: str) -> str:
    """The name that Claude Code gives to the folder of a project's transcripts."""
    return "".join([letter if letter.isascii() and letter.isalnum() else "-" for letter in path])


def last_time(path: str) -> str:
    """The last time that stands in a transcript; empty if there is none."""
    try:
        with open(open_regular(path), "rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - LAST_BYTES))
            _, found, rest = file.read(LAST_BYTES).rpartition(b'"timestamp":"')
    except OSError:
        return ""
    return rest[:24].decode("ascii", "replace") if found else ""


def relocated_to(path: str) -> str | None:
    """Where the session was moved to by `/cd` or into a worktree, by its last `relocated` entry."""
    import mmap

    try:
        with open(open_regular(path), "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
            found = _rfind(view, b'"relocatedCwd"')
            if found < 0:
                return None
            near = max(0, found - LONGEST_ENTRY)
            start, end = view.rfind(b"\n", near, found) + 1 or near, view.find(b"\n", found, found + LONGEST_ENTRY)
            entry = parse_json(view[start : end if end >= 0 else found + LONGEST_ENTRY].decode("utf-8", "replace"))
    except (OSError, ValueError):  # an empty file cannot be mapped
        return None
    moved = isinstance(entry, dict) and entry.get("type") == "relocated"
    return _path(entry.get("relocatedCwd")) if moved else None


def _rfind(view: "mmap", needle: bytes) -> int:
    """As `view.rfind`, which compares byte by byte, where that of bytes leaps: all of a file is read for this."""
    end = len(view)
    while end > 0:
        start = max(0, end - PIECE)
        found = view[start : end + len(needle) - 1].rfind(needle)
        if found >= 0:
            return start + found
        end = start
    return -1


def folder_name(project: str) -> str:
    """The name of the folder in which Claude Code keeps the transcripts of a project."""
    name = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in project)
    if len(name) <= LONGEST_FOLDER:
        return name
    units = project.encode("utf-16-le", "surrogatepass")
    number = 0
    for at in range(0, len(units), 2):
        number = (number * 31 + int.from_bytes(units[at : at + 2], "little")) & 0xFFFFFFFF
    number = min(number, 2**32 - number)  # the absolute value of a signed 32-bit number
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return f"{name[:LONGEST_FOLDER]}-{digits or '0'}"


def decoded_folder(source: Source) -> str:
    """The project by the name of its folder: a guess, as every sign but letters and digits became a hyphen."""
    name = os.path.basename(source.folder)
    return name.replace("-", "/") if name.startswith("-") else source.folder


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value and "\0" not in value else None


def _path(value: object) -> str | None:
    return value if is_path(value) else None
