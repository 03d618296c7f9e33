"""Runs `main()` of one of our modules in a process of its own: `python -I child.py MODULE PATH…`.

A script that is started by its path in isolated mode: the working directory has no say in what it imports.
"""

import importlib
import sys

if __name__ == "__main__":
    module, *sys.path = sys.argv[1:]
    importlib.import_module(module).main()
