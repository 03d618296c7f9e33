"""sessionlog pause."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

import click
from click.shell_completion import CompletionItem

from sessionlog import times
from sessionlog.cli.main import example
from sessionlog.install import config_json
from sessionlog.text import plain

UNITS = {"m": "minutes", "h": "hours", "d": "days"}


class Length(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """How long: 30m, 2h, 1d."""

    name = "length"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        match = re.fullmatch(r"(\d{1,4})\s*([mhd])", value.strip().lower())
        if not match or not int(match[1]):
            self.fail(f"{value!r} is not a length of time; write 30m, 2h or 1d", param, ctx)
        return timedelta(**{UNITS[match[2]]: int(match[1])})

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(one) for one in ("30m", "1h", "2h", "1d") if one.startswith(incomplete)]


@example("sessionlog pause 2h", "sessionlog pause", "sessionlog pause --off")
@click.command()
@click.argument("length", type=Length(), required=False)
@click.option("--off", is_flag=True, help="Record again from now on.")
def command(length: timedelta | None, off: bool) -> None:
    """Record nothing for a while: 30m, 2h, 1d, or until `sessionlog pause --off`.

    Hooks and imports leave out what happens in that time, also later, when the transcript of a session is imported.
    """
    now = datetime.now().astimezone()
    at = times.archive_text(now)
    until = times.archive_text(now + length) if length else times.FOREVER

    def update(pauses: list[list[str]]) -> list[list[str]]:
        ended = [[begin, min(end, at)] for begin, end in pauses if begin < at]
        return ended if off else [*ended, [at, until]]

    config_json.change("record.pauses", update)
    if off:
        click.echo("Sessions are recorded.")
    else:
        when = f"until {plain.local_time(until)}" if length else "until you run `sessionlog pause --off`"
        click.echo(f"Nothing is recorded {when}.")
