"""The command palette (Ctrl+K): sessions, files, audits and pages by a few letters of their names."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from datasette.utils.asgi import Response

from sessionlog.ask import audit
from sessionlog.ask.rollup import sessions, stats
from sessionlog.text import plain
from sessionlog.web import archives
from sessionlog.web import page as pages

LONGEST = 100  # letters of a question
SHOWN = 7  # of each kind


class Target(NamedTuple):
    """Somewhere to go."""

    label: str
    detail: str
    href: str


def routes(datasette: Any) -> list[tuple[str, Any]]:
    return [(r"/-/palette$", answer)]


async def answer(datasette: Any, request: Any) -> Response:
    """Where one can go, by kind, as JSON."""
    wanted = (request.args.get("q") or "").strip()[:LONGEST]
    found = archives.find(datasette)

    def question(counted: stats.Counted, sources: list[sessions.Source]) -> tuple[list[Target], list[Target]]:
        return _sessions(wanted, sources, found), _files(wanted, counted, sources, found) if wanted else []

    of_sessions, of_files = await archives.count(found.values(), question)
    groups = {
        "Pages": _named(wanted, [Target(label, "", href) for href, label in pages.MENU]),
        "Sessions": of_sessions,
        "Files": of_files,
        "Projects": _named(wanted, [_project(archive) for archive in found.values()]) if len(found) > 1 else [],
        "Audits": _named(wanted, [_audit(one) for one in audit.audits().values()]) if wanted else [],
    }
    if wanted:
        groups["Everything"] = [Target(f"Search for “{wanted}”", "", pages.address("search", q=wanted))]
    body = [{"title": title, "items": [one._asdict() for one in some]} for title, some in groups.items() if some]
    return pages.response(json.dumps(body), content_type="application/json; charset=utf-8")


def _sessions(wanted: str, sources: list[sessions.Source], found: dict[str, archives.Archive]) -> list[Target]:
    listed = sessions.page(sources, sessions.Filters(text=wanted), sessions.Order("active"), None, SHOWN)
    return [
        Target(
            plain.one_line(row["title"] or row["first_prompt"] or f"Session {row['session_id'][:8]}", 90),
            f"{found[row['project']].label} · {plain.ago(row['last_at']) if row['last_at'] else 'no time'}",
            pages.address("session", row["project"], row["session_id"]),
        )
        for row in listed.rows
    ]


def _files(
    wanted: str, counted: stats.Counted, sources: list[sessions.Source], found: dict[str, archives.Archive]
) -> list[Target]:
    targets = []
    for source in sources:
        archive = found[source.name]
        for path in stats.changed_paths(source.connection, wanted, SHOWN):
            shown = plain.one_line(archives.relative(archive, path), 90)
            targets.append(Target(shown, archive.label, pages.address("files", project=archive.name, path=path)))
    return sorted(targets, key=lambda one: len(one.label))[:SHOWN]


def _project(archive: archives.Archive) -> Target:
    return Target(archive.label, plain.one_line(archive.place.project, 90), pages.address("sessions", archive.name))


def _audit(query: audit.Audit) -> Target:
    return Target(query.title, "", pages.address("audits", query.name))


def _named(wanted: str, targets: list[Target]) -> list[Target]:
    """Those whose name has the letters, in their order; the closest first."""
    scored = [
        (score, place, one) for place, one in enumerate(targets) if (score := _score(wanted, one.label)) is not None
    ]
    return [one for _, _, one in sorted(scored, key=lambda found: found[:2])][:SHOWN]


def _score(wanted: str, name: str) -> int | None:
    """How far a name is from the letters: 0 begins with them, 1 has a word that does, 2 has them together, 3 apart."""
    wanted, name = wanted.lower(), name.lower()
    if name.startswith(wanted):
        return 0
    if f" {wanted}" in name:
        return 1
    if wanted in name:
        return 2
    letters = iter(name)
    return 3 if all(letter in letters for letter in wanted if not letter.isspace()) else None
