"""Reading a git repository that nobody vouches for, without running what its configuration names.

Git runs what the configuration of a repository names: hooks, pagers, file system monitors, external diffs, filters that
turn a file of the working copy into what is stored. So only stored objects are asked for, and every switch is off.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from sessionlog.errors import SessionlogError
from sessionlog.system import children

LONGEST_ANSWER = 64 << 20
SECONDS = 10.0

_OFF = (
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
    f"core.attributesFile={os.devnull}",
    "core.pager=cat",
    "log.showSignature=false",
    "blame.ignoreRevsFile=",
    "safe.bareRepository=explicit",
    "protocol.allow=never",
    "gc.auto=0",
    "maintenance.auto=false",
)

_ENVIRONMENT = {
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_ALLOW_PROTOCOL": "none",
}


class GitError(SessionlogError):
    """Git is not there, does not know what is asked for, or takes too long."""


class Repository:
    """The repository whose working copy is at `root`."""

    def __init__(self, root: str) -> None:
        self.root = root
        self._program = children.program("git")

    def run(
        self,
        *arguments: str,
        given: bytes = b"",
        seconds: float = SECONDS,
        limit: int = LONGEST_ANSWER,
        environment: Mapping[str, str] | None = None,
    ) -> bytes:
        """What `git ARGUMENTS` prints. The `environment` is added to ours."""
        if self._program is None:
            raise GitError("git is not on the PATH.")
        options = [word for setting in _OFF for word in ("-c", setting)]
        variables = {
            **_ENVIRONMENT,
            "PATH": os.environ.get("PATH", os.defpath),
            # Not a repository that lies further up: its owner may be somebody else.
            "GIT_CEILING_DIRECTORIES": os.path.dirname(self.root),
            **{name: os.environ[name] for name in ("SYSTEMROOT", "HOME") if name in os.environ},
            **(environment or {}),
        }
        with tempfile.TemporaryFile() as stdin:
            stdin.write(given)
            stdin.seek(0)
            with subprocess.Popen(  # noqa: S603 (git by its absolute path, and nothing of its choice)
                [self._program, "--no-pager", *options, "-C", self.root, *arguments],
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=variables,
                cwd=children.FOLDER,
            ) as child:
                timer = threading.Timer(seconds, child.kill)
                timer.start()
                try:
                    assert child.stdout is not None  # noqa: S101 (for mypy: it is a pipe)
                    answer = child.stdout.read(limit + 1)
                    if len(answer) > limit:
                        child.kill()
                        raise GitError(f"git {arguments[0]} says more than {limit} bytes.")
                    code = child.wait()
                finally:
                    timer.cancel()
        if code:
            raise GitError(f"git {arguments[0]} failed" + (f" after {seconds:g} s." if code < 0 else "."))
        return answer

    def is_there(self) -> bool:
        """Whether git can read it."""
        if self.head:
            return True
        try:
            self.run("rev-parse", "--git-dir")
        except GitError:
            return False
        return True

    @cached_property
    def head(self) -> str | None:
        """The commit that is checked out; None if there is none yet."""
        return self.commit("HEAD")

    def commit(self, revision: str) -> str | None:
        """The full name of a commit; None if there is no such one."""
        if not revision or revision.startswith("-"):
            return None
        try:
            return self.run("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}").decode().strip()
        except GitError:
            return None

    def blobs(self, names: Iterable[str], limit: int = LONGEST_ANSWER) -> Iterator[bytes | None]:
        """The contents of `COMMIT:PATH` and the like, in this order; None for what is not there."""
        # A line break in a name would ask for something else; git has no way to quote one here.
        asked = [name if "\n" not in name else "missing" for name in names]
        given = "".join(f"{name}\n" for name in asked).encode("utf-8", "surrogateescape")
        answer = self.run("cat-file", "--batch", given=given, limit=limit) if asked else b""
        at = 0
        for _ in asked:
            end = answer.index(b"\n", at)
            words = answer[at:end].rsplit(b" ", 2)
            at = end + 1
            if len(words) < 3 or not words[2].isdigit():  # "NAME missing", "NAME ambiguous"
                yield None
                continue
            size = int(words[2])
            yield answer[at : at + size] if words[1] == b"blob" else None
            at += size + 1

    def blob(self, commit: str, path: str) -> bytes | None:
        """A file as it is in a commit."""
        return next(self.blobs([f"{commit}:{path}"]))
