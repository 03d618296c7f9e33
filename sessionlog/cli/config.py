"""sessionlog config."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import Any

import click
from click.shell_completion import CompletionItem

from sessionlog import times
from sessionlog.archive import place as projects
from sessionlog.cli.common import json_option, print_json, to_json
from sessionlog.cli.main import example
from sessionlog.errors import SessionlogError
from sessionlog.install import config_json
from sessionlog.text import plain

PAUSES = "record.pauses"


def _names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in config_json.DEFAULTS if name.startswith(incomplete)]


def _values(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    is_switch = isinstance(config_json.DEFAULTS.get(ctx.params.get("name") or ""), bool)
    return [CompletionItem(one) for one in ("true", "false") if is_switch and one.startswith(incomplete)]


@example("sessionlog config", "sessionlog config record.tool_output false", "sessionlog config --json")
@click.command()
@click.argument("name", required=False, shell_complete=_names)
@click.argument("value", required=False, shell_complete=_values)
@json_option
def command(name: str | None, value: str | None, as_json: bool) -> None:
    """Show all settings; with NAME, one of them; with NAME and VALUE, change it.

    VALUE is JSON. Settings are kept in config.json in the archive folder.
    """
    if name is not None and name not in config_json.DEFAULTS:
        suggestion = plain.did_you_mean(name, config_json.DEFAULTS)
        raise SessionlogError(f"there is no setting {name!r}{suggestion}\n`sessionlog config` lists them.")
    if name is not None and value is not None:
        config_json.change(name, lambda _: _parse(name, value))
    settings = config_json.load()
    shown = {key: config_json.get(settings, key) for key in ([name] if name else config_json.DEFAULTS)}
    if as_json:
        print_json(shown)
        return
    if name is None:
        click.secho(f"# {plain.safe(projects.home_folder())}/config.json", dim=True)
    for key, found in shown.items():
        is_default = found == config_json.DEFAULTS[key]
        shown_value = _pauses(found) if key == PAUSES and found else to_json(found)
        click.echo(
            click.style(key, fg="yellow") + f" {shown_value}" + click.style("  # default" * is_default, dim=True)
        )


def _pauses(pauses: list[list[str]]) -> str:
    """When recording goes on, and when it did not."""
    now = times.archive_text(datetime.now(timezone.utc))
    texts = []
    for begin, end in pauses:
        if end == times.FOREVER:
            texts.append(f"paused since {plain.local_time(begin)}, until `sessionlog pause --off`")
        elif begin <= now < end:
            left = plain.length(times.moment(end) - times.moment(now))
            texts.append(f"paused until {plain.local_time(end)}, for {left} more")
        else:
            texts.append(f"{plain.local_time(begin)} to {plain.local_time(end)}")
    return ("\n" + " " * (len(PAUSES) + 1)).join(reversed(texts))


def _parse(name: str, text: str) -> Any:
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    wanted = type(config_json.DEFAULTS[name])
    if type(value) is not wanted:
        terms = {bool: "true or false", list: 'a JSON list, such as ["a", "b"]', int: "a number"}
        raise SessionlogError(f"{name} is {terms[wanted]}, not {text!r}")
    if problem := config_json.problem(name, value):
        raise SessionlogError(f"{name} was not changed: {problem}")
    return value
