"""The events of Qwen Code: Claude Code's events and envelope, Gemini CLI's tools and results."""

from sessionlog.agents.translate import labelled_output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sessionlog.archive.translation import Translation

EVENTS: "dict[str, str | None]" = {
    "PostToolBatch": None,  # repeats what PostToolUse said
}
FIELDS = {"tool_use_id": "hook_tool_use_id", "tool_call_id": "tool_use_id"}  # its own is made up, this is the model's
TOOLS = {
    "run_shell_command": "Bash",
    "read_file": "Read",
    "read_many_files": "Read",
    "list_directory": "LS",
    "glob": "Glob",
    "grep_search": "Grep",
    "edit": "Edit",
    "write_file": "Write",
    "notebook_edit": "NotebookEdit",
    "web_fetch": "WebFetch",
    "web_search": "WebSearch",
    "agent": "Agent",
    "task": "Agent",
    "ask_user_question": "AskUserQuestion",
    "exit_plan_mode": "ExitPlanMode",
}
INPUTS = {"absolute_path": "file_path"}
MODES = {"yolo": "bypassPermissions", "auto_edit": "acceptEdits", "auto-edit": "acceptEdits"}
UNPAIRED = False
PROJECT_VARIABLE = "QWEN_PROJECT_DIR"
LOCK_WAIT: "dict[str, float]" = {}


def adjust(translation: "Translation") -> bool:
    """What the table does not say."""
    event = translation.get("hook_event_name")
    if event == "UserPromptSubmit" and not translation.get("prompt"):
        return False  # in headless mode, after every result of a tool
    if event == "MessageDisplay":
        return translation.get("is_final") is True
    is_command = translation.get("tool_name") == "Bash"
    if event == "PostToolUse":
        if is_command:
            labelled_output(translation, "tool_response.llmContent")
        translation.move("tool_response.llmContent", "tool_response.content")
    elif event == "PostToolUseFailure" and is_command:
        labelled_output(translation, "error")
    return True
