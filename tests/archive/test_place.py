"""Which project, which file."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from sessionlog import projects, reading
from tests.conftest import Hook, rows
from tests.test_hook import prompt


def git(*arguments: str, cwd: Path) -> None:
    identity = ["-c", "user.name=x", "-c", "user.email=x@example.com"]
    subprocess.run(["git", *identity, *arguments], cwd=cwd, check=True, capture_output=True)


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("/home/dev/shop", "shop-"),
        ("/home/dev/my app.v2", "my-app-v2-"),
        ("/home/dev/购物车", "购物车-"),
        ("/", "project-"),
        ("/home/dev/...", "project-"),
        ("/home/dev/" + "x" * 300, "x" * 40 + "-"),
    ],
)
def test_the_file_is_named_after_the_folder_and_a_hash_of_its_path(folder: str, name: str) -> None:
    stem = projects.place(folder).name
    assert stem.startswith(name)
    assert len(stem) == len(name) + 6


def test_folders_of_one_name_have_archives_of_their_own() -> None:
    assert projects.place("/a/shop").db != projects.place("/b/shop").db


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({"SESSIONLOG_HOME": "/s"}, "/s"),
        ({"XDG_DATA_HOME": "/x"}, "/x/sessionlog"),
        ({"HOME": "/h"}, "/h/.local/share/sessionlog"),
        ({"SESSIONLOG_HOME": "/s", "XDG_DATA_HOME": "/x"}, "/s"),
    ],
)
def test_where_archives_live(monkeypatch: pytest.MonkeyPatch, env: dict[str, str], expected: str) -> None:
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert projects.home_folder() == expected


def test_without_home_the_password_database_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME")
    assert projects.user_home() == os.path.expanduser("~")


@pytest.mark.parametrize("variable", ["CLAUDE_PROJECT_DIR", "CLAUDE_PROJECT_ROOT"])
def test_the_hook_takes_the_project_from_the_environment(
    hook: Hook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.delenv("CLAUDE_PROJECT_DIR")
    (tmp_path / "other").mkdir()
    hook({**prompt("x"), "cwd": str(tmp_path)}, **{variable: str(tmp_path / "other")})
    assert len(rows(projects.place(os.path.realpath(tmp_path / "other")))) == 1


@pytest.mark.parametrize("shape", ["flat", "nested"])
def test_without_it_the_project_is_the_git_root_above_the_working_directory(
    hook: Hook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shape: str
) -> None:
    monkeypatch.delenv("CLAUDE_PROJECT_DIR")
    inner = tmp_path / "repo" / "src" / "deep"
    inner.mkdir(parents=True)
    git("init", cwd=tmp_path / "repo")
    fields = {"session_id": "s1", "prompt": "x", "cwd": str(inner)}
    hook(fields if shape == "flat" else {"event": "UserPromptSubmit", "data": fields})
    assert len(rows(projects.place(os.path.realpath(tmp_path / "repo")))) == 1


def test_a_worktree_counts_as_its_main_checkout(hook: Hook, tmp_path: Path) -> None:
    main, tree = tmp_path / "main", tmp_path / "tree"
    main.mkdir()
    git("init", cwd=main)
    git("commit", "--allow-empty", "-m", "x", cwd=main)
    git("worktree", "add", str(tree), cwd=main)
    hook(prompt("x"), CLAUDE_PROJECT_DIR=str(tree))
    assert len(rows(projects.place(os.path.realpath(main)))) == 1


@pytest.mark.parametrize(
    ("pointer", "expected"),
    [
        ("gitdir: /m/.git/worktrees/t\n", "/m"),
        ("gitdir: ../m/.git/worktrees/t\n", "m"),
        ("gitdir: /m/bare.git/worktrees/t\n", "/m/bare.git"),
        ("gitdir: ../.git/modules/sub\n", "tree"),  # a submodule is a project of its own
        ("nonsense", "tree"),
    ],
)
def test_what_a_git_file_points_to(tmp_path: Path, pointer: str, expected: str) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / ".git").write_text(pointer)
    found = projects.main_checkout(str(tree), os.path.realpath)
    assert found == (expected if expected.startswith("/") else str(tmp_path / expected))


def test_a_link_to_a_project_is_the_project(hook: Hook, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    hook(prompt("one"), CLAUDE_PROJECT_DIR=str(tmp_path / "link"))
    hook(prompt("two"), CLAUDE_PROJECT_DIR=str(tmp_path / "real"))
    assert len(rows(projects.place(os.path.realpath(tmp_path / "real")))) == 2


def test_the_command_line_finds_the_archive_from_inside_the_project(
    hook: Hook, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook(prompt("x"))
    monkeypatch.delenv("CLAUDE_PROJECT_DIR")
    (project / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(project / "a" / "b")
    assert reading.place_of().project == os.path.realpath(project)
    assert reading.place_of(str(project / "a")).project == os.path.realpath(project)


def test_sessionlog_db_names_one_file_outright(hook: Hook, tmp_path: Path) -> None:
    db = tmp_path / "elsewhere" / "all.db"
    hook(prompt("x"), SESSIONLOG_DB=str(db))
    assert len(rows(projects.Place("", "", str(db)))) == 1
