"""Promise 5: nothing is ever sent anywhere. No module knows how, and no process tries.

The one exception is the team archive: sessionlog/team/ connects to a PostgreSQL that the user named.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from sessionlog.archive import place as projects
from tests.conftest import HANDLERS, PYTHON, ROOT, Hook, rows
from tests.helpers import forking
from tests.helpers import transcript_files as made
from tests.record.test_hook import prompt, tool

# Python tells an audit hook of every connection and every name that is looked up, whoever asks for it.
GUARD = """
import os, sys

def guard(event, arguments, here=("127.0.0.1", "::1", "localhost", b"127.0.0.1", b"localhost")):
    if event in ("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg"):
        address = arguments[1]
        allowed = not isinstance(address, tuple) or address[0] in here
    elif event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"):
        allowed = arguments[0] in here
    else:
        return
    if not allowed:
        descriptor = os.open(os.environ["NETWORK_LOG"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(descriptor, f"{sys.argv}: {event} {arguments[1:]}\\n".encode())
        os.close(descriptor)
        raise PermissionError("nothing leaves this machine")

sys.addaudithook(guard)
"""
RUN = "\nimport runpy; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"

COMMANDS = [
    ["audit"], ["audit", "network"], ["backup", "copy.db"], ["completion", "bash"], ["demo"], ["doctor"], ["doctor", "--fix", "--full"],
    ["export", "last"], ["export", "last", "--format", "html"], ["export", "last", "--format", "markdown"], ["hook-command"], ["import"],
    ["install", "--yes"], ["merge", "copy.db"], ["path"], ["prune", "--keep", "0", "--yes"], ["redact", "--yes"], ["restore", "last", "--dry-run"],
    ["schema"], ["search", "echo"], ["sessions", "--all"], ["ship", "--enable", "x"], ["ship", "--dry-run"], ["team", "init", "--print"], ["show", "last"], ["sql", "SELECT 1"], ["stats"], ["tail"], ["uninstall", "--yes"],
    ["validate"], ["verify"], ["review", "last"],
]  # fmt: skip


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the guard writes what it stopped. Every Python that reads sitecustomize has the guard."""
    site = tmp_path / "guard"
    site.mkdir()
    (site / "sitecustomize.py").write_text(GUARD)
    monkeypatch.setenv("PYTHONPATH", f"{site}{os.pathsep}{ROOT}")
    monkeypatch.setenv("NETWORK_LOG", str(tmp_path / "network.log"))
    return tmp_path / "network.log"


def guarded(script: Path, *arguments: str, data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """A script that is run without sitecustomize, as hooks are."""
    return subprocess.run(
        [*PYTHON, "-c", GUARD + RUN, str(script), *arguments], input=data, capture_output=True, check=False
    )


def test_the_guard_sees_every_way_out(log: Path) -> None:
    ways = [
        "import socket; socket.create_connection(('192.0.2.1', 9), 1)",
        "import urllib.request; urllib.request.urlopen('http://example.invalid/')",
        "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 9))",
    ]
    for way in ways:
        assert subprocess.run([sys.executable, "-c", way], capture_output=True, check=False).returncode == 1
    assert len(log.read_text().splitlines()) == len(ways)
    # A fork of a process that has the guard has it, too.
    (log.parent / "guard" / "connecting.py").write_text(f"def main():\n    {ways[0]}\n")
    assert forking.run(program="connecting").returncode == 1
    assert len(log.read_text().splitlines()) == len(ways) + 1


def test_no_hook_and_no_importer_connects(home: Path, project: Path, place: projects.Place, log: Path) -> None:
    for handler in ("any_event.py", "post_tool_use.py", "user_prompt_submit.py"):
        for payload in (prompt("hello"), tool(1), {"session_id": "s1", "hook_event_name": "Stop"}):
            assert guarded(HANDLERS / handler, data=json.dumps(payload).encode()).returncode == 0
        assert guarded(HANDLERS / handler, data=b"no event").returncode == 1
    path = made.recorded(home) / f"{made.SESSION}.jsonl"
    (stamp := home / "stamp").touch()
    importer = ROOT / "sessionlog" / "record" / "import_child.py"
    done = guarded(importer, place.home, place.project, place.db, str(path), str(stamp), "claude-code")
    assert done.returncode == 0, done.stderr
    assert rows(place, "SELECT * FROM transcript_parts LIMIT 1")
    assert not log.exists(), log.read_text()


def test_no_command_connects(
    home: Path, project: Path, hook: Hook, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made.recorded(home)
    hook(prompt("hello"))
    hook(tool(1))
    monkeypatch.chdir(tmp_path)
    failed = {}
    for words in COMMANDS:
        done = forking.run(*words)
        if done.returncode and words[0] not in ("doctor", "restore", "validate"):  # whose 1 tells of a finding
            failed[" ".join(words)] = done.stderr.decode()
    assert failed == {}
    assert not log.exists(), log.read_text()


def test_the_web_page_listens_here_and_asks_nobody(project: Path, hook: Hook, log: Path) -> None:
    hook(prompt("hello"))
    command = [sys.executable, "-m", "sessionlog", "browse", "--no-open", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            found = re.search(r"http://127\.0\.0\.1:\d+/\S*", process.stdout.readline())
            assert found
            with_cookies = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
            with with_cookies.open(found[0], timeout=120) as answer:
                assert answer.status == 200
        finally:
            process.terminate()
    assert not log.exists(), log.read_text()


# What can open a connection, or does so on import. `socket` listens in web/, where a person looks at the archive.
NETWORK = {"aiohttp", "asyncore", "ftplib", "http.client", "httpx", "imaplib", "poplib", "psycopg", "requests", "smtplib", "socket",
           "socketserver", "ssl", "telnetlib", "urllib.request", "urllib3", "websockets", "xmlrpc"}  # fmt: skip
ALLOWED = {("web/guard.py", "socket"), ("web/serve.py", "socket")}
# The one room that talks to another machine. Nothing imports psycopg before a command of the team archive runs.
TEAM = "team/"


def test_no_module_knows_how_to_connect() -> None:
    found = set()
    for path in [*(ROOT / "sessionlog").rglob("*.py"), *HANDLERS.glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            found |= {
                (str(path.relative_to(ROOT)).removeprefix("sessionlog/"), name) for name in names if name in NETWORK
            }
    assert {(path, name) for path, name in found - ALLOWED if name != "psycopg" or not path.startswith(TEAM)} == set()
