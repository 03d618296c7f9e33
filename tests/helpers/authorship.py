"""A repository whose every line has a known author: two agents and a person write, move, format, rebase and squash.

The files and commits are real, made by git; the agents' edits are recorded as their hooks would record them.
"""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from sessionlog.agents import translate
from sessionlog.archive import append
from sessionlog.archive.event import normalise
from sessionlog.archive.place import Place

PERSON = "person"
CLAUDE = ("claude-1", "claude-2", "claude-3")
CODEX = ("codex-1", "codex-2")

NOUNS = "cart order price total user token item stock basket coupon invoice address region rate window".split()
VERBS = "load save check apply merge count parse format send find build clear read write split".split()
# Lines that everybody writes again and again.
COMMON = ["    return None", "    result = []", "    return result", "    pass", "    # TODO", "    count += 1"]


class Line(NamedTuple):
    """A line and who wrote it."""

    text: str
    owner: str


Lines = list[Line]


class World:
    """The repository, the archive, and what is true of every line."""

    def __init__(self, place: Place, seed: int) -> None:
        self.place = place
        self.root = Path(place.project)
        self.rng = random.Random(seed)
        self.at_ms = 1_794_787_200_000
        self.files: dict[str, Lines] = {}
        self.edits = 0
        self.commits = 0
        self.calls = 0
        self.folder = self.root  # where work goes on: the main checkout, or a worktree
        self.connection = append.open_for_writing(place)
        self.git("init", "-q", "-b", "main")

    def close(self) -> None:
        """No more events."""
        self.connection.close()

    # --- the clock, git, the hook ---------------------------------------------------------------------------------

    def tick(self) -> None:
        """Some time goes by."""
        self.at_ms += self.rng.randrange(2_000, 90_000)

    def git(self, *arguments: str, folder: Path | None = None) -> str:
        """Real git, at the time of this world."""
        date = f"{self.at_ms // 1000} +0000"
        names = {
            f"GIT_{role}_{what}": value
            for role in ("AUTHOR", "COMMITTER")
            for what, value in (("NAME", "Ann"), ("EMAIL", "ann@example.com"), ("DATE", date))
        }
        done = subprocess.run(
            ["git", *arguments],
            cwd=folder or self.folder,
            env={"PATH": os.environ["PATH"], "HOME": str(self.root.parent), "GIT_CONFIG_NOSYSTEM": "1", **names},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
        return done.stdout

    def record(self, name: str, session_id: str, **payload: Any) -> None:
        """What a hook would record now."""
        event = {"session_id": session_id, "hook_event_name": name, "cwd": str(self.folder), **payload}
        translated = translate.translate("codex", event, None) if session_id in CODEX else None
        envelope = translated.envelope if translated else None
        record = normalise(event, at_ms=self.at_ms, via="test", envelope=envelope)
        append.append(self.connection, record, self.at_ms)

    def call(self, session_id: str, tool: str, inputs: dict[str, Any], response: Any) -> None:
        """A tool call that succeeded."""
        self.calls += 1
        more = {"tool_name": tool, "tool_input": inputs, "tool_use_id": f"call_{self.calls}", "duration_ms": 3}
        self.record("PostToolUse", session_id, tool_response=response, **more)

    def commit(self, message: str = "") -> None:
        """Everything that was changed, in one commit."""
        self.tick()
        self.git("add", "-A")
        if self.git("status", "--porcelain"):
            self.commits += 1
            self.git("commit", "-q", "-m", message or f"Commit {self.commits}")

    # --- writing ----------------------------------------------------------------------------------------------------

    def change(self, who: str, path: str, new: Lines) -> None:
        """Somebody turns a file into this, in the way they do."""
        self.tick()
        old = self.files.get(path)
        if old is not None and [line.text for line in old] == [line.text for line in new]:
            return
        self.edits += 1
        if who != PERSON and self.rng.random() < 0.2:
            self.record("UserPromptSubmit", who, prompt=f"Prompt {self.edits}", prompt_id=f"p{self.edits}")
        if who in CLAUDE:
            self._by_claude(who, path, old, new)
        elif who in CODEX:
            self._by_codex(who, path, old, new)
        self.files[path] = new
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text(new))

    def _by_claude(self, who: str, path: str, old: Lines | None, new: Lines) -> None:
        file = str(self.folder / path)
        tells = self.rng.random() < 0.8
        if old is None or self.rng.random() < 0.1:
            original = None if old is None else text(old)
            response = {"type": "create" if old is None else "update", "filePath": file, "originalFile": original}
            self.call(who, "Write", {"file_path": file, "content": text(new)}, response)
            return
        before, after = _unique_piece(old, new)
        response = {"filePath": file, "originalFile": text(old) if tells else None, "replaceAll": False}
        self.call(who, "Edit", {"file_path": file, "old_string": before, "new_string": after}, response)

    def _by_codex(self, who: str, path: str, old: Lines | None, new: Lines) -> None:
        if old is None:
            body = [f"*** Add File: {path}", *(f"+{line.text}" for line in new)]
        else:
            start, end = _common_ends(old, new)
            first, last = max(0, start - 3), min(len(old), len(old) - end + 3)
            body = [f"*** Update File: {path}", "@@"]
            body += [f" {line.text}" for line in old[first:start]]
            body += [f"-{line.text}" for line in old[start : len(old) - end]]
            body += [f"+{line.text}" for line in new[start : len(new) - end]]
            body += [f" {line.text}" for line in old[len(old) - end : last]]
        patch = "\n".join(["*** Begin Patch", *body, "*** End Patch"])
        self.call(who, "apply_patch", {"command": patch}, "Success. Updated the following files")

    # --- what they do ----------------------------------------------------------------------------------------------

    def step(self, who: str) -> None:
        """One edit of some kind."""
        kinds: list[tuple[Callable[[str, str], Lines | None], int]] = [
            (self.add_block, 8),
            (self.change_line, 6),
            (self.change_some, 3),
            (self.delete, 2),
            (self.wrap, 2),
            (self.move, 2),
            (self.reformat, 2),
        ]
        path = self.rng.choice(sorted(self.files))
        kind = self.rng.choices([kind for kind, _ in kinds], [weight for _, weight in kinds])[0]
        new = kind(who, path)
        if new is not None:
            self.change(who, path, new)

    def new_file(self, who: str, path: str) -> None:
        """A file of a few functions."""
        lines = [Line(f"# {path}", who), Line(f"import {self.rng.choice(NOUNS)}", who), Line("", who)]
        for _ in range(self.rng.randrange(3, 6)):
            lines += self.block(who)
        self.change(who, path, lines)

    def block(self, who: str) -> Lines:
        """A function."""
        rng = self.rng
        name = f"{rng.choice(VERBS)}_{rng.choice(NOUNS)}"
        found = [f"def {name}({rng.choice(NOUNS)}, {rng.choice(NOUNS)}=None):"]
        for _ in range(rng.randrange(2, 7)):
            found.append(rng.choice(COMMON) if rng.random() < 0.1 else self.statement())
        found += ["    return None" if rng.random() < 0.15 else f"    return {rng.choice(NOUNS)}", ""]
        return [Line(one, who) for one in found]

    def statement(self) -> str:
        """A line of code; short ones occur often, long ones hardly twice."""
        rng = self.rng
        first, second, third = rng.sample(NOUNS, 3)
        forms = [
            f"    {first} = {rng.choice(VERBS)}({second}, '{third}', {rng.randrange(1000)})",
            f"    {first} = {second}.{third}",
            f"    if {first} > {second}:",
            f"    {first}['{second}'] = {third} + {rng.randrange(100)}",
            f"    log('{rng.choice(VERBS)} the {second} of {third}')",
        ]
        return rng.choice(forms)

    def add_block(self, who: str, path: str) -> Lines:
        """A new function between two others."""
        lines = self.files[path]
        starts = [at for at, line in enumerate(lines) if line.text.startswith("def ")] or [len(lines)]
        at = self.rng.choice([*starts, len(lines)])
        return [*lines[:at], *self.block(who), *lines[at:]]

    def change_line(self, who: str, path: str) -> Lines | None:
        """Another statement in the place of one."""
        lines = list(self.files[path])
        at = self.pick(lines)
        if at is None:
            return None
        lines[at] = Line(self.statement(), who)
        return lines

    def change_some(self, who: str, path: str) -> Lines | None:
        """Two or three lines change, and one comes in between."""
        lines = list(self.files[path])
        at = self.pick(lines)
        if at is None:
            return None
        count = min(self.rng.randrange(1, 3), len(lines) - at - 1)
        lines[at : at + count] = [Line(self.statement(), who) for _ in range(count + 1)]
        return lines

    def delete(self, who: str, path: str) -> Lines | None:
        """A line or a function goes."""
        lines = list(self.files[path])
        at = self.pick(lines)
        if at is None or len(lines) < 25:
            return None
        starts = [number for number, line in enumerate(lines) if line.text.startswith("def ")]
        if self.rng.random() < 0.3 and len(starts) > 3:
            number = self.rng.randrange(len(starts) - 1)
            del lines[starts[number] : starts[number + 1]]
        else:
            del lines[at]
        return lines

    def wrap(self, who: str, path: str) -> Lines | None:
        """Lines are indented below a new condition: they stay whose they were."""
        lines = list(self.files[path])
        at = self.pick(lines)
        if at is None:
            return None
        count = 1
        while count < 4 and at + count < len(lines) and lines[at + count].text.startswith("    "):
            count += 1
        while lines[at + count - 1].text.endswith((",", "(")):  # a call that a formatter has split
            count += 1
        inner = [line._replace(text=f"    {line.text}" if line.text else "") for line in lines[at : at + count]]
        lines[at : at + count] = [Line(f"    if {self.rng.choice(NOUNS)}.is_{self.rng.choice(NOUNS)}():", who), *inner]
        return lines

    def move(self, who: str, path: str) -> Lines | None:
        """A function goes elsewhere in the file: its lines stay whose they were."""
        lines = list(self.files[path])
        starts = [at for at, line in enumerate(lines) if line.text.startswith("def ")]
        if len(starts) < 3:
            return None
        number = self.rng.randrange(len(starts) - 1)
        start, end = starts[number], starts[number + 1]
        body = lines[start:end]
        del lines[start:end]
        targets = [at for at, line in enumerate(lines) if line.text.startswith("def ")]
        at = self.rng.choice(targets)
        return [*lines[:at], *body, *lines[at:]]

    def reformat(self, who: str, path: str) -> Lines:
        """A formatter splits calls and changes quotes: nobody wrote anything new."""
        found: Lines = []
        for line in self.files[path]:
            stripped = line.text.strip()
            indent = line.text[: len(line.text) - len(line.text.lstrip())]
            if stripped.count("(") == 1 and stripped.endswith(")") and ", " in stripped and "def" not in stripped:
                head, _, arguments = stripped[:-1].partition("(")
                found.append(line._replace(text=f"{indent}{head}("))
                found += [line._replace(text=f"{indent}    {one.strip()},") for one in arguments.split(", ")]
                found.append(line._replace(text=f"{indent})"))
            else:
                found.append(line._replace(text=line.text.replace("'", '"')))
        return found

    def rename(self, path: str, new: str) -> None:
        """git mv."""
        self.tick()
        (self.folder / new).parent.mkdir(parents=True, exist_ok=True)
        self.git("mv", path, new)
        self.files[new] = self.files.pop(path)

    def pick(self, lines: Lines) -> int | None:
        """A line within a function, and not in the middle of a call that a formatter has split."""
        inside = [
            at
            for at, line in enumerate(lines)
            if line.text.startswith("    ") and not line.text.endswith((",", "(", " )"))
        ]
        return self.rng.choice(inside) if inside else None


def text(lines: Lines) -> str:
    """What stands in the file."""
    return "".join(f"{line.text}\n" for line in lines)


def _common_ends(old: Lines, new: Lines) -> tuple[int, int]:
    """How many lines at the start and at the end did not change."""
    start = 0
    while start < min(len(old), len(new)) and old[start].text == new[start].text:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-end - 1].text == new[-end - 1].text:
        end += 1
    return start, end


def _unique_piece(old: Lines, new: Lines) -> tuple[str, str]:
    """The piece that changes, with as many lines around it as it takes to be the only one of its kind."""
    start, end = _common_ends(old, new)
    whole = text(old)
    while True:
        before, after = text(old[start : len(old) - end]), text(new[start : len(new) - end])
        if (before and whole.count(before) == 1) or not (start or end):
            return before, after
        start, end = max(0, start - 1), max(0, end - 1)


def make(place: Place, seed: int, edits: int = 200, commits: int = 30) -> World:
    """The whole story."""
    world = World(place, seed)
    rng = world.rng
    everybody = [PERSON, *CLAUDE, *CODEX]

    def work(count: int) -> None:
        for _ in range(count):
            world.step(rng.choices(everybody, [5, 3, 3, 3, 2, 2])[0])

    world.new_file(PERSON, "src/cart.py")
    world.commit("Begin")
    for number, who in enumerate(("claude-1", "codex-1", PERSON)):
        world.new_file(who, f"src/module_{number}.py")
    world.commit()
    each = max(3, edits // commits)
    chapters = 0
    while world.edits < edits or world.commits < commits:
        chapters += 1
        kind = chapters % 6
        if kind == 1:  # a branch that is rebased onto what came into main meanwhile
            apart = sorted(world.files)[-1]
            world.git("checkout", "-q", "-b", f"feature-{chapters}")
            for _ in range(2):
                kept = world.files.pop(apart)
                work(each)
                world.files[apart] = kept
                world.commit()
            there = dict(world.files)
            world.git("checkout", "-q", "main")
            world.files = {apart: world.files[apart]}
            work(2)
            world.commit()
            world.tick()
            world.git("checkout", "-q", f"feature-{chapters}")
            world.git("rebase", "-q", "main")
            world.git("checkout", "-q", "main")
            world.git("merge", "-q", "--ff-only", f"feature-{chapters}")
            world.files = {**there, apart: world.files[apart]}
        elif kind == 2:  # a branch that is squashed
            world.git("checkout", "-q", "-b", f"topic-{chapters}")
            for _ in range(3):
                work(each)
                world.commit()
            world.git("checkout", "-q", "main")
            world.git("merge", "-q", "--squash", f"topic-{chapters}")
            world.commit("Squashed")
        elif kind == 3:
            path = rng.choice(sorted(world.files))
            world.rename(path, f"src/part_{chapters}/{os.path.basename(path)}")
            work(each // 2)
            world.commit()
        elif kind == 4:  # a worktree, merged and removed
            tree = world.root.parent / f"tree-{chapters}"
            world.git("worktree", "add", "-q", "-b", f"tree-{chapters}", str(tree))
            world.folder = tree
            work(each)
            world.commit()
            world.folder = world.root
            world.git("merge", "-q", "--ff-only", f"tree-{chapters}")
            world.git("worktree", "remove", str(tree))
        elif kind == 5:
            world.new_file(rng.choice(everybody), f"src/new_{chapters}.py")
            work(each)
            world.commit()
        else:
            work(each)
            world.commit()
    work(4)  # and something that is not committed
    world.close()
    return world
