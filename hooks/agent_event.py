"""Agents other than Claude Code run this, with their name and the event: recorded. Always exits with 0."""

from marshal import loads
from sys import argv, implementation

arguments = argv[2] if len(argv) > 2 else None, "agent_event", argv[1] if len(argv) > 1 else ""
here = __file__.rpartition("agent_event")[0]
try:  # all modules in one file, see sessionlog/record/bundle.py
    code, bundle = loads(open(f"{here}__pycache__/hook.{implementation.cache_tag}.bundle", "rb").read())
except Exception:
    code = open(f"{here}imports.py", "rb").read()
exec(code)
