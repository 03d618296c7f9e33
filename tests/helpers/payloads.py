"""The examples of the specification documents, in both shapes, as payloads."""

from __future__ import annotations

from typing import Any

NESTED: list[dict[str, Any]] = [
    {"event": "UserPromptSubmit", "data": {"prompt": "请帮我创建一个React按钮组件", "session_id": "sess_abc123"}},
    {
        "event": "PostToolUse",
        "data": {
            "tool": "Edit",
            "tool_input": {
                "file_path": "/Users/user/project/src/index.js",
                "old_string": "const x = 1;",
                "new_string": "const x = 2;",
            },
            "tool_result": "Successfully edited file",
            "session_id": "sess_abc123",
        },
    },
    {
        "event": "PostToolUse",
        "data": {
            "tool": "Write",
            "tool_input": {"file_path": "/Users/user/project/a.txt", "content": "你好\n"},
            "tool_result": {"ok": True},
            "session_id": "sess_abc123",
        },
    },
    {
        "event": "PostToolUse",
        "data": {
            "tool": "Bash",
            "tool_input": {"command": "ls -la", "description": "List the files"},
            "tool_result": ["a", 1, None],
            "session_id": "sess_abc123",
        },
    },
]

COMMON = {
    "session_id": "abc123",
    "transcript_path": "/Users/user/.claude/projects/project-name/00893aaf-19fa-41d2-8238-13269b9b3ca0.jsonl",
    "cwd": "/Users/user/project",
    "permission_mode": "default",
}
QUESTION = {"questions": [{"question": "Which one?", "header": "Choice", "options": [], "multiSelect": False}]}

# One payload for each of the 14 events, with the fields that the specification names.
FLAT: list[dict[str, Any]] = [
    {**COMMON, "hook_event_name": "SessionStart", "source": "startup", "model": "claude-x", "agent_type": "main"},
    {**COMMON, "hook_event_name": "UserPromptSubmit", "prompt": "Fix the login"},
    {
        **COMMON,
        "hook_event_name": "PreToolUse",
        "tool_name": "AskUserQuestion",
        "tool_input": QUESTION,
        "tool_use_id": "toolu_01ABC123",
    },
    {
        **COMMON,
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "npm test", "description": "Run", "timeout": 1000, "run_in_background": False},
        "tool_use_id": "toolu_02",
    },
    {
        **COMMON,
        "hook_event_name": "PermissionRequest",
        "tool_name": "Write",
        "tool_input": {"file_path": "/p/a", "content": ""},
        "permission_suggestions": [{"type": "setMode"}],
    },
    {
        **COMMON,
        "hook_event_name": "PostToolUse",
        "tool_name": "Edit",
        "tool_input": {"file_path": "/p/a", "old_string": "a", "new_string": "b", "replace_all": True},
        "tool_response": {"filePath": "/p/a"},
        "tool_use_id": "toolu_03",
    },
    {
        **COMMON,
        "hook_event_name": "PostToolUseFailure",
        "tool_name": "Bash",
        "tool_input": {"command": "false"},
        "tool_use_id": "toolu_04",
        "error": "Exit code 1",
        "is_interrupt": False,
    },
    {**COMMON, "hook_event_name": "Notification", "message": "hi", "title": "t", "notification_type": "idle_prompt"},
    {**COMMON, "hook_event_name": "SubagentStart", "agent_id": "a1", "agent_type": "Explore"},
    {
        **COMMON,
        "hook_event_name": "SubagentStop",
        "stop_hook_active": False,
        "agent_id": "a1",
        "agent_type": "Explore",
        "agent_transcript_path": "/t/agent-a1.jsonl",
    },
    {**COMMON, "hook_event_name": "Stop", "stop_hook_active": True},
    {**COMMON, "hook_event_name": "TeammateIdle", "teammate_name": "bob", "team_name": "blue"},
    {**COMMON, "hook_event_name": "TaskCompleted", "task_id": "1", "task_subject": "s", "team_name": "blue"},
    {**COMMON, "hook_event_name": "PreCompact", "trigger": "manual", "custom_instructions": "keep it short"},
    {**COMMON, "hook_event_name": "SessionEnd", "reason": "logout"},
    # The supervisor's contract: the old Stop-only input, and its PreToolUse.
    {"session_id": "test-001", "stop_hook_active": False},
    {"session_id": "test-007"},
    {
        "session_id": "test-003",
        "hook_event_name": "PreToolUse",
        "tool_name": "AskUserQuestion",
        "tool_input": QUESTION,
        "tool_use_id": "toolu_001",
    },
]
