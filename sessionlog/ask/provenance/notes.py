"""Who wrote which lines of a commit, in the formats that other tools write and read: Git AI notes and Agent Trace."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime, timezone
from typing import Any, NamedTuple

from sessionlog import __version__
from sessionlog.errors import SessionlogError
from sessionlog.fastlib import parse_json
from sessionlog.system.git import GitError, Repository

NOTES = "refs/notes/ai"
SCHEMA = "authorship/3.0.0"
TRACE = "0.1.0"
# Where traces are usually kept in a project.
TRACES = ".agent-trace/traces.jsonl"
MOST_NOTES = 500
# The models of one provider, in the form of models.dev.
_PROVIDERS = (("claude", "anthropic"), ("gpt", "openai"), ("o3", "openai"), ("gemini", "google"), ("qwen", "alibaba"))


class Written(NamedTuple):
    """Lines of a file in a commit that one session wrote."""

    path: str
    session_id: str
    client: str
    model: str
    lines: tuple[int, ...]


class Attested(NamedTuple):
    """What a note or a trace says of a line."""

    tool: str
    session_id: str
    model: str


def session_key(client: str, session_id: str) -> str:
    """How a note names a session."""
    return f"s_{_short_hash(f'{client}:{session_id}')}"


def _short_hash(text: str) -> str:
    import hashlib  # 5 ms, for those who write notes

    return hashlib.sha256(text.encode()).hexdigest()[:14]


def note(written: Iterable[Written], commit: str) -> str:
    """The text of a Git AI note."""
    import orjson  # 5 ms, for those who write notes

    files: dict[str, list[str]] = {}
    sessions: dict[str, Any] = {}
    for one in written:
        key = session_key(one.client, one.session_id)
        # The same lines of the same commit are the same checkpoint, however often they are written down.
        checkpoint = _short_hash(f"{commit}:{key}:{one.path}")
        files.setdefault(one.path, []).append(f"  {key}::t_{checkpoint} {ranges(one.lines)}")
        sessions[key] = {"agent_id": {"tool": one.client, "id": one.session_id, "model": one.model}}
    head = [line for path, lines in files.items() for line in (_quoted(path), *lines)]
    body = {"schema_version": SCHEMA, "sessions": sessions, "humans": {}, "prompts": {}}
    return "\n".join([*head, "---", orjson.dumps(body, option=orjson.OPT_INDENT_2).decode()]) + "\n"


def ranges(lines: Iterable[int]) -> str:
    """1-4,9,12-14"""
    found: list[list[int]] = []
    for line in sorted(set(lines)):
        if found and line == found[-1][1] + 1:
            found[-1][1] = line
        else:
            found.append([line, line])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in found)


def _quoted(path: str) -> str:
    return f'"{path}"' if " " in path or "\t" in path else path


def read_note(text: str) -> dict[tuple[str, int], Attested]:
    """What a note says, by path and line. Whatever is not as it should be is passed over."""
    head, mark, body = text.partition("\n---\n")
    if not mark:
        head, mark, body = "", "---", text.removeprefix("---\n")
    try:
        known = parse_json(body)
        groups = [known[name] for name in ("sessions", "prompts") if isinstance(known.get(name), dict)]
    except (ValueError, AttributeError, TypeError):
        return {}
    found: dict[tuple[str, int], Attested] = {}
    path = ""
    for line in head.splitlines():
        if not line.startswith("  "):
            path = line.strip().strip('"')
            continue
        key, _, given = line.strip().partition(" ")
        about = next((group[name] for group in groups for name in (key, key.partition("::")[0]) if name in group), None)
        if isinstance(about, dict) and not key.startswith("h_"):
            named = about.get("agent_id")
            agent: dict[str, Any] = named if isinstance(named, dict) else about
            attested = Attested(*(str(agent.get(name) or "") for name in ("tool", "id", "model")))
            found.update(((path, number), attested) for number in _numbers(given))
    return found


def _numbers(given: str) -> Iterator[int]:
    for match in re.finditer(r"(\d{1,7})(?:-(\d{1,7}))?", given[:100_000]):
        first, last = int(match[1]), int(match[2] or match[1])
        yield from range(first, min(last, first + 100_000) + 1)


def note_of(repository: Repository, commit: str) -> str | None:
    """The note that a commit has, whoever wrote it."""
    try:
        listed = repository.run("notes", "--ref", NOTES, "list", commit).decode().split()
        content = next(repository.blobs(listed[:1])) if listed else None
    except GitError:
        return None
    return content.decode("utf-8", "replace") if content else None


def all_notes(repository: Repository, commits: set[str]) -> Iterator[tuple[str, str]]:
    """The notes of these commits."""
    try:
        listed = [line.split() for line in repository.run("notes", "--ref", NOTES, "list").decode().splitlines()]
        wanted = [pair for pair in listed if len(pair) == 2 and pair[1] in commits][:MOST_NOTES]
        contents = list(repository.blobs([name for name, _ in wanted]))
    except GitError:
        return
    for (_, commit), content in zip(wanted, contents, strict=True):
        if content:
            yield commit, content.decode("utf-8", "replace")


def write_note(repository: Repository, commit: str, text: str, author: str, email: str) -> bool:
    """Write a note, unless it is there already. One of another tool is never touched."""
    there = note_of(repository, commit)
    if there is not None:
        if there.strip() == text.strip():
            return False
        raise SessionlogError(f"commit {commit[:10]} has a note in {NOTES} already; it stays as it is.")
    who = {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", author), ("EMAIL", email))
    }
    repository.run("notes", "--ref", NOTES, "add", "-F", "-", commit, given=text.encode(), environment=who)
    return True


def trace(written: Iterable[Written], commit: str, at: str) -> dict[str, Any]:
    """An Agent Trace record."""
    import uuid  # which takes 5 ms, and is needed for this only

    files: dict[str, list[Any]] = {}
    for one in written:
        contributor = {"type": "ai"} | ({"model_id": model_id(one.model)} if one.model else {})
        spans = [[int(part) for part in span.split("-")] for span in ranges(one.lines).split(",")]
        files.setdefault(one.path, []).append(
            {
                "url": f"sessionlog:{one.session_id}",
                "contributor": contributor,
                "ranges": [{"start_line": span[0], "end_line": span[-1]} for span in spans],
            }
        )
    return {
        "version": TRACE,
        "id": str(uuid.uuid5(uuid.NAMESPACE_URL, f"sessionlog:{commit}")),
        "timestamp": at or datetime.now(timezone.utc).isoformat(),
        "vcs": {"type": "git", "revision": commit},
        "tool": {"name": "sessionlog", "version": __version__},
        "files": [{"path": path, "conversations": found} for path, found in files.items()],
    }


def model_id(model: str) -> str:
    """anthropic/claude-opus-4-5-20251101"""
    provider = next((name for start, name in _PROVIDERS if model.lower().startswith(start)), None)
    return f"{provider}/{model}" if provider and "/" not in model else model


def read_traces(lines: Iterable[str]) -> dict[tuple[str, str, int], Attested]:
    """What trace records say, by commit, path and line."""
    found: dict[tuple[str, str, int], Attested] = {}
    for line in lines:
        try:
            record = parse_json(line)
            revision, tool = str(record["vcs"]["revision"]), str(record.get("tool", {}).get("name") or "")
            for file in record["files"]:
                for talk in file["conversations"]:
                    for span in talk["ranges"]:
                        who = span.get("contributor") or talk.get("contributor") or {}
                        if who.get("type") not in ("ai", "mixed"):
                            continue
                        attested = Attested(tool, str(talk.get("url") or ""), str(who.get("model_id") or ""))
                        first, last = int(span["start_line"]), int(span["end_line"])
                        for number in range(first, min(last, first + 100_000) + 1):
                            found[revision, str(file["path"]), number] = attested
        except (ValueError, LookupError, TypeError, AttributeError):
            continue
    return found
