"""The tags in which Claude Code wraps what nobody typed: shell and slash commands, their output, notifications."""

from __future__ import annotations

import re
from typing import NamedTuple

# More of a text is not looked through.
READ = 200_000

_NAMES = (
    *("command-name", "command-message", "command-args", "command-contents"),
    *("local-command-stdout", "local-command-stderr", "local-command-caveat"),
    *("bash-input", "bash-stdout", "bash-stderr"),
    *("task-notification", "system-reminder", "tool_use_error", "user-prompt-submit-hook"),
)
# Compiled when a text has a tag: most sessions have none.
_TAG = rf"(?s)<({'|'.join(_NAMES)})>(.*?)</\1>"
_FIELD = r"(?s)<([a-z][a-z-]{0,40})>(.*?)</\1>"
_ANY_TAG = r"</?[a-z][a-z_-]{0,40}>"


class Said(NamedTuple):
    """A text without its tags."""

    command: str = ""  # /review src
    shell: str = ""  # what somebody typed after an exclamation mark
    output: str = ""
    error: str = ""
    notification: str = ""  # that a task in the background is done
    result: str = ""  # what the task came to
    reminder: str = ""  # what the client said to the model
    words: str = ""  # the rest

    @property
    def headline(self) -> str:
        """What it is about."""
        texts = (self.command, f"! {self.shell}" if self.shell else "", self.notification, self.words)
        return next((text for text in (*texts, self.output, self.error, self.reminder) if text.strip()), "")


def read(text: str) -> Said:
    """What a text with tags says."""
    if "<" not in text[:READ]:
        return Said(words=text)
    found: dict[str, list[str]] = {}
    for tag in re.finditer(_TAG, text[:READ]):
        found.setdefault(tag[1], []).append(tag[2].strip("\n"))

    def all_of(*names: str) -> str:
        return "\n".join(piece for name in names for piece in found.get(name, ()) if piece.strip())

    rest = re.sub(_TAG, "", text[:READ]).strip() if found else text[:READ]
    name = all_of("command-name").strip()
    command = f"/{name.removeprefix('/')} {all_of('command-args')}".strip() if name else ""
    note = dict(re.findall(_FIELD, all_of("task-notification")))
    return Said(
        command=command,
        shell=all_of("bash-input"),
        output=all_of("bash-stdout", "local-command-stdout"),
        error=all_of("bash-stderr", "local-command-stderr", "tool_use_error"),
        notification=note.get("summary", "").strip() or note.get("status", "").strip(),
        result=note.get("result", "").strip(),
        reminder=all_of("system-reminder", "local-command-caveat", "user-prompt-submit-hook", "command-contents"),
        words=rest + text[READ:],
    )


def without(text: str) -> str:
    """What a text is about, for a line that has little room."""
    headline = read(text).headline
    return re.sub(_ANY_TAG, " ", headline) if "<" in headline else headline


def error(text: str) -> str:
    """The error of a call without the tag around it."""
    start, end = "<tool_use_error>", "</tool_use_error>"
    is_tagged = text[:100].lstrip().startswith(start)  # it may be megabytes: only then it is copied
    return text.strip().removeprefix(start).removesuffix(end) if is_tagged else text
