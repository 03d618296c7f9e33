"""Install our hooks into Claude Code's settings files and uninstall them, so that the file is what it was, to the byte.

What cannot be seen in the text of a file (settings_json.py) is kept in `registered.json` beside the archives.
"""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from sessionlog.archive.place import home_folder
from sessionlog.errors import SessionlogError
from sessionlog.install.commands import Group, Handler, is_ours, is_supervisor
from sessionlog.install.json_positions import InvalidJSON
from sessionlog.install.settings_json import Empty, add, is_anything_of_ours, registered, settings, take_out
from sessionlog.system import atomic
from sessionlog.system.files import read_regular

SCOPES = ("user", "project", "local")
MANAGED = Path(
    {"darwin": "/Library/Application Support/ClaudeCode", "win32": "C:/Program Files/ClaudeCode"}.get(
        sys.platform, "/etc/claude-code"
    )
)
BOM = b"\xef\xbb\xbf"
LONGEST = 8 << 20  # bytes; a real one has some kilobytes


@dataclass(frozen=True)
class Change:
    """What installing or uninstalling does to one settings file; `apply` does it."""

    path: Path
    before: bytes | None  # None: no file
    after: bytes | None
    empty: Empty | None = None  # None: nothing of ours is left, so nothing is to be remembered

    @property
    def needed(self) -> bool:
        """Whether there is anything to do."""
        return self.before != self.after

    @property
    def only_ours(self) -> bool:
        """Whether the file is there because of us alone."""
        return self.after is None or (self.empty or {}).get("", "") is None

    def diff(self) -> list[str]:
        """The lines of a unified diff."""
        old, new = self._lines(self.before), self._lines(self.after)
        names = ["/dev/null" if content is None else str(self.path) for content in (self.before, self.after)]
        return list(difflib.unified_diff(old, new, names[0], names[1], lineterm=""))

    @staticmethod
    def _lines(content: bytes | None) -> list[str]:
        text = (content or b"").decode().replace("\r\n", "\n").removesuffix("\n")
        return text.split("\n") if text else []


# --- Which files ------------------------------------------------------------------------------------------------------


def settings_file(scope: str, cwd: Path) -> Path:
    """The settings file of a scope, as Claude Code looks for it from this folder."""
    if scope == "user":
        return Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude") / "settings.json"
    project = next((folder for folder in (cwd, *cwd.parents) if (folder / ".git").exists()), cwd)
    return project / ".claude" / ("settings.json" if scope == "project" else "settings.local.json")


def all_settings_files(cwd: Path) -> list[Path]:
    """The settings files of every scope, each once: the project may be the home directory."""
    return list({os.path.realpath(path): path for path in (settings_file(scope, cwd) for scope in SCOPES)}.values())


def notices(cwd: Path, installing: Path, handlers: Mapping[str, Handler]) -> Iterator[str]:
    """What keeps hooks in the file `installing` from running, or makes them run twice."""
    found = in_force(cwd)
    for path, values in found.items():
        for key in ("allowManagedHooksOnly", "strictPluginOnlyCustomization"):
            if values.get(key) and MANAGED in path.parents:
                yield f"{key} in {path} lets only your organisation's hooks run: nothing will be recorded."
    deciding = next((path for path, values in found.items() if "disableAllHooks" in values), None)
    if deciding and found[deciding]["disableAllHooks"]:
        yield f"disableAllHooks in {deciding} keeps every hook from running. Take it out, or nothing will be recorded."
    if plugin := enabled_plugin(cwd):
        yield (
            f"The plugin {plugin} is enabled as well: each event is stored once, but two hooks run. Keep one of them: "
            f"`claude plugin disable {plugin}` or `sessionlog uninstall`."
        )
    for path, values in found.items():
        # The client runs a command that is in two files once, so only a different one counts.
        twice = any(
            handler["command"] != handlers[event]["command"]
            for event, ours in registered(values).items()
            for handler in ours
            if event in handlers
        )
        if twice and os.path.realpath(path) != os.path.realpath(installing):
            yield f"{path} registers sessionlog as well: each event is stored once, but two hooks run."


def enabled_plugin(cwd: Path) -> str | None:
    """The name of our plugin, if it is enabled."""
    for values in in_force(cwd).values():
        plugins = values.get("enabledPlugins")
        for plugin, enabled in plugins.items() if isinstance(plugins, dict) else ():
            if plugin.partition("@")[0] == "sessionlog":
                return plugin if enabled else None
    return None


def in_force(cwd: Path) -> dict[Path, dict[str, Any]]:
    """All settings that count here; of one key the first value decides, hooks add up."""
    managed = [
        *sorted((MANAGED / "managed-settings.d").glob("*.json"), reverse=True),
        MANAGED / "managed-settings.json",
    ]
    return {path: _tolerant(path) for path in (*managed, *reversed(all_settings_files(cwd)))}


def _tolerant(path: Path) -> dict[str, Any]:
    """The settings in a file that we only look into."""
    try:
        value = json.loads(read_regular(str(path), LONGEST).removeprefix(BOM))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


# --- What changes -----------------------------------------------------------------------------------------------------


def plan_install(
    path: Path,
    handlers: Mapping[str, Handler],
    supervisor: Mapping[str, Group] | None = None,
    matchers: Mapping[str, str] | None = None,
) -> Change:
    """Register these handlers, in place of those that another version registered.

    A supervisor that is registered stays untouched unless there is another one to take its place.
    """
    before = content(path)
    wanted: dict[str, list[Group]] = {
        event: [{**({"matcher": matchers[event]} if matchers and event in matchers else {}), "hooks": [handler]}]
        for event, handler in handlers.items()
    }
    for event, group in (supervisor or {}).items():
        wanted[event] = [*wanted.get(event, []), group]
    whose = is_ours if supervisor is None else is_anything_of_ours
    with _blaming(path):
        bom, text = _decoded(before)
        there, needed = (registered(values, whose) for values in (settings(text).value, {"hooks": wanted}))
        if _unordered(there) == _unordered(needed):
            return Change(path, before, before)
        had = was_empty(path)
        rest = take_out(text, had, whose)
        stays = registered(settings(rest).value, is_supervisor)  # and with it, what was empty before it came
        text, empty = add(rest, wanted)
    return Change(path, before, bom + text.encode(), {**had, **empty} if stays else empty)


@contextlib.contextmanager
def open_text(path: Path) -> Iterator[tuple[bytes | None, bytes, str | None]]:
    """A file of JSON to be changed: its bytes, its byte order mark, its text. What is wrong with it names the file."""
    before = content(path)
    with _blaming(path):
        yield before, *_decoded(before)


def plan_uninstall(path: Path) -> Change:
    """Take out what install put in."""
    before = content(path)
    with _blaming(path):
        bom, text = _decoded(before)
        text = take_out(text, was_empty(path))
    return Change(path, before, None if text is None else bom + text.encode())


def _unordered(found: dict[str, list[Handler]]) -> dict[str, list[Handler]]:
    return {event: sorted(handlers, key=str) for event, handlers in found.items()}


def content(path: Path) -> bytes | None:
    """What is in a file; None if there is none. Raises SessionlogError for what is no ordinary file."""
    try:
        if path.exists() and not path.is_file():  # /dev/null, for one, must not be replaced
            raise SessionlogError(
                f"{path} is {'a folder' if path.is_dir() else 'no ordinary file'}. It was left alone."
            )
        return read_regular(str(path), LONGEST)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SessionlogError(f"{path} cannot be read: {error.strerror or error}. Nothing was changed.") from error


def _decoded(content: bytes | None) -> tuple[bytes, str | None]:
    """The byte order mark, if any, and the text."""
    if content is None:
        return b"", None
    return BOM if content.startswith(BOM) else b"", content.removeprefix(BOM).decode()


@contextlib.contextmanager
def _blaming(path: Path) -> Iterator[None]:
    """Name the file in errors about its content."""
    try:
        yield
    except InvalidJSON as error:
        raise SessionlogError(f"{path} is no valid settings file: {error}. It was left alone.") from error
    except UnicodeDecodeError as error:
        raise SessionlogError(f"{path} is not UTF-8 (see byte {error.start + 1}). It was left alone.") from error


# --- Doing it ---------------------------------------------------------------------------------------------------------


def apply(change: Change) -> Path | None:
    """Make the change in one step. Returns the backup, or None where the user had nothing to lose."""
    if not change.needed:
        return None
    target = Path(os.path.realpath(change.path))  # through a link to the file itself
    _refuse_if_read_only(target)
    try:
        if change.empty is not None:  # written first: should a later step fail, it does no harm
            _remember(target, change.empty)
        target.parent.mkdir(parents=True, exist_ok=True)
        backup = None if change.only_ours else _back_up(target, change.before or b"")
        if change.after is None:
            _refuse_if_changed(change)
            target.unlink()
        else:
            _replace(target, change.after, 0o666, lambda: _refuse_if_changed(change))
    except OSError as error:
        problem = f"{error.filename or target}: {error.strerror or error}"
        raise SessionlogError(f"{problem}. {change.path} is as it was.") from error
    if change.empty is None:
        _forget(target)
    return backup


def _refuse_if_read_only(target: Path) -> None:
    """Refuse a read-only file: a rename would replace it, which its owner did not want."""
    for place in (target, *target.parents):
        if place.exists() and not (os.access(place, os.W_OK) and place.stat().st_mode & 0o222):
            raise SessionlogError(f"{place} is read-only. Nothing was changed.")
        if place.is_dir():
            return


def _refuse_if_changed(change: Change) -> None:
    if content(change.path) != change.before:
        raise SessionlogError(f"{change.path} was just changed by another program, and left as it is: try again.")


def _back_up(target: Path, content: bytes) -> Path:
    """One copy beside the file, readable by its owner only: the file as it was before the latest change."""
    backup = target.with_name(f"{target.name}.sessionlog-backup")
    _replace(backup, content, 0o600)
    return backup


def _replace(target: Path, content: bytes, mode: int, last_check: Callable[[], None] = lambda: None) -> None:
    """Put a whole new file in the place of another, whose mode and owner it takes over."""
    with atomic.draft(str(target), mode) as draft:
        if target.exists():
            there = target.stat()
            with contextlib.suppress(OSError, AttributeError):  # matters to root alone; unknown to Windows
                os.chown(draft.path, there.st_uid, there.st_gid)
            os.chmod(draft.path, stat.S_IMODE(there.st_mode))
        draft.file.write(content)
        draft.sync()
        last_check()


# --- What the settings file does not tell -----------------------------------------------------------------------------


class _Memory(NamedTuple):
    files: dict[str, Empty]
    folders: list[str]  # made by install, innermost first


def was_empty(path: Path) -> Empty:
    return _recall().files.get(os.path.realpath(path), {})


def _remember(target: Path, empty: Empty) -> None:
    files, folders = _recall()
    new_folders = [str(folder) for folder in target.parents if not folder.exists()]
    _keep(_Memory({**files, str(target): empty}, new_folders + folders))


def _forget(target: Path) -> None:
    files, folders = _recall()
    files.pop(str(target), None)
    for folder in folders:
        with contextlib.suppress(OSError):  # gone, or in use by now
            os.rmdir(folder)
    with contextlib.suppress(OSError):  # what is remembered too long does no harm
        _keep(_Memory(files, [folder for folder in folders if os.path.isdir(folder)]))


def _recall() -> _Memory:
    memory = _tolerant(_memory_file())
    return _Memory(memory.get("files", {}), memory.get("folders", []))


def _keep(memory: _Memory) -> None:
    file = _memory_file()
    if memory.files:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _replace(file, json.dumps(memory._asdict(), indent=2).encode(), 0o600)
    else:
        file.unlink(missing_ok=True)


def _memory_file() -> Path:
    return Path(home_folder()) / "registered.json"
