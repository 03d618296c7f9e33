"""The clock steps back; two versions of sessionlog write to one archive."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sessionlog.archive import append
from sessionlog.archive import place as projects
from tests.conftest import PYTHON, ROOT, rows
from tests.faults.ledger import Fault, assert_sound, sessionlog

# A clock of its own for one process, in front of the C library's: the system's stays as it is.
CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t which, struct timespec *at) {
    int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(which, at);
    if (which == CLOCK_REALTIME && getenv("CLOCK_STEP")) at->tv_sec += atol(getenv("CLOCK_STEP"));
    return result;
}
"""


@pytest.fixture
def clock(tmp_path: Path) -> str:
    """A library to load first; $CLOCK_STEP tells it how far the clock is off."""
    compiler = shutil.which("cc")
    if not sys.platform.startswith("linux") or not compiler:
        pytest.skip("a clock for one process needs Linux and a C compiler (cc)")
    source, library = tmp_path / "clock.c", tmp_path / "clock.so"
    source.write_text(CLOCK)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"], check=True)
    script = "import time; print(time.time())"
    env = {**os.environ, "LD_PRELOAD": str(library), "CLOCK_STEP": "-5000"}
    told = float(subprocess.run([*PYTHON, "-c", script], env=env, capture_output=True, check=True).stdout)
    assert abs(time.time() - 5000 - told) < 60
    return str(library)


@pytest.mark.fault("clock stepping back")
def test_the_clock_steps_back(fault: Fault, clock: str, home: Path) -> None:
    steps = [0, -3, -3600, 3600, -90 * 86_400, 0]
    for step in steps:
        for _ in range(4):
            fault.hook(env={"LD_PRELOAD": clock, "CLOCK_STEP": str(step)})
    assert fault.check() == fault.kept, "all of them, in the order in which they came"
    assert_sound(fault.place)
    (session,) = rows(fault.place, "SELECT * FROM session_summary")
    at = [row["at"] for row in rows(fault.place)]
    assert (session["started_at"], session["last_at"]) == (min(at), max(at))
    assert session["seconds"] >= 0
    for words in (["sessions"], ["show", "last"], ["stats"], ["tail"], ["search", "echo"], ["audit", "gaps"]):
        done = sessionlog(*words, env={"LD_PRELOAD": clock, "CLOCK_STEP": "-7200"})
        assert done.returncode == 0, done.stderr


@pytest.mark.fault("clock stepping back")
def test_events_that_waited_while_the_clock_stepped_back_come_home(fault: Fault, clock: str) -> None:
    fault.hook()
    Path(fault.place.db).rename(f"{fault.place.db}.away")
    Path(fault.place.db).mkdir()
    for step in (0, -3600, -7200):
        assert fault.hook(env={"LD_PRELOAD": clock, "CLOCK_STEP": str(step)}).returncode == 0
    Path(fault.place.db).rmdir()
    Path(f"{fault.place.db}.away").rename(fault.place.db)
    fault.hook(env={"LD_PRELOAD": clock, "CLOCK_STEP": "-9000"})
    assert fault.check() == fault.kept


def version_before(migration: int, folder: Path) -> Path:
    """sessionlog as it was in the last commit that did not know this migration."""

    def git(*words: str) -> bytes:
        done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, check=False)
        return done.stdout if done.returncode == 0 else b""

    line = ("log", "--first-parent", "-m", "--format=%H")  # of main: a branch may be half done
    added = git(
        *line, f"-SSCHEMA_VERSION = {migration}", "--", "sessionlog/archive.py", "sessionlog/archive/append.py"
    ).split()
    for steps in (1, 2):  # a commit that only moves files does not run
        packed = git("archive", f"{added[-1].decode()}~{steps}", "hooks", "sessionlog") if added else b""
        if not packed:
            break
        found = folder / str(steps)
        with tarfile.open(fileobj=io.BytesIO(packed)) as file:
            for member in file.getmembers():
                file.extract(member, found, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
        handlers = "".join(path.read_text() for path in sorted((found / "hooks").glob("*.py")))
        module = re.search(r"from (sessionlog[\w.]*) import main", handlers)
        if module and (found / f"{module[1].replace('.', '/')}.py").is_file():
            return found
    pytest.skip("the history of this checkout does not reach back to an older schema")


@pytest.mark.fault("two versions writing at once")
@pytest.mark.parametrize("migration", range(2, append.SCHEMA_VERSION + 1))
def test_an_older_version_writes_to_the_same_archive(fault: Fault, tmp_path: Path, times: int, migration: int) -> None:
    """What the older one cannot write waits, in a form that the newer one understands."""
    older = version_before(migration, tmp_path / "older")
    db = str(tmp_path / "archives" / "shop.db")  # by name: how the file of a project is called has changed, too
    place = projects.Place(projects.home_folder(), fault.place.project, db)
    env = {"SESSIONLOG_DB": db}
    old = [*PYTHON, str(older / "hooks" / "any_event.py")]

    def mixed(number: int) -> None:
        fault.hook(command=old if number % 2 else None, env=env)

    for _ in range(3):
        fault.hook(command=old, env=env)
    at_once = 30 * times if times > 1 else 12
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(mixed, range(at_once)))
    for number in range(6):
        mixed(number)
    assert any("newer sessionlog" in said for said in fault.said), "the person is told to upgrade"
    fault.hook(env=env)
    assert len(fault.check(place)) == at_once + 10 == len(fault.kept)
    assert_sound(place)
