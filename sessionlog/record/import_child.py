"""The importer that a hook starts: reads what is new in one session's transcript, and ends.

It is a script, run with `python -I -S -X utf8`: the standard library and this package are all that it has.
"""

import os
import sys


def main(home: str, project: str, db: str, transcript_path: str, stamp: str, client: str) -> None:
    """Import one session. Errors are not reported: the next import meets them again."""
    from sessionlog.archive.place import Place
    from sessionlog.record import bundle
    from sessionlog.transcripts import importer

    os.unlink(stamp)  # before reading: an event from now on wants another import
    importer.follow(Place(home, project, db), transcript_path, client)
    bundle.bring_up_to_date()
    after = os.path.join(os.path.dirname(os.path.abspath(__file__)), "after_import.py")
    os.execv(sys.executable, [sys.executable, "-I", after, home, db])  # noqa: S606 (our own script)


if __name__ == "__main__":
    package = sys.modules["sessionlog"] = type(sys)("sessionlog")
    package.__path__ = [os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]
    main(*sys.argv[1:])
