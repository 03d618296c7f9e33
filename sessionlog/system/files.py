"""Files that may not be what they seem: in a checkout, or in a temporary folder that other users share.

A pipe would be waited for, a device or a sparse file read for ever, a link followed to somewhere else.
"""

import os
import stat


def make_own_folder(folder: str) -> None:
    """Make the folder. In a place that all users share, a folder or link of another user is refused."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    if hasattr(os, "getuid") and {os.lstat(folder).st_uid, os.stat(folder).st_uid} != {os.getuid()}:
        raise PermissionError(f"{folder} belongs to another user")


def open_regular(path: str) -> int:
    """A descriptor for reading a regular file. Anything else is refused at once with an OSError."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"{path} is not a regular file")
    return descriptor


def open_own(path: str) -> int:
    """Like `open_regular`; a link, or a file of another user, is refused too."""
    if os.path.islink(path):
        raise OSError(f"{path} is a link")
    descriptor = open_regular(path)
    if hasattr(os, "geteuid") and os.fstat(descriptor).st_uid != os.geteuid():
        os.close(descriptor)
        raise PermissionError(f"{path} belongs to another user")
    return descriptor


def is_sparse(status: os.stat_result) -> bool:
    """Whether nearly all of a big file is holes. Nobody wrote that, and reading it takes as long as if it were real."""
    blocks = getattr(status, "st_blocks", None)
    return blocks is not None and status.st_size > 64 << 20 and blocks * 512 * 100 < status.st_size


def read_regular(path: str, limit: int) -> bytes:
    """The content of a regular file. Raises OSError if there is more than `limit` bytes, or if it is something else."""
    return _read(open_regular(path), path, limit)


def read_own(path: str, limit: int) -> bytes:
    """Like `read_regular`, for a file that has to be ours."""
    return _read(open_own(path), path, limit)


def _read(descriptor: int, path: str, limit: int) -> bytes:
    with open(descriptor, "rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise OSError(f"{path} is larger than {limit} bytes")
    return data
