"""Claude Code runs this for PostToolUse: the tool call goes into the archive. Prints nothing, never exits with 2."""

import sys

try:
    # The package lies beside this folder in a checkout, and around it when installed.
    sys.path.insert(0, __file__.replace("\\", "/").rsplit("/", 2)[0])
    try:
        from sessionlog.hook import main
    except ModuleNotFoundError:
        sys.path[0] = sys.path[0].rpartition("/")[0]
        from sessionlog.hook import main

    main("PostToolUse", "post_tool_use")
except Exception as error:
    sys.exit(f"sessionlog: {error}")  # exits with 1
