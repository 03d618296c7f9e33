"""sessionlog demo."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import click

from sessionlog.archive import lookup, read
from sessionlog.archive import place as projects
from sessionlog.cli import terminal
from sessionlog.cli.common import json_option, print_json
from sessionlog.cli.dialogue import progress_bar
from sessionlog.cli.main import example
from sessionlog.cli.session_view import View
from sessionlog.errors import SessionlogError
from sessionlog.install.commands import hook_command
from sessionlog.session import header, load

PREFIX = "sessionlog-demo-"
SAMPLE = Path(__file__).with_name("demo_session.jsonl")


@example("sessionlog demo")
@click.command()
@json_option
def command(as_json: bool) -> None:
    """Record a sample session into a throw-away archive and show it.

    Each event of the sample goes through the real hook, in a process of its own, as Claude Code would run it.
    """
    remove_earlier_demos()
    home = Path(tempfile.mkdtemp(prefix=PREFIX))
    project = home / "shop"
    project.mkdir()
    payloads = SAMPLE.read_text(encoding="utf-8").replace("{project}", str(project)).replace("{home}", str(home))
    try:
        record(payloads.splitlines(), home, project, quiet=as_json)
    except BaseException:  # Ctrl+C too
        shutil.rmtree(home)
        raise

    os.environ["SESSIONLOG_HOME"] = str(home)
    place = projects.place(os.path.realpath(project))
    found = lookup.find_session([place], "last")
    with closing(read.connect(place)) as connection:
        events = list(lookup.events(connection, found.session["session_id"]))
        if as_json:
            print_json({"path": place.db, "events": [lookup.as_json(row) for row in events]})
            return
        about = header.load(connection, found.session, place.project)
        width = terminal.width() if sys.stdout.isatty() else None
        for line in View(width=width).session(about, load.entries(connection, found.session["session_id"])):
            click.echo(line)
    # As it was called here: it need not be on the PATH.
    sessionlog = shlex.quote(sys.argv[0]) if os.path.basename(sys.argv[0]) == "sessionlog" else "sessionlog"
    click.echo(
        f"\nAll of it is in {place.db}\n"
        f"Look around:   export SESSIONLOG_HOME={home}\n"
        f"               {sessionlog} browse\n"
        f"               {sessionlog} search 购物车 --all\n"
        f"               sqlite3 {place.db} 'SELECT * FROM bash_commands'\n"
        f"The next demo removes it, or: rm -r {home}"
    )


def remove_earlier_demos() -> None:
    """What earlier demos of this user left in the temporary folder; nothing of anybody else."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        if projects.is_own_folder(str(folder)):
            shutil.rmtree(folder, ignore_errors=True)


def record(payloads: list[str], home: Path, project: Path, quiet: bool) -> None:
    """Send the payloads through the registered hook commands, one process each."""
    keep = ("PATH", "LANG", "SYSTEMROOT")
    environment = {name: os.environ[name] for name in keep if name in os.environ}
    environment |= {"HOME": str(home), "SESSIONLOG_HOME": str(home), "CLAUDE_PROJECT_DIR": str(project)}
    environment["SESSIONLOG_NO_FOLLOW"] = "1"  # the sample has no transcript
    with progress_bar("Recording", len(payloads), hidden=quiet) as progress:
        for payload in payloads:
            hook = hook_command(json.loads(payload)["hook_event_name"])
            done = subprocess.run(  # noqa: S602 (the command that a settings file would hold)
                hook, shell=True, input=payload.encode(), env=environment, capture_output=True, check=False
            )
            if done.returncode or done.stdout:
                raise SessionlogError(f"the hook failed ({done.returncode}): {done.stderr.decode(errors='replace')}")
            progress.update(1)
