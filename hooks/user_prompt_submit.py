"""Claude Code runs this for UserPromptSubmit: the prompt goes into the archive. Prints nothing, never exits with 2."""

import sys

try:
    here = __file__.replace("\\", "/").rsplit("/", 2)[0]
    package = sys.modules["sessionlog"] = type(sys)("sessionlog")
    package.__path__ = [here + "/sessionlog", here]  # beside this folder in a checkout, around it when installed
    sys.path.reverse()  # C modules first: the folder of the whole standard library need not be searched

    from sessionlog.hook import main

    main("UserPromptSubmit", "user_prompt_submit")
except Exception as error:
    sys.exit(f"sessionlog: {error}")  # exits with 1
