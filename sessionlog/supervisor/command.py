"""The command that is registered as a hook: `python -I -m sessionlog.supervisor`, and `sessionlog supervise`."""

from __future__ import annotations

import sys
from typing import Any

import click

from sessionlog.supervisor import supervise as supervisor
from sessionlog.supervisor.contract import MAX_ITERATIONS, TIMEOUT


class WrongOptions(click.UsageError):
    """Ends with 1: the usual 2 would keep the session from stopping."""

    exit_code = 1


class HookCommand(click.Command):
    """A command that ends with 2 only if its contract says so."""

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        try:
            return super().make_context(*arguments, **options)
        except click.UsageError as error:
            raise WrongOptions(error.format_message(), error.ctx) from error


@click.command("supervise", cls=HookCommand)
@click.option("--reviewer", metavar="COMMAND", required=True, help="Reads a brief on stdin, prints a verdict.")
@click.option("--session-id", metavar="ID", help="Review the stop of this session; stdin is not read.")
@click.option(
    "--max-iterations",
    metavar="N",
    type=click.IntRange(min=0),
    help=f"After so many reviews, the session is let go.  [default: {MAX_ITERATIONS}, or as in config.json]",
)
@click.option(
    "--timeout",
    metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    default=TIMEOUT,
    show_default=True,
    help="How long it may take in all.",
)
def command(reviewer: str, session_id: str | None, max_iterations: int | None, timeout: float) -> None:
    """Let a reviewer decide whether Claude may stop, or ask you a question.

    A hook command: `sessionlog install --supervisor COMMAND` registers it for Stop and for the tool AskUserQuestion. It
    reads the event on stdin, runs COMMAND with a JSON brief of the session, which prints {"allow_stop": true or
    false, "feedback": "…"}, and answers Claude Code. Ends with 0 when there is a decision, 1 when the review
    failed, 2 when the input is no event, 124 when time is up.
    """
    answer = supervisor.supervise(reviewer, session_id=session_id, max_iterations=max_iterations, timeout=timeout)
    if answer.stdout:
        click.echo(answer.stdout)
    if answer.stderr:
        click.echo(answer.stderr, err=True)
    sys.exit(answer.code)
