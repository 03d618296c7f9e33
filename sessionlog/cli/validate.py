"""`sessionlog validate`: check the hooks of settings files and plugins."""

from __future__ import annotations

import json
from pathlib import Path

import click

from sessionlog.cli.main import example
from sessionlog.cli.terminal import beside
from sessionlog.install.validate import check as validate
from sessionlog.text.plain import counted, safe

_COLOURS = {"error": "red", "warning": "yellow"}
# Findings of one file that are printed.
SHOWN = 100


@example(
    "sessionlog validate",
    "sessionlog validate .claude/settings.json",
    "sessionlog validate path/to/plugin --strict",
    "sessionlog validate --rules",
)
@click.command("validate")
@click.argument("paths", metavar="[FILE]...", nargs=-1, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the findings as a JSON list.")
@click.option("--strict", is_flag=True, help="Let warnings count as errors.")
@click.option("--rules", "list_rules", is_flag=True, help="List the rules and check nothing.")
@click.pass_context
def command(ctx: click.Context, paths: tuple[Path, ...], as_json: bool, strict: bool, list_rules: bool) -> None:
    """Check hooks against the specification and against today's Claude Code.

    FILE is a settings file, a hooks.json, or the folder of a plugin or project. Without FILE, the settings files in
    force here are checked. What the specification forbids and the client takes is a warning. Ends with 1 if there are
    errors.
    """
    if list_rules:
        for rule in validate.rules():
            _echo(f"{rule.id}  {_level(rule.severity)}  ", f"{rule.sentence}  {_source(rule.source)}")
        return
    targets = [target for path in paths for target in validate.targets(path)]
    if not paths:
        targets = validate.targets_in_force(Path.cwd())
    checked = {target.file: validate.check(target) for target in targets}
    findings = [finding for found in checked.values() for finding in found]
    if as_json:
        click.echo(json.dumps([finding._asdict() for finding in findings], indent=2, ensure_ascii=False))
    elif not checked:
        click.echo("There are no settings files here, neither yours nor the project's: nothing to check.")
    else:
        for file, found in checked.items():
            _show(file, found)
        click.echo(_summary(findings, len(checked)))
    ctx.exit(1 if validate.failed(findings, strict=strict) else 0)


def _show(file: Path, findings: list[validate.Finding]) -> None:
    if not findings:
        click.echo(f"{safe(str(file))}  {click.style('no problems', fg='green')}")
    for finding in findings[:SHOWN]:
        where = click.style(f"{finding.file}:{finding.line}:{finding.column}", bold=True)
        _echo(f"{where}  {_level(finding.severity)}  {finding.rule}  ", f"{finding.message}  {_source(finding.source)}")
        _echo("    ", f"{finding.path + ': ' if finding.path else ''}{finding.advice}")
    if len(findings) > SHOWN:
        click.echo(f"… and {len(findings) - SHOWN:,} more (--json lists all)")
    click.echo()


def _echo(start: str, text: str) -> None:
    for line in beside(start, text):
        click.echo(line)


def _summary(findings: list[validate.Finding], files: int) -> str:
    errors = sum(finding.severity == "error" for finding in findings)
    found = [
        counted(number, word) for number, word in ((errors, "error"), (len(findings) - errors, "warning")) if number
    ]
    return f"{' and '.join(found) or 'No problems'} in {counted(files, 'file')}."


def _level(severity: str) -> str:
    return click.style(severity.ljust(7), fg=_COLOURS[severity])


def _source(source: str) -> str:
    return click.style(f"[{source}]", dim=True)
