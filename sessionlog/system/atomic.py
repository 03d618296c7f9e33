"""Files that are there whole or not at all: a draft is written beside the file and then takes its name.

Not in `archive`: the key of `redact`, which lies below it, is made this way too.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import BinaryIO, NamedTuple

# A draft has the beginning of the name it is to get, so that people see what a killed process has left. No more than
# that: a file name has at most 255 bytes.
NAME = 40


class Draft(NamedTuple):
    """A new private file, to be written to or filled by its path."""

    path: str
    file: BinaryIO

    def sync(self) -> None:
        """Wait until the disk has it: after a power cut, the file must not be there empty."""
        self.file.flush()
        os.fsync(self.file.fileno())


@contextmanager
def draft(path: str, mode: int = 0o600, overwrite: bool = True) -> Iterator[Draft]:
    """A draft that becomes the file at `path` when the block ends, and is removed when the block fails.

    With `overwrite` it takes the place of what is there, a link included (which is not followed). Without, a file that
    is there raises FileExistsError, also one that has appeared at the last moment.
    """
    folder, name = os.path.split(path)
    name = os.path.join(folder, f"{name[:NAME]}.{os.urandom(4).hex()}.draft")
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(name, flags, mode)
    except OSError as error:  # people know the file by the name that it was to get
        raise OSError(error.errno, error.strerror, path) from error
    try:
        with open(descriptor, "wb") as file:
            yield Draft(name, file)
        if overwrite:
            os.replace(name, path)
        else:
            _give_free_name(name, path)
    finally:
        try:
            os.unlink(name)
        except FileNotFoundError:
            pass


def write(path: str, content: Iterable[bytes], mode: int = 0o600, overwrite: bool = True) -> None:
    """Write a file and wait until the disk has it."""
    with draft(path, mode, overwrite) as new:
        new.file.writelines(content)
        new.sync()


def _give_free_name(name: str, path: str) -> None:
    try:
        os.link(name, path)  # unlike a rename, it never replaces anything
    except FileExistsError:
        raise
    except OSError:  # a disk without links
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path) from None
        os.rename(name, path)
