"""The modules of the hook in one file: the handlers in hooks/ run it instead of importing them one by one.

To find and load them takes a tenth of a hook. The bundle also knows the files of the C modules that they need. What
another agent needs besides is in a file of its own, so that a hook reads no more than it runs. The bundles are made by
`sessionlog install` and by the background import. They are used while the Python and the sources are those they were
made from. Otherwise hooks/imports.py imports the modules.
"""

import contextlib
import marshal
import os
import sys
import sysconfig
import tempfile
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from types import CodeType

# Its name; its file, or the folder of a package; when the file changed, and its size; its code, or None.
Part = tuple[str, str, int, int, CodeType | None]

PACKAGE = Path(__file__).parent.parent

# What an ordinary event needs, in the order in which they import each other.
MODULES = (
    *("fastlib", "archive.place", "archive.event", "archive.append"),
    *("redact.token_heads", "redact.rules", "record.hook"),
)
# What an event of another agent needs besides, with its hook_table.
AGENT_MODULES = ("archive.agent_event", "archive.translation", "agents.translate")
# The C modules of the standard library that fastlib.py loads.
C_MODULES = ("_blake2", "_json", "_sqlite3")


def hooks_folder() -> Path | None:
    """Where the handlers are: inside the installed package, or beside it in a checkout."""
    folders = (PACKAGE / "hooks", PACKAGE.parent / "hooks")
    return next((folder for folder in folders if (folder / "any_event.py").is_file()), None)


def bring_up_to_date() -> None:
    """Make the bundles, unless they are there and made from these sources by this Python."""
    hooks = hooks_folder()
    if hooks is None:
        return
    folder = hooks / "__pycache__"
    with contextlib.suppress(OSError):  # a folder that we may not write to: the modules are imported
        if _fit(folder):
            return
        folder.mkdir(exist_ok=True)
        # The hook's own last: it says for which Python all of them are.
        for agent in _agents():
            needed = [*_packages("agents", f"agents.{agent}"), *_modules(*AGENT_MODULES, f"agents.{agent}.hook_table")]
            _replace(folder / _name(agent), marshal.dumps(needed))
        start = _code(PACKAGE / "record" / "bundle_start.py")
        _replace(folder / _name("hook"), marshal.dumps((start, (MAGIC_NUMBER, _hook_modules(), _c_modules()))))


def _agents() -> list[str]:
    return [table.parent.name for table in sorted(PACKAGE.glob("agents/*/hook_table.py"))]


def _name(part: str) -> str:
    return f"{part}.{sys.implementation.cache_tag}.bundle"


def _fit(folder: Path) -> bool:
    try:
        # The number of the bytecode may change between pre-releases of one version.
        _, (magic, parts, _) = marshal.loads((folder / _name("hook")).read_bytes())
        for agent in _agents():
            parts += marshal.loads((folder / _name(agent)).read_bytes())
        return magic == MAGIC_NUMBER and all(part[2:4] == _state(part[1]) for part in parts if part[4])
    except (OSError, ValueError, EOFError, TypeError, LookupError):
        return False


def _replace(path: Path, content: bytes) -> None:
    draft, name = tempfile.mkstemp(dir=path.parent)
    with open(draft, "wb") as file:
        file.write(content)
    os.chmod(name, 0o644)  # like the other files there: somebody else may run the handlers
    os.replace(name, path)


def _hook_modules() -> list[Part]:
    return [*_packages("", "archive", "redact", "record"), *_modules(*MODULES)]


def _c_modules() -> tuple[str, dict[str, str]]:
    """The folder of this Python's C modules, and their files; those that are built in have none."""
    folder = sysconfig.get_config_var("DESTSHARED") or ""
    found = {name: f"{folder}/{name}{EXTENSION_SUFFIXES[0]}" for name in C_MODULES}
    return folder, {name: path for name, path in found.items() if os.path.isfile(path)}


def _packages(*names: str) -> list[Part]:
    """Packages as they are, without running their __init__."""
    return [(f"sessionlog.{name}".rstrip("."), str(PACKAGE / name.replace(".", "/")), 0, 0, None) for name in names]


def _modules(*names: str) -> list[Part]:
    paths = {f"sessionlog.{name}": PACKAGE / f"{name.replace('.', '/')}.py" for name in names}
    return [(name, str(path), *_state(path), _code(path)) for name, path in paths.items()]


def _state(path: str | Path) -> tuple[int, int]:
    source = os.stat(path)
    return source.st_mtime_ns, source.st_size


def _code(path: Path) -> CodeType:
    # Without docstrings, and with asserts left out: less to load.
    return compile(path.read_bytes(), path, "exec", dont_inherit=True, optimize=2)
