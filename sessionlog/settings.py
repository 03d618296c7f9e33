"""What the user chose in `<home>/config.json`. A file that cannot be read chooses nothing; `doctor` tells of it."""

from sessionlog.lean import parse_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _transcripts(home: str) -> "dict[str, Any]":
    try:
        with open(f"{home}/config.json", "rb") as file:
            section = parse_json(file.read().decode())["transcripts"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return section if isinstance(section, dict) else {}


def keeps_transcripts_raw(home: str) -> bool:
    """Whether transcripts are archived with their secrets, every byte as it was."""
    return _transcripts(home).get("raw") is True


def follows_transcripts(home: str) -> bool:
    """Whether the hooks start an importer when there is something new in a transcript."""
    return _transcripts(home).get("follow") is not False
