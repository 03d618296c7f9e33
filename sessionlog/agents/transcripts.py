"""Transcripts of all agents: where they are, whose a file is, who reads its lines.

Claude Code's are the model. Another agent has a module `transcripts` in its folder, with

    base()                      the folder that holds its transcripts; `restore` writes there
    classify(path)              a Source with the name of the file below `base()`, or None if it is not its file
    working_directory(source)   where the session worked, or None
    Reader                      a TranslatedReader
"""

import os

from sessionlog.agents import registry
from sessionlog.agents.claude_code import transcript_files
from sessionlog.agents.claude_code.transcript_lines import Reader
from sessionlog.errors import SessionlogError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from sessionlog.agents.claude_code.transcript_files import Source


def find(paths: "Iterable[str]" = ()) -> "Iterator[Source]":
    """All transcripts in these files and folders, else all that the agents here have."""
    paths = list(paths)
    if paths:
        for path in paths:
            # A file that is named is meant, whatever its name.
            named = None if os.path.isdir(path) else named_file(os.path.realpath(path))
            yield from [named] if named else transcript_files.find([path], classify)
        return
    yield from transcript_files.find()
    for client, agent in _agents():
        if os.path.isdir(agent.base()):
            yield from (source for source in transcript_files.find([agent.base()], classify) if source.client == client)


def of_session(transcript_path: str, client: str) -> "Iterator[Source]":
    """The transcript, and all that lies beside it for the same session."""
    if client == registry.CLAUDE_CODE:
        yield from transcript_files.of_session(transcript_path)
    elif (source := classify(transcript_path)) and source.client == client:
        yield source
        folder = getattr(registry.part(client, "transcripts"), "folder_of_subagents", lambda source: "")(source)
        if os.path.isdir(folder):
            yield from transcript_files.find([folder], classify)


def classify(path: str) -> "Source | None":
    """What a file is, and whose."""
    for _, agent in _agents():
        if source := agent.classify(path):
            found: Source = source
            return found
    return transcript_files.classify_own(path)


def named_file(path: str) -> "Source | None":
    """What a file is whose name does not tell; None if its name does, or if it is no transcript."""
    if classify(path) is not None or transcript_files.why_no_transcript(path) is not None:
        return None
    return transcript_files.named_by_lines(path, os.path.dirname(path))


def why_no_transcript(path: str) -> "tuple[int, str] | None":
    """Why a file is no transcript of any agent: the number of a line, and what is wrong with it. None if it is one."""
    source = classify(path)
    if source is not None and not is_to_be_parsed(source):
        return None
    return transcript_files.why_no_transcript(path)


def is_to_be_parsed(source: "Source") -> bool:
    """Whether the name of a file does not tell enough to know that it is a transcript."""
    return source.client == registry.CLAUDE_CODE and source.kind in (transcript_files.MAIN, transcript_files.SUBAGENT)


def working_directory(source: "Source") -> str | None:
    """Where the session of a transcript worked."""
    if source.client != registry.CLAUDE_CODE:
        found: str | None = registry.part(source.client, "transcripts").working_directory(source)
        return found
    return transcript_files.working_directory(source)


def _of_agent(client: str) -> "Any":
    """The module that reads an agent's transcripts. An archive may name any agent."""
    try:
        return registry.part(client, "transcripts")
    except ImportError:
        raise SessionlogError(f"this version of sessionlog cannot read transcripts of the agent {client!r}") from None


def base(client: str) -> str:
    """The folder in which an agent looks for the transcripts that `restore` writes back."""
    if client == registry.CLAUDE_CODE:
        return os.path.join(transcript_files.config_folder(), "projects")
    folder: str = _of_agent(client).base()
    return folder


def reader(client: str, session_id: str, agent_id: str | None) -> Reader:
    """What collects the content of an agent's lines."""
    if client == registry.CLAUDE_CODE:
        return Reader(session_id, agent_id)
    made: Reader = _of_agent(client).Reader(session_id, agent_id)
    return made


def output_names(client: str) -> "frozenset[str]":
    """Under which names the lines of another agent have what tools gave back."""
    found: frozenset[str] = _of_agent(client).Reader.OUTPUT
    return found


def _agents() -> "list[tuple[str, Any]]":
    names = registry.others("transcripts")
    return [(name, registry.part(name, "transcripts")) for name in names]
