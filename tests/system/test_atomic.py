"""A file is there whole or not at all, whatever happens while it is written."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from sessionlog.archive import files
from sessionlog.system import atomic


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (folder := tmp_path / "folder").mkdir()
    return folder


@pytest.mark.parametrize("overwrite", [True, False])
def test_a_new_file_is_whole_and_private(folder: Path, overwrite: bool) -> None:
    path = folder / "file"
    atomic.write(str(path), [b"all ", b"of it"], overwrite=overwrite)
    assert path.read_bytes() == b"all of it"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(folder) == ["file"]
    assert path.stat().st_nlink == 1


def test_a_mode_can_be_given(folder: Path) -> None:
    atomic.write(str(folder / "file"), [], mode=0o400)
    assert stat.S_IMODE((folder / "file").stat().st_mode) == 0o400


def test_until_the_end_the_old_file_is_there(folder: Path) -> None:
    (path := folder / "file").write_text("old")
    with atomic.draft(str(path)) as draft:
        draft.file.write(b"new")
        draft.sync()
        assert path.read_text() == "old"
        assert Path(draft.path).read_text() == "new"
    assert path.read_text() == "new"


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_file_and_no_draft(folder: Path, error: type[BaseException]) -> None:
    (path := folder / "file").write_text("old")
    with pytest.raises(error), atomic.draft(str(path)) as draft:
        draft.file.write(b"half")
        raise error
    assert path.read_text() == "old"
    assert os.listdir(folder) == ["file"]


def test_what_cannot_be_replaced_leaves_no_draft(folder: Path) -> None:
    (folder / "folder" / "inside").mkdir(parents=True)
    with pytest.raises(OSError):
        atomic.write(str(folder / "folder"), [b"x"])
    assert os.listdir(folder) == ["folder"]


@pytest.mark.parametrize("links", [True, False])
def test_without_overwrite_what_is_there_stays(folder: Path, monkeypatch: pytest.MonkeyPatch, links: bool) -> None:
    if not links:
        monkeypatch.setattr(os, "link", _no_links)
    path = folder / "file"
    with pytest.raises(FileExistsError), atomic.draft(str(path), overwrite=False) as draft:
        draft.file.write(b"mine")
        path.write_text("appeared at the last moment")
    assert path.read_text() == "appeared at the last moment"
    assert os.listdir(folder) == ["file"]


def test_a_disk_without_links_has_new_files_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", _no_links)
    atomic.write(str(folder / "file"), [b"x"], overwrite=False)
    assert (folder / "file").read_bytes() == b"x"
    assert os.listdir(folder) == ["file"]


def _no_links(*_: str) -> None:
    raise PermissionError("Operation not permitted")


@pytest.mark.parametrize("overwrite", [True, False])
def test_a_link_is_replaced_or_kept_and_never_followed(folder: Path, overwrite: bool) -> None:
    (aim := folder / "aim").write_text("not ours")
    (link := folder / "link").symlink_to(aim)
    try:
        atomic.write(str(link), [b"x"], overwrite=overwrite)
    except FileExistsError:
        assert not overwrite
    assert aim.read_text() == "not ours"
    assert link.is_symlink() is not overwrite


def test_a_link_in_the_place_of_the_draft_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "urandom", bytes)
    (aim := folder / "aim").write_text("not ours")
    (link := folder / "file.00000000.draft").symlink_to(aim)
    with pytest.raises(FileExistsError):
        atomic.write(str(folder / "file"), [b"x"])
    assert aim.read_text() == "not ours"
    assert link.is_symlink(), "what is not ours is not removed either"


@pytest.mark.parametrize("name", ["a" * 255, "工" * 85, "config.json", ".hidden"])
def test_a_draft_finds_room_for_its_name_and_is_known_as_one(folder: Path, name: str) -> None:
    with atomic.draft(str(folder / name)) as draft:
        assert name.startswith(files.without_draft(os.path.basename(draft.path)))
    assert os.listdir(folder) == [name]


def test_a_relative_path_will_do(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    atomic.write("file", [b"x"])
    assert os.listdir(folder) == ["file"]
