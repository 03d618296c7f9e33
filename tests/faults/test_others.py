"""What others planted, whose folder it is, and what the environment lacks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sessionlog.archive import migrate
from sessionlog.archive import place as projects
from tests.conftest import HANDLERS, ROOT
from tests.faults.ledger import Fault, assert_sound

# --- planted ----------------------------------------------------------------------------------------------------------


def plant(place: projects.Place, kind: str, target: Path) -> None:
    Path(place.home).mkdir(parents=True)
    match kind:
        case "symlink":
            target.touch()
            Path(place.db).symlink_to(target)
        case "dangling symlink":
            Path(place.db).symlink_to(target)
        case "folder":
            Path(place.db).mkdir()
        case "pipe":
            os.mkfifo(place.db)
        case "another user's file":
            if os.geteuid() != 0:
                pytest.skip("only root can give a file away")
            migrate.open_new_or_outdated(place, 1).close()
            try:
                os.chown(place.db, 12345, 12345)
            except OSError:
                pytest.skip("in this namespace there is no other user")


@pytest.mark.fault("planted as database")
@pytest.mark.parametrize("kind", ["symlink", "dangling symlink", "folder", "pipe", "another user's file"])
def test_a_planted_database_is_refused_and_the_event_waits(fault: Fault, tmp_path: Path, kind: str) -> None:
    target = tmp_path / "target"
    plant(fault.place, kind, target)
    assert fault.hook().returncode == 0
    assert not target.exists() or target.read_bytes() == b""
    fault.is_told("does not write to it", "waits in")
    path = Path(fault.place.db)
    path.rmdir() if kind == "folder" else path.unlink()
    fault.hook()
    assert len(fault.check()) == 2


@pytest.mark.fault("planted as spool or lock")
@pytest.mark.parametrize("name", ["spool", "lock"])
@pytest.mark.parametrize("kind", ["symlink", "dangling symlink", "folder", "pipe"])
def test_a_planted_spool_or_lock_is_not_followed(fault: Fault, tmp_path: Path, name: str, kind: str) -> None:
    target = tmp_path / "target"
    path = Path(f"{fault.place.db}.{name}")
    plant(projects.Place(fault.place.home, "", str(path)), kind, target)
    if kind == "symlink":
        target.write_text("precious")
    fault.hook()
    if name == "spool":  # so that it is needed
        Path(fault.place.db).unlink(missing_ok=True)
        Path(fault.place.db).mkdir()
    assert fault.hook().returncode == 0
    assert (target.read_text() if target.exists() else "") == ("precious" if kind == "symlink" else "")
    if name == "spool":
        Path(fault.place.db).rmdir()
        del fault.kept[0]  # it was in the database that went
    fault.is_told("waits in")
    path.rmdir() if kind == "folder" else path.unlink()
    fault.hook()
    fault.check()


# --- another user -----------------------------------------------------------------------------------------------------


def python_that_starts(prefix: list[str], **options: Any) -> list[str]:
    """Ours may lie in a home directory, where other users cannot see it."""
    for python in (sys.executable, *map(str, sorted(Path("/usr/bin").glob("python3.1[0-9]")))):
        try:
            command = [*prefix, python, "-I", "-S", "-c", "import sqlite3"]
            subprocess.run(command, capture_output=True, check=True, **options)
        except (OSError, subprocess.CalledProcessError):
            continue
        return [python, "-I", "-S"]
    pytest.skip("no Python of this machine can be started in this way")


OTHER = 12345  # a user that no machine knows


class Guest:
    """Somebody else on this machine, with a home, a copy of sessionlog and a Python of their own."""

    def __init__(self, folder: Path, uid: int) -> None:
        self.folder, self.uid = folder, uid
        self.home = folder / "home"
        self.env = {"HOME": str(self.home), "TMPDIR": str(folder / "tmp"), "CLAUDE_PROJECT_DIR": str(folder / "shop")}
        for path in (self.home, folder / "tmp", folder / "shop"):
            path.mkdir()
            os.chown(path, uid, uid)
        for name in ("hooks", "sessionlog"):
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        self.options: dict[str, Any] = {"user": uid, "group": uid, "extra_groups": [], "cwd": "/"}
        self.command = [*python_that_starts([], **self.options), str(folder / "hooks" / "any_event.py")]


@pytest.fixture
def guest() -> Iterator[Guest]:
    """Not below pytest's own folder, which is for one user's eyes only."""
    if os.geteuid() != 0:
        pytest.skip("only root can be another user")
    folder = Path(tempfile.mkdtemp(prefix="sessionlog-guest-", dir="/tmp"))
    folder.chmod(0o755)
    try:
        try:
            yield Guest(folder, OTHER)
        except OSError:
            pytest.skip("in this namespace there is no other user")
    finally:
        shutil.rmtree(folder)


@pytest.mark.fault("another user's folder")
@pytest.mark.parametrize("mode", [0o700, 0o755, 0o777], ids=oct)
def test_another_users_archives_are_left_alone(fault: Fault, guest: Guest, mode: int) -> None:
    theirs = guest.folder / "theirs"
    env = {**guest.env, "SESSIONLOG_HOME": str(theirs)}
    assert fault.hook(env=env).returncode == 0, "their own archive, made by root"
    assert any(theirs.glob("*.db"))
    fault.kept.clear()
    theirs.chmod(mode)
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in theirs.rglob("*") if path.is_file()}
    done = [fault.hook(command=guest.command, env=env, **guest.options) for _ in range(3)]
    assert {result.returncode for result in done} == {0}
    assert {
        path: (path.stat().st_mtime_ns, path.read_bytes()) for path in theirs.rglob("*") if path.is_file()
    } == before
    assert all("waits in" in said for said in fault.said)
    (spool,) = guest.home.rglob("*.spool")
    assert spool.stat().st_uid == guest.uid and spool.stat().st_mode & 0o077 == 0
    fault.account_for([name for name in fault.kept if f'"{name}"' in spool.read_text()])


@pytest.mark.fault("another user's folder")
def test_a_folder_that_others_put_into_the_shared_temporary_folder_is_refused(
    fault: Fault, guest: Guest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where every user may write, somebody may be there first."""
    shared = guest.folder / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    planted = shared / f"sessionlog-{os.getuid()}"
    planted.mkdir(mode=0o777)
    os.chown(planted, OTHER, OTHER)
    blocked = guest.folder / "a file"
    blocked.touch()
    done = fault.hook(env={"HOME": str(blocked), "TMPDIR": str(shared)})
    assert done.returncode == 1 and b"belongs to another user" in done.stderr
    assert list(planted.iterdir()) == []


# --- the environment --------------------------------------------------------------------------------------------------


@pytest.mark.fault("HOME unset")
def test_without_home_the_system_knows_where_home_is(fault: Fault, home: Path) -> None:
    """The user's entry in the password file is the same directory under another mount, for this one process."""
    import pwd

    real = pwd.getpwuid(os.getuid()).pw_dir
    script = 'mount --bind "$0" "$1" && shift && exec env -u HOME "$@"'
    prefix = ["unshare", "-m", "sh", "-c", script, str(home), real]
    if shutil.which("unshare") is None or str(ROOT).startswith(f"{real}/"):
        pytest.skip("no other folder can take the place of this user's home")
    if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode:
        pytest.skip("a mount of its own needs root; try: unshare -rm pytest tests/faults")
    for _ in range(3):
        command = [*prefix, *python_that_starts(prefix), str(HANDLERS / "any_event.py")]
        assert fault.hook(command=command).returncode == 0
    assert len(fault.check()) == 3
    assert_sound(fault.place)


@pytest.mark.fault("HOME unset")
def test_a_user_that_the_system_does_not_know_either(fault: Fault, guest: Guest) -> None:
    env = ["env", "-u", "HOME"]
    done = [fault.hook(command=[*env, *guest.command], env=guest.env, **guest.options) for _ in range(3)]
    assert {result.returncode for result in done} == {0}
    (spool,) = (guest.folder / "tmp").rglob("*.spool")
    assert all("waits in" in said for said in fault.said)
    fault.account_for([name for name in fault.kept if f'"{name}"' in spool.read_text()])
