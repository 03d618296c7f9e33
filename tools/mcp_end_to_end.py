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
import json
import os
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

from scripted_model import CLAUDE_CODE, Claude, blocks, claude_environment, finish, get_claude, run, serving
from scripted_model import sessionlog as run_sessionlog

from sessionlog.archive import append
from sessionlog.archive import place as projects
from sessionlog.archive.event import normalise

PREFIX = "mcp__sessionlog__"
OURS = "toolu_ours"  # how the calls of our tools are named
WAIT = "WaitForMcpServers"  # offered while a server is starting
TOOLS = {"search", "sessions", "session", "around", "why", "failures", "audits", "sql"}
PROMPT = "Round the total"
STEPS: list[tuple[str, dict[str, Any]]] = [
    ("why", {"file": "cart.py", "line": 1}),
    ("search", {"words": "round"}),
]


class Model(Claude):
    """One call after the other, then a word."""

    offered: ClassVar[set[str]] = set()
    answers: ClassVar[list[str]] = []

    def next_block(self, asked: dict[str, Any]) -> dict[str, Any]:
        names = {tool.get("name", "") for tool in asked.get("tools") or []}
        offered = {name.removeprefix(PREFIX) for name in names if name.startswith(PREFIX)}
        results = [
            json.dumps(block.get("content"))
            for block in blocks(asked)
            if str(block.get("tool_use_id")).startswith(OURS)
        ]
        if offered:
            Model.offered, Model.answers = offered, results
            if len(results) < len(STEPS):
                name, inputs = STEPS[len(results)]
                return {"type": "tool_use", "id": f"{OURS}{len(results)}", "name": PREFIX + name, "input": inputs}
        elif WAIT in names and len(asked["messages"]) < 9:
            return {"type": "tool_use", "id": f"toolu_wait{len(asked['messages'])}", "name": WAIT, "input": {}}
        return {"type": "text", "text": "Done."}


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
    environment = claude_environment(
        home,
        url,
        SESSIONLOG_HOME=os.environ["SESSIONLOG_HOME"],
        ENABLE_TOOL_SEARCH="false",  # all tools are offered at once, not looked for
    )

    def claude(*arguments: str) -> str:
        return run([program, *arguments], environment, project)

    def sessionlog(*arguments: str) -> str:
        return run_sessionlog(environment, project, *arguments)

    settings = home / ".claude.json"
    settings.write_text('{"hasCompletedOnboarding": true}\n')
    before = settings.read_bytes()
    installed = sessionlog("install", "--mcp", "--yes")
    registered = settings.read_bytes()
    wrong = [] if registered != before else [f"nothing was registered: {installed}"]
    print(f"  {claude('mcp', 'list').strip()}")
    said = claude("-p", "Why is the first line of cart.py there?", "--allowedTools", f"{PREFIX}*")
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
    program = get_claude(parser.parse_args().folder.resolve())
    with tempfile.TemporaryDirectory(prefix="sessionlog-mcp-", ignore_cleanup_errors=True) as scratch:
        home, project = Path(scratch) / "home", Path(scratch) / "shop"
        home.mkdir()
        project.mkdir()
        os.environ["SESSIONLOG_HOME"] = str(Path(scratch) / "archives")
        record(project)
        with serving(Model) as url:
            wrong = check(program, home, project, url)
    finish(CLAUDE_CODE, wrong)


if __name__ == "__main__":
    main()
