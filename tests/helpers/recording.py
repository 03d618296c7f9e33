"""Events put straight into an archive, for tests of those who read it."""

from __future__ import annotations

import os
from contextlib import closing
from typing import Any

from sessionlog.archive import append
from sessionlog.archive import place as projects
from sessionlog.archive.event import normalise

START_MS = 1_763_257_274_000  # 2025-11-16T01:41:14Z


def record(
    place: projects.Place, payloads: list[dict[str, Any]], start_ms: int = START_MS, step_ms: int = 1000
) -> None:
    """One event after the other, a second apart."""
    with closing(append.open_for_writing(place)) as connection:
        for number, payload in enumerate(payloads):
            at_ms = start_ms + number * step_ms
            append.append(connection, normalise(payload, at_ms=at_ms, via="test"), at_ms)


# What would do something in a terminal, in Markdown or in a browser if anybody let it.
ATTACKS = [
    "<script>document.title='pwned'</script>",
    "<img src=x onerror=\"document.title='pwned'\">",
    "</script></style></pre></code></details></article><script>document.title='pwned'</script>",
    "<svg onload=\"document.title='pwned'\"><a xlink:href=\"javascript:document.title='pwned'\">x</a></svg>",
    "<iframe src=\"javascript:parent.document.title='pwned'\"></iframe>",
    "```\n````\n`````\n</details>\n<b id=pwned>out</b>\n",
    "`<b id=pwned>`` <b id=pwned>",
    "\\`<b id=pwned>\\` \\\\`<b id=pwned>",
    "~~~\n<b id=pwned>\n~~~\n",
    "[click](javascript:document.title='pwned') ![pixel](https://evil.example/p.png) <https://a.example/\"onclick=\"x>",
    "[a]: javascript:alert(1)\n\n[a] [b](data:text/html,<script>1</script>) [c](  JaVaScRiPt:alert(1))",
    "\x1b[31mred\x1b]0;title\x07 \x9b2J \x08\r",
    "\u202egnp.exe\u2066 \u200f",
    "@octocat #123 GH-7 $x^2$ &lt;b&gt; &#60;b id=pwned&#62;",
    "# no heading\n- no list\n1. no list\n=====\n---\n| no | table |\n|---|---|\n> no quote\n    no code\n***\n+ x",
    "]]> --> <!-- <![CDATA[ ' onmouseover='x' \" onmouseover=\"x\"",
    "\ud800 half a pair \0 and a NUL",
]


def hostile_session(session_id: str = "hostile") -> list[dict[str, Any]]:
    """Every attack in every place of a session where a text can stand."""
    events: list[dict[str, Any]] = []
    for number, evil in enumerate(ATTACKS):
        base = {"session_id": session_id, "cwd": evil, "agent_type": evil}
        call = {**base, "tool_use_id": f"toolu_{number}", "duration_ms": 5}
        texts = {"file_path": evil, "old_string": evil, "new_string": f"{evil}!"}
        patch = [{"oldStart": evil, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": [f"+{evil}", evil]}]
        events += [
            {**base, "hook_event_name": "UserPromptSubmit", "prompt": evil},
            {**base, "hook_event_name": "SessionStart", "source": evil, "model": evil},
            {
                **call,
                "hook_event_name": "PostToolUse",
                "tool_name": evil,
                "tool_input": {evil: evil},
                "tool_response": evil,
            },
            {
                **call,
                "hook_event_name": "PostToolUse",
                "tool_name": "Edit",
                "tool_input": texts,
                "tool_use_id": f"e{number}",
            },
            {
                **call,
                "hook_event_name": "PostToolUse",
                "tool_name": "Write",
                "tool_use_id": f"w{number}",
                "tool_input": {"file_path": evil, "content": evil},
                "tool_response": {"structuredPatch": patch},
            },
            {
                **call,
                "hook_event_name": "PostToolUseFailure",
                "tool_name": "Bash",
                "tool_use_id": f"b{number}",
                "tool_input": {"command": evil, "description": evil},
                "error": f"Exit code {evil}\n{evil}",
            },
            {
                **base,
                "hook_event_name": "PermissionDenied",
                "tool_name": evil,
                "tool_input": {"command": evil},
                "reason": evil,
            },
            {**base, "hook_event_name": "SubagentStart", "agent_id": evil},
            {**base, "hook_event_name": "SubagentStop", "agent_id": evil, "last_assistant_message": evil},
            {**base, "hook_event_name": "Notification", "message": evil, "notification_type": evil},
            {**base, "hook_event_name": "PreCompact", "trigger": evil, "custom_instructions": evil},
            {**base, "hook_event_name": evil, "message": evil},
            {**base, "hook_event_name": "StopFailure", "error": evil},
            {**base, "hook_event_name": "Stop", "last_assistant_message": evil},
            {**base, "hook_event_name": "SessionEnd", "reason": evil},
        ]
    return events


def use_archive(home: Any, monkeypatch: Any) -> None:
    """From now on, archives are below this folder."""
    monkeypatch.setenv("SESSIONLOG_HOME", os.fspath(home))
