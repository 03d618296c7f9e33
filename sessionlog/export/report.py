"""A report as Markdown, or as one HTML page: what was asked, done, failed and spent."""

from __future__ import annotations

import os
from collections.abc import Iterator

from sessionlog.ask.report import ProjectReport, Report, Row, SessionReport
from sessionlog.export import html
from sessionlog.text import inert_markdown, plain


def markdown(report: Report) -> Iterator[str]:
    """The report, fit for a stand-up, a wiki or an invoice."""
    since, until = plain.local_time(report.since, "%Y-%m-%d"), plain.local_time(report.until, "%Y-%m-%d")
    yield f"# Work with coding agents, {since} to {until}\n\n{_totals(report.totals)}\n\n"
    if len(report.projects) > 1:
        yield "| Project | Sessions | Prompts | Tool calls | Failed | Files | Cost |\n|---|--:|--:|--:|--:|--:|--:|\n"
        for project in report.projects:
            cells = [f"{project.totals[name]:,}" for name in ("sessions", "prompts", "tools", "failures", "files")]
            name = inert_markdown.escaped(plain.one_line(os.path.basename(project.project)))
            cost = plain.cost(project.totals["cost_usd"], project.totals["unpriced_tokens"])
            yield f"| {name} | {' | '.join(cells)} | {cost} |\n"
        yield "\n"
    for project in report.projects:
        yield from _project(project, with_totals=len(report.projects) > 1)


def html_page(report: Report) -> Iterator[str]:
    """The same as one page without scripts."""
    yield html.head("Work with coding agents")
    yield "<section>\n" + html.markdown("".join(markdown(report))) + "</section>\n"
    yield from html.end()


def _project(project: ProjectReport, with_totals: bool) -> Iterator[str]:
    yield f"## {inert_markdown.escaped(plain.one_line(project.project, 200))}\n\n"
    if with_totals:  # one project has those of the whole report
        yield f"{_totals(project.totals)}\n\n"
    for session in project.sessions:
        yield from _session(session, f"{project.project}/")


def _session(session: SessionReport, folder: str) -> Iterator[str]:
    row = session.row
    title = plain.one_line(row["title"] or row["first_prompt"] or f"Session {row['session_id'][:8]}", 100)
    facts = [
        plain.local_time(row["started_at"]),
        plain.duration(row["seconds"] * 1000) if row["seconds"] else "",
        plain.counted(row["prompts"], "prompt"),
        plain.counted(row["tool_calls"], "tool call"),
        f"{row['failures']:,} failed" if row["failures"] else "",
        plain.cost(row["cost_usd"] or None, row["unpriced_tokens"]),
        inert_markdown.code(row["session_id"][:8]),
    ]
    yield f"### {inert_markdown.escaped(title)}\n\n{' · '.join(filter(None, facts))}\n\n"
    asked = [f"- {inert_markdown.escaped(plain.one_line(prompt, 200))}\n" for prompt in session.prompts]
    if asked:
        yield f"Asked:\n\n{''.join(asked)}\n"
    if session.files:
        files = [inert_markdown.code(path.removeprefix(folder)) for path in session.files]
        yield f"Changed: {', '.join(files)}\n\n"
    if session.failed_commands:
        lines = [f"- {inert_markdown.code(item['command'] or '')}{_code(item)}\n" for item in session.failed_commands]
        yield f"Failed:\n\n{''.join(lines)}\n"


def _code(item: Row) -> str:
    return f" (exit {item['exit_code']})" if item["exit_code"] is not None else ""


def _totals(totals: Row) -> str:
    parts = [
        plain.counted(totals["sessions"], "session"),
        plain.counted(totals["prompts"], "prompt"),
        plain.counted(totals["tools"], "tool call"),
        f"{totals['failures']:,} failed" if totals["failures"] else "",
        f"{plain.counted(totals['files'], 'file')} changed",
        f"{plain.amount(totals['tokens'])} tokens" if totals["tokens"] else "",
        plain.cost(totals["cost_usd"], totals["unpriced_tokens"]),
    ]
    return " · ".join(filter(None, parts))
