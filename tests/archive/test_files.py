"""One list of our files: `redact`, the doctor and whoever removes something agree on it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from sessionlog.archive import append, files, migrate, spool, unreported
from sessionlog.archive.place import Place
from sessionlog.ask.rollup import stats
from sessionlog.ask.search import find
from sessionlog.cli.main import cli
from sessionlog.install.doctor import privacy
from sessionlog.maintain import redact
from sessionlog.record import spawn_import
from sessionlog.redact.rules import Rules
from tests.helpers.archives import event, store

SECRET = "hunter2-hunter2"


@pytest.fixture
def lived_in(place: Place, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder after some use: everything that sessionlog makes there by itself, and a user's own price list."""
    store(place, event("UserPromptSubmit", prompt=f"it is {SECRET}"))
    list(find.find(place, "it"))
    with stats.Counted([place]):
        pass
    folder = Path(place.home)
    (folder / "config.json").write_text("{}")
    (folder / "prices.json").write_text("{}")
    spool.keep_rejected(place.home, b"no event")
    unreported.add(place.home, "the disk was full")
    monkeypatch.delenv("SESSIONLOG_NO_FOLLOW")
    monkeypatch.setattr(spawn_import, "_spawn", lambda arguments: None)
    assert spawn_import.start(place, "s1", __file__)
    assert CliRunner().invoke(cli, ["install", "--client-version", "2.1.325", "--yes"]).exit_code == 0
    rules, token = Rules(place.home), "ghp_" + "aB3dE5fG7hK9mN1pQ2rS4tU6vW8xY0zA1bC2"
    assert "redacted" in rules.clean_text(token, rules.suspects(token.encode()))
    assert {"following", "registered.json", "unreported", "redact.key"} <= set(os.listdir(folder))
    return folder


def test_everything_that_is_made_in_the_home_folder_is_in_the_list(lived_in: Path, place: Place) -> None:
    with migrate.Lock(f"{place.db}.lock", 1):
        pass
    spool.append(place, (0, "test", None, None, {}))
    os.truncate(place.db, 100)
    assert migrate.set_aside(place, 1, lambda connection: None)
    append.open_for_writing(place).close()
    assert [name for name in os.listdir(lived_in) if not files.is_ours(name)] == []


@pytest.mark.parametrize("name", ["thesis.txt", "notes.db", "config.json.bak", "my-rejected", "shop-12345.db", ".git"])
def test_what_somebody_else_put_there_is_not_in_it(name: str) -> None:
    assert not files.is_ours(name)


def test_redact_names_no_file_that_holds_nothing(lived_in: Path, place: Place) -> None:
    gone = lived_in / "gone-123456.db"  # its archive was deleted
    for ending in (".lock", ".spool", ".search.lock"):
        Path(f"{gone}{ending}").touch()
    Path(f"{lived_in}/redact.key.0123abcd.draft").write_bytes(b"half a key")
    assert "was not cleaned" not in CliRunner().invoke(cli, ["redact", "--value", SECRET, "--yes"]).output


def test_redact_names_what_belonged_to_an_archive_that_is_gone(lived_in: Path, place: Place) -> None:
    for ending in (".search", ".spool", ".digest-journal"):
        Path(f"{lived_in}/gone-123456.db{ending}").write_text(SECRET)
    left = {os.path.basename(path) for path in redact.out_of_reach(place)}
    assert left == {"gone-123456.db.search", "gone-123456.db.spool", "gone-123456.db.digest-journal"}


def test_a_copy_is_named_once_whatever_sqlite_keeps_beside_it(lived_in: Path, place: Place) -> None:
    shutil.copy(place.db, f"{place.db}.bak")
    Path(f"{place.db}.bak-wal").write_text(SECRET)
    Path(f"{place.db}.damaged-2026-11-16").write_text(SECRET)
    Path(f"{place.db}.damaged-2026-11-16-wal").write_text(SECRET)
    Path(f"{lived_in}/copy.db.0123abcd.draft").write_text(SECRET)
    Path(f"{lived_in}/linked").symlink_to("nowhere")
    copies = [f"{place.db}.bak", f"{place.db}.damaged-2026-11-16", f"{lived_in}/copy.db.0123abcd.draft"]
    assert redact.out_of_reach(place) == sorted([*copies, f"{lived_in}/linked"])


def test_the_doctor_closes_all_of_them(lived_in: Path, place: Place) -> None:
    Path(f"{place.db}.damaged-2026-11-16").touch()
    ours: list[Any] = [lived_in, *lived_in.rglob("*")]
    for path in ours:
        path.chmod(0o755)
    assert [result.level for result in privacy.make_private()] == ["ok"]
    assert {path.stat().st_mode & 0o077 for path in ours} == {0}


def test_an_archive_elsewhere_is_closed_with_all_that_belongs_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    db = tmp_path / "mine" / "records.db"
    db.parent.mkdir(mode=0o700)
    monkeypatch.setenv("SESSIONLOG_DB", str(db))
    store(Place(str(tmp_path), "p", str(db)), event("Stop"))
    ours = [db, *(Path(f"{db}{ending}") for ending in (".search", ".search.lock", ".damaged-2026", ".spool"))]
    for path in ours:
        path.touch()
        path.chmod(0o644)
    (thesis := db.with_name("thesis.db")).touch(0o644)
    list(privacy.make_private())
    assert {path.stat().st_mode & 0o077 for path in ours} == {0}
    assert thesis.stat().st_mode & 0o077
