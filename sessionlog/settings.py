"""What the user chose in `<home>/config.json`. A file that cannot be read chooses nothing; `doctor` tells of it."""

from sessionlog.lean import parse_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _section(home: str, name: str) -> "dict[str, Any]":
    try:
        with open(f"{home}/config.json", "rb") as file:
            section = parse_json(file.read().decode())[name]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return section if isinstance(section, dict) else {}


def keeps_transcripts_raw(home: str) -> bool:
    """Whether transcripts are archived with their secrets, every byte as it was."""
    return _section(home, "transcripts").get("raw") is True


def follows_transcripts(home: str) -> bool:
    """Whether the hooks start an importer when there is something new in a transcript."""
    return _section(home, "transcripts").get("follow") is not False


def max_iterations(home: str) -> int | None:
    """After how many reviews the supervisor lets a session go, if the user chose a number."""
    number = _section(home, "supervisor").get("max_iterations")
    return number if type(number) is int and number >= 0 else None
