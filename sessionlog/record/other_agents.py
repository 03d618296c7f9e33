"""Records an event of an agent that is not Claude Code: translated by the agent's table, then as any other."""

from sessionlog.agents import translate
from sessionlog.archive import append
from sessionlog.archive import place as projects
from sessionlog.record import hook

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def record(payload: "dict[str, Any]", at_ms: int, event: str | None, via: str, client: str) -> tuple[int, str]:
    """Keep the event; returns the exit code, and what to report."""
    translation = translate.translate(client, payload, event)
    if translation is None:
        return 0, ""
    table = translate.table(client)
    cwd = hook.working_directory(payload)
    if table.PROJECT_VARIABLE:
        place = projects.place(projects.of_environment(cwd, hook.enter, table.PROJECT_VARIABLE))
    else:
        place = projects.place(projects.of_folder(cwd, hook.enter))
    name = payload.get("hook_event_name") or event
    wait = table.LOCK_WAIT.get(name, append.LOCK_WAIT)
    message = hook.store(place, (at_ms, via, event, None, payload, translation.envelope), wait)
    if name in hook.FOLLOWED:
        from sessionlog.record import spawn_import

        path = payload.get("agent_transcript_path") or payload.get("transcript_path")
        spawn_import.start(place, payload.get("agent_id") or payload.get("session_id"), path, client)
    return 0, message
