"""Loggers of hook events to compare with: how each is installed, registered, filled, counted and searched."""

import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench import corpus, hook
from bench.processes import SESSIONLOG
from sessionlog import __version__
from sessionlog.archive import place as projects

# Fills the store through the peer's own library, as processes for ten thousand events would take an hour.
FEED_EYELET = """
import json, sys
from pathlib import Path
from eyelet.services.config_service import ConfigService
from eyelet.services.hook_logger import HookLogger
logger = HookLogger(ConfigService(Path.cwd()), Path.cwd())
for line in open(sys.argv[1], encoding="utf-8"):
    logger.log_hook(json.loads(line))
"""
FEED_REPLAY = """
import json, sys
from claude_replay import hooks
for line in open(sys.argv[1], encoding="utf-8"):
    hooks.handle("post-tool", json.loads(line))
"""
FEED_WITNESS = """
import json, sys
from witness_log.hook import normalize, request
for line in open(sys.argv[1], encoding="utf-8"):
    leaf, payload = normalize(json.loads(line))
    assert request(sys.argv[2], {"op": "append", "leaf": leaf, "payload": payload})["ok"]
"""
FEED_CC_AUDIT = """
import json, sys
from cc_audit import hook
for line in open(sys.argv[1], encoding="utf-8"):
    hook.run(json.loads(line))
"""
FEED_PLAIN = """
import json, os, sqlite3, sys
db = sqlite3.connect(os.environ["PLAIN_DB"])
for line in open(sys.argv[1], encoding="utf-8"):
    payload = json.loads(line)
    db.execute("INSERT INTO events (session_id, event, payload) VALUES (?, ?, ?)",
               (payload["session_id"], payload["hook_event_name"], json.dumps(payload)))
db.commit()
"""
FEED_SHELL = """
import os, sqlite3, sys
db = sqlite3.connect(os.environ["PLAIN_DB"])
db.executemany("INSERT INTO events (payload) VALUES (?)", ([line] for line in open(sys.argv[1], encoding="utf-8")))
db.commit()
"""


@dataclass
class Logger:
    """A logger, ready to be measured."""

    name: str
    version: str
    registered: str  # the command as its own installer registers it
    command: list[str]  # the one that is measured
    env: dict[str, str]
    stored: Callable[[], int]
    store: list[Path]  # the files and folders that it keeps events in
    keeps: str
    more: str
    feed: list[str] | None = None
    search: Callable[[str], list[str]] | None = None
    search_told: str = ""
    event: str = "PostToolUse"
    database: Path | None = None  # what can be locked
    daemon: list[str] = field(default_factory=list)
    running: "subprocess.Popen[bytes] | None" = None

    def form(self, payload: dict[str, Any]) -> bytes:
        """The event as this logger is registered for it, in a project that exists."""
        payload = {**payload, "cwd": self.env["CLAUDE_PROJECT_DIR"], "hook_event_name": self.event}
        if self.event == "PreToolUse":
            del payload["tool_response"], payload["duration_ms"]
        return hook.as_json(payload)

    def begin(self) -> None:
        if self.daemon:
            self.running = subprocess.Popen(
                self.daemon, env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            time.sleep(2)

    def end(self) -> None:
        if self.running:
            self.running.terminate()
            try:
                self.running.wait(10)
            except subprocess.TimeoutExpired:
                self.running.kill()
                self.running.wait()
            self.running = None


# --- The loggers ------------------------------------------------------------------------------------------------------


class NotInstalled(Exception):
    """The package index does not give it to this Python."""


def _rooms(folder: Path) -> dict[str, str]:
    """A home and a project (a git checkout with a commit, as projects are) of a logger's own."""
    home, project = folder / "home", folder / "project"
    home.mkdir(parents=True)
    project.mkdir()
    (project / "README.md").write_text("A shop.\n")
    identity = ["-c", "user.name=dev", "-c", "user.email=dev@example.com"]
    for arguments in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "Begin"]):
        subprocess.run(
            ["git", *arguments], cwd=project, check=True, capture_output=True, env={**os.environ, "HOME": str(home)}
        )
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "TMPDIR": str(home),
        "CLAUDE_PROJECT_DIR": str(project),
    }


def _install(folder: Path, package: str) -> tuple[dict[str, str], Path, str]:
    """The package in a virtual environment of its own: its environment, the folder of its commands, its version."""
    env = _rooms(folder)
    bin_ = folder / "venv" / "bin"
    try:
        subprocess.run([sys.executable, "-m", "venv", bin_.parent], check=True, capture_output=True, timeout=300)
        install = [bin_ / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", package]
        subprocess.run(install, check=True, capture_output=True, timeout=600)
    except (subprocess.SubprocessError, OSError) as error:
        raise NotInstalled(package) from error
    ask = f"from importlib.metadata import version; print(version({package!r}))"
    version = subprocess.run([bin_ / "python", "-c", ask], check=True, capture_output=True, text=True).stdout.strip()
    env["PATH"] = f"{bin_}{os.pathsep}{env['PATH']}"
    return env, bin_, version


def _rows(db: Path, table: str, where: str = "true") -> int:
    with closing(sqlite3.connect(db, timeout=30)) as connection:
        return int(connection.execute(f"SELECT count(*) FROM {table} WHERE {where}").fetchone()[0])


def sessionlog(folder: Path) -> Logger:
    env = _rooms(folder)
    env |= {"SESSIONLOG_HOME": str(folder / "home" / "archives"), "PYTHONPATH": str(hook.ROOT)}
    os.environ["SESSIONLOG_HOME"] = env["SESSIONLOG_HOME"]
    place = projects.place(env["CLAUDE_PROJECT_DIR"])
    return Logger(
        name="sessionlog",
        version=__version__,
        registered="what `sessionlog hook-command` prints (measured: the Python in it, as with the others)",
        command=hook.handler(),
        env=env,
        stored=lambda: corpus.count(place),
        store=[Path(env["SESSIONLOG_HOME"])],
        keeps="every event of every kind, whole, with secrets replaced",
        more="",
        feed=[],
        search=lambda word: [*SESSIONLOG, "search", word, "--wait"],
        search_told="`sessionlog search`",
        database=Path(place.db),
    )


def plain(folder: Path) -> Logger:
    return _plain(
        folder,
        "json + sqlite3",
        [sys.executable, "-c", hook.PLAIN_LOGGER],
        FEED_PLAIN,
        "a script of ten lines, as many write",
    )


def shell(folder: Path) -> Logger:
    if not (shutil.which("sqlite3") and shutil.which("bash")):
        raise NotInstalled("bash and the sqlite3 shell")
    return _plain(
        folder, "bash + sqlite3 shell", ["bash", "-c", hook.SHELL_LOGGER], FEED_SHELL, "a script of three lines"
    )


def _plain(folder: Path, name: str, command: list[str], feed: str, more: str) -> Logger:
    env = _rooms(folder)
    db = folder / "home" / "plain.db"
    env["PLAIN_DB"] = str(db)
    with closing(sqlite3.connect(db)) as connection:
        connection.execute("CREATE TABLE events (id INTEGER PRIMARY KEY, session_id TEXT, event TEXT, payload TEXT)")

    def search(word: str) -> list[str]:
        query = f"SELECT id, substr(payload, 1, 80) FROM events WHERE payload LIKE '%{word}%' ORDER BY id DESC LIMIT 20"
        return ["sqlite3", str(db), query]

    return Logger(
        name=name,
        version="in bench/hook.py",
        registered="the script itself",
        command=command,
        env=env,
        stored=lambda: _rows(db, "events"),
        store=[db],
        keeps="every event, as JSON in one column, with its secrets",
        more=f"nothing; {more}.",
        feed=[sys.executable, "-c", feed],
        search=search if shutil.which("sqlite3") else None,
        search_told="`LIKE` in the `sqlite3` shell",
        database=db,
    )


def eyelet(folder: Path) -> Logger:
    env, bin_, version = _install(folder, "eyelet")
    project, home = Path(env["CLAUDE_PROJECT_DIR"]), Path(env["HOME"])
    program = str(bin_ / "eyelet")
    setting = [program, "configure", "logging", "--format", "sqlite", "--scope", "project"]
    subprocess.run(setting, cwd=project, env=env, check=True, capture_output=True, timeout=60)
    db = project / ".eyelet-logging" / "eyelet.db"

    def stored() -> int:
        fallback = sum(1 for _ in (project / "eyelet-hooks").rglob("*.json"))
        return fallback + (_rows(db, "hooks") if db.exists() else 0)

    return Logger(
        name="eyelet",
        version=version,
        registered="`uvx eyelet execute --log-only` (measured without `uvx`, in its favour) and set to SQLite",
        command=[program, "execute", "--log-only"],
        env=env,
        stored=stored,
        store=[db, home / ".eyelet", project / "eyelet-hooks"],
        keeps="every event, whole, twice (its log and its list of executions), with ANTHROPIC* and CLAUDE* variables",
        more="Templates and workflows that run other hooks, a terminal interface.",
        feed=[str(bin_ / "python"), "-c", FEED_EYELET],
        search=lambda word: [program, "query", "grep", word],
        search_told="`eyelet query grep`",
        database=db,
    )


def claude_replay(folder: Path) -> Logger:
    env, bin_, version = _install(folder, "claude-replay")
    db = Path(env["HOME"]) / ".claude-replay" / "sessions.db"
    program = str(bin_ / "claude-replay")
    return Logger(
        name="claude-replay",
        version=version,
        registered="`claude-replay hook post-tool`",
        command=[program, "hook", "post-tool"],
        env=env,
        stored=lambda: _rows(db, "events", "event_type = 'tool_result'") if db.exists() else 0,
        store=[db.parent],
        keeps="tool calls and stops; 8 KB of each input and result, no prompts",
        more="Checkpoints with the diff of the working tree, a brief to resume a session with, an MCP server.",
        feed=[str(bin_ / "python"), "-c", FEED_REPLAY],
        search=lambda word: [program, "search", word],
        search_told="`claude-replay search`",
        database=db,
    )


def witness_log(folder: Path) -> Logger:
    env, bin_, version = _install(folder, "witness-log")
    journal, address = Path(env["HOME"]) / "journal.jsonl", folder / "s"  # the path of a socket must be short
    where = ["--journal", str(journal), "--socket", str(address)]

    def stored() -> int:
        if not journal.exists():
            return 0
        with open(journal, "rb") as file:
            return sum(b'"leaf_type"' in line for line in file)

    return Logger(
        name="witness-log",
        version=version,
        registered="`witness-log-hook --autostart --journal FILE`",
        command=[str(bin_ / "witness-log-hook"), "--autostart", *where],
        env=env,
        stored=stored,
        store=[journal, Path(f"{journal}.salts")],
        keeps="a salted hash of each tool call, in a journal whose sessions are signed; what was said is not in it",
        more="Outside witnesses can confirm the journal, which proves to others that it was not changed.",
        feed=[str(bin_ / "python"), "-c", FEED_WITNESS, "{events}", str(address)],
        daemon=[str(bin_ / "witness-log-hookd"), *where],
    )


def cc_audit(folder: Path) -> Logger:
    env, bin_, version = _install(folder, "cc-audit")
    logs = Path(env["CLAUDE_PROJECT_DIR"]) / ".cc-audit"

    def stored() -> int:
        return sum(path.read_bytes().count(b"\n") for path in logs.glob("*.jsonl")) if logs.is_dir() else 0

    return Logger(
        name="cc-audit",
        version=version,
        registered="`python -m cc_audit.hook`, for PreToolUse",
        command=[str(bin_ / "python"), "-m", "cc_audit.hook"],
        env=env,
        stored=stored,
        store=[logs],
        keeps="one line a tool call: its name and its file, command or 300 characters; no results, no prompts",
        more="Blocks calls that its policy forbids (secrets, commands), before they happen.",
        feed=[str(bin_ / "python"), "-c", FEED_CC_AUDIT],
        event="PreToolUse",
    )


LOGGERS: dict[str, Callable[[Path], Logger]] = {
    "sessionlog": sessionlog,
    "json + sqlite3": plain,
    "bash + sqlite3 shell": shell,
    "eyelet": eyelet,
    "claude-replay": claude_replay,
    "witness-log": witness_log,
    "cc-audit": cc_audit,
}
LEFT_OUT = {
    "agent-flight-recorder": "records calls of Python functions, not hooks",
    "claude-session-logger": "one row a session at its end, mirrored to a cloud database that it wants an account for",
    "cc-logger": "uploads transcripts to a storage service that it wants an account for",
    "claude-hooks": "a framework to write hooks with, which log to rotating files; it did not install here",
    "cchooks, claude-pyhooks": "frameworks to write hooks with",
    "claudehub-hooks, agentic-audit-hook": "send events to a server that is not in the package",
    "claude-mem (npm)": "a memory that a language model writes from what hooks see, by a worker of its own",
}
