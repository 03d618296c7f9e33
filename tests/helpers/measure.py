"""Runs a command and says what it took: `measure.py REPORT COMMAND…`.

A process of its own: the memory of whoever starts a command counts as memory of the command.
"""

import json
import os
import subprocess
import sys

if __name__ == "__main__":
    report, *command = sys.argv[1:]
    process = subprocess.Popen(command)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    with open(report, "w") as file:
        json.dump([process.returncode, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024], file)
