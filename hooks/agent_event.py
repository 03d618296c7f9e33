"""Agents other than Claude Code run this, with their name and the event: recorded. Always exits with 0."""

import sys

try:
    here = __file__.replace("\\", "/").rsplit("/", 2)[0]
    client, event = [*sys.argv[1:3], "", ""][:2]
    for room in ("", "/record", "/redact", "/archive", "/agents", "/agents/" + client.replace("-", "_")):
        name = "sessionlog" + room.replace("/", ".")
        package = sys.modules[name] = type(sys)(name)  # packages as they are, without running their __init__
        package.__path__ = [here + "/sessionlog" + room, here + room]  # in a checkout, or installed around this folder
    sys.path.reverse()  # C modules first: the folder of the whole standard library need not be searched

    from sessionlog.record.hook import main

    main(event or None, "agent_event", client)
except Exception:
    sys.exit(0)
