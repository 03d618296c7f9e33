"""Redaction of texts made to be slow, in a process that ends when one of them takes more than its time."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
CODE = """
import json, signal, sys
sys.path.insert(0, {root!r})
from sessionlog.redact import built_in, rules
own = rules.Rules({home!r})
for text in json.load(sys.stdin):
    print(ascii(text[:40]), flush=True)
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_VIRTUAL, {seconds})  # CPU time: others may keep the processors busy
    own.suspects(text.encode())
    own.clean_text(text, built_in.BUILT_IN)
"""


def assert_none_takes_forever(texts: list[str], home: Path, seconds: float) -> None:
    """No text takes more CPU time than this. All are cleaned in one process: starting one costs more than most texts."""
    code = CODE.format(root=str(ROOT), home=str(home), seconds=seconds)
    wall = 60 + 20 * seconds * len(texts) if hasattr(signal, "setitimer") else seconds * len(texts)
    done = subprocess.run(
        [sys.executable, "-c", code], input=json.dumps(texts), capture_output=True, text=True, timeout=wall, check=False
    )
    assert done.returncode == 0, f"{done.stdout.splitlines()[-1:]} was too slow: {done.returncode} {done.stderr}"
    assert len(done.stdout.splitlines()) == len(texts)
