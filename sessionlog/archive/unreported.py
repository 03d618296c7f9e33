"""What could not be recorded and could not be reported at once, because the hook of that event must not say anything.

One line a failure, in the first folder of ours that can be written. The next SessionStart shows it; until then, so do
`doctor` and every other command.
"""

import os
import time

from sessionlog.archive.locks import open_private
from sessionlog.archive.place import unreported, unreported_paths
from sessionlog.fastlib import utc_text
from sessionlog.system.files import make_own_folder, read_own

# A hook that fails all day does not fill the disk.
LIMIT = 64 * 1024


def add(home: str, message: str) -> None:
    """Write down a failure. Where nothing can be written, nothing can be done."""
    line = f"{utc_text(time.time_ns() // 1_000_000)} {' '.join(message.split())}\n".encode("utf-8", "backslashreplace")
    for path in unreported_paths(home):
        try:
            make_own_folder(os.path.dirname(path))
            descriptor = open_private(path, os.O_APPEND)
        except OSError:
            continue
        try:
            if os.fstat(descriptor).st_size < LIMIT:
                os.write(descriptor, line)
            return
        except OSError:
            continue
        finally:
            os.close(descriptor)


def read(home: str) -> "list[str]":
    """The failures written down so far, oldest first."""
    lines = []
    for path in unreported(home):
        lines += read_own(path, 2 * LIMIT).decode("utf-8", "replace").splitlines()
    return sorted(lines)


def take(home: str) -> str:
    """The failures in one line; from now on they count as seen."""
    lines = read(home)
    for path in unreported(home):
        os.unlink(path)
    return summary(lines)


def summary(lines: "list[str]") -> str:
    """How many events were not recorded, and what was wrong with the last one."""
    if not lines:
        return ""
    count = "1 event" if len(lines) == 1 else f"{len(lines)} events"
    return f"{count} could not be recorded. The last one, at {lines[-1]}"
