"""`--remembered` and `--forget`, as `prune` and `redact` have them: what stays out of the archive from now on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import click

from sessionlog.cli.completion import offer


def memory_options(
    metavar: str, listed: str, forget: str, remembered: Callable[[], Iterable[str]]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The two options, with their help."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        command = click.option(
            "--forget", "forgotten", metavar=metavar, multiple=True, shell_complete=offer(remembered), help=forget
        )(command)
        return click.option("--remembered", is_flag=True, help=listed)(command)

    return add


def run(
    forgotten: tuple[str, ...], forget: Callable[[str], str], lines: Callable[[], Iterable[str]], nothing: str
) -> None:
    """Forget what is named, and say so; without a name, list what is remembered."""
    for name in forgotten:
        click.secho(forget(name), fg="green")
    if not forgotten:
        for line in [*lines()] or [nothing]:
            click.echo(line)
