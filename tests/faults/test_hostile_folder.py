"""Nothing in a working directory or a shared temporary folder is executed, believed or waited for.

As root, with two accounts made for it: one prepares the folders, the other works in them. Else as the one user there is.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest

from sessionlog.archive import place as projects
from sessionlog.archive import unreported
from sessionlog.cli.main import COMMANDS
from tests.conftest import PYTHON, ROOT, Hook, rows, thorough
from tests.helpers.archives import store
from tests.helpers.transcript_files import line
from tests.record.test_hook import prompt
from tests.web.browsing import headers as cookie
from tests.web.browsing import log_in

SESSIONLOG = Path(sys.executable).parent / "sessionlog"
ANOTHER_USER = 54321

# What to type after a command's name; OTHERS for those without a line. `{out}` is a folder outside the hostile one.
OTHERS: list[list[str]] = [[], ["last"]]
ARGUMENTS: dict[str, list[list[str]]] = {
    "audit": [[], ["gaps"]],
    "backup": [["{out}/copy.db"]],
    "browse": [],  # has a test of its own below
    "completion": [["bash"]],
    "demo": [[]],
    "doctor": [[], ["--full"]],
    "export": [["last"], ["last", "--format", "html", "-o", "{out}/page.html"]],
    "hook-command": [[], ["Stop"]],
    "install": [["--yes", "--scope", "user"]],
    "import": [[]],
    "merge": [["{out}/copy.db", "--dry-run"]],
    "path": [[]],
    "prune": [["--older-than", "1d", "--dry-run"]],
    "redact": [["--all", "--dry-run"]],
    "restore": [["last", "--dry-run"]],
    "review": [["last"]],
    "schema": [[]],
    "search": [["hello"], ["==", "--substring"], ["h.*o", "--regex"]],
    "sessions": [[], ["--all"]],
    "show": [["last"]],
    "sql": [["SELECT count(*) FROM events"]],
    "stats": [[]],
    "supervise": [["--help"]],
    "tail": [[]],
    "uninstall": [["--yes"]],
    "verify": [[]],
    "validate": [[]],
}


@pytest.fixture
def mark(tmp_path: Path) -> Iterator[Path]:
    """The file that every trap writes to; at the end nothing is in it."""
    folder = tmp_path / "marks"
    folder.mkdir()
    path = folder / "a trap went off"
    yield path
    assert not path.exists(), path.read_text()


@pytest.fixture
def trap(tmp_path: Path, mark: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout full of traps, as the working directory."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    spring = f"open({str(mark)!r}, 'a').write(__name__ + chr(10))\n"
    names = {
        *sys.stdlib_module_names,
        "click",
        "datasette",
        "isal",
        "orjson",
        "sessionlog",
        "sqlite_utils",
        "yaml",
        "pip",
    }
    for name in names:
        (folder / f"{name}.py").write_text(spring)
    for name in ("sessionlog", "multiprocessing", "hooks", "datasette"):
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(spring)
    for name in ("claude", "sessionlog-hook", "sessionlog", "python3", "nice", "git"):
        path = folder / name if name != "sessionlog" else folder / "sessionlog-supervisor"
        path.write_text(f"#!/bin/sh\necho {name} >> '{mark}'\n")
        path.chmod(0o755)
    os.mkfifo(folder / ".git")
    write_settings(folder, mark)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", f".{os.pathsep}{os.pathsep}{os.environ['PATH']}")
    return folder


def write_settings(folder: Path, mark: Path) -> None:
    """Settings whose commands look like ours."""
    touch = f"touch '{mark}'"
    commands = [
        f"{touch}; true -I -S x/hooks/any_event.py || exit 1",
        f"$({touch}) -I -S /x/hooks/any_event.py Stop || exit 1",
        f"sessionlog-hook Stop 2>/dev/null; {touch} || [ $? -ne 1 ]",
        f"{folder}/python3 -I -S {folder}/hooks/any_event.py || exit 1",
        f"{folder}/python3 -I -m sessionlog.supervisor --reviewer '{touch}'",
        f"command -v sessionlog-supervisor >/dev/null 2>&1 || exit 0; sessionlog-supervisor --reviewer '{touch}'; {touch}",
    ]
    handlers = [{"type": "command", "command": command, "timeout": 5} for command in commands]
    events = ("UserPromptSubmit", "Stop", "PreToolUse", "SessionStart")
    settings = {"hooks": {event: [{"hooks": handlers}] for event in events}, "disableAllHooks": False}
    (folder / ".claude").mkdir()
    for name in ("settings.json", "settings.local.json"):
        (folder / ".claude" / name).write_text(json.dumps(settings))


# Starts a command with the packages of this environment, in an interpreter that is not a part of it.
START = """import sys
sys.path[:0] = {path!r}
sys.argv[0] = 'sessionlog'
from sessionlog.cli.main import main
main()
"""
# Starts every command of the lines on stdin, each in a fork; all are imported once. Says on stderr how each ended.
START_EACH = """import json, os, sys, traceback
sys.path[:0] = {path!r}
sys.argv[0] = 'sessionlog'
from sessionlog.cli.main import COMMANDS, load_command, main
for name in COMMANDS:
    load_command(name)
for line in sys.stdin.read().splitlines():
    if not (child := os.fork()):
        code = 1
        try:
            sys.argv[1:] = json.loads(line)
            main()
            code = 0
        except SystemExit as error:
            code = error.code or 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(json.dumps({{"line": line, "code": code}}), end=chr(0), file=sys.stderr, flush=True)
"""


class User(NamedTuple):
    """Somebody who runs our commands and hooks."""

    command: list[str]
    python: list[str]
    number: int | None  # None is whoever runs the tests
    attacker: int = 0

    @classmethod
    def other(cls, number: int, attacker: int) -> User | None:
        """A user with this number, if there is a Python that they can run."""
        path = [str(ROOT), *(entry for entry in sys.path if entry.endswith("-packages"))]
        version = "python{}.{}".format(*sys.version_info)
        for python in filter(None, (sys.executable, shutil.which(version, path="/usr/local/bin:/usr/bin"))):
            found = cls([python, "-I", "-c", START.format(path=path)], [python, "-I", "-S"], number, attacker)
            with suppress(OSError, subprocess.SubprocessError):
                words = [*found.command, "--version"]
                subprocess.run(words, check=True, capture_output=True, timeout=60, cwd="/", **found.who)
                return found
        return None

    @property
    def who(self) -> dict[str, Any]:
        """What subprocess needs to know to be this user."""
        return {} if self.number is None else {"user": self.number, "group": self.number, "extra_groups": []}

    def owns(self, *folders: Path) -> None:
        """These folders, and what is in them, become this user's."""
        give(self.number, *folders)

    def moves_in(self, home: Path, trap: Path, shared: Path) -> None:
        """The home becomes this user's, the traps the attacker's; a trap that goes off can leave its mark."""
        if self.number is not None:
            self.owns(home)
            give(self.attacker, trap)
            for folder in (trap, shared):
                folder.chmod(0o1777)

    def run(self, *words: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*self.command, *words], capture_output=True, timeout=60, check=False, stdin=subprocess.DEVNULL, **self.who
        )

    def run_each(self, lines: list[list[str]]) -> Iterator[tuple[list[str], int, bytes]]:
        """Run all of these: the words, the exit code and stderr of each. An ordinary run imports commands only once."""
        if thorough():
            for words in lines:
                done = self.run(*words)
                yield words, done.returncode, done.stderr
            return
        path = [str(ROOT), *(entry for entry in sys.path if entry.endswith("-packages"))]
        code, given = START_EACH.format(path=path), "".join(f"{json.dumps(words)}\n" for words in lines).encode()
        command = [self.python[0], "-I", "-c", code]
        done = subprocess.run(command, input=given, capture_output=True, timeout=300, check=False, **self.who)
        said = done.stderr.split(b"\0")
        assert len(said) == len(lines) + 1, done.stderr
        for words, each in zip(lines, said, strict=False):
            error, _, end = each.rpartition(b'{"line": ')
            yield words, json.loads(b'{"line": ' + end)["code"], error


def give(number: int | None, *folders: Path) -> None:
    for folder in folders if number is not None else ():
        for path in (folder, *folder.rglob("*")):
            os.chown(path, number, number, follow_symlinks=False)


@contextmanager
def accounts() -> Iterator[list[int]]:
    """The numbers of two accounts of this machine that exist only here; 0 where none can be made: that takes root."""
    if os.geteuid() != 0 or not shutil.which("useradd") or not shutil.which("userdel"):
        yield [0, 0]
        return
    import pwd  # not on Windows

    names = [f"sl-{role}-{os.getpid()}" for role in ("attacker", "victim")]
    options = ["--system", "--no-create-home", "--user-group", "--home-dir", "/nonexistent"]
    try:
        for name in names:
            subprocess.run(["useradd", *options, name], capture_output=True, check=True, timeout=60)
        yield [pwd.getpwnam(name).pw_uid for name in names]
    finally:
        for name in names:
            subprocess.run(["userdel", name], capture_output=True, check=False, timeout=60)


def open_the_way(tmp_path: Path) -> None:
    """Others may pass through the folders above."""
    for above in (tmp_path, *tmp_path.parents):
        if above.stat().st_uid == os.geteuid() and above != Path("/"):
            above.chmod(stat.S_IMODE(above.stat().st_mode) | 0o011)


def as_another_user(act: Callable[[], None]) -> None:
    """Do something as a user of their own. Needs root; without it there is only one user to try with."""
    if os.geteuid() != 0:
        act()
        return
    child = os.fork()
    if child == 0:
        try:
            os.setgid(ANOTHER_USER)
            os.setuid(ANOTHER_USER)
            act()
        finally:
            os._exit(0)
    os.waitpid(child, 0)


@pytest.fixture
def shared_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: projects.Place) -> Path:
    """A temporary folder of all users, in which somebody has prepared what the next hook would look for."""
    if os.geteuid() != 0:
        pytest.skip("only root can be two users")
    open_the_way(tmp_path)
    shared = tmp_path / "shared tmp"
    shared.mkdir()
    shared.chmod(0o1777)
    monkeypatch.setenv("TMPDIR", str(shared))
    own = shared / f"sessionlog-{os.geteuid()}"
    forged = [1, "any_event", None, None, {"session_id": "forged", "hook_event_name": "Stop"}]

    def prepare() -> None:
        (own / "rejected").mkdir(parents=True)
        own.chmod(0o777)
        (own / "rejected").chmod(0o777)
        spool = own / f"{place.name}.db.spool"
        spool.write_text(f'{{"spool": "ab", "since": 0}}\n{json.dumps(forged)}\n')
        with open(own / "another-000000.db.spool", "wb") as file:
            file.truncate(200 << 30)
        (own / "unreported").write_text("2026-01-01 forged\n")
        os.mkfifo(own / "rejected" / "pipe.json")
        for path in own.iterdir():
            path.chmod(0o777)

    as_another_user(prepare)
    assert (own / "rejected" / "pipe.json").exists()
    return own


def run(*words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([SESSIONLOG, *words], capture_output=True, timeout=60, check=False, stdin=subprocess.DEVNULL)


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[User]:
    """Who works in the hostile folder: not the one who made it, where this machine allows for two users."""
    with accounts() as (attacker, victim):
        found = User.other(victim, attacker) if victim else None
        if found is None:
            yield User([str(SESSIONLOG)], PYTHON, None)
            return
        open_the_way(tmp_path)
        shared = tmp_path / "shared tmp"
        shared.mkdir()
        shared.chmod(0o1777)
        monkeypatch.setenv("TMPDIR", str(shared))
        yield found


@pytest.fixture
def recorded(home: Path, trap: Path, mark: Path, user: User, monkeypatch: pytest.MonkeyPatch) -> projects.Place:
    """Some events of the hostile folder's project, and transcripts that are worth more than one process."""
    place = projects.place(os.path.realpath(trap))
    store(place, *(prompt(f"hello {number} ==") for number in range(20)))
    folder = home / ".claude" / "projects" / "-checkout"
    folder.mkdir(parents=True)
    with open(folder / "s.jsonl", "wb") as file:
        for _ in range(17):
            file.write(line("hello " * 200_000, cwd=str(trap)))
    user.moves_in(home, trap, mark.parent)
    return place


def test_no_command_runs_what_is_in_its_folder(
    recorded: projects.Place, tmp_path: Path, mark: Path, user: User
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    user.owns(out)
    assert set(ARGUMENTS) <= set(COMMANDS)
    lines = [
        [name, *(word.format(out=out) for word in words)] for name in COMMANDS for words in ARGUMENTS.get(name, OTHERS)
    ]
    for words, code, error in user.run_each(lines):
        assert code in ((0, 1, 3) if words[0] in ARGUMENTS else (0, 1, 2, 3)), (words, error)
        assert b"Traceback" not in error, (words, error)
        assert not mark.exists(), (words, mark.read_text())


@pytest.mark.parametrize("handler", ["any_event.py", "post_tool_use.py", "user_prompt_submit.py"])
def test_no_hook_runs_what_is_in_its_folder(home: Path, trap: Path, mark: Path, handler: str, user: User) -> None:
    user.moves_in(home, trap, mark.parent)
    command = [*user.python, str(ROOT / "hooks" / handler)]
    for payload in (json.dumps(prompt("hello")).encode(), b"no JSON"):
        done = subprocess.run(command, input=payload, timeout=60, check=False, capture_output=True, **user.who)
        assert done.returncode == (0 if payload[:1] == b"{" else 1), done.stderr
    if user.number is None:
        subprocess.run(["sh", "-c", f"{SESSIONLOG}-hook Stop"], input=b"{}", timeout=60, check=False)
    place = projects.place(os.path.realpath(trap))
    assert rows(place)[0]["prompt"] == "hello"
    assert os.stat(place.db).st_uid == (os.geteuid() if user.number is None else user.number)


REQUESTS = ("/", "/-/sessions", "/-/search?q=%3D%3D", "/-/search?q=h.*o&mode=regex", "/-/search?q=hello&mode=exact")
REQUESTS += ("/-/files", "/-/dashboard", "/-/audits", "/-/tables", "/-/no-such-page")


def test_no_request_runs_what_is_in_the_folder_of_the_server(recorded: projects.Place, mark: Path, user: User) -> None:
    words = [*user.command, "browse", "--no-open", "--port", "0"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, **user.who) as server:
        try:
            assert server.stdout
            found = re.search(r"http://\S+", server.stdout.readline())
            assert found
            address = urlsplit(log_in(found[0]))
            for path in REQUESTS:
                for headers in ({}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}):
                    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=120)
                    connection.request("GET", path, headers={**headers, **cookie(address.geturl())})
                    status = connection.getresponse().status
                    connection.close()
                    assert status == 403 if headers else status in (200, 303, 404), (path, status)
                    assert not mark.exists(), (path, mark.read_text())
        finally:
            server.terminate()


def test_what_another_user_prepared_is_not_believed(shared_folder: Path, hook: Hook, place: projects.Place) -> None:
    hook(prompt("mine"))
    hook({**prompt("begin"), "hook_event_name": "SessionStart"})
    assert run("doctor").returncode in (0, 1)
    assert run("sessions").returncode == 0
    assert run("redact", "--all", "--dry-run", "--value", "a-secret-of-mine").returncode == 0
    assert {row["session_id"] for row in rows(place)} == {prompt("mine")["session_id"]}
    assert projects.waiting_spools(place) == []
    assert unreported.read(place.home) == []


def test_a_folder_of_another_user_gets_none_of_our_events(shared_folder: Path, hook: Hook, home: Path) -> None:
    blocked = home / ".local"
    blocked.write_text("no folder can be made here")
    before = sorted((path, path.lstat().st_size) for path in shared_folder.rglob("*"))
    done = hook(prompt("private"))
    assert done.returncode == 1 and b"belongs to another user" in done.stderr
    assert sorted((path, path.lstat().st_size) for path in shared_folder.rglob("*")) == before


# --- What a silent hook could not say ---------------------------------------------------------------------------------


def test_what_a_denying_event_lost_is_reported_at_the_next_start(hook: Hook, place: projects.Place) -> None:
    done = hook(b"no JSON", "PreToolUse")
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"1 event could not be recorded" in run("doctor").stdout
    assert b"1 event could not be recorded" in run("sessions", "--project", place.project).stderr
    start = {"session_id": "s", "hook_event_name": "SessionStart", "source": "startup"}
    done = hook(start, "SessionStart")
    assert done.returncode == 1
    assert b"1 event could not be recorded" in done.stderr and b"kept in" in done.stderr
    assert (hook(start, "SessionStart").returncode, len(rows(place))) == (0, 2)


@pytest.mark.parametrize("name", ["PreToolUse", "PermissionRequest"])
def test_a_hook_that_does_not_know_its_event_finds_it_in_the_payload(hook: Hook, name: str) -> None:
    assert hook(f'{{"hook_event_name": "{name}", oops'.encode()).returncode == 0
    assert hook(b'{"hook_event_name": "Stop", oops').returncode == 1
