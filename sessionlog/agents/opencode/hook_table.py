"""The events of opencode, as our plugin (plugin.js) hands them on: the hooks and bus events of its plugins."""

from sessionlog.agents.translate import end_of_command, patch_as_edits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sessionlog.archive.translation import Translation

EVENTS: "dict[str, str | None]" = {
    "session.created": "SessionStart",
    "session.idle": "Stop",
    "session.error": "StopFailure",
    "session.compacted": "PostCompact",
    "chat.message": "UserPromptSubmit",
    "tool.execute.before": "PreToolUse",
    "tool.execute.after": "PostToolUse",
    "message.part.updated": "PostToolUseFailure",  # the plugin hands on those of tools that failed
    "permission.asked": "PermissionRequest",
    "permission.replied": "PermissionReplied",
    "chat.params": None,  # it has the provider's API key in clear
}
FIELDS = {
    "input.sessionID": "session_id",
    "properties.sessionID": "session_id",
    "input.tool": "tool_name",
    "input.callID": "tool_use_id",
    "output.args": "tool_input",
    "input.args": "tool_input",
    "output.output": "tool_response.content",
    "properties.part.tool": "tool_name",
    "properties.part.callID": "tool_use_id",
    "properties.part.state.input": "tool_input",
    "properties.part.state.error": "error",
    "properties.permission": "tool_name",
    "properties.tool.callID": "tool_use_id",
    "properties.metadata": "tool_input",
}
TOOLS = {
    "bash": "Bash",
    "read": "Read",
    "grep": "Grep",
    "glob": "Glob",
    "list": "LS",
    "edit": "Edit",
    "write": "Write",
    "webfetch": "WebFetch",
    "websearch": "WebSearch",
    "task": "Agent",
    "question": "AskUserQuestion",
    "plan_exit": "ExitPlanMode",
}
INPUTS = {
    "filePath": "file_path",
    "filepath": "file_path",
    "oldString": "old_string",
    "newString": "new_string",
    "replaceAll": "replace_all",
}
MODES: "dict[str, str]" = {}
UNPAIRED = False
PROJECT_VARIABLE = ""
LOCK_WAIT: "dict[str, float]" = {}


def adjust(translation: "Translation") -> bool:
    """What the table does not say."""
    event = translation.get("hook_event_name")
    parent = translation.get("parent_session_id")
    if parent:  # a sub-agent is a session of its own
        translation.move("session_id", "agent_id")
        translation.move("parent_session_id", "session_id")
        event = {"SessionStart": "SubagentStart", "Stop": "SubagentStop", "UserPromptSubmit": "SubagentPrompt"}.get(
            event, event
        )
        translation.put("hook_event_name", event)
        translation.move("properties.info.agent", "agent_type")
    if event == "SessionStart":
        translation.put("source", "startup")
    elif event in ("UserPromptSubmit", "SubagentPrompt"):
        translation.move("output.message.id", "prompt_id")
        parts = translation.get("output.parts")
        texts = [part["text"] for part in parts if part.get("type") == "text" and not part.get("synthetic")]
        translation.put("prompt", "\n".join(texts))
        if event == "UserPromptSubmit" and not translation.get("prompt"):
            return False
    elif event == "PostToolUse" and translation.get("tool_name") == "Bash":
        text, code = translation.get("tool_response.content"), translation.get("output.metadata.exit")
        if isinstance(text, str) and isinstance(code, int):
            end_of_command(translation, "tool_response.content", 0, len(text), code)
    elif event == "StopFailure":
        translation.move("properties.error.data.message", "error")
    elif event == "PermissionReplied" and translation.get("properties.reply") == "reject":
        translation.put("hook_event_name", "PermissionDenied")
    if translation.get("tool_name") in ("apply_patch", "patch"):
        patch_as_edits(translation, "patchText")
    return True
