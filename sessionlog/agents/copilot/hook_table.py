"""The events of GitHub Copilot CLI, in both dialects: camelCase, and Claude Code's names with gaps.

Which one it speaks depends on how the event is spelled where it is registered. Copilot also runs hooks that are
registered with Claude Code.
"""

from sessionlog.agents.translate import NO_SIGN, end_of_command, number_after, patch_as_edits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sessionlog.archive.translation import Translation

EVENTS: "dict[str, str | None]" = {
    "sessionStart": "SessionStart",
    "sessionEnd": "SessionEnd",
    "userPromptSubmitted": "UserPromptSubmit",
    "preToolUse": "PreToolUse",
    "postToolUse": "PostToolUse",
    "postToolUseFailure": "PostToolUseFailure",
    "permissionRequest": "PermissionRequest",
    "notification": "Notification",
    "agentStop": "Stop",
    "subagentStart": "SubagentStart",
    "subagentStop": "SubagentStop",
    "preCompact": "PreCompact",
    "errorOccurred": "ErrorOccurred",
}
FIELDS = {
    "hookName": "hook_event_name",
    "sessionId": "session_id",
    "transcriptPath": "transcript_path",
    "toolName": "tool_name",
    "toolArgs": "tool_input",
    "toolInput": "tool_input",
    "toolResult": "tool_response",
    "tool_result": "tool_response",
    "agentId": "agent_id",
    "agentType": "agent_type",
    "parentAgentId": "parent_agent_id",
    "agentName": "agent_name",
    "response": "last_assistant_message",
    "tool_response.textResultForLlm": "tool_response.content",
    "tool_response.text_result_for_llm": "tool_response.content",
}
TOOLS = {
    "bash": "Bash",
    "powershell": "PowerShell",
    "view": "Read",
    "grep": "Grep",
    "glob": "Glob",
    "edit": "Edit",
    "create": "Write",
    "task": "Agent",
    "web_fetch": "WebFetch",
    "web_search": "WebSearch",
    "ask_user": "AskUserQuestion",
}
INPUTS = {"path": "file_path", "old_str": "old_string", "new_str": "new_string", "file_text": "content"}
MODES: "dict[str, str]" = {}
UNPAIRED = True
PROJECT_VARIABLE = "COPILOT_PROJECT_DIR"
LOCK_WAIT: "dict[str, float]" = {}

END_OF_OUTPUT = "<shellId: "


def adjust(translation: "Translation") -> bool:
    """What the table does not say."""
    event = translation.get("hook_event_name")
    parent, agent = translation.get("parent_agent_id"), translation.get("agent_id")
    if parent and agent and translation.get("session_id") == agent:  # a sub-agent speaks as if it were a session
        translation.put("session_id", parent)
        if event in ("UserPromptSubmit", "Stop"):
            event = {"UserPromptSubmit": "SubagentPrompt", "Stop": "SubagentIdle"}[event]
            translation.put("hook_event_name", event)
    if event == "PostToolUse" and translation.get("tool_name") in ("Bash", "PowerShell"):
        text = translation.get("tool_response.content")
        if isinstance(text, str) and (code := number_after(text, " completed with exit code ")) != NO_SIGN:
            end = text.rfind(END_OF_OUTPUT)
            if end >= 0:
                end_of_command(translation, "tool_response.content", 0, end, code)
    elif translation.get("tool_name") == "apply_patch":
        if isinstance(translation.get("tool_input"), str):
            translation.wrap("tool_input", "input")
        patch_as_edits(translation, "input")
    if isinstance(translation.get("error"), dict):
        translation.move("error", "error_details")
        message = translation.get("error_details.message")
        if isinstance(message, str):
            translation.move("error_details.message", "error")
    if event == "ErrorOccurred" and translation.get("recoverable") is False:
        translation.put("hook_event_name", "StopFailure")
    return True
