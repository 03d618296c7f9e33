"""The `sessionlog` command: each subcommand lives in a module of this package and is imported only when it runs."""

from __future__ import annotations

import gc
import importlib
import os
import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from sessionlog import __version__
from sessionlog.cli import terminal
from sessionlog.errors import SessionlogError
from sessionlog.text.plain import did_you_mean, safe

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# Command name -> (module, one line for the list of commands). Kept here so that `sessionlog --help` and shell
# completion import none of them.
COMMANDS: dict[str, tuple[str, str]] = {
    "answer": ("answer", "Print the last answer of a session as Markdown."),
    "audit": (
        "audit",
        "List what to look at: risky commands, files outside the project, permissions bypassed, gaps, …",
    ),
    "backup": ("backup", "Copy the archive, also while it is in use."),
    "blame": ("blame", "Show which session or commit each line of a file comes from."),
    "browse": ("browse", "Open everything that was recorded in the browser."),
    "commit": ("commit", "Show the sessions and prompts behind a commit, or a range of them."),
    "completion": ("completion", "Print the completion script for your shell."),
    "config": ("config", "Show or change settings."),
    "demo": ("demo", "Record a sample session into a throw-away archive and show it."),
    "doctor": ("doctor", "Check the installation and the archives."),
    "exclude": ("exclude", "Do not record some projects or files."),
    "export": ("export", "Write sessions as JSONL, Markdown or HTML."),
    "hook-command": ("hook_command", "Print the shell command to register as a Claude Code hook."),
    "install": ("install", "Register the hooks in the settings of Claude Code."),
    "import": ("import_", "Archive Claude Code's transcripts, before it deletes them."),
    "mcp": ("mcp", "Serve the archive to agents over MCP; they can only read."),
    "merge": ("merge", "Add other archives to this one: of a moved project, another machine, a backup."),
    "note": ("note", "Write a note on a session or on a moment of it."),
    "path": ("path", "Print where the archive of this project is."),
    "pause": ("pause", "Record nothing for a while."),
    "pick": ("pick", "Choose a session from a full-screen list: search, look, show, resume, export."),
    "prune": ("prune", "Remove old sessions, or only what their tools printed."),
    "redact": ("redact", "Remove secrets from what is already recorded."),
    "report": ("report", "Write what was asked, done, failed and spent in a week."),
    "restore": ("restore", "Write the transcripts of a session back to where Claude Code looks for them."),
    "review": ("review", "Review a session with rules or with Claude: for the supervisor, or by hand."),
    "schema": ("schema", "Print the tables, views and columns of an archive with what they mean."),
    "search": ("search", "Search everything that was recorded."),
    "sessions": ("sessions", "List recorded sessions, newest first."),
    "ship": ("ship", "Send what is new to the team archive."),
    "show": ("show", "Show one session."),
    "sql": ("sql", "Run an SQL query over one project or all of them; it can only read."),
    "stats": ("stats", "Count sessions, prompts, tools, failures, files, tokens and cost."),
    "supervise": ("supervise", "Let a reviewer decide whether Claude may stop: an optional hook."),
    "tag": ("tag", "Put tags on a session; a tag is a name for it."),
    "tail": ("tail", "Print the last events, and follow new ones."),
    "team": ("team", "Ask and manage the team archive."),
    "uninstall": ("uninstall", "Remove the hooks from the settings; the archive stays."),
    "verify": ("verify", "Find events that were changed, removed or inserted later."),
    "validate": ("validate", "Check the hooks in settings files and plugins."),
    "why": ("why", "Show why a line is there: the prompt, the edits, what ran afterwards."),
}


# What people type who know other tools.
OTHER_WORDS = {
    **dict.fromkeys(("list", "ls", "log", "logs", "history"), "sessions"),
    **dict.fromkeys(("cat", "view", "open"), "show"),
    **dict.fromkeys(("find", "grep"), "search"),
    **dict.fromkeys(("rm", "remove", "delete", "clean"), "prune"),
    **dict.fromkeys(("web", "serve"), "browse"),
    **dict.fromkeys(("resume", "ui", "tui"), "pick"),
    **dict.fromkeys(("status", "check"), "doctor"),
    **dict.fromkeys(("cost", "costs", "usage"), "stats"),
    **dict.fromkeys(("watch", "follow"), "tail"),
    **dict.fromkeys(("query", "db"), "sql"),
    "settings": "config",
    "ignore": "exclude",
    "unpause": "pause --off",
}


def load_command(name: str) -> click.Command:
    """Import a command."""
    command: click.Command = importlib.import_module(f"sessionlog.cli.{COMMANDS[name][0]}").command
    return command


class LazyGroup(click.Group):
    """Imports a command's module when the command is asked for, so that one command never pays for another."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        return load_command(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            meant = OTHER_WORDS.get(args[0])
            if re.fullmatch(r"last(~\d+)?|today|yesterday", args[0]):
                meant = f"show {args[0]}"
            suggestion = f"; did you mean {meant}?" if meant else did_you_mean(args[0], COMMANDS)
            ctx.fail(f"there is no command {args[0]!r}{suggestion}")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem  # for the Tab key only

        names = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [*(CompletionItem(name, help=COMMANDS[name][1]) for name in names), *options]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in self.list_commands(ctx)])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
)
@click.version_option(__version__, prog_name="sessionlog")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def cli(ctx: click.Context, debug: bool) -> None:
    """The flight recorder for coding agents: record every session, look at it later.

    Without a command, on a terminal, it lists the sessions: type to search, Enter to show.
    """
    if not gc.isenabled():  # see sessionlog.cli.start
        gc.freeze()
        gc.enable()
    ctx.obj = {"debug": debug}
    ctx.color = terminal.wants_colour()
    if ctx.invoked_subcommand is None:
        if not terminal.is_interactive():
            click.echo(ctx.get_help())
            ctx.exit(0)
        ctx.invoke(load_command("pick"))


# As shells report a command that Ctrl+C ended.
INTERRUPTED = 130


def main() -> None:
    """Run the command line; the one place where errors become messages and exit codes."""
    try:
        terminal.accept_every_character()
        code = cli.main(prog_name="sessionlog", standalone_mode=False)
    except (click.exceptions.Abort, KeyboardInterrupt):  # Ctrl+C
        sys.exit(INTERRUPTED)
    except click.ClickException as error:
        import io

        message = io.StringIO()
        error.show(message)
        terminal.say(message.getvalue().rstrip("\n"))
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # `sessionlog show … | head`: the reader left, which is no error. Python would complain again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except Exception as error:  # a full or read-only disk, a damaged archive, or a mistake of ours
        if "--debug" in sys.argv:
            raise
        terminal.say(f"Error: {safe(_in_words(error))}", fg="red", color=terminal.wants_colour())
        sys.exit(1)
    else:
        sys.exit(code if isinstance(code, int) else 0)


def _in_words(error: Exception) -> str:
    if isinstance(error, SessionlogError):
        return str(error)
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{os.fsdecode(error.filename)}: {error.strerror}"
    if type(error).__name__ == "DatabaseError" and type(error).__module__ == "sqlite3":  # found while reading on
        from sessionlog.archive.read import IF_DAMAGED

        return f"an archive cannot be read: {error}\n{IF_DAMAGED}"
    return f"{type(error).__name__}: {error}\n`sessionlog --debug …` shows where it happened."


def example(*lines: str) -> Callable[[click.Command], click.Command]:
    """Decorate a command with examples at the end of its --help."""

    def add(command: click.Command) -> click.Command:
        command.epilog = "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)
        return command

    return add
