"""Nothing in a working directory or a shared temporary folder is executed, believed or waited for."""

from __future__ import annotations

import http.client
import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from sessionlog.archive import place as projects
from sessionlog.archive import unreported
from sessionlog.cli.main import COMMANDS
from tests.conftest import PYTHON, ROOT, Hook, rows
from tests.helpers.archives import store
from tests.helpers.transcript_files import line
from tests.record.test_hook import prompt
from tests.web.browsing import headers as cookie
from tests.web.browsing import log_in

SESSIONLOG = Path(sys.executable).parent / "sessionlog"
ANOTHER_USER = 54321

# What to type after each command's name. `{out}` is a folder outside the hostile one.
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
    path = tmp_path / "a trap went off"
    yield path
    assert not path.exists(), path.read_text()


@pytest.fixture
def trap(tmp_path: Path, mark: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout full of traps, as the working directory."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    spring = f"open({str(mark)!r}, 'a').write(__name__ + chr(10))\n"
    names = {*sys.stdlib_module_names, "click", "datasette", "orjson", "sessionlog", "sqlite_utils", "yaml", "pip"}
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
    for above in (tmp_path, *tmp_path.parents):
        if above.stat().st_uid == os.geteuid() and above != Path("/"):
            above.chmod(stat.S_IMODE(above.stat().st_mode) | 0o011)
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
def recorded(home: Path, trap: Path, monkeypatch: pytest.MonkeyPatch) -> projects.Place:
    """Some events of the hostile folder's project, and transcripts that are worth more than one process."""
    place = projects.place(os.path.realpath(trap))
    store(place, *(prompt(f"hello {number} ==") for number in range(20)))
    folder = home / ".claude" / "projects" / "-checkout"
    folder.mkdir(parents=True)
    with open(folder / "s.jsonl", "wb") as file:
        for _ in range(17):
            file.write(line("hello " * 200_000, cwd=str(trap)))
    return place


def test_every_command_has_a_line_here() -> None:
    assert set(ARGUMENTS) == set(COMMANDS)


def test_no_command_runs_what_is_in_its_folder(recorded: projects.Place, tmp_path: Path, mark: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    for name, calls in ARGUMENTS.items():
        for words in calls:
            done = run(name, *(word.format(out=out) for word in words))
            assert done.returncode in (0, 1, 3), (name, words, done.stderr)
            assert b"Traceback" not in done.stderr, (name, words, done.stderr)
            assert not mark.exists(), (name, words, mark.read_text())


@pytest.mark.parametrize("handler", ["any_event.py", "post_tool_use.py", "user_prompt_submit.py"])
def test_no_hook_runs_what_is_in_its_folder(trap: Path, hook: Hook, mark: Path, handler: str) -> None:
    command = [*PYTHON, str(ROOT / "hooks" / handler)]
    for payload in (json.dumps(prompt("hello")).encode(), b"no JSON"):
        subprocess.run(command, input=payload, timeout=20, check=False, capture_output=True, cwd=trap)
    subprocess.run(["sh", "-c", f"{SESSIONLOG}-hook Stop"], input=b"{}", timeout=20, check=False, cwd=trap)


REQUESTS = ("/", "/-/sessions", "/-/search?q=%3D%3D", "/-/search?q=h.*o&mode=regex", "/-/search?q=hello&mode=exact")
REQUESTS += ("/-/files", "/-/dashboard", "/-/audits", "/-/tables", "/-/no-such-page")


def test_no_request_runs_what_is_in_the_folder_of_the_server(recorded: projects.Place, mark: Path) -> None:
    words = [str(SESSIONLOG), "browse", "--no-open", "--port", "0"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout
            found = re.search(r"http://\S+", server.stdout.readline())
            assert found
            address = urlsplit(log_in(found[0]))
            for path in REQUESTS:
                for headers in ({}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}):
                    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=30)
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
