"""Which project an event belongs to, and which files hold its archive."""

from sessionlog.fastlib import blake2b, getenv, os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeGuard

# The part of st_mode that says what a thing is; importing `stat` costs the hook 0.3 ms.
FILE_TYPE = 0o170000
REGULAR_FILE = 0o100000
# No system opens a longer path; following its parts upwards would take seconds.
LONGEST_PATH = 4096


class Place:
    """Where the archive of one project lives.

    With an `other_db`, the file at `db` has a short name, which another project may share. Whether it is this project's
    is for `whose.settle` to find out; if it is not, `other_db` is the right one.
    """

    __slots__ = ("db", "home", "other_db", "project")

    def __init__(self, home: str, project: str, db: str, other_db: str = "") -> None:
        self.home = home
        self.project = project
        self.db = db
        self.other_db = other_db

    @property
    def name(self) -> str:
        """The name of the database file without its ending, as Datasette shows it."""
        return self.db.replace("\\", "/").rpartition("/")[2].removesuffix(".db")


def home_folder() -> str:
    """The folder of all archives: outside every project, so that `git clean` cannot reach it.

    A relative path would lead into any checkout, to its config.json. It is ignored, as the XDG specification says.
    """
    if (folder := getenv("SESSIONLOG_HOME")) and _is_absolute(folder):
        return folder
    if (folder := getenv("XDG_DATA_HOME")) and _is_absolute(folder):
        return f"{folder}/sessionlog"
    if folder := getenv("LOCALAPPDATA"):
        return f"{folder}/sessionlog"
    return f"{user_home()}/.local/share/sessionlog"


def relative_variables() -> "list[tuple[str, str]]":
    """The variables that name a folder of archives by a relative path, and are ignored."""
    values = [(name, getenv(name)) for name in ("SESSIONLOG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")]
    return [(name, value) for name, value in values if value and not _is_absolute(value)]


def _is_absolute(path: str) -> bool:
    return path.startswith("/") or (not hasattr(os, "getuid") and (path[1:2] == ":" or path.startswith("\\\\")))


def user_home() -> str:
    """The user's home directory, also where HOME is not set."""
    if folder := getenv("HOME") or getenv("USERPROFILE"):
        return folder
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:  # a container whose user has no name; events then wait in the temporary folder
        return "/"


def of_environment(cwd: str, canonical: "Callable[[str], str]", variable: str = "CLAUDE_PROJECT_DIR") -> str:
    """The project that the agent names in the environment, else the one around `cwd`."""
    folder = getenv(variable) or (variable == "CLAUDE_PROJECT_DIR" and getenv("CLAUDE_PROJECT_ROOT"))
    return main_checkout(canonical(folder), canonical) if folder else of_folder(cwd, canonical)


def of_folder(cwd: str, canonical: "Callable[[str], str]") -> str:
    """The git checkout around `cwd`, else `cwd` itself."""
    cwd = canonical(cwd)
    for folder in ancestors(cwd):
        if _is_there(f"{folder}/.git"):
            return main_checkout(folder, canonical)
    return cwd


def _is_there(path: str) -> bool:
    try:
        os.stat(path)
    except OSError:
        return False
    return True


def ancestors(folder: str) -> "Iterator[str]":
    """The folder and all that it lies in, innermost first."""
    while folder:
        yield folder
        folder = folder.replace("\\", "/").rpartition("/")[0]


def main_checkout(folder: str, canonical: "Callable[[str], str]") -> str:
    """The main checkout of a git worktree; any other folder is itself.

    In a worktree, .git is a file that points to `<main checkout>/.git/worktrees/<name>`.
    """
    key, _, git_dir = _first_line(f"{folder}/.git").partition(":")
    git_dir = git_dir.strip().replace("\\", "/")
    if not git_dir.startswith("/") and git_dir[1:2] != ":":
        git_dir = f"{folder}/{git_dir}"
    repository, _, kind = git_dir.rpartition("/")[0].rpartition("/")
    if key != "gitdir" or kind != "worktrees":
        return folder
    # Git writes the way back too. Without it, a checkout could claim to be a worktree of any other project.
    way_back = _first_line(f"{git_dir}/gitdir").strip().replace("\\", "/")
    if not way_back or canonical(way_back.removesuffix("/.git")) != canonical(folder):
        return folder
    return canonical(repository.removesuffix("/.git"))


def _first_line(path: str) -> str:
    """The first line of a small file. A pipe or a device in its place counts as nothing, and is not waited for."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError:  # not there, or a folder: an ordinary checkout
        return ""
    try:
        if os.fstat(descriptor).st_mode & FILE_TYPE != REGULAR_FILE:
            return ""
        return os.read(descriptor, 4096).decode("utf-8", "surrogateescape").partition("\n")[0]
    except OSError:
        return ""
    finally:
        os.close(descriptor)


def place(project: str) -> Place:
    """The archive of a project, given as a canonical path: `<folder name>-<16 hex of the path's hash>.db`.

    Older archives have six digits. A checkout could choose its path so that they are those of another project, so they
    are looked for only where the longer name is not there, and have to be checked (see `Place`).
    """
    home = home_folder()
    if db := getenv("SESSIONLOG_DB"):
        return Place(home, project, db if db.startswith("/") or db[1:2] == ":" else f"{project}/{db}")
    folder_name = project.replace("\\", "/").rstrip("/").rpartition("/")[2]
    safe = "".join(letter if letter.isalnum() or letter == "_" else "-" for letter in folder_name[:40]).strip("-")
    stem = f"{home}/{safe or 'project'}"
    path = project.encode("utf-8", "surrogateescape")
    db = f"{stem}-{blake2b(path, digest_size=8).hexdigest()}.db" if blake2b is not None else ""
    if db and _is_there(db):
        return Place(home, project, db)
    older = Place(home, project, f"{stem}-{_short_hash(path)}.db", db)
    if not db or _is_there(older.db) or waiting_spools(older):  # without BLAKE2b, events can only wait in a spool
        return older
    return Place(home, project, db)


def is_path(value: object) -> "TypeGuard[str]":
    """Whether a value can be the path of a folder."""
    return isinstance(value, str) and 0 < len(value) <= LONGEST_PATH and "\0" not in value


def fallback_folders() -> list[str]:
    """Folders of ours outside the archive, for when its disk is full or read-only."""
    state = getenv("XDG_STATE_HOME")
    state = state if state and _is_absolute(state) else f"{user_home()}/.local/state"
    temporary = getenv("TMPDIR") or getenv("TEMP") or "/tmp"  # noqa: S108 (a private folder inside it)
    owner = os.getuid() if hasattr(os, "getuid") else getenv("USERNAME")
    return [f"{state}/sessionlog", f"{temporary}/sessionlog-{owner}"]


def spool_paths(place: Place) -> list[str]:
    """The files in which events of this project may wait: beside its database, else where there may be room."""
    return [f"{place.db}.spool", *(f"{folder}/{place.name}.db.spool" for folder in fallback_folders())]


def waiting_spools(place: Place) -> list[str]:
    """The spool files of ours that hold something."""
    return [path for path in spool_paths(place) if is_own_and_filled(path)]


def unreported(home: str) -> list[str]:
    """The files that list what could not be recorded and has not been reported yet."""
    return [path for path in unreported_paths(home) if is_own_and_filled(path)]


def unreported_paths(home: str) -> list[str]:
    """Where it is written down that an event could not be recorded: the first of these that can be written."""
    return [f"{folder}/unreported" for folder in (home, *fallback_folders())]


def is_own_folder(folder: str) -> bool:
    """Whether a folder is ours and no link. In the temporary folder, another user may have put one of our name."""
    try:
        status = os.lstat(folder)
    except OSError:
        return False
    return status.st_mode & FILE_TYPE == 0o040000 and _is_own(status)


def is_own_and_filled(path: str) -> bool:
    """Whether there is a regular file of ours with something in it, in a folder of ours.

    The folder counts because another user can give one of our files a second name in a folder of theirs.
    """
    try:
        status = os.lstat(path)
    except OSError:
        return False
    if not status.st_size or status.st_mode & FILE_TYPE != REGULAR_FILE or not _is_own(status):
        return False
    try:
        return _is_own(os.stat(path.replace("\\", "/").rpartition("/")[0] or "/"))
    except OSError:
        return False


def _is_own(status: "os.stat_result") -> bool:
    return not hasattr(os, "geteuid") or status.st_uid == os.geteuid()


def _short_hash(path: bytes) -> str:
    """Six hex digits of FNV-1a, as in the names of older archives."""
    number = 0x811C9DC5
    for byte in path:
        number = (number ^ byte) * 0x01000193 & 0xFFFFFFFF
    return f"{number:08x}"[2:]
