"""Where lines come from: known for every line of a made repository, and for single hard cases."""

from __future__ import annotations

import json
import random
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from sessionlog.archive import place as projects
from sessionlog.archive import read
from sessionlog.archive.place import Place
from sessionlog.ask.provenance import blame, describe, recorded, story, target
from sessionlog.ask.provenance import open as provenance
from sessionlog.ask.provenance.align import NEW, Keys, align
from sessionlog.ask.provenance.blame import Blame
from sessionlog.ask.provenance.recorded import Names
from sessionlog.session import edits, shell_edits
from sessionlog.transcripts import importer
from tests.conftest import thorough
from tests.helpers import authorship
from tests.helpers import transcript_files as made
from tests.helpers.archives import bash, call, event, store
from tests.helpers.authorship import PERSON, World


def blamed(place: Place, path: str, rev: str | None = None) -> Blame:
    with closing(read.connect(place)) as connection:
        return blame.of_file(connection, target.locate(place, path, rev), indexed=False)


def sessions(found: Blame) -> list[str]:
    return [line.edit.session_id if line.edit else line.source for line in found.lines]


def test_200_edits_by_two_agents_and_a_person_over_30_commits(tmp_path: Path, home: Path) -> None:
    """Moves, indentation, formatting, renames, worktrees, a rebase and squashes: git and the hooks' records are real."""
    right = wrong = total = 0
    seeds = random.Random("blame").sample(range(1_000_000), 3)  # drawn, so that nobody chose the easy ones
    for seed in seeds if thorough() else seeds[:1]:
        folder = tmp_path / str(seed) / "project"
        folder.mkdir(parents=True)
        place = projects.place(str(folder))
        world = authorship.make(place, seed)
        assert world.edits >= 200 and world.commits >= 30
        for path, truth in world.files.items():
            found = blamed(place, str(world.root / path))
            assert [line.text for line in found.lines] == [line.text for line in truth]
            for line, true in zip(found.lines, truth, strict=True):
                said = line.edit.session_id if line.edit else PERSON
                total += 1
                right += said == true.owner
                # A blank line or a lone bracket is anybody's.
                wrong += said not in (true.owner, PERSON) and any(letter.isalnum() for letter in line.text)
    assert right >= 0.99 * total, f"{right} of {total}"
    assert wrong < 0.001 * total, f"{wrong} of {total}"


def test_a_function_in_the_place_of_another_does_not_inherit_its_last_line(place: Place) -> None:
    path = Path(place.project) / "a.py"
    tail = "\n\ndef after(cart):\n    return cart\n"
    old = "def build_user(total):\n    total = load(window, 'address', 986)\n    return None"
    store(place, call("Write", file_path=str(path), content=old + tail))
    path.write_text("def apply_region(item):\n    item = parse(user, 'region', 254)\n    return None" + tail)
    assert sessions(blamed(place, str(path)))[:3] == ["not recorded"] * 3
    path.write_text(old.replace("load(window, 'address', 986)", "something_else(1)") + tail)
    assert sessions(blamed(place, str(path)))[:3] == ["s1", "not recorded", "s1"], "the same function, one line changed"


def test_commits_are_blamed_as_they_were(place: Place) -> None:
    world = World(place, 1)
    world.new_file("claude-1", "a.py")
    world.commit()
    then = list(world.files["a.py"])
    for _ in range(6):
        world.step("claude-2")
        world.step(PERSON)
    world.commit()
    world.close()
    found = blamed(place, str(world.root / "a.py"), "HEAD~1")
    assert [line.text for line in found.lines] == [line.text for line in then]
    assert set(sessions(found)) == {"claude-1"}


def git(folder: Path | str, *arguments: str) -> None:
    who = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com"]
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


def test_without_git_and_without_records(place: Place, tmp_path: Path) -> None:
    path = Path(place.project) / "a.py"
    path.write_text("x = 1\ny = 2\n")
    store(place, call("Write", file_path=str(path), content="x = 1\n"))
    assert sessions(blamed(place, str(path))) == ["s1", "not recorded"]


def test_a_formatter_a_moved_function_and_windows_line_breaks(place: Place) -> None:
    path = Path(place.project) / "a.py"
    content = "def first_of_all(one, two):\n    return combine(one, two, 'quoted')\n\n\ndef second(three):\n    return three + 1000\n"
    store(place, call("Write", file_path=str(path), content=content))
    path.write_bytes(
        b"def second(three):\r\n    return three + 1000\r\n\r\n\r\ndef first_of_all(one, two):\r\n    return combine(\r\n"
        b'        one,\r\n        two,\r\n        "quoted",\r\n    )\r\n# by hand\r\n'
    )
    found = sessions(blamed(place, str(path)))
    assert found[-1] == "not recorded" and set(found[:2] + found[4:-1]) == {"s1"}


def test_a_secret_does_not_hide_its_line(place: Place) -> None:
    path = Path(place.project) / "a.py"
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    from sessionlog.redact.rules import Rules

    rules = Rules(place.home)
    text = f"import os\nTOKEN = '{secret}'\n"
    payload = call("Write", file_path=str(path), content=text)
    store(place, rules.clean(payload, rules.suspects(json.dumps(payload).encode())))
    path.write_text(text)
    found = blamed(place, str(path))
    assert sessions(found) == ["s1", "s1"]
    assert secret not in found.lines[1].text


def test_edits_that_only_a_transcript_knows(home: Path) -> None:
    use = {"type": "tool_use", "id": "t1", "name": "Edit"}
    use["input"] = {"file_path": "/home/dev/shop/a.py", "old_string": "x", "new_string": "total = price * 2"}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}
    made.transcript(
        home,
        made.line("Double it", "s1"),
        made.line(session_id="s1", type_="assistant", message={"role": "assistant", "model": "m", "content": [use]}),
        made.line(session_id="s1", message={"role": "user", "content": [result]}),
        session_id="s1",
    )
    importer.run()
    place = made.shop()
    with provenance.archive(place) as (connection, indexed):
        names = Names("/home/dev/shop", {"/home/dev/shop": "/home/dev/shop"}, {"a.py": "~"})
        (found,), _ = recorded.find(connection, names, indexed=indexed)
        told = describe.Describer(connection)(found)
    assert found.name.startswith("m") and found.change.replacements[0].new == "total = price * 2"
    assert told.model == "m" and told.prompt and told.prompt.text == "Double it"


def test_nothing_of_a_hostile_repository_is_run(place: Place, tmp_path: Path) -> None:
    root = Path(place.project)
    git(root, "init", "-q", "-b", "main")
    (root / "a.py").write_text("x = 1\ny = 2\n")
    (root / ".gitattributes").write_text("*.py diff=evil filter=evil\n")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "one")
    ran = tmp_path / "ran"
    script = tmp_path / "evil.sh"
    script.write_text(f'#!/bin/sh\ntouch {ran}\ncat "$@"\n')
    script.chmod(0o755)
    for name in (
        "core.fsmonitor", "core.pager", "core.sshCommand", "core.editor", "diff.external", "diff.evil.textconv",
        "diff.evil.command", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "gpg.program",
        "pager.blame", "pager.log", "core.alternateRefsCommand", "credential.helper",
    ):  # fmt: skip
        git(root, "config", name, str(script))
    git(root, "config", "log.showSignature", "true")
    hooks = root / ".git" / "hooks"
    for hook in ("post-checkout", "pre-commit", "reference-transaction", "post-index-change"):
        (hooks / hook).write_text(f"#!/bin/sh\ntouch {ran}\n")
        (hooks / hook).chmod(0o755)
    ran.unlink(missing_ok=True)
    (root / "a.py").write_text("x = 1\ny = 3\n")
    store(place, call("Edit", file_path=str(root / "a.py"), old_string="y = 2", new_string="y = 3"))
    assert sessions(blamed(place, str(root / "a.py"))) == ["commit", "s1"]
    assert sessions(blamed(place, str(root / "a.py"), "HEAD")) == ["commit", "commit"]
    assert not ran.exists()


def test_the_story_of_a_line(place: Place) -> None:
    path = f"{place.project}/cart.py"
    store(
        place,
        event("UserPromptSubmit", prompt="Fix the discount", prompt_id="p1"),
        call("Write", file_path=path, content="def total(cart):\n    return sum(cart)\n"),
        event("Stop", last_assistant_message="Written"),
        event("UserPromptSubmit", prompt="And round it", prompt_id="p2"),
        call("Edit", file_path=path, old_string="    return sum(cart)", new_string="    return round(sum(cart), 2)"),
        bash("pytest -q", name="PostToolUseFailure") | {"error": "Exit code 1\n1 failed"},
        event("Stop", last_assistant_message="Rounded, but a test fails."),
    )
    Path(path).write_text("def total(cart):\n    return round(sum(cart), 2)\n")
    with closing(read.connect(place)) as connection:
        found = blame.of_file(connection, target.locate(place, path), indexed=False)
        told = story.of_line(connection, found, 2, describe.Describer(connection))
    first, second = told.chapters
    assert first.described.prompt and first.described.prompt.text == "And round it"
    assert first.before == "    return sum(cart)"
    assert [entry.call.outcome for entry in first.commands if entry.call] == ["failed"]
    assert first.answer and first.answer.text == "Rounded, but a test fails."
    assert second.described.prompt and second.described.prompt.text == "Fix the discount"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cat > a.py <<'EOF'\nx = '$y'\nEOF", [("/w/a.py", "x = '$y'\n", "")]),
        ("mkdir -p /w && cat <<EOF >> a.py\nx = 1\nEOF\nls", [("/w/a.py", None, "x = 1")]),
        ("tee -a a.py <<'END' > /dev/null\nx\nEOF\nEND", [("/w/a.py", None, "x\nEOF")]),
        ("cat > a.py <<EOF\nx = $y\nEOF", []),  # a variable
        ("cat > $F <<'EOF'\nx\nEOF", []),
        ("cd b && cat > a.py <<'EOF'\nx\nEOF", []),  # where is b?
        ("cd b && cat > /w/a.py <<'EOF'\nx\nEOF", [("/w/a.py", "x\n", "")]),
        ("test -f b || cat > a.py <<'EOF'\nx\nEOF", []),  # a condition
        ("python3 - <<'EOF'\ncat > a.py <<'END'\nx\nEND\nEOF", []),  # text within text
        ("sed -i 's/old name/new name/g' a.py src/b.py", [("/w/a.py", "old name"), ("/w/src/b.py", "old name")]),
        ("sed -i 's/a.*b/c/' a.py", []),
        ("sed -i -E 's/f(x)/g(x)/' a.py", []),
        ("sed 's/a/b/' a.py", []),
        ("false || sed -i 's/a/b/' a.py", []),
        ("sed -i 's/a/b/' a.py && echo 'unclosed", []),
    ],
)
def test_only_what_a_command_says_for_sure_is_an_edit(command: str, expected: list[tuple[str, ...]]) -> None:
    found = shell_edits.of_command(command, "/w")
    assert [
        (one.path, one.replacements[0].old) if one.replacements else (one.path, one.whole, one.added) for one in found
    ] == expected


def test_edits_by_bash_are_told_as_such(place: Place) -> None:
    path = Path(place.project) / "a.py"
    root = place.project
    body = "def total(cart):\n    return sum(cart)\n"
    store(
        place,
        event("UserPromptSubmit", prompt="Make a cart"),
        bash(f"cat > a.py <<'EOF'\n{body}EOF") | {"cwd": root},
        call("Edit", "s2", file_path=str(path), old_string="    return sum(cart)", new_string="    value = sum(cart)"),
        bash("sed -i 's/value = sum/rounded_value = my_round/' a.py", "s3") | {"cwd": root},
        bash("sed -i 's/nowhere in it/something else/' a.py", "s4") | {"cwd": root},
        bash("./tools/fix.py > a.py", "s5") | {"cwd": root},
    )
    path.write_text("def total(cart):\n    rounded_value = my_round(cart)\n# by nobody knows whom\n")
    with provenance.archive(place) as (connection, indexed):
        found = blame.of_file(connection, target.locate(place, str(path)), indexed=indexed)
        assert indexed and sessions(found) == ["s1", "s3", "not recorded"]
        assert [line.edit.tool for line in found.lines[:2] if line.edit] == ["Bash", "Bash"]
        told = story.of_line(connection, found, 3, describe.Describer(connection))
    assert [ran.session_id for ran in told.suspects] == ["s5"] and not told.chapters, "said, not guessed"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (["a = 1", "b = 2"], ["a = 1", "    b = 2"], [0, 1]),
        (["x = f(aa, bb, cc)"], ["x = f(", "  aa,", "  bb,", "  cc,", ")"], [0, 0, 0, 0, 0]),
        (["x = f(", "  aa,", "  bb,", ")"], ["x = f(aa, bb)"], [0]),
        (["x = 'a'"], ['x = "a"'], [0]),
        (["return a + b"], ["return a"], [NEW]),
        # Two lines of as many words are joined: the first one counts, wherever they stand.
        ([*"abcdefg", "if x:", "if y:"], [*"abcdefg", "if x: if y:"], [*range(7), 7]),
        (["one", "two"], [], []),
        ([], ["one"], [NEW]),
    ],
)
def test_lines_are_recognised_whatever_their_layout(old: list[str], new: list[str], expected: list[int]) -> None:
    assert align(old, new, Keys()) == expected


def test_a_new_function_begins_with_its_first_line() -> None:
    tail = ["    return None", ""]
    old = ["def a():", "    one()", *tail, "def c():", "    three()", *tail]
    new = [*old, "def d():", "    four()", *tail]
    assert align(old, new, Keys()) == [0, 1, 2, 3, 4, 5, 6, 7, NEW, NEW, NEW, NEW]
    assert align(new, old, Keys()) == [0, 1, 2, 3, 4, 5, 6, 7]
    assert align(old, [*old[:4], "def b():", "    two()", *tail, *old[4:]], Keys()) == [
        0,
        1,
        2,
        3,
        NEW,
        NEW,
        NEW,
        NEW,
        4,
        5,
        6,
        7,
    ]


def test_patches_of_other_agents() -> None:
    patch = "\n".join(
        [
            "*** Begin Patch", "*** Update File: src/a.py", "*** Move to: src/b.py", "@@ def f():", " x = 1", "-y = 2",
            "+y = 3", "@@", "-z", "+Z", "*** Add File: new.py", "+one", "+two", "*** Delete File: old.py", "*** End Patch",
        ]
    )  # fmt: skip
    first, second, third = edits.of_input({"command": patch}, "edit", "/w")
    assert (first.path, first.moved_to) == ("/w/src/a.py", "/w/src/b.py")
    assert [(one.old, one.new) for one in first.replacements] == [("x = 1\ny = 2", "x = 1\ny = 3"), ("z", "Z")]
    assert (second.path, second.whole) == ("/w/new.py", "one\ntwo\n")
    assert (third.path, third.whole) == ("/w/old.py", "")
    assert edits.of_input({"file_path": "/w/a", "old_string": "", "new_string": "x"}, "edit")[0].whole == "x"
    assert edits.of_input({"file_path": "/w/a"}, "read") == []
