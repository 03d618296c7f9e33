"""What the handlers run when there is no bundle for this Python: imports the modules of the hook, then the same."""

import sys

event, handler, client = (*arguments, "")[:3]
try:
    parent = here.replace("\\", "/").rpartition("/hooks/")[0]
    rooms = ["", "/record", "/redact", "/archive", "/agents", "/agents/" + client.replace("-", "_")]
    for room in rooms if client else rooms[:4]:  # packages as they are, without running their __init__
        name = "sessionlog" + room.replace("/", ".")
        package = sys.modules[name] = type(sys)(name)
        package.__path__ = [f"{parent}/sessionlog{room}", parent + room]  # a checkout, or installed around this folder
    sys.path.reverse()  # C modules first: the folder of the whole standard library need not be searched

    from sessionlog.record.hook import main

    main(event, handler, client)
except Exception as error:
    sys.exit(0 if client else f"sessionlog: {error}")  # a message exits with 1
