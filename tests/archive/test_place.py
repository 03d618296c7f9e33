"""Which project, which file."""

from __future__ import annotations

import os
import resource
import subprocess
from pathlib import Path

import pytest

from sessionlog.archive import place as projects
from sessionlog.archive import read, spool, whose
from sessionlog.errors import SessionlogError
from sessionlog.install.doctor import archives
from tests.conftest import Hook, rows
from tests.helpers.archives import event, store
from tests.record.test_hook import prompt


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
    assert len(stem) == len(name) + 16


def test_folders_of_one_name_have_archives_of_their_own() -> None:
    assert projects.place("/a/shop").db != projects.place("/b/shop").db


# --- Older archives, whose names two projects can share ---------------------------------------------------------------


def made_with_a_short_name(place: projects.Place, owner: str, *payloads: dict[str, object]) -> projects.Place:
    """An archive as it was named before, made by the project `owner`."""
    short = f"{place.db[: -len('-0123456789abcdef.db')]}-{projects._short_hash(os.fsencode(place.project))}.db"
    older = projects.Place(place.home, owner, short)
    store(older, *payloads)
    return older


def test_an_archive_with_a_short_name_stays_in_use(hook: Hook, place: projects.Place) -> None:
    older = made_with_a_short_name(place, place.project, prompt("before"))
    assert hook(prompt("after")).returncode == 0
    assert [row["prompt"] for row in rows(older)] == ["before", "after"]
    assert not os.path.exists(place.db)
    assert read.place_of(place.project).db == whose.place(place.project).db == older.db
    assert [found.db for found in read.all_places()] == [older.db]


def test_a_path_of_the_same_short_hash_does_not_write_into_it(hook: Hook, place: projects.Place) -> None:
    victim = made_with_a_short_name(place, "/home/victim/shop", prompt("theirs"))
    for text in ("one", "two"):
        assert hook(prompt(text)).returncode == 0
    assert [row["prompt"] for row in rows(victim)] == ["theirs"]
    assert [row["prompt"] for row in rows(place)] == ["one", "two"]
    assert read.place_of(place.project).db == place.db
    assert [found.db for found in read.all_places()] == sorted([victim.db, place.db])


def test_nor_into_its_spool(hook: Hook, place: projects.Place) -> None:
    victim = made_with_a_short_name(place, "/home/victim/shop", prompt("theirs"))
    spool.append(victim, (1, "any_event", None, None, prompt("theirs, waiting")))
    before = Path(f"{victim.db}.spool").read_bytes()
    assert hook(prompt("one")).returncode == 0
    assert Path(f"{victim.db}.spool").read_bytes() == before
    assert [row["prompt"] for row in rows(place)] == ["one"]


def test_events_that_wait_for_a_short_name_come_home(hook: Hook, place: projects.Place) -> None:
    older = made_with_a_short_name(place, place.project)
    spool.append(older, (1, "any_event", None, None, prompt("waiting")))
    for path in Path(place.home).glob("*.db*"):
        if not path.name.endswith(".spool"):
            path.unlink()
    hook(prompt("next"))
    assert [row["prompt"] for row in rows(older)] == ["waiting", "next"]


def test_an_older_archive_that_cannot_be_read_now_is_not_forked(place: projects.Place) -> None:
    older = made_with_a_short_name(place, place.project, prompt("before"))
    Path(older.db).write_bytes(b"no database at all" * 100)
    assert whose.place(place.project).db == older.db


@pytest.mark.parametrize("cwd", ["/" + "a/" * 200_000, "/x" * 100_000, "a" * 400_000])
def test_a_working_directory_that_is_too_long_for_a_path_takes_no_time(
    hook: Hook, monkeypatch: pytest.MonkeyPatch, cwd: str
) -> None:
    monkeypatch.delenv("CLAUDE_PROJECT_DIR")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert hook({**prompt("x"), "cwd": cwd}).returncode == 0
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime < 2
    (archive,) = read.all_places()
    assert [row["cwd"] for row in rows(archive)] == [cwd]


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({"SESSIONLOG_HOME": "/s"}, "/s"),
        ({"XDG_DATA_HOME": "/x"}, "/x/sessionlog"),
        ({"HOME": "/h"}, "/h/.local/share/sessionlog"),
        ({"SESSIONLOG_HOME": "/s", "XDG_DATA_HOME": "/x"}, "/s"),
        ({"SESSIONLOG_HOME": "s", "XDG_DATA_HOME": "/x"}, "/x/sessionlog"),
        ({"SESSIONLOG_HOME": "./s", "XDG_DATA_HOME": "x", "HOME": "/h"}, "/h/.local/share/sessionlog"),
        ({"SESSIONLOG_HOME": "C:/s", "HOME": "/h"}, "/h/.local/share/sessionlog"),
    ],
)
def test_where_archives_live(monkeypatch: pytest.MonkeyPatch, env: dict[str, str], expected: str) -> None:
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert projects.home_folder() == expected


def test_a_relative_folder_is_not_followed_into_a_checkout(
    hook: Hook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = tmp_path / "checkout"
    (checkout / "trap").mkdir(parents=True)
    (checkout / "trap" / "config.json").write_text('{"redact": {"enabled": false}}')
    secret = "Zx9" + "kQw7Lp"
    for name in ("SESSIONLOG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, "trap")
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    monkeypatch.chdir(checkout)
    assert hook({**prompt(f"DB_PASSWORD={secret}"), "cwd": str(checkout)}).returncode == 0
    assert [path.name for path in (checkout / "trap").iterdir()] == ["config.json"]
    (archive,) = read.all_places()
    assert archive.db.startswith(f"{tmp_path}/me/")
    assert secret not in str([dict(row) for row in rows(archive)])
    said = [result.text for result in archives.place_and_size() if result.level == "problem"]
    assert said == [
        f"{name}=trap is a relative path and is ignored"
        for name in ("SESSIONLOG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
    ]


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
    ("pointer", "way_back", "expected"),
    [
        ("gitdir: {tmp}/m/.git/worktrees/t\n", "{tmp}/tree/.git\n", "m"),
        ("gitdir: ../m/.git/worktrees/t\n", "{tmp}/tree/.git\n", "m"),
        ("gitdir: {tmp}/m/bare.git/worktrees/t\n", "{tmp}/tree/.git\n", "m/bare.git"),
        ("gitdir: {tmp}/m/.git/worktrees/t\n", "{tmp}/another/.git\n", "tree"),  # it only claims to be a worktree
        ("gitdir: {tmp}/m/.git/worktrees/t\n", "", "tree"),
        ("gitdir: ../.git/modules/sub\n", "", "tree"),  # a submodule is a project of its own
        ("nonsense", "", "tree"),
    ],
)
def test_what_a_git_file_points_to(tmp_path: Path, pointer: str, way_back: str, expected: str) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    for repository in (tmp_path / "m" / ".git", tmp_path / "m" / "bare.git"):
        (repository / "worktrees" / "t").mkdir(parents=True)
        (repository / "worktrees" / "t" / "gitdir").write_text(way_back.format(tmp=tmp_path))
    (tree / ".git").write_text(pointer.format(tmp=tmp_path))
    assert projects.main_checkout(str(tree), os.path.realpath) == str(tmp_path / expected)


@pytest.mark.parametrize("planted", ["pipe", "device", "link to a pipe"])
def test_a_hook_does_not_wait_for_what_is_called_git(hook: Hook, project: Path, planted: str) -> None:
    match planted:
        case "pipe":
            os.mkfifo(project / ".git")
        case "device":
            (project / ".git").symlink_to("/dev/zero")
        case "link to a pipe":
            os.mkfifo(project / "pipe")
            (project / ".git").symlink_to("pipe")
    assert hook(prompt("x")).returncode == 0
    assert len(rows(projects.place(os.path.realpath(project)))) == 1


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
    assert read.place_of().project == os.path.realpath(project)
    assert read.place_of(str(project / "a")).project == os.path.realpath(project)


def test_sessionlog_db_names_one_file_outright(hook: Hook, tmp_path: Path) -> None:
    db = tmp_path / "elsewhere" / "all.db"
    hook(prompt("x"), SESSIONLOG_DB=str(db))
    assert len(rows(projects.Place("", "", str(db)))) == 1


@pytest.mark.parametrize("path", ["C:\\Users\\me\\shop", "\\\\server\\share\\shop", "/gone/for/good"])
def test_a_project_that_is_not_here_is_named_by_its_path(path, home, project, monkeypatch):
    monkeypatch.chdir(project)
    with pytest.raises(SessionlogError, match="not a folder, and nothing is recorded"):
        read.place_of(path)
    new = read.place_of(path, may_be_new=True)
    assert new.project == path
    store(new, event("UserPromptSubmit", prompt="hello"))
    assert read.place_of(path).db == read.place_of(f"{path}/").db == new.db
    with pytest.raises(SessionlogError, match="not a folder"):
        read.place_of("relative/nonsense", may_be_new=True)
