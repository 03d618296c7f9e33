"""An agent is added by adding a folder: no module outside of it has to know its name."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from sessionlog.agents import registry
from tests.conftest import ROOT

# Where a name is written outside of the agents' folders, and why.
ALLOWED = {
    ("record/hook.py", "copilot"),  # Copilot runs Claude Code's hooks as they are: only the environment tells it apart
    ("ask/provenance/notes.py", "gemini"),  # models, not agents
    ("ask/provenance/notes.py", "qwen"),
}

HOOK_TABLE = """
EVENTS = {"said": "UserPromptSubmit", "ran": "PostToolUse", "thought": None}
FIELDS = {"conversation": "session_id", "words": "prompt", "tool": "tool_name", "arguments": "tool_input"}
TOOLS = {"terminal": "Bash"}
INPUTS = {"line": "command"}
MODES = {}
UNPAIRED = True
PROJECT_VARIABLE = ""
LOCK_WAIT = {}


def adjust(translation):
    return True
"""
SETTINGS = """
from sessionlog.archive.place import user_home

TITLE, PROGRAM = "Sixth Agent", "sixth-agent"
EVENTS = ("said", "ran")
NOT_RECORDED = ("thought",)
TIMEOUT, TIMEOUTS, MATCHERS, NOTICE = 10, {}, {}, ""


def folder():
    return f"{user_home()}/.sixth"


def file():
    return f"{folder()}/settings.json"
"""
TRANSCRIPTS = """
from sessionlog.agents.claude_code.transcript_files import MAIN, Source
from sessionlog.agents.entries import TranslatedReader
from sessionlog.archive.place import user_home


def base():
    return f"{user_home()}/.sixth/talks"


def classify(path):
    *_, folder, name = path.split("/")
    if folder != "talks" or not name.endswith(".jsonl"):
        return None
    return Source(path, MAIN, path.rpartition("/")[0], name[:-6], None, "sixth-agent", name)


def working_directory(source):
    return "/home/dev/shop"


class Reader(TranslatedReader):
    client = "sixth-agent"

    def entries(self, line):
        yield self.message("assistant", line["id"], line["at"], line["answer"])
"""


def test_no_shared_module_names_an_agent() -> None:
    package, names = ROOT / "sessionlog", set(registry.others())
    own = {package / "agents" / name.replace("-", "_") for name in names}
    found = set()
    for path in package.rglob("*.py"):
        if path.parent not in own:
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in names:
                    found.add((path.relative_to(package).as_posix(), node.value))
    assert found == ALLOWED
    assert names > {name for _, name in ALLOWED}


def test_a_folder_is_all_that_a_new_agent_needs(home: Path, tmp_path: Path) -> None:
    """Installed, recorded, imported, listed and filtered, in a copy of the package."""
    copy = tmp_path / "copy"
    shutil.copytree(ROOT / "sessionlog", copy / "sessionlog")
    shutil.copytree(ROOT / "hooks", copy / "hooks")
    folder = copy / "sessionlog" / "agents" / "sixth_agent"
    folder.mkdir()
    for name, text in (("hook_table", HOOK_TABLE), ("settings", SETTINGS), ("transcripts", TRANSCRIPTS)):
        (folder / f"{name}.py").write_text(text)
    (folder / "__init__.py").write_text("")
    environment = {**os.environ, "PYTHONPATH": str(copy), "CLAUDE_PROJECT_DIR": ""}

    def run(*arguments: str) -> str:
        command = [sys.executable, "-m", "sessionlog", *arguments]
        done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("install", "--agent", "sixth-agent", "--yes")
    hooks = json.loads((home / ".sixth/settings.json").read_text())["hooks"]
    common = {"conversation": "talk1", "cwd": "/home/dev/shop"}
    for event, more in (
        ("said", {"words": "Build it"}),
        ("ran", {"tool": "terminal", "arguments": {"line": "make"}, "tool_response": {"stdout": "done"}}),
    ):
        command = hooks[event][0]["hooks"][0]["command"]
        subprocess.run(command, shell=True, input=json.dumps({**common, **more}).encode(), env=environment, check=True)
    (home / ".sixth/talks").mkdir()
    answer = {"id": "m1", "at": "2026-11-16T10:00:00.000Z", "answer": "It is built"}
    (home / ".sixth/talks/talk1.jsonl").write_text(json.dumps(answer) + "\n")
    run("import")
    (row,) = json.loads(run("sessions", "--client", "sixth-agent", "--project", "/home/dev/shop", "--json"))
    assert (row["session_id"], row["prompts"], row["tool_calls"], row["messages"]) == ("talk1", 1, 1, 1)
    shown = run("show", "last", "--client", "sixth-agent", "--project", "/home/dev/shop")
    assert "by sixth-agent" in shown and "Build it" in shown and "make" in shown and "It is built" in shown
    run("uninstall", "--agent", "sixth-agent", "--yes")
    assert not (home / ".sixth/settings.json").exists()
