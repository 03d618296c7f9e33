"""The events of Codex CLI: Claude Code's names, but for a few."""

from sessionlog.agents.translate import number_after, patch_as_edits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sessionlog.archive.translation import Translation

EVENTS: "dict[str, str | None]" = {}
FIELDS = {"turn_id": "prompt_id"}
TOOLS = {
    "exec_command": "Bash",
    "shell": "Bash",
    "collaborationspawn_agent": "Agent",  # the name of the tool's namespace is glued on
    "spawn_agent": "Agent",
    "request_user_input": "AskUserQuestion",
    "web_search": "WebSearch",
}
INPUTS: "dict[str, str]" = {}
MODES: "dict[str, str]" = {}
UNPAIRED = False
PROJECT_VARIABLE = ""
# Codex gives SessionEnd one second unless a hook asks for more, and never more than three.
LOCK_WAIT = {"SessionEnd": 0.3}


def adjust(translation: "Translation") -> bool:
    """What the table does not say."""
    if translation.get("tool_name") == "apply_patch":
        patch_as_edits(translation, "command")
        response = translation.get("tool_response")
        if isinstance(response, str) and response.startswith("Exit code: ") and number_after(response, "Exit code: "):
            translation.put("hook_event_name", "PostToolUseFailure")
            translation.move("tool_response", "error")
    elif translation.get("tool_name") == "Bash" and isinstance(translation.get("tool_response"), str):
        translation.wrap("tool_response", "stdout")  # the exit code is in the transcript alone
        translation.put("tool_response.stderr", "")
    elif translation.get("tool_name") == "Agent":
        translation.move("tool_input.message", "tool_input.prompt")
        translation.move("tool_input.task_name", "tool_input.description")
    return True
