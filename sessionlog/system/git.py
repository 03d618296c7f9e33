"""Reading a git repository that nobody vouches for, without running what its configuration names.

Git runs what the configuration of a repository names: hooks, pagers, file system monitors, external diffs, filters that
turn a file of the working copy into what is stored. So only stored objects are asked for, and every switch is off.
"""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
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


class Running:
    """A git that was started. It ends with the block that it is for."""

    def __init__(self, child: subprocess.Popen[bytes], given: bytes, name: str, seconds: float) -> None:
        self._child = child
        self._name = name
        self._seconds = seconds
        self._timer = threading.Timer(seconds, child.kill)
        self._timer.start()
        if given:
            # Git may wait for us to read its answer before it reads on.
            threading.Thread(target=self._give, args=(given,), daemon=True).start()

    def _give(self, given: bytes) -> None:
        assert self._child.stdin is not None  # noqa: S101 (for mypy: it is a pipe)
        with suppress(OSError, ValueError), self._child.stdin as stdin:  # git may have ended already
            stdin.write(given)

    def read(self, limit: int = LONGEST_ANSWER) -> bytes:
        """What it prints until it ends."""
        assert self._child.stdout is not None  # noqa: S101 (for mypy: it is a pipe)
        answer = self._child.stdout.read(limit + 1)
        if len(answer) > limit:
            raise GitError(f"git {self._name} says more than {limit} bytes.")
        if code := self._child.wait():
            raise GitError(f"git {self._name} failed" + (f" after {self._seconds:g} s." if code < 0 else "."))
        return answer

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self._child.kill()  # which does nothing to one that has ended
        with self._child:
            pass  # closes the pipes and waits


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
        with self.start(*arguments, given=given, seconds=seconds, environment=environment) as running:
            return running.read(limit)

    def start(
        self,
        *arguments: str,
        given: bytes = b"",
        seconds: float = SECONDS,
        environment: Mapping[str, str] | None = None,
    ) -> Running:
        """Start `git ARGUMENTS`, to do something else until its answer is needed."""
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
        child = subprocess.Popen(  # noqa: S603 (git by its absolute path, and nothing of its choice)
            [self._program, "--no-pager", *options, "-C", self.root, *arguments],
            stdin=subprocess.PIPE if given else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=variables,
            cwd=children.FOLDER,
        )
        return Running(child, given, arguments[0], seconds)

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
