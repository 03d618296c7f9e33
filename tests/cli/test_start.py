"""What the everyday commands import: each module makes every call slower."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sessionlog.archive.place import Place
from tests.conftest import Hook
from tests.record.test_hook import prompt, tool

# Prints what was imported beyond click, after a command.
RUN = """
import sys
from sessionlog.cli import light_modules
light_modules.install()
import click
before = set(sys.modules)
from sessionlog.cli.start import main
try:
    main()
finally:
    kinds = [type(sys.modules[name]).__name__ for name in ("inspect", "platform")]
    print([sorted(set(sys.modules) - before), *kinds], file=sys.stderr)
"""

COMMON = """
sessionlog.__version__ sessionlog.archive sessionlog.archive.append sessionlog.archive.event
sessionlog.archive.files sessionlog.archive.place sessionlog.archive.read sessionlog.archive.readonly
sessionlog.archive.whose sessionlog.cli.common
sessionlog.cli.completion sessionlog.cli.main sessionlog.cli.start sessionlog.cli.table sessionlog.cli.terminal
sessionlog.errors sessionlog.fastlib sessionlog.text sessionlog.text.plain sessionlog.times
_blake2 gc _json _sqlite3 sqlite3 sqlite3.dbapi2
"""
MAY_IMPORT = {
    "sessions": """
sessionlog.archive.locks sessionlog.archive.one_client sessionlog.archive.transaction
sessionlog.archive.sidecar sessionlog.ask sessionlog.ask.rollup sessionlog.ask.rollup.build sessionlog.ask.rollup.open
sessionlog.ask.rollup.sessions sessionlog.ask.rollup.stats sessionlog.cli.counting sessionlog.cli.progress
sessionlog.cli.sessions sessionlog.session
sessionlog.session.live _heapq heapq
""",
    "search echo": """
sessionlog.agents sessionlog.agents.claude_code sessionlog.agents.claude_code.tools sessionlog.agents.registry
sessionlog.agents.claude_code.transcript_lines sessionlog.archive.locks sessionlog.archive.notes
sessionlog.archive.one_client sessionlog.archive.sidecar sessionlog.archive.time_limit sessionlog.archive.transaction
sessionlog.ask
sessionlog.ask.search sessionlog.ask.search.build sessionlog.ask.search.find sessionlog.ask.search.index
sessionlog.ask.search.labels sessionlog.ask.search.partial sessionlog.ask.search.query sessionlog.ask.search.slices
sessionlog.ask.search.waiting sessionlog.cli.progress sessionlog.cli.search sessionlog.system sessionlog.system.files
sessionlog.transcripts sessionlog.transcripts.packed sessionlog.transcripts.stored_lines
_heapq fcntl fnmatch heapq zlib
""",
    "show last": """
sessionlog.agents sessionlog.agents.claude_code sessionlog.agents.claude_code.tools sessionlog.agents.registry
sessionlog.archive.lookup sessionlog.archive.rebuild
sessionlog.cli.session_view sessionlog.cli.show sessionlog.session
sessionlog.session.call sessionlog.session.header sessionlog.session.live sessionlog.session.load
sessionlog.session.merge sessionlog.session.outline
""",
}


@pytest.mark.parametrize("command", MAY_IMPORT)
def test_a_short_command_imports_little(command: str, hook: Hook, place: Place) -> None:
    hook(prompt("买一个 cart"))
    hook(tool(1, tool_response={"stdout": "1", "stderr": "", "interrupted": False}))
    for file in Path(place.home).glob(f"{Path(place.db).name}*"):
        os.utime(file, (1, 1))  # what was written this moment is counted again the next time
    words = command.split()
    subprocess.run([sys.executable, "-m", "sessionlog", *words], capture_output=True, check=True)  # builds indexes
    done = subprocess.run([sys.executable, "-c", RUN, *words], capture_output=True, text=True, check=True)
    imported, inspect, platform = ast.literal_eval(done.stderr.splitlines()[-1])
    allowed = {*COMMON.split(), *MAY_IMPORT[command].split()}
    assert set(imported) <= allowed, sorted(set(imported) - allowed)
    assert inspect == "_Inspect"  # still the stand-in
    assert platform == "_Platform"


def test_help_has_the_real_inspect() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sessionlog", "pick", "--help"], capture_output=True, text=True, check=True
    )
    assert "  Choose a session from a full-screen list" in done.stdout and "--help" in done.stdout


def test_a_stand_in_gives_way_to_the_real_module() -> None:
    code = """
import sys
from sessionlog.cli import light_modules
light_modules.install()
import platform
system = platform.system()
assert type(sys.modules["platform"]).__name__ == "_Platform"
version = platform.python_version()
print(system == sys.modules["platform"].system(), version == sys.modules["platform"].python_version())
print(type(sys.modules["platform"]).__name__)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True", "module"]
