"""`python -I -m sessionlog.supervisor`: what is registered.

A module and not a script, because Python ends with 2 for a script that is gone, and with 1 for a module: 2 would keep
every session from stopping. Not `sessionlog supervise` either, for which an older sessionlog would end with 2.
"""

from __future__ import annotations

from sessionlog.supervisor.command import command


def main() -> None:
    """`sessionlog-supervisor`: the same, found on PATH, for settings that a team shares."""
    command(prog_name="sessionlog-supervisor")


if __name__ == "__main__":
    main()
