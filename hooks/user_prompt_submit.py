"""Claude Code runs this for UserPromptSubmit: the prompt goes into the archive. Prints nothing, never exits with 2."""

import sys

try:
    here = __file__.replace("\\", "/").rsplit("/", 2)[0]
    for room in ("", "/record", "/redact", "/archive"):  # packages as they are, without running their __init__
        name = "sessionlog" + room.replace("/", ".")
        package = sys.modules[name] = type(sys)(name)
        package.__path__ = [here + "/sessionlog" + room, here + room]  # in a checkout, or installed around this folder
    sys.path.reverse()  # C modules first: the folder of the whole standard library need not be searched

    from sessionlog.record.hook import main

    main("UserPromptSubmit", "user_prompt_submit")
except Exception as error:
    sys.exit(f"sessionlog: {error}")  # exits with 1
