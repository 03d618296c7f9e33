"""A lock between processes that is released when the process ends, however it ends."""

import os
import stat
import time

from sessionlog.errors import ArchiveUnavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType


def open_private(path: str, flags: int) -> int:
    """Open a file of ours for reading and writing, made 0600 if it is new.

    A link, a pipe or another user's file in its place is refused, without waiting for it.
    """
    safely = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, flags | os.O_RDWR | os.O_CREAT | safely, 0o600)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or (hasattr(os, "geteuid") and status.st_uid != os.geteuid()):
        os.close(descriptor)
        raise OSError(f"{path} is not a file of ours")  # what is written to a pipe is gone
    return descriptor


def try_lock(descriptor: int) -> bool:
    """Take the lock of an open file, without waiting."""
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        try:
            os.lseek(descriptor, 2**31 - 2, os.SEEK_SET)  # a byte far behind the data: reading it stays possible
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        except OSError:
            return False
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def wait_for_lock(descriptor: int, path: str, timeout: float) -> None:
    """Take the lock of an open file, or give up after `timeout` seconds: a hook never waits without end."""
    deadline = time.monotonic() + timeout
    pause = 0.002
    while not try_lock(descriptor):
        if time.monotonic() > deadline:
            raise ArchiveUnavailable(f"{path} has been locked by another process for {timeout:g} s")
        time.sleep(pause)
        pause = min(2 * pause, 0.03)  # a crowd that asks all the time takes the processor from the one who has it


class Lock:
    """Held while its block runs. The lock file stays: removing it would let two processes hold 'the' lock."""

    def __init__(self, path: str, timeout: float) -> None:
        self.path = path
        self.timeout = timeout

    def __enter__(self) -> None:
        self.descriptor = open_private(self.path, 0)
        try:
            wait_for_lock(self.descriptor, self.path, self.timeout)
        except BaseException:
            os.close(self.descriptor)
            raise

    def __exit__(
        self, kind: "type[BaseException] | None", error: "BaseException | None", trace: "TracebackType | None"
    ) -> None:
        os.close(self.descriptor)
