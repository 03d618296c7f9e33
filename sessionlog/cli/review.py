"""sessionlog review."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from sessionlog.cli.common import places, print_json, project_options
from sessionlog.cli.completion import offer, session_ids
from sessionlog.cli.main import example
from sessionlog.supervisor import builtin

MODELS = ("haiku", "sonnet", "opus")  # as `claude --model` calls them


@example(
    "sessionlog install --supervisor 'sessionlog review'",
    "sessionlog install --supervisor 'sessionlog review --claude --model haiku'",
    "sessionlog review last --rules team-rules.yml",
    "sessionlog review last --brief",
)
@click.command("review")
@click.argument("session", required=False, metavar="[SESSION]", shell_complete=session_ids)
@click.option(
    "--rules",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The rules in FILE instead of those that come with sessionlog.",
)
@click.option("--claude", is_flag=True, help="Let Claude review, in a fork of the session, instead of rules.")
@click.option("--model", metavar="NAME", shell_complete=offer(lambda: MODELS), help="Which model, with --claude.")
@click.option("--brief", is_flag=True, help="Print what a reviewer gets, and review nothing.")
@project_options
def command(
    session: str | None,
    rules: Path | None,
    claude: bool,
    model: str | None,
    brief: bool,
    project: str | None,
    everywhere: bool,
) -> None:
    """Review a session: print {"allow_stop": true or false, "feedback": "…"}.

    A reviewer for `sessionlog install --supervisor`, which gives it a brief on stdin. With SESSION (the start of an id,
    or `last`) a person can try it. By rules: tests ran after the last edit, no failed command is left, no note of
    unfinished work was written; each is a query over the archive.
    """
    if rules and claude:
        raise click.UsageError("--rules and --claude exclude each other.")
    if model and not claude:
        raise click.UsageError("--model goes with --claude.")
    if session:
        given = builtin.of_session(places(project, everywhere), session)
    else:
        given = builtin.of_stdin(sys.stdin.buffer.read() if not sys.stdin.isatty() else b"")
    if brief:
        print_json(given)
        return
    print_json((builtin.by_claude(given, model) if claude else builtin.by_rules(given, rules))._asdict(), None)
