"""Writes what repeats the code: hooks files, heads of tokens, metadata, SQL for PostgreSQL, lists in docs/.

`python tools/generate.py` updates them. `python tools/generate.py --check` exits with 1 if one is out of date.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path

import click
import yaml

from sessionlog.agents.claude_code.events import CORE, EVENTS, RECORDED
from sessionlog.archive import describe
from sessionlog.ask import audit
from sessionlog.cli.main import COMMANDS, cli
from sessionlog.install import commands
from sessionlog.redact import token_forms
from sessionlog.redact.built_in import BUILT_IN
from sessionlog.web import metadata

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:  # run as a script, only the folder of this file is on it
    sys.path.insert(0, str(ROOT))

# Clients before 2.1.257 ignore a whole file of a plugin's hooks for one event that they do not know, but that file only
# (seen with 2.0.60 to 2.1.325). So the events that came after the specification stand in files of their own, which
# plugin.json names, each for the clients since one of these versions.
NEWER_CLIENTS = ((2, 1, 116), (2, 1, 251))


def generated() -> dict[Path, str]:
    """Every generated file, and what should be in it."""
    files = {f"hooks/{name}": hooks_file(events) for name, events in plugin_events().items()}
    files["docs/cli.md"] = cli_page()
    for page, (name, make) in LISTS.items():
        files[page] = filled((ROOT / page).read_text(encoding="utf-8"), name, make())
    files["sessionlog/redact/token_heads.py"] = token_heads()
    files["datasette-metadata.yml"] = datasette_metadata()
    if importlib.util.find_spec("sqlglot"):  # tests/team fails without it
        from tools import postgres

        files |= {f"sessionlog/team/postgres/{name}": text for name, text in postgres.files().items()}
    return {ROOT / name: text for name, text in files.items()}


def plugin_events() -> dict[str, list[str]]:
    """The files of the plugin's hooks, and which events each one registers."""
    files = {"hooks.json": list(CORE)}
    rest = [event for event in RECORDED if event not in CORE]
    for version in NEWER_CLIENTS:
        files[f"since-{'.'.join(map(str, version))}.json"] = [event for event in rest if EVENTS[event].since <= version]
        rest = [event for event in rest if EVENTS[event].since > version]
    return files


def hooks_file(events: Iterable[str]) -> str:
    """A hooks file of the plugin that registers these events."""
    groups = {}
    for event in events:
        # A timeout on a plugin's SessionEnd does not raise the 1.5 s that all of them share, but it does no harm.
        command = commands.plugin_command(event)
        handler = {"type": "command", "command": command, "timeout": commands.timeout(event)}
        groups[event] = [{"hooks": [handler]}]
    return json.dumps({"hooks": groups}, indent=2) + "\n"


def filled(page: str, name: str, text: str) -> str:
    """The page with this text between the markers of that name. Everything outside of the markers stays."""
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, found_begin, rest = page.partition(begin)
    _, found_end, after = rest.partition(end)
    if not (found_begin and found_end):
        raise SystemExit(f"the lines {begin} and {end} are missing; the generated list goes between them")
    return f"{before}{begin}\n\n{text.strip()}\n\n{end}{after}"


def token_heads() -> str:
    """What the cheap test of every event must know of the table of tokens, without importing it."""
    names = {
        "WORDS": "Tokens begin with one of these words and a sign.",
        "WEAK_WORDS": "These words begin much else too.",
        "HEADS_4": "The first letters of tokens that have no sign after their beginning.",
    }
    text = '"""How tokens begin, for the cheap test. Made of token_forms.py by tools/generate.py."""\n'
    for (name, comment), found in zip(names.items(), token_forms.heads(), strict=True):
        lines = "\n".join(f'    b"{line} "' for line in textwrap.wrap(" ".join(sorted(found)), 100))
        text += f"\n# {comment}\n{name} = frozenset(\n    (\n{textwrap.indent(lines, '    ')}\n    ).split()\n)\n"
    return text


class Dumper(yaml.SafeDumper):
    """Writes SQL as it is."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


Dumper.add_representer(str, _text)


def datasette_metadata() -> str:
    """Metadata for a Datasette without our plugin, as a file."""
    return (
        "# Written by tools/generate.py from sessionlog/archive/schema.sql (its comments) and sessionlog/ask/audits/.\n"
        "# Do not edit. It is for a copy of an archive that is called sessionlog.db:\n"
        "#     datasette sessionlog.db -m datasette-metadata.yml\n"
    ) + yaml.dump(metadata.for_databases(["sessionlog"]), Dumper=Dumper, sort_keys=False, allow_unicode=True, width=120)


def cli_page() -> str:
    """docs/cli.md: the --help of every command."""
    above = cli.make_context("sessionlog", [], resilient_parsing=True)
    parts = [
        "# Command reference\n\n"
        "<!-- Written by tools/generate.py from the --help of each command. Do not edit. -->\n\n"
        "`sessionlog COMMAND --help` prints the same text.\n",
        table(("Command", ""), [(f"[`{name}`](#sessionlog-{name})", COMMANDS[name][1]) for name in sorted(COMMANDS)]),
    ]
    for name in cli.list_commands(above):
        if command := cli.get_command(above, name):
            parts += help_pages(command, click.Context(command, above, name, terminal_width=80), "##")
    return "\n".join(parts)


def help_pages(command: click.Command, context: click.Context, heading: str) -> list[str]:
    """The --help of a command, and of the commands below it."""
    pages = [f"{heading} `{context.command_path}`\n\n```text\n{command.get_help(context)}\n```\n"]
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            if below := command.get_command(context, name):
                pages += help_pages(below, click.Context(below, context, name, terminal_width=80), f"{heading}#")
    return pages


def audits() -> str:
    """The audits, by group."""
    rows = [(f"`{query.name}`", query.description, query.group) for query in audit.audits().values()]
    return table(("Name", "What it lists", "Group"), rows)


def kinds() -> str:
    """The kinds of secrets that are known."""
    return ", ".join(sorted({f"`{detector.kind}`" for detector in BUILT_IN}))


def tables() -> str:
    """The tables and views of an archive."""
    rows = [(f"`{name}`", found.kind, found.description) for name, found in sorted(describe.tables().items())]
    return table(("Name", "", "What it holds"), rows)


def client_events() -> str:
    """The events that are registered, and the first client that knows each."""
    rows = [
        (f"`{name}`", ".".join(map(str, EVENTS[name].since)), "core" if name in CORE else "all") for name in RECORDED
    ]
    return table(("Event", "Claude Code since", "`--events`"), rows)


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table in Markdown."""
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in (head, *rows)]
    lines.insert(1, "|" + "---|" * (lines[0].count(" | ") + 1))
    return "\n".join(lines) + "\n"


# A page of docs/, the name of the markers in it, and what goes between them.
LISTS: dict[str, tuple[str, Callable[[], str]]] = {
    "docs/archive-format.md": ("tables", tables),
    "docs/audit.md": ("audits", audits),
    "docs/install.md": ("events", client_events),
    "docs/privacy.md": ("kinds", kinds),
}


def main() -> None:
    check = sys.argv[1:] == ["--check"]
    stale = {path: text for path, text in generated().items() if not path.exists() or path.read_text("utf-8") != text}
    for path, text in stale.items():
        print(f"{path.relative_to(ROOT)} {'is out of date' if check else 'was brought up to date'}")
        if not check:
            path.write_text(text, encoding="utf-8")
    if check and stale:
        raise SystemExit("Type: python tools/generate.py")


if __name__ == "__main__":
    main()
