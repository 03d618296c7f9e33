"""Lets the real Claude Code list and call the tools of `sessionlog mcp`. Not a part of the test suite.

    python tools/mcp_end_to_end.py FOLDER

installs the pinned version from npm into FOLDER (once), registers the server with `sessionlog install --mcp` in a home
directory of its own, runs the client against a scripted model that calls two of the tools, checks which ones the
client offers to the model and what they answer, and compares the settings file to the byte after
`sessionlog uninstall`.
Nothing leaves this machine but the installation: the model is a small server here.
"""

from __future__ import annotations

import argparse
import http.server
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

from sessionlog.agents.claude_code.events import CLIENT_VERSION
from sessionlog.archive import append
from sessionlog.archive import place as projects
from sessionlog.archive.event import normalise

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = f"@anthropic-ai/claude-code@{'.'.join(map(str, CLIENT_VERSION))}"
PATIENCE = 300  # seconds for one run
PREFIX = "mcp__sessionlog__"
OURS = "toolu_ours"  # how the calls of our tools are named
WAIT = "WaitForMcpServers"  # offered while a server is starting
TOOLS = {"search", "sessions", "session", "around", "why", "failures", "audits", "sql"}
PROMPT = "Round the total"
STEPS: list[tuple[str, dict[str, Any]]] = [
    ("why", {"file": "cart.py", "line": 1}),
    ("search", {"words": "round"}),
]


class Model(http.server.BaseHTTPRequestHandler):
    """Speaks Anthropic's Messages: one call after the other, then a word."""

    protocol_version = "HTTP/1.1"
    offered: ClassVar[set[str]] = set()
    answers: ClassVar[list[str]] = []

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._send({"data": []})

    def do_HEAD(self) -> None:
        self._send({})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        if not self.path.partition("?")[0].endswith("/messages"):
            self._send({"input_tokens": 100})
            return
        names = {tool.get("name", "") for tool in asked.get("tools") or []}
        offered = {name.removeprefix(PREFIX) for name in names if name.startswith(PREFIX)}
        results = [
            json.dumps(block.get("content"))
            for message in asked["messages"]
            for block in (message["content"] if isinstance(message["content"], list) else ())
            if str(block.get("tool_use_id")).startswith(OURS)
        ]
        block: dict[str, Any] = {"type": "text", "text": "Done."}
        if offered:
            Model.offered, Model.answers = offered, results
            if len(results) < len(STEPS):
                name, inputs = STEPS[len(results)]
                block = {"type": "tool_use", "id": f"{OURS}{len(results)}", "name": PREFIX + name, "input": inputs}
        elif WAIT in names and len(asked["messages"]) < 9:
            block = {"type": "tool_use", "id": f"toolu_wait{len(asked['messages'])}", "name": WAIT, "input": {}}
        self._answer(asked, block)

    def _answer(self, asked: dict[str, Any], block: dict[str, Any]) -> None:
        reason = "tool_use" if block["type"] == "tool_use" else "end_turn"
        counts = {"input_tokens": 100, "output_tokens": 10}
        message = {"id": f"msg_{os.urandom(4).hex()}", "type": "message", "role": "assistant", "usage": counts}
        message |= {"model": asked.get("model"), "stop_sequence": None}
        if not asked.get("stream"):
            self._send({**message, "content": [block], "stop_reason": reason})
            return
        if block["type"] == "text":
            start, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            start = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        pieces: list[dict[str, Any]] = [
            {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
            {"type": "content_block_start", "index": 0, "content_block": start},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": counts},
            {"type": "message_stop"},
        ]
        text = "".join(f"event: {piece['type']}\ndata: {json.dumps(piece)}\n\n" for piece in pieces)
        self._send(text.encode(), "text/event-stream")

    def _send(self, value: Any, kind: str = "application/json") -> None:
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


def get(folder: Path) -> str:
    """Install the client, once; returns its program. Scripts of packages are not run."""
    place = folder / "claude-code"
    found = f"{place}/node_modules/@anthropic-ai/claude-code-linux-x64/claude"
    if not os.path.exists(found):
        place.mkdir(parents=True, exist_ok=True)
        npm = [shutil.which("npm") or "npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", PACKAGE]
        subprocess.run(npm, cwd=place, check=True, stdout=subprocess.DEVNULL)  # noqa: S603
    return found


def record(project: Path) -> None:
    """A session that wrote the line which the model asks about."""
    line = "total = round(sum(prices), 2)\n"
    (project / "cart.py").write_text(line)
    payloads: list[dict[str, Any]] = [
        {"hook_event_name": "UserPromptSubmit", "prompt": PROMPT},
        {
            "hook_event_name": "PostToolUse",
            "tool_name": "Write",
            "tool_use_id": "toolu_before",
            "tool_input": {"file_path": str(project / "cart.py"), "content": line},
            "tool_response": {"type": "create"},
        },
    ]
    with closing(append.open_for_writing(projects.place(str(project)))) as connection:
        for number, payload in enumerate(payloads):
            at_ms = 1_790_000_000_000 + 1000 * number
            event = {"session_id": "before", "cwd": str(project), **payload}
            append.append(connection, normalise(event, at_ms=at_ms, via="tool"), at_ms)
        connection.commit()


def check(program: str, home: Path, project: Path, url: str) -> list[str]:
    """Everything that is wrong."""
    environment = {
        "HOME": str(home),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "SESSIONLOG_HOME": os.environ["SESSIONLOG_HOME"],
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "x",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "ENABLE_TOOL_SEARCH": "false",  # all tools are offered at once, not looked for
        "NO_PROXY": "127.0.0.1,localhost",
        "TERM": "dumb",
    }

    def run(*command: str, **more: str) -> str:
        done = subprocess.run(  # noqa: S603
            command,
            env={**environment, **more},
            cwd=project,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        return done.stdout + done.stderr

    def sessionlog(*arguments: str) -> str:
        return run(sys.executable, "-m", "sessionlog", *arguments, PYTHONPATH=str(ROOT))

    settings = home / ".claude.json"
    settings.write_text('{"hasCompletedOnboarding": true}\n')
    before = settings.read_bytes()
    installed = sessionlog("install", "--mcp", "--yes")
    registered = settings.read_bytes()
    wrong = [] if registered != before else [f"nothing was registered: {installed}"]
    print(f"  {run(program, 'mcp', 'list').strip()}")
    said = run(program, "-p", "Why is the first line of cart.py there?", "--allowedTools", f"{PREFIX}*")
    print(f"  offered: {', '.join(sorted(Model.offered))}")
    if Model.offered != TOOLS:
        wrong.append(f"offered are {sorted(Model.offered)}: {said[-1500:]}")
    if len(Model.answers) != len(STEPS) or not all(PROMPT in answer for answer in Model.answers):
        wrong.append(f"answers: {Model.answers}")
    settings.write_bytes(registered)  # the client writes to this file, too
    sessionlog("uninstall", "--yes")
    if settings.read_bytes() != before:
        wrong.append("the settings file is not what it was")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the client is, or is to be installed")
    program = get(parser.parse_args().folder.resolve())
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(prefix="sessionlog-mcp-", ignore_cleanup_errors=True) as scratch:
        home, project = Path(scratch) / "home", Path(scratch) / "shop"
        home.mkdir()
        project.mkdir()
        os.environ["SESSIONLOG_HOME"] = str(Path(scratch) / "archives")
        record(project)
        wrong = check(program, home, project, f"http://127.0.0.1:{server.server_port}")
        server.shutdown()
    print(f"{PACKAGE}: {'ok' if not wrong else 'FAILED'}")
    for line in wrong:
        print(f"    {line}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
