"""Where Codex CLI reads hooks, and which."""

from sessionlog.archive.place import user_home
from sessionlog.fastlib import getenv

TITLE, PROGRAM = "Codex CLI", "codex"
RESUME = ("resume",)  # and the id of the session
EVENTS = (
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PermissionRequest",
    "PostToolUse",
    "PreCompact",
    "PostCompact",
    "SubagentStart",
    "SubagentStop",
    "Stop",
    "SessionEnd",
)
NOT_RECORDED: tuple[str, ...] = ()
TIMEOUT = 10  # seconds
TIMEOUTS = {"SessionEnd": 3}  # at most; without it, one second
MATCHERS: dict[str, str] = {}
NOTICE = (
    "Codex runs a hook only when you have trusted it. Start `codex`: it shows the new hooks and asks. Until then it "
    "skips them without a word, in `codex exec` too. When an update of sessionlog or Python changes the command, Codex "
    "asks again. sessionlog does not answer in your place."
)


def folder() -> str:
    """Codex's own folder."""
    return getenv("CODEX_HOME") or f"{user_home()}/.codex"


def file() -> str:
    """The hooks of the user."""
    return f"{folder()}/hooks.json"


def trusted(events: list[str]) -> bool | None:
    """Whether the user has trusted the hooks of these events, as far as config.toml tells; None: it cannot be read."""
    from sessionlog.system.files import read_regular

    try:
        text = read_regular(f"{folder()}/config.toml", 1 << 20).decode("utf-8", "replace")
    except OSError:
        return False
    names = ("".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name) for name in events)
    return all(f"/hooks.json:{name.lstrip('_')}:" in text for name in names)
