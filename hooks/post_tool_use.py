"""Claude Code runs this for PostToolUse: the tool call goes into the archive. Prints nothing, never exits with 2."""

from marshal import loads
from sys import implementation

arguments = "PostToolUse", "post_tool_use"
here = __file__.rpartition("post_tool_use")[0]
try:  # all modules in one file, see sessionlog/record/bundle.py
    code, bundle = loads(open(f"{here}__pycache__/hook.{implementation.cache_tag}.bundle", "rb").read())
except Exception:
    code = open(f"{here}imports.py", "rb").read()
exec(code)
