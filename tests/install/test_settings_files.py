"""A settings file is the user's: install adds our hooks and nothing else, uninstall gives it back to the byte."""

from __future__ import annotations

import json
import os
import random
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sessionlog.agents.claude_code.events import CORE, EVENTS, RECORDED
from sessionlog.archive import place as projects
from sessionlog.errors import SessionlogError
from sessionlog.install import settings_files as claude_settings
from sessionlog.install.commands import handlers
from sessionlog.install.settings_files import apply, notices, plan_install, plan_uninstall, settings_file
from sessionlog.install.settings_json import add, registered, take_out

OURS = handlers(CORE)
THEIRS = {"type": "command", "command": "uv run .claude/hooks/post_tool_use.py"}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own for each test, with a project in it."""
    home = tmp_path / "home"
    (home / "project" / ".git").mkdir(parents=True)
    for name in ("CLAUDE_CONFIG_DIR", "XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("SESSIONLOG_HOME", str(tmp_path / "archives"))
    # projects reads the environment that the process was started with
    monkeypatch.setattr(projects, "getenv", lambda name: os.environ.get(name, ""))
    monkeypatch.setattr(claude_settings, "MANAGED", tmp_path / "managed")
    return home


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "claude").mkdir()
    return tmp_path / "claude" / "settings.json"


def install(path: Path, ours: dict[str, Any] = OURS) -> Path | None:
    return apply(plan_install(path, ours))


def uninstall(path: Path) -> Path | None:
    return apply(plan_uninstall(path))


def groups(ours: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    return {event: [{"hooks": [handler]}] for event, handler in ours.items()}


def memory(tmp_path: Path) -> Path:
    return tmp_path / "archives" / "registered.json"


# --- The same file, byte for byte -------------------------------------------------------------------------------------

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
ANYTHING = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3), max_leaves=6
)
GROUPS = st.fixed_dictionaries(
    {"hooks": st.lists(st.just(THEIRS) | ANYTHING, max_size=2)}, optional={"matcher": st.text()}
)
HOOKS = st.dictionaries(
    st.sampled_from([*EVENTS, "hooks", "a/b", ""]), st.lists(GROUPS | ANYTHING, max_size=2), max_size=4
)


@st.composite
def layouts(draw: st.DrawFn, value: Any) -> str:
    """A JSON value as some editor, tool or cat would have written it."""
    escape = draw(st.booleans())
    if draw(st.booleans()):
        indent = draw(st.sampled_from([None, 0, 1, 2, 3, 4, "\t", " \t"]))
        separators = draw(st.sampled_from([None, (",", ":"), (" , ", " : ")]))
        text = json.dumps(value, ensure_ascii=escape, indent=indent, separators=separators)
    else:
        text = _scattered(value, draw(st.randoms(use_true_random=False)), escape)
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


def _scattered(value: Any, dice: random.Random, escape: bool) -> str:
    def space() -> str:
        return dice.choice(["", "", " ", "\n", "\t", "\r", "\n\n  ", " \n"])

    if isinstance(value, dict):
        members = (f"{_scattered(key, dice, escape)}:{_scattered(item, dice, escape)}" for key, item in value.items())
        text = f"{{{','.join(members) or space()}}}"
    elif isinstance(value, list):
        text = f"[{','.join(_scattered(item, dice, escape) for item in value) or space()}]"
    else:
        text = json.dumps(value, ensure_ascii=escape)
    return space() + text + space()


@st.composite
def settings_files(draw: st.DrawFn) -> bytes | None:
    kind = draw(st.sampled_from(["file", "file", "file", "file", "blank", "none"]))
    if kind == "none":
        return None
    margin = st.text(" \t\r\n", max_size=3)
    if kind == "blank":
        text = draw(margin)
    else:
        members = draw(st.dictionaries(st.text() | st.sampled_from(["model", "env"]), ANYTHING, max_size=3))
        members.pop("hooks", None)
        pairs = list(members.items()) + ([("hooks", draw(HOOKS))] if draw(st.booleans()) else [])
        text = draw(margin) + draw(layouts(dict(draw(st.permutations(pairs))))) + draw(margin)
    return (b"\xef\xbb\xbf" if draw(st.booleans()) else b"") + text.encode()


@given(before=settings_files(), first=st.sampled_from([CORE, RECORDED, ("Stop",)]))
@example(before=b'{"hooks": {}}', first=CORE)
@example(before=b'{"hooks": { "Stop": [ ], "hooks": [\n] }}', first=CORE)
@example(before=b"{ }", first=CORE)
@example(before=b"", first=CORE)
@example(before=None, first=CORE)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_install_then_uninstall_gives_back_the_same_bytes(
    tmp_path: Path, path: Path, before: bytes | None, first: tuple[str, ...]
) -> None:
    for file in path.parent.iterdir():
        file.unlink()
    if before is not None:
        path.write_bytes(before)
    install(path, handlers(first))
    installed = path.read_bytes()
    values = json.loads(installed.removeprefix(claude_settings.BOM))
    assert registered(values) == {event: [handler] for event, handler in handlers(first).items()}
    assert not plan_install(path, handlers(first)).needed

    install(path, handlers(CORE))  # another version, with other events
    uninstall(path)
    assert (path.read_bytes() if path.exists() else None) == before
    assert not memory(tmp_path).exists()
    assert not plan_uninstall(path).needed


@given(data=st.data())
def test_what_the_user_changed_meanwhile_stays(data: st.DataObject) -> None:
    """Whatever the user does to the rest between the two, it is as if we had never been there."""
    values = data.draw(st.dictionaries(st.text(), ANYTHING, max_size=2)) | {
        "model": "BEFORE",
        "hooks": data.draw(HOOKS),
    }
    before = data.draw(layouts(values))
    installed, empty = add(before, groups(OURS))
    assert take_out(installed.replace('"BEFORE"', '["AFTER", {}]'), empty) == before.replace(
        '"BEFORE"', '["AFTER", {}]'
    )


def test_a_reformatted_file_loses_our_hooks_and_nothing_else(path: Path) -> None:
    """Claude Code itself writes the file anew when a setting is changed in a session."""
    before = {"hooks": {"Stop": [], "PostToolUse": [{"matcher": "Edit", "hooks": [THEIRS]}]}, "model": "opus"}
    path.write_text(json.dumps(before))
    install(path)
    path.write_text(json.dumps(json.loads(path.read_text()), indent=4))
    assert not plan_install(path, OURS).needed
    uninstall(path)
    assert json.loads(path.read_text()) == before


def test_hooks_that_the_user_put_around_ours_stay(path: Path) -> None:
    install(path)
    values = json.loads(path.read_text())
    values["hooks"]["Stop"].append({"hooks": [THEIRS]})
    values["hooks"]["PostToolUse"][0]["hooks"].insert(0, THEIRS)
    values["hooks"]["PreToolUse"].insert(0, {"hooks": [THEIRS]})
    values["hooks"]["SessionEnd"][0]["matcher"] = "clear"
    path.write_text(json.dumps(values, indent=2))
    uninstall(path)
    assert json.loads(path.read_text()) == {
        "hooks": {event: [{"hooks": [THEIRS]}] for event in ("PreToolUse", "PostToolUse", "Stop")}
    }


def test_without_its_memory_uninstall_still_takes_out_our_hooks(tmp_path: Path, path: Path) -> None:
    path.write_text('{"model": "opus", "hooks": {}}')
    install(path)
    memory(tmp_path).write_text("damaged")
    uninstall(path)
    assert path.read_text() == '{"model": "opus"}'
    install(path)
    path.write_text(json.dumps({"hooks": json.loads(path.read_text())["hooks"]}))
    memory(tmp_path).unlink()
    uninstall(path)
    assert path.read_text() == "{}"


# --- Beside other people's hooks --------------------------------------------------------------------------------------


def dumped(values: Any, style: str) -> str:
    indent = {"two": 2, "three": 3, "tabs": "\t", "none": 0, "CRLF": 4}.get(style)
    text = json.dumps(values, indent=indent, separators=(",", ":") if style == "minified" else None)
    return text.replace("\n", "\r\n") if style == "CRLF" else text


@pytest.mark.parametrize("style", ["two", "three", "tabs", "none", "CRLF", "one line", "minified"])
@pytest.mark.parametrize(
    "hooks",
    [None, {}, {"Stop": []}, {"PreToolUse": [{"hooks": [THEIRS]}]}, {"Stop": [{"matcher": "*", "hooks": [THEIRS]}]}],
    ids=["no hooks", "empty hooks", "empty list", "another event", "the same event"],
)
def test_our_entries_look_as_the_user_would_have_written_them(style: str, hooks: dict[str, list[Any]] | None) -> None:
    before: dict[str, Any] = {"model": "opus"} | ({} if hooks is None else {"hooks": hooks})
    group = {"hooks": [OURS["Stop"]]}
    after = before | {"hooks": (hooks or {}) | {"Stop": [*(hooks or {}).get("Stop", []), group]}}
    text, _ = add(dumped(before, style), {"Stop": [group]})
    assert text == dumped(after, style)


def test_an_array_on_one_line_stays_on_one_line() -> None:
    text, _ = add('{\n  "hooks": {\n    "Stop": [ {"hooks": []} ]\n  }\n}', groups({"Stop": {"command": "X"}}))
    assert text == '{\n  "hooks": {\n    "Stop": [ {"hooks": []}, {"hooks": [{"command": "X"}]} ]\n  }\n}'


def test_a_new_version_updates_its_own_entries_only(path: Path) -> None:
    theirs = {"hooks": [THEIRS, {"type": "command", "command": "python3 ~/sessionlog/any_event.py"}]}
    path.write_text(json.dumps({"hooks": {"Stop": [theirs]}, "model": "opus"}, indent=2))
    before = path.read_bytes()
    old = {
        event: handler | {"command": f"/old/python -I -S /old/sessionlog/hooks/any_event.py {event} || exit 1"}
        for event, handler in handlers(RECORDED).items()
    }
    install(path, old)
    change = plan_install(path, OURS)
    changed = [line for line in change.diff() if line[0] in "+-" and line[:3] not in ("+++", "---")]
    assert not any("uv run" in line or "opus" in line or "~/sessionlog" in line for line in changed)
    apply(change)
    assert b"/old/" not in path.read_bytes()
    assert registered(json.loads(path.read_text())) == {event: [handler] for event, handler in OURS.items()}
    uninstall(path)
    assert path.read_bytes() == before


def test_entries_of_ours_that_stand_twice_become_one(path: Path) -> None:
    path.write_text(json.dumps({"hooks": {"Stop": [{"hooks": [OURS["Stop"]] * 2}, {"hooks": [OURS["Stop"]]}]}}))
    install(path)
    assert registered(json.loads(path.read_text()))["Stop"] == [OURS["Stop"]]


# --- Files that are better left alone ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{\n  "model": "opus",\n}', "line 2, column 18"),
        (b'{"a": 1} // mine', "line 1, column 10"),
        (b'{"a": NaN}', "line 1, column 7"),
        (b"[]", "line 1, column 1: settings are an object"),
        (b'{\n"hooks": []}', 'line 2, column 10: "hooks" should be an object'),
        (b'{"hooks": null}', '"hooks" should be an object'),
        (b'{"hooks": {"Stop": {}}}', 'column 20: "Stop" should be an array'),
        (b'{"hooks": {}, "hooks": {}}', 'column 2: the key "hooks" comes again'),
        (b'{"env": {"A": "1", "A": "2"}}', 'the key "A" comes again'),
        (b'{"a": "\xff"}', "not UTF-8 (see byte 8)"),
        ("{}".encode("utf-16"), "not UTF-8"),
        (b"[" * 5000, "nested"),
    ],
)
def test_what_we_could_only_guess_about_is_left_alone(path: Path, content: bytes, message: str) -> None:
    path.write_bytes(content)
    for plan in (lambda: plan_install(path, OURS), lambda: plan_uninstall(path)):
        with pytest.raises(SessionlogError) as error:
            plan()
        assert str(path) in str(error.value)
        assert message in str(error.value)
    assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path]


def test_a_folder_or_a_device_is_left_alone(path: Path) -> None:
    path.mkdir()
    with pytest.raises(SessionlogError, match="a folder"):
        plan_install(path, OURS)
    path.rmdir()
    path.symlink_to(os.devnull)
    with pytest.raises(SessionlogError, match="no ordinary file"):
        plan_install(path, OURS)


def test_a_file_in_the_place_of_the_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(SessionlogError, match="Nothing was changed"):
        plan_install(tmp_path / "file" / "settings.json", OURS)


@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_is_read_only_is_left_alone(tmp_path: Path, path: Path, what: str) -> None:
    path.write_text("{}")
    place = path if what == "file" else path.parent
    mode = place.stat().st_mode
    place.chmod(0o555)
    try:
        with pytest.raises(SessionlogError, match="read-only"):
            install(path)
    finally:
        place.chmod(mode)
    assert path.read_text() == "{}"
    assert list(path.parent.iterdir()) == [path]
    assert not memory(tmp_path).exists()


def test_a_full_disk_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    path.write_text('{"model": "opus"}')
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SessionlogError, match="No space left on device"):
        install(path)
    assert path.read_text() == '{"model": "opus"}'
    assert list(path.parent.iterdir()) == [path]


def test_a_file_that_changes_meanwhile_is_left_alone(path: Path) -> None:
    path.write_text("{}")
    change = plan_install(path, OURS)
    path.write_text('{"model": "opus"}')
    with pytest.raises(SessionlogError, match="try again"):
        apply(change)
    assert path.read_text() == '{"model": "opus"}'
    path.unlink()
    change = plan_install(path, OURS)
    path.write_text("{}")
    with pytest.raises(SessionlogError, match="try again"):
        apply(change)
    assert path.read_text() == "{}"
    assert not list(path.parent.glob(".settings*"))


# --- Files and folders ------------------------------------------------------------------------------------------------


def test_a_link_stays_a_link(tmp_path: Path, path: Path) -> None:
    dotfiles = tmp_path / "dotfiles"
    dotfiles.mkdir()
    (dotfiles / "claude.json").write_text('{"model": "opus"}')
    path.symlink_to(dotfiles / "claude.json")
    backup = install(path)
    assert path.is_symlink()
    assert b"opus" in path.read_bytes()
    assert registered(json.loads((dotfiles / "claude.json").read_text()))
    assert backup is not None
    assert backup.parent == dotfiles
    uninstall(path)
    assert path.is_symlink()
    assert path.read_text() == '{"model": "opus"}'


def test_a_link_to_nothing_is_followed_too(tmp_path: Path, path: Path) -> None:
    path.symlink_to(tmp_path / "dotfiles" / "claude.json")
    install(path)
    assert (tmp_path / "dotfiles" / "claude.json").is_file()
    uninstall(path)
    assert path.is_symlink()
    assert not (tmp_path / "dotfiles").exists()


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o640])
def test_the_mode_stays_and_the_backup_is_private(path: Path, mode: int) -> None:
    path.write_text('{"env": {"TOKEN": "secret"}}')
    path.chmod(mode)
    backup = install(path)
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert backup is not None
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert backup.read_text() == '{"env": {"TOKEN": "secret"}}'


def test_equal_backups_do_not_pile_up(path: Path) -> None:
    path.write_text('{"model": "opus"}')
    for _ in range(4):
        install(path)
        uninstall(path)
    assert len(list(path.parent.iterdir())) == 1 + 1  # the file, and one backup


def test_the_folder_that_install_made_goes_with_the_last_file(tmp_path: Path) -> None:
    path = tmp_path / "new" / "deep" / "settings.json"
    install(path)
    install(path, handlers(RECORDED))
    uninstall(path)
    assert not (tmp_path / "new").exists()


def test_a_folder_that_others_use_by_now_stays(tmp_path: Path) -> None:
    path = tmp_path / "new" / "settings.json"
    install(path)
    (tmp_path / "new" / "agents").mkdir()
    uninstall(path)
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["agents"]


def test_two_files_are_remembered_apart(tmp_path: Path, path: Path) -> None:
    other = path.with_name("settings.local.json")
    path.write_text('{"hooks": {  }}')
    other.write_text("{ }")
    install(path)
    install(other)
    assert stat.S_IMODE(memory(tmp_path).stat().st_mode) == 0o600
    assert stat.S_IMODE(memory(tmp_path).parent.stat().st_mode) == 0o700
    uninstall(path)
    uninstall(other)
    assert (path.read_text(), other.read_text()) == ('{"hooks": {  }}', "{ }")


def test_each_scope_has_its_file(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = home / "project"
    (project / "src" / "deep").mkdir(parents=True)
    assert settings_file("user", project) == home / ".claude" / "settings.json"
    assert settings_file("project", project / "src" / "deep") == project / ".claude" / "settings.json"
    assert settings_file("local", project / "src") == project / ".claude" / "settings.local.json"
    assert settings_file("local", home) == home / ".claude" / "settings.local.json"
    assert len(claude_settings.all_settings_files(home)) == 2
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "elsewhere"))
    assert settings_file("user", project) == home / "elsewhere" / "settings.json"


# --- What is in the way -----------------------------------------------------------------------------------------------


def told(home: Path, files: dict[str, Any], installing: str = "home/.claude/settings.json") -> list[str]:
    for name, values in files.items():
        file = home.parent / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values))
    return list(notices(home / "project", home.parent / installing, OURS))


USER, PROJECT, LOCAL = (
    "home/.claude/settings.json",
    "home/project/.claude/settings.json",
    "home/project/.claude/settings.local.json",
)
HAND_MADE = {"hooks": {"Stop": [{"hooks": [{"command": "/x/python -I -S /x/hooks/any_event.py Stop || exit 1"}]}]}}


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, []),
        ({USER: {"disableAllHooks": False}, PROJECT: {"model": "opus"}}, []),
        ({USER: {"disableAllHooks": True}}, ["disableAllHooks", USER]),
        ({USER: {"disableAllHooks": True}, LOCAL: {"disableAllHooks": False}}, []),
        ({USER: {"disableAllHooks": False}, "managed/managed-settings.json": {"disableAllHooks": True}}, ["managed"]),
        ({"managed/managed-settings.json": {"allowManagedHooksOnly": True}}, ["allowManagedHooksOnly", "organisation"]),
        ({"managed/managed-settings.d/10.json": {"allowManagedHooksOnly": True}}, ["10.json"]),
        ({PROJECT: {"allowManagedHooksOnly": True}}, []),
        ({PROJECT: {"enabledPlugins": {"sessionlog@tools": True}}}, ["claude plugin disable sessionlog@tools"]),
        ({USER: {"enabledPlugins": {"sessionlog@x": True}}, LOCAL: {"enabledPlugins": {"sessionlog@x": False}}}, []),
        ({USER: {"enabledPlugins": {"other@tools": True}}, PROJECT: {"enabledPlugins": []}}, []),
        ({PROJECT: HAND_MADE}, [PROJECT, "two hooks run"]),
        ({USER: HAND_MADE}, []),
        ({LOCAL: {"hooks": {"Stop": [{"hooks": [OURS["Stop"]]}]}}}, []),
        ({LOCAL: [], PROJECT: {"hooks": {"Stop": [1, {"hooks": 2}], "Setup": 3}}}, []),
    ],
)
def test_what_is_in_the_way_is_told(home: Path, files: dict[str, Any], words: list[str]) -> None:
    notes = told(home, files)
    assert len(notes) == bool(words)
    assert all(word in notes[0] for word in words)
