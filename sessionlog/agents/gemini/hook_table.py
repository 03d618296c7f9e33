"""The events of Gemini CLI: an envelope as Claude Code's, with other names in it, and no ids of tool calls."""

from sessionlog.agents.translate import labelled_output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sessionlog.archive.translation import Translation

EVENTS: "dict[str, str | None]" = {
    "BeforeAgent": "UserPromptSubmit",
    "AfterAgent": "Stop",
    "BeforeTool": "PreToolUse",
    "AfterTool": "PostToolUse",
    "PreCompress": "PreCompact",
    # The whole conversation, before and after each answer of the model, some for every piece of it.
    "BeforeModel": None,
    "AfterModel": None,
    "BeforeToolSelection": None,
}
FIELDS = {"prompt_response": "last_assistant_message"}
TOOLS = {
    "run_shell_command": "Bash",
    "read_file": "Read",
    "read_many_files": "Read",
    "list_directory": "LS",
    "glob": "Glob",
    "grep_search": "Grep",
    "search_file_content": "Grep",
    "replace": "Edit",
    "write_file": "Write",
    "web_fetch": "WebFetch",
    "google_web_search": "WebSearch",
    "invoke_agent": "Agent",
    "ask_user": "AskUserQuestion",
    "exit_plan_mode": "ExitPlanMode",
}
INPUTS = {"absolute_path": "file_path", "agent_name": "subagent_type"}
MODES: "dict[str, str]" = {}
UNPAIRED = True
PROJECT_VARIABLE = "GEMINI_PROJECT_DIR"
LOCK_WAIT: "dict[str, float]" = {}


def adjust(translation: "Translation") -> bool:
    """What the table does not say."""
    event = translation.get("hook_event_name")
    if event == "PreCompact" and translation.get("trigger") == "auto":
        return False  # before every answer of the model, though nothing is compressed
    if event == "Stop":
        translation.move("prompt", "answered_prompt")  # or it would count as another one
    if event == "PostToolUse":
        message = translation.get("tool_response.error.message")
        if isinstance(message, str):
            translation.put("hook_event_name", "PostToolUseFailure")
            translation.move("tool_response.error.message", "error")
        elif translation.get("tool_name") == "Bash":
            labelled_output(translation, "tool_response.llmContent")
        translation.move("tool_response.llmContent", "tool_response.content")
    if event == "Notification" and translation.get("notification_type") == "ToolPermission":
        translation.put("hook_event_name", "PermissionRequest")
        name = translation.get("details.rootCommand") and "Bash"
        if name and not translation.has("tool_name"):
            translation.put("tool_name", name)
            translation.move("details.command", "tool_input.command")
        elif isinstance(translation.get("details.filePath"), str):
            translation.move("details.filePath", "tool_input.file_path")
            translation.put("tool_name", "Edit")
    return True
