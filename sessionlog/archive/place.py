"""Which project an event belongs to, and which files hold its archive."""

from sessionlog.lean import getenv, os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Place:
    """Where the archive of one project lives."""

    __slots__ = ("db", "home", "project")

    def __init__(self, home: str, project: str, db: str) -> None:
        self.home = home
        self.project = project
        self.db = db

    @property
    def name(self) -> str:
        """The name of the database file without its ending, as Datasette shows it."""
        return self.db.replace("\\", "/").rpartition("/")[2].removesuffix(".db")


def home_folder() -> str:
    """The folder of all archives: outside every project, so that `git clean` cannot reach it."""
    if folder := getenv("SESSIONLOG_HOME"):
        return folder
    if folder := getenv("XDG_DATA_HOME"):
        return f"{folder}/sessionlog"
    if folder := getenv("LOCALAPPDATA"):
        return f"{folder}/sessionlog"
    return f"{user_home()}/.local/share/sessionlog"


def user_home() -> str:
    """The user's home directory, also where nobody set HOME."""
    if folder := getenv("HOME") or getenv("USERPROFILE"):
        return folder
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:  # a container whose user has no name; events then wait in the temporary folder
        return "/"


def of_environment(cwd: str, canonical: "Callable[[str], str]") -> str:
    """The project that Claude Code names in the environment, else the one around `cwd`."""
    folder = getenv("CLAUDE_PROJECT_DIR") or getenv("CLAUDE_PROJECT_ROOT")
    return main_checkout(canonical(folder), canonical) if folder else of_folder(cwd, canonical)


def of_folder(cwd: str, canonical: "Callable[[str], str]") -> str:
    """The git checkout around `cwd`, else `cwd` itself."""
    cwd = canonical(cwd)
    for folder in ancestors(cwd):
        if _exists(f"{folder}/.git"):
            return main_checkout(folder, canonical)
    return cwd


def ancestors(folder: str) -> "Iterator[str]":
    """The folder and all that it lies in, innermost first."""
    while folder:
        yield folder
        folder = folder.replace("\\", "/").rpartition("/")[0]


def main_checkout(folder: str, canonical: "Callable[[str], str]") -> str:
    """The main checkout of a git worktree; any other folder is itself.

    In a worktree, .git is a file that points to `<main checkout>/.git/worktrees/<name>`.
    """
    try:
        with open(f"{folder}/.git", encoding="utf-8", errors="surrogateescape") as file:
            key, _, git_dir = file.read(4096).partition(":")
    except OSError:  # a folder (an ordinary checkout), or nothing at all
        return folder
    repository, _, kind = git_dir.strip().replace("\\", "/").rpartition("/")[0].rpartition("/")
    if key != "gitdir" or kind != "worktrees":
        return folder
    if not repository.startswith("/") and repository[1:2] != ":":
        repository = f"{folder}/{repository}"
    return canonical(repository.removesuffix("/.git"))


def place(project: str) -> Place:
    """The archive of a project, given as a canonical path: `<folder name>-<6 hex of the path's hash>.db`."""
    home = home_folder()
    if db := getenv("SESSIONLOG_DB"):
        return Place(home, project, db if db.startswith("/") or db[1:2] == ":" else f"{project}/{db}")
    folder_name = project.replace("\\", "/").rstrip("/").rpartition("/")[2]
    safe = "".join(letter if letter.isalnum() or letter == "_" else "-" for letter in folder_name[:40]).strip("-")
    return Place(home, project, f"{home}/{safe or 'project'}-{_short_hash(project)}.db")


def fallback_folders() -> list[str]:
    """Folders of ours outside the archive, for when its disk is full or read-only."""
    state = getenv("XDG_STATE_HOME") or f"{user_home()}/.local/state"
    temporary = getenv("TMPDIR") or getenv("TEMP") or "/tmp"  # noqa: S108 (a private folder inside it)
    owner = os.getuid() if hasattr(os, "getuid") else getenv("USERNAME")
    return [f"{state}/sessionlog", f"{temporary}/sessionlog-{owner}"]


def spool_paths(place: Place) -> list[str]:
    """The files in which events of this project may wait: beside its database, else where there may be room."""
    return [f"{place.db}.spool", *(f"{folder}/{place.name}.db.spool" for folder in fallback_folders())]


def waiting_spools(place: Place) -> list[str]:
    """The spool files that hold something."""
    return [path for path in spool_paths(place) if _size(path)]


def _short_hash(text: str) -> str:
    """Six hex digits of FNV-1a: importing any better hash costs the hook 0.3 ms, and a folder's name is in it too."""
    number = 0x811C9DC5
    for byte in text.encode("utf-8", "surrogateescape"):
        number = (number ^ byte) * 0x01000193 & 0xFFFFFFFF
    return f"{number:08x}"[2:]


def _exists(path: str) -> bool:
    return _size(path) is not None


def _size(path: str) -> int | None:
    try:
        return os.stat(path).st_size
    except OSError:
        return None
