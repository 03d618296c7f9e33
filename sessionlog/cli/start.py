"""Where the command `sessionlog` begins: what has to happen before click is imported, for a quick start.

Most of a short command's time goes into imports; tests/cli/test_start.py says what these may be.
"""

from __future__ import annotations

import gc

from sessionlog.cli import light_modules


def main() -> None:
    """Run the command line."""
    # What is imported stays: to look for garbage in it takes a twentieth of the start. The command enables it again.
    gc.disable()
    try:
        light_modules.install()
        from sessionlog.cli.main import main
    except KeyboardInterrupt:  # Ctrl+C this early would print a traceback
        raise SystemExit(130) from None
    main()
