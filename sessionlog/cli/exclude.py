"""sessionlog exclude."""

from __future__ import annotations

import os

import click
from click.shell_completion import CompletionItem

from sessionlog.archive import place as projects
from sessionlog.cli.main import example
from sessionlog.errors import SessionlogError
from sessionlog.install import config_json
from sessionlog.text import plain


def _offered(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Folders and files; with --remove, what is excluded."""
    if not ctx.params.get("remove"):
        return [CompletionItem(incomplete, type="file")]
    listed: list[str] = config_json.get(config_json.load(), "record.exclude")
    return [CompletionItem(one) for one in listed if one.startswith(incomplete)]


@example(
    "sessionlog exclude",
    "sessionlog exclude ~/private",
    "sessionlog exclude '*.pem' 'secrets/'",
    "sessionlog exclude --remove ~/private",
)
@click.command()
@click.argument("patterns", nargs=-1, metavar="[PATTERN]…", type=click.Path(), shell_complete=_offered)
@click.option("--remove", is_flag=True, help="Record these again from now on.")
def command(patterns: tuple[str, ...], remove: bool) -> None:
    """Do not record some projects or files; without PATTERN, list what is excluded.

    Patterns are those of .gitignore. One that begins with / or ~ is a folder of this machine: nothing of the projects
    in it is recorded or imported. Any other is looked for within each project: tool calls on such files are not
    recorded. What is in the archives already stays; `sessionlog prune` removes it.
    """
    if remove and not patterns:
        raise click.UsageError("--remove needs a PATTERN; `sessionlog exclude` lists them.")
    named = [_pattern(text) for text in patterns]
    listed: list[str] = config_json.get(config_json.load(), "record.exclude")
    if remove:
        if missing := [text for text in named if text not in listed]:
            hint = plain.did_you_mean(missing[0], listed) or "; `sessionlog exclude` lists what is"
            raise SessionlogError(f"{missing[0]} is not excluded{hint}")
        listed = config_json.change("record.exclude", lambda old: [text for text in old if text not in named])
    elif named:
        listed = config_json.change("record.exclude", lambda old: [*old, *(text for text in named if text not in old)])
    if named:
        what = "Recorded again" if remove else "Not recorded"
        click.echo(f"{what} from now on: {', '.join(map(plain.one_line, named))}. Excluded in all:", err=True)
    for text in listed:
        click.echo(plain.safe(text))
    if not listed:
        click.echo("Everything is recorded.", err=True)


def _pattern(text: str) -> str:
    """A folder that the shell has spelled out is kept as ~/…; one that is named from here gets its whole path."""
    text = text.rstrip("/") or "/"
    if os.path.isdir(text) and not text.startswith("~"):
        text = os.path.realpath(text)
    home = projects.user_home()
    return f"~{text.removeprefix(home)}" if text == home or text.startswith(f"{home}/") else text
