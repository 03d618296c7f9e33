"""The list of what `redact` took out by name, for the rules to find it again: add to it, read it, take one off it."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, NamedTuple

from sessionlog.archive.locks import Lock
from sessionlog.errors import SessionlogError
from sessionlog.fastlib import blake2b, encode_json, utc_text
from sessionlog.redact import machine_key, remembered
from sessionlog.redact.rules import Rules
from sessionlog.system import atomic

LOCK_WAIT = 10.0


class Memory(NamedTuple):
    """One value or pattern. The name of a value is the fingerprint in what stands in its place."""

    name: str
    kind: str
    at: str
    about: str


def listed(home: str) -> list[Memory]:
    """All that is remembered, in the order in which it came."""
    memory = _load(home)
    values = [
        Memory(entry["name"], "value", entry["at"], f"{entry['forms'][0][1]} bytes") for entry in memory["values"]
    ]
    patterns = [Memory(entry["name"], "pattern", entry["at"], entry["regex"]) for entry in memory["patterns"]]
    return sorted(values + patterns, key=lambda found: found.at)


def remember(home: str, patterns: Iterable[str], values: Iterable[str]) -> list[Memory]:
    """Take these into the list, if they are not in it; returns them as they are remembered."""
    rules = Rules(home)
    key = machine_key.of(rules)
    if not key or blake2b is None:
        raise SessionlogError(f"{home}/redact.key cannot be read, so that nothing can be remembered")
    new: dict[str, list[dict[str, Any]]] = {
        "values": [{"name": rules.fingerprint(value), "forms": remembered.forms_of(key, value)} for value in values],
        "patterns": [{"name": rules.fingerprint(regex), "regex": regex} for regex in patterns],
    }
    names = {entry["name"] for entries in new.values() for entry in entries}
    with _lock(home):
        memory = _load(home)
        for kind, entries in new.items():
            known = {entry["name"] for entry in memory[kind]}
            memory[kind] += [{**entry, "at": _now()} for entry in entries if entry["name"] not in known]
        _save(home, memory)
    return [found for found in listed(home) if found.name in names]


def forget(home: str, name: str) -> Memory:
    """Take the one of this name off the list: from now on it is recorded again."""
    machine_key.read(home)
    with _lock(home):
        found = [entry for entry in listed(home) if entry.name == name]
        if not found:
            raise SessionlogError(f"nothing of the name {name!r} is remembered; `sessionlog redact --remembered` lists")
        memory = _load(home)
        for kind in ("values", "patterns"):
            memory[kind] = [entry for entry in memory[kind] if entry["name"] != name]
        _save(home, memory)
    return found[0]


def _load(home: str) -> dict[str, Any]:
    memory, problem = remembered.load(home)
    if problem:
        raise SessionlogError(f"{home}/{remembered.FILE}: {problem}")
    return memory


def _save(home: str, memory: dict[str, Any]) -> None:
    content = encode_json(memory).encode("utf-8", "surrogatepass")
    if len(content) > remembered.LONGEST:
        raise SessionlogError(f"{home}/{remembered.FILE} would become longer than {remembered.LONGEST:,} bytes")
    atomic.write(f"{home}/{remembered.FILE}", [content])


def _lock(home: str) -> Lock:
    """The key never changes, so it can be locked in the place of a file that is replaced."""
    return Lock(f"{home}/redact.key", LOCK_WAIT)


def _now() -> str:
    return utc_text(time.time_ns() // 1_000_000)
