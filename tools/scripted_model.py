"""What the end-to-end scripts share: real agents from npm, and a small server here that plays the model."""

from __future__ import annotations

import http.server
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sessionlog.agents.claude_code.events import CLIENT_VERSION

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 300  # seconds for one run of a client
CLAUDE_CODE = f"@anthropic-ai/claude-code@{'.'.join(map(str, CLIENT_VERSION))}"


def get(folder: Path, package: str) -> Path:
    """Install a package, once; returns the folder of what it brought. Scripts of packages are not run."""
    place = folder / package.rpartition("@")[0].rpartition("/")[2]
    if not (place / "node_modules").is_dir():
        place.mkdir(parents=True, exist_ok=True)
        npm = [shutil.which("npm") or "npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", package]
        subprocess.run(npm, cwd=place, check=True, stdout=subprocess.DEVNULL)  # noqa: S603
    return place / "node_modules"


def get_claude(folder: Path) -> str:
    """Install Claude Code, once; returns its program."""
    return str(get(folder, CLAUDE_CODE) / "@anthropic-ai" / "claude-code-linux-x64" / "claude")


def claude_environment(home: Path, url: str, **more: str) -> dict[str, str]:
    """Where Claude Code lives in this home directory and asks nobody but the model at this address."""
    return {
        "HOME": str(home),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "x",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "NO_PROXY": "127.0.0.1,localhost",
        "TERM": "dumb",
        **more,
    }


def run(command: list[str], environment: dict[str, str], folder: Path) -> str:
    """What a command prints."""
    done = subprocess.run(  # noqa: S603
        command,
        env=environment,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return done.stdout + done.stderr


def sessionlog(environment: dict[str, str], folder: Path, *arguments: str) -> str:
    """What a command of this working copy prints."""
    command = [sys.executable, "-m", "sessionlog", *arguments]
    return run(command, {**environment, "PYTHONPATH": str(ROOT)}, folder)


@contextmanager
def serving(model: type[Scripted]) -> Iterator[str]:
    """The address of a running model."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()


class Scripted(http.server.BaseHTTPRequestHandler):
    """A server that answers requests of agents; what it says is up to the script."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self.send({"object": "list", "data": [{"id": "local-model", "object": "model"}]})

    def do_HEAD(self) -> None:
        self.send({})

    def body(self) -> dict[str, Any]:
        """What was asked."""
        if self.headers.get("transfer-encoding") != "chunked":
            data = self.rfile.read(int(self.headers.get("content-length") or 0))
        else:
            data = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        found: dict[str, Any] = json.loads(data or b"{}")
        return found

    def send(self, value: Any, kind: str = "application/json") -> None:
        """Answer with bytes, or with a value as JSON."""
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def stream(self, pieces: list[Any], named: bool = False) -> None:
        """Answer with events, as models that stream do."""
        lines = [f"event: {piece['type']}\n" if named else "" for piece in pieces]
        said = [piece if isinstance(piece, str) else json.dumps(piece) for piece in pieces]
        text = "".join(f"{line}data: {data}\n\n" for line, data in zip(lines, said, strict=True))
        self.send(text.encode(), "text/event-stream")


class Claude(Scripted):
    """Speaks Anthropic's Messages."""

    def next_block(self, asked: dict[str, Any]) -> dict[str, Any]:
        """What the model says to this: one block of text, or a call of a tool."""
        raise NotImplementedError

    def do_POST(self) -> None:
        asked = self.body()
        if self.path.partition("?")[0].endswith("/messages"):
            self._answer(asked, self.next_block(asked))
        else:
            self.send({"input_tokens": 100})

    def _answer(self, asked: dict[str, Any], block: dict[str, Any]) -> None:
        reason = "tool_use" if block["type"] == "tool_use" else "end_turn"
        counts = {"input_tokens": 100, "output_tokens": 10}
        message: dict[str, Any] = {"id": f"msg_{os.urandom(4).hex()}", "type": "message", "role": "assistant"}
        message |= {"usage": counts, "model": asked.get("model"), "stop_sequence": None}
        if not asked.get("stream"):
            self.send({**message, "content": [block], "stop_reason": reason})
            return
        start: dict[str, Any] = {**block, "input": {}}
        if block["type"] == "text":
            start, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        self.stream(
            [
                {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
                {"type": "content_block_start", "index": 0, "content_block": start},
                {"type": "content_block_delta", "index": 0, "delta": delta},
                {"type": "content_block_stop", "index": 0},
                {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": counts},
                {"type": "message_stop"},
            ],
            named=True,
        )


def blocks(asked: dict[str, Any]) -> list[dict[str, Any]]:
    """All parts of all messages of a request."""
    return [
        block
        for message in asked["messages"]
        for block in (
            message["content"]
            if isinstance(message["content"], list)
            else [{"type": "text", "text": message["content"]}]
        )
    ]


def finish(name: str, wrong: list[str]) -> None:
    """Say what is wrong, and end."""
    print(f"{name}: {'ok' if not wrong else 'FAILED'}")
    for line in wrong:
        print(f"    {line}")
    sys.exit(bool(wrong))
