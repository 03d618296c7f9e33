"""The bundle of the hook's modules: used when it fits, and never in the way of an event."""

from __future__ import annotations

import json
import marshal
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sessionlog.archive import place as projects
from sessionlog.record import bundle
from tests.conftest import PAYLOAD_FILES, PYTHON, ROOT, rows
from tests.record.test_hook import prompt, tool

NAME = f"hook.{sys.implementation.cache_tag}.bundle"


@pytest.fixture
def copy(tmp_path: Path, project: Path) -> Path:
    """Another installation, with a bundle."""
    folder = tmp_path / "copy"
    for name in ("hooks", "sessionlog"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    make(folder)
    return folder


def make(copy: Path) -> Path:
    """Bring the bundle of a copy up to date, as the copy itself does it."""
    script = f"import sys; sys.path.insert(0, {str(copy)!r})\n"
    script += "from sessionlog.record import bundle\nbundle.bring_up_to_date()"
    subprocess.run([sys.executable, "-I", "-c", script], check=True, cwd=copy)
    return copy / "hooks" / "__pycache__" / NAME


def send(copy: Path, payload: Any, *arguments: str, handler: str = "any_event.py") -> set[str]:
    """Record an event; returns the modules that were imported in the usual way."""
    done = subprocess.run(
        [*PYTHON, "-X", "importtime", str(copy / "hooks" / handler), *arguments],
        input=json.dumps(payload).encode(),
        capture_output=True,
        check=True,
    )
    assert done.stdout == b""
    return {line.rpartition(b"|")[2].strip().decode() for line in done.stderr.splitlines()}


def ours(imported: set[str]) -> set[str]:
    return {name.removeprefix("sessionlog.") for name in imported if name.startswith("sessionlog")}


@pytest.mark.parametrize("handler", ["any_event.py", "post_tool_use.py", "user_prompt_submit.py"])
def test_an_ordinary_event_imports_no_module(copy: Path, place: projects.Place, handler: str) -> None:
    send(copy, prompt("the first one makes the database"))
    imported = send(copy, tool(1), handler=handler)
    assert not ours(imported)
    assert not imported & {"os", "re", "json", "sqlite3", "typing", "functools", "pathlib", "hashlib"}
    assert len(rows(place)) == 2


def test_an_event_of_another_agent_imports_no_module(copy: Path, project: Path, place: projects.Place) -> None:
    for number in (1, 2):
        payload = tool(number, cwd=str(project))
        imported = send(copy, payload, "codex", "PostToolUse", handler="agent_event.py")
    assert not ours(imported)
    assert rows(place, "SELECT client, count(*) AS n FROM sessions JOIN events USING (session_id)") == [
        {"client": "codex", "n": 2}
    ]


@pytest.mark.parametrize("wrong", ["missing", "no bundle", "something else"])
def test_without_the_bundle_of_an_agent_its_event_is_recorded(
    copy: Path, project: Path, place: projects.Place, wrong: str
) -> None:
    WRONG[wrong](copy / "hooks" / "__pycache__" / NAME.replace("hook", "codex"))
    imported = send(copy, tool(1, cwd=str(project)), "codex", "PostToolUse", handler="agent_event.py")
    assert "agents.codex.hook_table" in ours(imported) and len(rows(place)) == 1
    make(copy)
    assert not ours(send(copy, tool(2, cwd=str(project)), "codex", "PostToolUse", handler="agent_event.py"))


def test_both_ways_store_the_same(copy: Path, place: projects.Place) -> None:
    payloads = [json.loads(path.read_bytes()) for path in PAYLOAD_FILES[::7]]
    assert len(payloads) > 5

    def stored() -> list[dict[str, Any]]:
        for payload in payloads:
            send(copy, payload)
        found = [{**row, "at": None, "hash": None, "salt": None} for row in rows(place)]
        shutil.rmtree(place.home)
        return found

    bundled = stored()
    shutil.rmtree(copy / "hooks" / "__pycache__")
    assert stored() == bundled


def _of_another_python(path: Path) -> None:
    code, (_, *rest) = marshal.loads(path.read_bytes())
    path.write_bytes(marshal.dumps((code, (b"4.0", *rest))))


def _changed_source(path: Path) -> None:
    with open(path.parent.parent.parent / "sessionlog" / "archive" / "append.py", "a") as file:
        file.write("# changed\n")


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


WRONG = {
    "missing": Path.unlink,
    "a folder": _folder,
    "empty": lambda path: path.write_bytes(b""),
    "no bundle": lambda path: path.write_bytes(b"hello"),
    "cut short": lambda path: path.write_bytes(path.read_bytes()[:-100]),
    "something else": lambda path: path.write_bytes(marshal.dumps((1, 2, 3))),
    "of another Python": _of_another_python,
    "of other sources": _changed_source,
}


@pytest.mark.parametrize("wrong", WRONG)
def test_without_a_bundle_that_fits_the_event_is_recorded(copy: Path, place: projects.Place, wrong: str) -> None:
    send(copy, prompt("the first one makes the database"))
    WRONG[wrong](copy / "hooks" / "__pycache__" / NAME)
    imported = send(copy, tool(1), handler="post_tool_use.py")
    assert ours(imported) == {*bundle.MODULES}
    assert len(rows(place)) == 2
    made = make(copy)
    if wrong != "a folder":
        assert not ours(send(copy, tool(2))), made


@pytest.mark.parametrize("moved", ["folder", "files"])
def test_c_modules_are_searched_for_if_they_are_not_where_they_were(
    copy: Path, place: projects.Place, moved: str
) -> None:
    path = copy / "hooks" / "__pycache__" / NAME
    code, (magic, modules, (folder, c_modules)) = marshal.loads(path.read_bytes())
    if not c_modules:
        pytest.skip("they are built into this Python")
    send(copy, prompt("the first one makes the database"))
    assert not send(copy, tool(1)) & {*c_modules}, "not searched for"
    if moved == "folder":
        folder = "/opt/another/lib-dynload"  # of another Python of this version
    else:
        c_modules = {name: f"{file}.gone" for name, file in c_modules.items()}
    path.write_bytes(marshal.dumps((code, (magic, modules, (folder, c_modules)))))
    assert send(copy, tool(2)) >= {*c_modules}
    assert len(rows(place)) == 3


def test_it_is_made_once(copy: Path) -> None:
    path = copy / "hooks" / "__pycache__" / NAME
    before = path.stat().st_ino
    assert make(copy).stat().st_ino == before
    os.utime(copy / "sessionlog" / "fastlib.py", (1, 1))
    assert make(copy).stat().st_ino != before
    assert all(child.suffix == ".bundle" for child in path.parent.iterdir()), "no drafts are left behind"


def test_install_makes_it(copy: Path, home: Path) -> None:
    path = copy / "hooks" / "__pycache__" / NAME
    path.unlink()
    script = f"import sys; sys.path.insert(0, {str(copy)!r})\nfrom sessionlog.cli.main import main\nmain()"
    command = [sys.executable, "-I", "-c", script, "install", "--yes", "--client-version", "2.1.0"]
    subprocess.run(command, check=True, capture_output=True, cwd=copy)
    assert path.is_file()
