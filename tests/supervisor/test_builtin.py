"""The ready-made reviewers: what they are told, what the rules find, and Claude in a fork of the session."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from sessionlog.archive import place as projects
from sessionlog.errors import SessionlogError
from sessionlog.supervisor import brief, records, rules
from sessionlog.supervisor.builtin import by_rules
from sessionlog.supervisor.contract import HookInput
from tests.conftest import ROOT
from tests.helpers import forking
from tests.helpers.archives import bash, call, event, store
from tests.helpers.supervising import ASK, STOP, supervise

SESSIONLOG = [sys.executable, "-m", "sessionlog"]
REVIEW = f"{sys.executable} -m sessionlog review"

PROMPT = event("UserPromptSubmit", prompt="Add a discount")
STOPPED = HookInput("s1", "Stop", "s1", {})


def edit(path: str, old: str = "a", new: str = "b") -> dict[str, Any]:
    return call("Edit", file_path=path, old_string=old, new_string=new)


def write(path: str, content: str = "x = 1\n") -> dict[str, Any]:
    return call("Write", file_path=path, content=content)


def failed(command: str) -> dict[str, Any]:
    return {**bash(command, name="PostToolUseFailure"), "error": "Exit code 1\nno"}


def review(place: projects.Place, *options: str, told: Any = None) -> dict[str, Any]:
    """Run the reviewer as the supervisor does."""
    data = brief.encode(told or brief.build(place, STOPPED))
    done = forking.run("review", *options, input=data)
    assert (done.returncode, done.stderr) == (0, b""), done.stderr
    verdict = json.loads(done.stdout)
    assert verdict.keys() == {"allow_stop", "feedback"}
    return dict(verdict)


# --- The rules that come with it --------------------------------------------------------------------------------------

TESTED_BEFORE = [bash("pytest -q"), PROMPT]


@pytest.mark.parametrize(
    ("happened", "reasons"),
    [
        ([], []),
        ([PROMPT], []),
        # Tests
        ([*TESTED_BEFORE, edit("/p/a.py")], ["/p/a.py was changed last"]),
        ([*TESTED_BEFORE, write("/p/a.ts")], ["/p/a.ts was changed last"]),
        ([*TESTED_BEFORE, edit("/p/a.py"), bash("pytest")], []),
        ([*TESTED_BEFORE, edit("/p/a.py"), bash(".venv/bin/pytest tests/test_a.py")], []),
        ([*TESTED_BEFORE, edit("/p/a.py"), bash("cd web && npm run test -- --watch=false")], []),
        ([*TESTED_BEFORE, edit("/p/a.py"), bash("python3.12 -m unittest")], []),
        ([*TESTED_BEFORE, edit("/p/a.py"), bash("cargo nextest run"), edit("/p/b.py")], ["/p/b.py was changed last"]),
        ([*TESTED_BEFORE, edit("/p/a.py"), bash("git add tests/pytest.ini")], ["/p/a.py was changed last"]),
        ([*TESTED_BEFORE, edit("/p/README.md")], []),
        ([*TESTED_BEFORE], []),
        ([bash("make check"), edit("/p/a.py"), PROMPT], []),  # what the user has seen since
        ([PROMPT, edit("/p/a.py")], []),  # a project without tests
        # Failures
        ([PROMPT, failed("npm run build")], ["This command failed and was not run again: npm run build"]),
        ([PROMPT, failed("npm run build"), bash("npm run build -- --force")], []),
        ([PROMPT, failed("npm run build"), failed("npm run build")], ["npm run build"]),
        ([PROMPT, bash("npm ci"), failed("npm run build"), bash("ls")], ["npm run build"]),
        ([PROMPT, failed("grep -r TODO ."), failed("[ -f x ]"), failed("git diff --exit-code")], []),
        ([failed("npm run build"), PROMPT], []),
        # Notes
        ([PROMPT, write("/p/a.yaml", "# TODO: later\n")], ["unfinished work was written into /p/a.yaml"]),
        ([PROMPT, edit("/p/a.yaml", "x", "x  # FIXME")], ["unfinished work was written into /p/a.yaml"]),
        ([PROMPT, edit("/p/a.yaml", "x  # TODO", "y  # TODO")], []),
        ([PROMPT, write("/p/a.yaml", "# TODO"), edit("/p/a.yaml", "# TODO", "done")], []),
        ([PROMPT, write("/p/a.yaml", "# TODO"), write("/p/a.yaml", "done")], []),
        ([PROMPT, write("/p/a.yaml", "# TODO"), edit("/p/a.yaml", "# TODO x", "# TODO y")], ["written into /p/a.yaml"]),
        ([PROMPT, write("/p/TODO.md", "TODO"), write("/p/a.yaml", "TODOS = 3")], []),
        # Of others
        ([{**failed("npm run build"), "session_id": "s2"}, PROMPT], []),
        ([PROMPT, {**write("/p/a.yaml", "# TODO"), "session_id": "s2"}], []),
        ([*TESTED_BEFORE, edit("/p/a.py"), bash("pytest", "s2")], ["/p/a.py was changed last"]),
        # Together
        (
            [*TESTED_BEFORE, failed("tsc"), write("/p/a.py", "# XXX")],
            ["/p/a.py was changed", "tsc", "written into /p/a.py"],
        ),
    ],
)
def test_the_rules_find_what_is_left_to_do(
    place: projects.Place, happened: list[dict[str, Any]], reasons: list[str]
) -> None:
    store(place, *(happened or [event("SessionStart")]))
    verdict = by_rules(brief.build(place, STOPPED))
    assert verdict.allow_stop == (not reasons), verdict
    if reasons:
        lines = verdict.feedback.splitlines()
        assert len(lines) == len(reasons)
        assert all(reason in line for reason, line in zip(reasons, lines, strict=True)), lines


def test_at_a_question_only_rules_about_questions_are_asked(place: projects.Place, tmp_path: Path) -> None:
    store(place, PROMPT, failed("tsc"))
    told = brief.build(place, HookInput("s1", "PreToolUse", "s1", ASK))
    assert review(place, told=told)["allow_stop"]
    file = tmp_path / "rules.yml"
    file.write_text("rules: [{name: a, message: No., sql: SELECT 1, events: [PreToolUse]}]")
    assert not review(place, "--rules", str(file), told=told)["allow_stop"]
    assert review(place, "--rules", str(file))["allow_stop"]


def test_a_reason_is_given_twice_and_again_after_the_next_prompt(place: projects.Place) -> None:
    store(place, PROMPT, failed("tsc"))
    assert [supervise(STOP, REVIEW).allowed for _ in range(4)] == [False, False, True, True]
    store(place, PROMPT, failed("tsc"), start_ms=time.time_ns() // 1_000_000)
    assert [supervise(STOP, REVIEW).allowed for _ in range(3)] == [False, False, True]


# --- Rules of one's own -----------------------------------------------------------------------------------------------


def test_rules_of_ones_own(place: projects.Place, tmp_path: Path) -> None:
    store(place, PROMPT, *(bash(f"rm -rf {number}") for number in range(8)), bash("rm -rf /x\n\x1b[31m"))
    file = tmp_path / "rules.yml"
    file.write_text(
        "rules:\n"
        "  - name: nothing-removed\n    times: 1\n"
        '    message: "{command} ({session_id}) {not a column} {command.__class__}"\n'
        "    sql: SELECT command, session_id FROM bash_commands WHERE session_id = :session_id AND command REGEXP '^rm'"
        " ORDER BY id DESC\n"
    )
    verdict = review(place, "--rules", str(file))
    lines = verdict["feedback"].splitlines()
    assert lines[0] == r"- rm -rf /x \x1b[31m (s1) {not a column} {command.__class__}"
    assert len(lines) == rules.SHOWN + 1
    assert lines[-1] == "- And more of this (nothing-removed)."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no rules"),
        ("rules: []", "has no rules"),
        ("- a", "has no rules"),
        ("rules: [", "cannot be read"),
        ("rules: [5]", "rule 1 needs a name, a message and sql"),
        ("rules: [{name: a, message: b}]", "rule 1 (a) needs a name, a message and sql"),
        ("rules: [{name: a, message: b, sql: SELECT 1, on: [Stop]}]", "is not known"),
        ("rules: [{name: a, message: b, sql: SELECT 1, events: [Start]}]", "events is a list"),
        ("rules: [{name: a, message: b, sql: SELECT 1, times: 0}]", "times is a number"),
        ("rules: [{name: a, message: b, sql: SELECT nonsense}]", "the rule a cannot be asked: no such column"),
        ("rules: [{name: a, message: b, sql: DELETE FROM events}]", "the rule a cannot be asked: not authorized"),
        ("rules: [{name: a, message: b, sql: \"ATTACH '/tmp/x' AS x\"}]", "the rule a cannot be asked"),
        ("rules: [{name: a, message: b, sql: \"SELECT 1 WHERE 'a' REGEXP '('\"}]", "the rule a cannot be asked"),
        ("rules: [{name: a, message: '{c}', sql: SELECT 1 AS x}]", "names {c}, but its query gives: x"),
    ],
)
def test_a_wrong_rule_is_told_and_blocks_nothing(place: projects.Place, tmp_path: Path, text: str, said: str) -> None:
    store(place, PROMPT)
    file = tmp_path / "rules.yml"
    file.write_text(text)
    result = supervise(STOP, f"{REVIEW} --rules {file}")
    assert result.code == 1
    assert said in result.stderr


# --- What a reviewer is told ------------------------------------------------------------------------------------------


def test_the_brief_tells_the_task_what_was_done_and_earlier_reviews(place: projects.Place, tmp_path: Path) -> None:
    happened = [
        PROMPT,
        edit("/p/a.py"),
        edit("/p/a.py"),
        failed("pytest -x"),
        event("Stop", last_assistant_message="Done"),
    ]
    store(place, *happened, event("UserPromptSubmit", prompt="And now?"))
    records.decide(place, STOPPED, {"decision": "block", "message": "More.", "iteration": 1, "reviewer": "r"})
    supervise(
        {**STOP, "hook_event_name": "Stop", "cwd": str(tmp_path), "permission_mode": "plan"},
        "cat > brief; echo '{\"allow_stop\": true}'",
    )
    told = json.loads((tmp_path / "brief").read_text())  # the reviewer runs where the session is
    assert [prompt["prompt"] for prompt in told["prompts"]] == ["Add a discount", "And now?"]
    assert (told["event"], told["session_id"], told["iteration"], told["max_iterations"]) == ("Stop", "s1", 1, 20)
    assert (told["archive"], told["project"]) == (place.db, place.project)
    assert (told["permission_mode"], told["stop_hook_active"]) == ("plan", False)
    assert told["last_answer"] == "Done"
    done = told["done"]
    assert (done["tools"], done["failures"], done["files_changed"]) == ({"Edit": 2, "Bash": 1}, 1, {"/p/a.py": 2})
    assert [(line["tool"], line["argument"], line["outcome"]) for line in done["calls"]] == [
        ("Edit", "/p/a.py", "ok"),
        ("Edit", "/p/a.py", "ok"),
        ("Bash", "$ pytest -x", "failed"),
    ]
    assert done["calls"][0]["changed"] == "(+1 -1)"
    assert done["calls"][2]["error"] == "Exit code 1\nno"
    assert [(old["decision"], old["feedback"]) for old in told["reviews"]] == [("block", "More.")]


def test_what_the_event_says_is_newer_than_the_archive(place: projects.Place) -> None:
    store(place, event("Stop", last_assistant_message="old"))
    told = brief.build(place, HookInput("s1", "Stop", "s1", {"last_assistant_message": "new"}))
    assert told["last_answer"] == "new"


def test_a_brief_is_bounded_however_long_the_session_is(place: projects.Place) -> None:
    long = "x" * 100_000
    happened = [event("UserPromptSubmit", prompt=f"{number} {long}") for number in range(40)]
    happened += [{**failed(f"echo {long}"), "error": long} for _ in range(400)]
    happened += [write(f"/p/{number}/{long}") for number in range(300)]
    store(place, *happened)
    for _ in range(30):
        records.decide(place, STOPPED, {"decision": "block", "message": long})
    told = brief.build(place, HookInput("s1", "PreToolUse", "s1", {**ASK, "tool_input": {"questions": [long]}}))
    assert len(brief.encode(told)) < 600_000
    assert [prompt["prompt"].partition(" ")[0] for prompt in told["prompts"]] == ["0", *map(str, range(31, 40))]
    assert (told["prompts_left_out"], told["done"]["calls_left_out"]) == (30, 500)
    assert len(told["reviews"]) == brief.REVIEWS


def test_a_person_can_look_at_the_brief_and_try_the_rules(place: projects.Place) -> None:
    store(place, PROMPT, failed("tsc"))
    for options, expected in ((["--brief"], "Add a discount"), ([], "tsc")):
        words = [*SESSIONLOG, "review", "last", *options]
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert expected in json.dumps(json.loads(done.stdout))


@pytest.mark.parametrize("data", [b"", b"no JSON", b"[]", b"{}", b'{"version": 99}'])
def test_without_a_brief_it_says_what_to_type(data: bytes, project: Path) -> None:
    done = subprocess.run([*SESSIONLOG, "review"], input=data, capture_output=True, text=False, check=False)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"sessionlog review last" in done.stderr


# --- Claude itself ----------------------------------------------------------------------------------------------------

FAKE_CLAUDE = """#!/bin/sh
[ "$1" = --version ] && { echo "2.1.325 (Claude Code)"; exit; }
printf '%s\\n' "$@" > "$OUT/words"; env > "$OUT/environment"; pwd > "$OUT/folder"; cat > "$OUT/prompt"
echo 'Let me see.'; cat "$OUT/answer"
"""


@pytest.fixture
def claude(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `claude` on PATH that notes how it was called, and answers what is in a file."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "claude").write_text(FAKE_CLAUDE)
    (folder / "claude").chmod(0o755)
    (folder / "answer").write_text('{"allow_stop": false, "feedback": "Say please."}')
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setenv("OUT", str(folder))
    monkeypatch.setenv("CLAUDECODE", "1")
    return folder


def test_claude_reviews_in_a_fork_of_the_session(claude: Path, place: projects.Place, project: Path) -> None:
    store(place, PROMPT, failed("tsc"))
    result = supervise({**STOP, "cwd": "/"}, f"{REVIEW} --claude --model haiku")
    assert result.output == {"decision": "block", "reason": "Say please."}
    assert (claude / "words").read_text().splitlines() == [
        "-p",
        "--resume",
        "s1",
        "--fork-session",
        "--model",
        "haiku",
    ]
    environment = (claude / "environment").read_text().splitlines()
    assert {"CCC_SUPERVISOR_HOOK=1", "SESSIONLOG_SUPERVISOR_HOOK=1", "CCC_SUPERVISOR_ID=s1"} <= {*environment}
    assert "CLAUDECODE=1" not in environment
    assert (claude / "folder").read_text().strip() == os.path.realpath(project)
    prompt = (claude / "prompt").read_text()
    assert "may it (allow_stop)" in prompt and "Add a discount" in prompt and "$ tsc" in prompt


def test_claude_is_asked_about_a_question(claude: Path, place: projects.Place) -> None:
    assert not supervise(ASK, f"{REVIEW} --claude").allowed
    assert "Which one?" in (claude / "prompt").read_text()


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("#!/bin/sh\necho 'No conversation found' >&2; exit 1\n", "claude ended with 1: No conversation found"),
        ("#!/bin/sh\necho 'Hello!'\n", "no verdict: Hello!"),
        (None, "claude is not found on the PATH"),
    ],
)
def test_claude_that_cannot_review_blocks_nothing(
    claude: Path, place: projects.Place, script: str | None, said: str
) -> None:
    if script is None:
        (claude / "claude").unlink()
    else:
        (claude / "claude").write_text(script)
    result = supervise(STOP, f"{REVIEW} --claude")
    assert result.code == 1
    assert said in result.stderr


def test_the_sessions_of_a_reviewer_are_let_through(claude: Path, place: projects.Place) -> None:
    """As if the fork's own Stop hook ran: it asks nobody, so there is no second review."""
    hook = f"{sys.executable} -I -m sessionlog.supervisor --reviewer 'touch {claude}/asked'"
    (claude / "claude").write_text(
        f'#!/bin/sh\necho \'{{"session_id": "fork"}}\' | {hook} > {claude}/hook\ncat {claude}/answer\n'
    )
    assert not supervise(STOP, f"{REVIEW} --claude").allowed
    assert json.loads((claude / "hook").read_text()).keys() == {"reason"}
    assert not (claude / "asked").exists()


def test_the_rule_in_the_documentation_works(place: projects.Place, tmp_path: Path) -> None:
    (block,) = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "supervisor.md").read_text(), re.S)
    (tmp_path / "rules.yml").write_text(block)
    store(place, PROMPT, bash("git push origin main"))
    verdict = review(place, "--rules", str(tmp_path / "rules.yml"))
    assert verdict["feedback"] == "- You pushed (git push origin main). Tell the user how to undo it."


def test_the_rules_file_that_is_shipped_can_be_read() -> None:
    assert [rule.name for rule in rules.load()] == ["tests-after-last-edit", "no-failure-left", "no-todo-written"]
    with pytest.raises(SessionlogError, match="cannot be read"):
        rules.load(Path("/no/such/file"))
