"""Commands in a real terminal: a pseudo-terminal of a given size, with keys typed into it."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import NamedTuple

from tests.helpers import forking

SESSIONLOG = Path(sys.executable).parent / "sessionlog"
LONGEST = 120.0  # seconds that a command may take on a busy machine


class Seen(NamedTuple):
    """What a terminal showed, and how the command ended."""

    code: int
    text: str


class Terminal:
    """A command that runs in a terminal."""

    def __init__(
        self, *words: str | Path, columns: int = 80, rows: int = 24, forked: bool = False, **environment: str
    ) -> None:
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        inherited = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
        env = {**inherited, "TERM": "xterm-256color", **environment}
        self.child: subprocess.Popen[bytes] | forking.Forked
        if forked:
            options = [str(word) for word in words[1:]]
            self.child = forking.start(options, theirs, theirs, theirs, environment=env, terminal=True)
        else:
            self.child = subprocess.Popen(
                [str(word) for word in words],
                stdin=theirs,
                stdout=theirs,
                stderr=theirs,
                env=env,
                start_new_session=True,
                preexec_fn=_own_terminal,  # noqa: PLW1509 (there are no threads here)
            )
        os.close(theirs)
        self.shown = ""

    def type(self, keys: str) -> None:
        os.write(self.ours, keys.encode())

    def wait_for(self, text: str, seconds: float = LONGEST) -> None:
        """Read until the text is shown."""
        until = time.monotonic() + seconds
        while text not in self.shown:
            if time.monotonic() > until or not self._read(0.2):
                raise AssertionError(f"{text!r} is not in {self.shown!r}")

    def interrupt(self) -> Seen:
        """Ctrl+C. Between a prompt and its answer Python may miss the first one, as people know."""
        until = time.monotonic() + LONGEST
        while self.child.poll() is None and time.monotonic() < until:
            self.type("\x03")
            patience = time.monotonic() + 8
            while self.child.poll() is None and time.monotonic() < patience:
                self._read(0.2)
        return self.end()

    def end(self) -> Seen:
        """Read to the end."""
        until = time.monotonic() + LONGEST
        while self._read(0.2):
            if time.monotonic() > until:
                os.killpg(self.child.pid, signal.SIGKILL)
                raise AssertionError(f"it does not end: {self.shown!r}")
        os.close(self.ours)
        return Seen(self.child.wait(LONGEST), self.shown)

    def _read(self, seconds: float) -> bool:
        """Take what is there; False at the end."""
        if not select.select([self.ours], [], [], seconds)[0]:
            return True
        try:
            chunk = os.read(self.ours, 1 << 16)
        except OSError:  # Linux says so when the other side is closed
            return False
        self.shown += chunk.decode("utf-8", "replace")
        return bool(chunk)


def _own_terminal() -> None:
    """Make the pseudo-terminal the controlling one, and let Ctrl+C mean what it means to a person."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def in_terminal(*arguments: str, keys: str = "", columns: int = 80, rows: int = 1000, **environment: str) -> Seen:
    """Run sessionlog in a terminal to its end."""
    terminal = Terminal(SESSIONLOG, *arguments, columns=columns, rows=rows, forked=True, **environment)
    if keys:
        terminal.type(keys)
    return terminal.end()
