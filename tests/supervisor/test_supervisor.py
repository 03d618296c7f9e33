"""The supervisor keeps its contract: TC-001 to TC-007, and whatever can go wrong, through real processes."""

from __future__ import annotations

import ctypes
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sessionlog.agents.claude_code.events import RECORDED
from sessionlog.archive import append
from sessionlog.archive import place as projects
from sessionlog.archive.event import COLUMNS
from sessionlog.install import commands as registration
from sessionlog.supervisor import contract, records, run_command
from sessionlog.supervisor.verdict import LONGEST_FEEDBACK, NoVerdict, parse
from tests.conftest import PAYLOAD_FILES, Hook, rows, thorough
from tests.helpers.payloads import FLAT
from tests.helpers.supervising import (
    ASK,
    QUESTIONS,
    STOP,
    SUPERVISOR,
    finish,
    is_running,
    python,
    start,
    supervise,
    verdict,
)

pytestmark = pytest.mark.usefixtures("project")

TOKEN = "ghp_" + "a1B2c3D4e5" * 4


def events(place: projects.Place, name: str = "SupervisorDecision") -> list[dict[str, Any]]:
    """The supervisor's own events, with what they hold beside columns."""
    found = rows(place, "SELECT * FROM events WHERE event = ? ORDER BY id", name)
    return [{**row, **json.loads(row["extra"])} for row in found]


# --- The test cases of the contract -----------------------------------------------------------------------------------


def test_tc_001_stop_is_allowed() -> None:
    result = supervise({"session_id": "test-001", "stop_hook_active": False}, verdict(True, "工作已完成"))
    assert (result.code, result.output, result.stderr) == (0, {"reason": "工作已完成"}, "")


def test_tc_002_stop_is_blocked() -> None:
    result = supervise({"session_id": "test-002", "stop_hook_active": False}, verdict(False, "需要继续完善测试用例"))
    assert (result.code, result.output) == (0, {"decision": "block", "reason": "需要继续完善测试用例"})


@pytest.mark.parametrize(
    ("number", "allow", "decision"), [("3", True, "allow"), ("4", False, "deny")], ids=["tc_003", "tc_004"]
)
def test_tc_003_and_004_a_question_is_allowed_or_denied(number: str, allow: bool, decision: str) -> None:
    payload = {
        "session_id": f"test-00{number}",
        "hook_event_name": "PreToolUse",
        "tool_name": "AskUserQuestion",
        "tool_input": QUESTIONS,
        "tool_use_id": "toolu_001",
    }
    result = supervise(payload, verdict(allow, "应该先添加更多代码注释"))
    inner = {
        "hookEventName": "PreToolUse",
        "permissionDecision": decision,
        "permissionDecisionReason": "应该先添加更多代码注释",
    }
    assert (result.code, result.output) == (0, {"hookSpecificOutput": inner})


@pytest.mark.parametrize("name", contract.GUARDS)
@pytest.mark.parametrize("payload", [STOP, ASK, b"no JSON", b""], ids=["Stop", "PreToolUse", "garbage", "nothing"])
def test_tc_005_a_reviewers_own_session_is_let_through(
    name: str, payload: Any, tmp_path: Path, place: projects.Place
) -> None:
    result = supervise(payload, f"touch {tmp_path}/asked; {verdict(False)}", env={name: "1"})
    assert result.code == 0 and result.allowed
    assert ("hookSpecificOutput" in (result.output or {})) == (payload is ASK)
    assert not (tmp_path / "asked").exists()
    assert not os.path.exists(place.db)


def test_tc_005_only_1_is_a_guard() -> None:
    assert not supervise(STOP, verdict(False), env={"CCC_SUPERVISOR_HOOK": "0"}).allowed


@pytest.mark.parametrize("payload", [STOP, ASK, {"session_id": "s1"}], ids=["Stop", "PreToolUse", "old"])
def test_tc_006_after_20_reviews_everything_is_allowed(payload: Any, place: projects.Place, tmp_path: Path) -> None:
    for number in range(19):
        about = contract.HookInput("s1", "PreToolUse" if number % 2 else "Stop", "s1", {})
        assert records.begin(place, about, "test", 20) == number + 1
    reviewer = f"echo >> {tmp_path}/asked; {verdict(False, 'more')}"
    assert not supervise(payload, reviewer).allowed  # the twentieth
    assert supervise(payload, reviewer).allowed
    assert supervise(payload, reviewer).allowed
    assert not supervise({**payload, "session_id": "another"}, reviewer).allowed
    assert (tmp_path / "asked").read_text() == "\n\n"
    assert [row["iteration"] for row in events(place)] == [20, 21, 22, 1]


def test_tc_006_the_limit_can_be_chosen(place: projects.Place) -> None:
    Path(place.home).mkdir(parents=True)
    Path(place.home, "config.json").write_text('{"supervisor": {"max_iterations": 1}}')
    assert [supervise(STOP, verdict(False)).allowed for _ in range(2)] == [False, True]
    assert not supervise(STOP, verdict(False), "--max-iterations", "3").allowed
    assert supervise(STOP, verdict(False), "--max-iterations", "0").allowed


@pytest.mark.parametrize("allow", [True, False])
def test_tc_007_without_a_name_it_is_a_stop(allow: bool) -> None:
    result = supervise({"session_id": "test-007"}, verdict(allow, "why"))
    assert result.output == ({"reason": "why"} if allow else {"decision": "block", "reason": "why"})


# --- Which session, which event ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Stop", "SubagentStop", "SomethingNew"])
def test_every_other_event_is_answered_as_a_stop(name: str) -> None:
    assert supervise({**STOP, "hook_event_name": name}, verdict(False, "x")).output == {
        "decision": "block",
        "reason": "x",
    }


@pytest.mark.parametrize("stdin", [b"", b"no JSON", json.dumps(ASK).encode()], ids=["nothing", "garbage", "another"])
def test_the_session_id_of_the_command_line_comes_first(stdin: bytes, place: projects.Place) -> None:
    result = supervise(stdin, verdict(True, "x"), "--session-id", "from-the-command-line")
    assert (result.code, result.output) == (0, {"reason": "x"})
    assert [row["session_id"] for row in events(place)] == ["from-the-command-line"]


@pytest.mark.parametrize("name", contract.IDS)
def test_the_supervisors_id_is_passed_on(name: str, place: projects.Place, tmp_path: Path) -> None:
    reviewer = f"env > {tmp_path}/environment; {verdict(True)}"
    supervise(STOP, reviewer, env={name: "supervisor-1"})
    environment = (tmp_path / "environment").read_text().splitlines()
    for line in (*(f"{name}=supervisor-1" for name in contract.IDS), *(f"{name}=1" for name in contract.GUARDS)):
        assert line in environment
    assert [(row["session_id"], row["supervisor_id"]) for row in events(place)] == [("s1", "supervisor-1")]
    supervise({}, verdict(True), env={name: "supervisor-1"})  # nobody else says which session it is
    assert events(place)[-1]["session_id"] == "supervisor-1"


def test_without_a_supervisors_id_it_is_the_sessions(tmp_path: Path) -> None:
    supervise(STOP, f'printf %s "$CCC_SUPERVISOR_ID" > {tmp_path}/id; {verdict(True)}')
    assert (tmp_path / "id").read_text() == "s1"


@pytest.mark.parametrize(
    "stdin",
    [b"", b"   ", b"{", b'{"session_id": "s1"', b"[]", b'"s1"', b"{}", b'{"session_id": ""}', b'{"session_id": 5}'],
)
def test_what_is_no_event_ends_with_2(stdin: bytes, tmp_path: Path) -> None:
    result = supervise(stdin, f"touch {tmp_path}/asked")
    assert result.code == 2
    assert result.stderr.startswith("failed to parse hook input: ")
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "asked").exists()


@pytest.mark.parametrize("options", [["--bogus"], ["--max-iterations", "many"], ["--timeout", "0"], ["extra"]])
@pytest.mark.parametrize("words", [["sessionlog.supervisor"], ["sessionlog", "supervise"]])
def test_wrong_options_end_with_1_because_2_would_block(words: list[str], options: list[str]) -> None:
    command = [sys.executable, "-I", "-m", *words, "--reviewer", "true", *options]
    done = subprocess.run(command, input=b"{}", capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (1, b"")


def test_the_reviewer_is_not_optional() -> None:
    command = [sys.executable, "-I", "-m", "sessionlog", "supervise"]
    assert subprocess.run(command, input=b"{}", capture_output=True, check=False).returncode == 1


# --- The reviewer -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reviewer", "said"),
    [
        ("/no/such/reviewer", "ended with 127"),
        ("echo I am unwell >&2; exit 3", "ended with 3: I am unwell"),
        ("exit 2", "ended with 2"),
        (f"{verdict(False)}; exit 1", "ended with 1"),
        ("kill -SEGV $$", "ended with -11"),
        ("true", "no verdict: it is empty"),
        ("echo All fine.", "no verdict: All fine."),
        ('echo \'{"allow_stop": "yes"}\'', "no verdict"),
        ("echo '{\"allow_stop\": true'", "no verdict"),
        ("head -c 3000 /dev/urandom", "no verdict"),
        ("yes | head -c 10000000", "more than 1 MB"),
        (f"yes | head -c 10000000; {verdict(False)}", "more than 1 MB"),
        ("yes", "more than 1 MB"),
    ],
)
def test_a_reviewer_that_does_not_do_its_work_ends_with_1(reviewer: str, said: str, place: projects.Place) -> None:
    for payload in (STOP, ASK):
        result = supervise(payload, reviewer)
        assert result.code == 1
        assert result.stderr.startswith("supervisor SDK failed: ")
        assert said in result.stderr
        assert result.stderr.count("\n") == 1
    assert [(row["decision"], row["reviewer"]) for row in events(place)] == [("none", reviewer)] * 2
    assert said in events(place)[0]["error"]


def test_a_reviewer_that_hangs_is_ended_with_all_its_children(place: projects.Place, tmp_path: Path) -> None:
    reviewer = f"sleep 1000 & echo $! >> {tmp_path}/pids; echo $$ >> {tmp_path}/pids; (trap '' TERM; sleep 1000)"
    result = supervise(STOP, reviewer, "--timeout", "2")
    assert (result.code, result.stderr) == (124, "hook execution timeout\n")
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert len(pids) == 2 and not any(map(is_running, pids))
    assert [(row["decision"], row["error"]) for row in events(place)] == [("none", "the reviewer took too long")]


def test_a_client_that_never_closes_stdin_is_answered(tmp_path: Path) -> None:
    process = subprocess.Popen([*SUPERVISOR, "--reviewer", verdict(False, "x")], stdin=-1, stdout=-1, stderr=-1)
    assert process.stdin
    process.stdin.write(json.dumps(STOP).encode() + b"\n")
    process.stdin.flush()
    assert process.wait(60) == 0
    process.communicate()


def test_a_reviewer_that_closed_its_output_and_hangs_is_ended_too() -> None:
    assert supervise(STOP, f"{verdict(False)}; exec >&- 2>&-; sleep 1000", "--timeout", "2").code == 124


def test_who_ends_the_supervisor_ends_the_reviewer(tmp_path: Path) -> None:
    process = start(STOP, f"echo $$ > {tmp_path}/pid; mv {tmp_path}/pid {tmp_path}/there; sleep 1000")
    while not (tmp_path / "there").exists() and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    result = finish(process)
    assert (result.code, "SIGTERM" in result.stderr) == (1, True)
    until = time.monotonic() + 60  # on a busy machine, what was killed takes its time to end
    while is_running(int((tmp_path / "there").read_text())) and time.monotonic() < until:
        time.sleep(0.02)
    assert not is_running(int((tmp_path / "there").read_text()))


def test_a_signal_while_the_reviewer_is_started_ends_the_reviewer(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []

    class Interrupted(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            started.append(self.pid)
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    with pytest.raises(run_command.ReviewerFailed, match="SIGTERM"):
        run_command.run("sleep 1000", b"", cwd=None, more={}, deadline=time.monotonic() + 60)
    assert started and not is_running(started[0])


def test_a_child_that_a_reviewer_leaves_behind_is_not_waited_for(tmp_path: Path) -> None:
    result = supervise(STOP, f"sleep 1000 & echo $! > {tmp_path}/pid; {verdict(False, 'x')}", "--timeout", "60")
    assert result.output == {"decision": "block", "reason": "x"}
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)


@pytest.mark.parametrize(
    "reviewer",
    [
        f"exec 0<&-; {verdict(False, 'x')}",
        f"cat >&2; {verdict(False, 'x')}",
        f"yes | head -c 10000000 >&2; {verdict(False, 'x')}",
    ],
    ids=["reads nothing", "repeats its brief on stderr", "10 MB on stderr"],
)
def test_what_a_reviewer_does_beside_its_verdict_does_not_matter(reviewer: str) -> None:
    result = supervise(STOP, reviewer)
    assert (result.output, result.stderr) == ({"decision": "block", "reason": "x"}, "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"allow_stop": true, "feedback": "a"}', (True, "a")),
        ('{"feedback": "b {x} }", "allow_stop": false}', (False, "b {x} }")),
        (
            'Here you are:\n```json\n{"allow_stop": false,\n "feedback": "two\nlines"}\n```\nGood luck {}',
            (False, "two\nlines"),
        ),
        ('{"allow_stop": true} no, wait: {"allow_stop": false, "feedback": "c"}', (False, "c")),
        ('{"result": {"allow_stop": false, "feedback": "d"}}', (False, "d")),
        ('{"allow_stop": true, "feedback": "say {\\"allow_stop\\": false}"}', (True, 'say {"allow_stop": false}')),
        ('The key "allow_stop" is true: {"allow_stop": true}', (True, "")),
        ('{"allow_stop": true, "feedback": "e"} (as for "allow_stop": done)', (True, "e")),
        ('{"allow_stop": false, "feedback": ["f", 1]}', (False, '["f", 1]')),
        ('{"allow_stop": false, "feedback": null}', (False, "")),
        ("\ufeff" + '{"allow_stop": false}', (False, "")),
    ],
)
def test_a_verdict_is_found_in_what_models_write(text: str, expected: tuple[bool, str]) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yes",
        "{}",
        "[]",
        '{"allow_stop": 1}',
        '{"allow_stop": null}',
        '"allow_stop"',
        '{"a": ' * 200_000 + '"allow_stop"',
    ],
)
def test_what_is_no_verdict_is_not_taken_for_one(text: str) -> None:
    with pytest.raises(NoVerdict):
        parse(text)


def test_feedback_is_cut_before_the_client_would_put_it_into_a_file() -> None:
    assert len(parse(json.dumps({"allow_stop": False, "feedback": "x" * 100_000})).feedback) == LONGEST_FEEDBACK + 1


def test_a_refusal_without_words_has_a_reason_all_the_same() -> None:
    assert supervise(STOP, verdict(False)).output == {
        "decision": "block",
        "reason": "The reviewer is not content, but does not say why.",
    }


# --- The archive ------------------------------------------------------------------------------------------------------


def test_every_decision_is_an_event(place: projects.Place) -> None:
    reviewer = f"sleep 0.1; {verdict(False, 'Run the tests.')}"
    supervise({**STOP, "prompt_id": "p1", "cwd": place.project}, reviewer)
    supervise(ASK, verdict(True, "Ask."))
    first, second = events(place)
    assert (first["via"], first["session_id"], first["prompt_id"], first["cwd"]) == (
        "supervisor",
        "s1",
        "p1",
        place.project,
    )
    assert (first["reviewer"], first["decision"], first["message"]) == (reviewer, "block", "Run the tests.")
    assert (first["iteration"], first["max_iterations"], first["about"]) == (1, 20, "Stop")
    assert first["duration_ms"] >= 100
    assert (second["iteration"], second["about"], second["about_tool"]) == (2, "PreToolUse", "AskUserQuestion")
    assert second["about_tool_use_id"] == "toolu_001"
    begun = events(place, "SupervisorReview")
    assert [(row["iteration"], row["reviewer"]) for row in begun] == [(1, reviewer), (2, verdict(True, "Ask."))]
    assert all(one["at"] <= other["at"] for one, other in zip(begun, (first, second), strict=True))


def test_parallel_events_of_a_session_are_counted_one_by_one(place: projects.Place, tmp_path: Path) -> None:
    reviewer = f"echo >> {tmp_path}/asked; sleep 0.2; {verdict(False, 'x')}"
    running = [
        start({**(ASK if number % 2 else STOP), "session_id": session}, reviewer, "--max-iterations", "5")
        for number in range(8)
        for session in ("one", "two")
    ]
    results = [finish(process) for process in running]
    assert sorted(result.allowed for result in results) == [False] * 10 + [True] * 6
    assert (tmp_path / "asked").read_text() == "\n" * 10
    for session in ("one", "two"):
        mine = [row for row in events(place) if row["session_id"] == session]
        assert sorted(row["iteration"] for row in mine) == list(range(1, 9))
        assert all((row["decision"] == "allow") == (row["iteration"] > 5) for row in mine)


def test_a_locked_archive_lets_the_session_stop(place: projects.Place, tmp_path: Path) -> None:
    supervise(STOP, verdict(True))
    with closing(sqlite3.connect(place.db)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        result = supervise(STOP, f"touch {tmp_path}/asked; {verdict(False)}", "--timeout", "1")
        connection.rollback()
    assert result.code == 1
    assert result.stderr.startswith("supervisor SDK failed: ") and "locked" in result.stderr
    assert not (tmp_path / "asked").exists()
    supervise(STOP, verdict(True))
    assert [row["iteration"] for row in events(place)] == [1, 2]


def test_a_decision_that_cannot_be_recorded_now_counts_and_waits_in_the_spool(
    place: projects.Place, tmp_path: Path
) -> None:
    holder = (
        "import signal, sqlite3, sys\n"
        "connection = sqlite3.connect(sys.argv[1]); connection.execute('BEGIN IMMEDIATE')\n"
        "open(sys.argv[2], 'w').close(); signal.pause()"
    )
    lock = f"{python(holder)} {place.db} {tmp_path}/held >/dev/null 2>&1 & echo $! > {tmp_path}/pid"
    wait = f"while [ ! -e {tmp_path}/held ]; do sleep 0.05; done"
    result = supervise(STOP, f"{lock}\n{wait}\n{verdict(False, 'x')}")
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    assert result.output == {"decision": "block", "reason": "x"}
    assert "the event waits in" in result.stderr
    assert events(place) == []
    assert not supervise(STOP, verdict(False)).allowed
    assert [row["iteration"] for row in events(place)] == [1, 2]


def test_an_archive_that_is_not_there_yet_is_made(place: projects.Place) -> None:
    assert not os.path.exists(place.home)
    assert not supervise(STOP, verdict(False)).allowed
    assert os.stat(place.db).st_mode & 0o777 == 0o600
    assert len(events(place)) == 1


@pytest.mark.parametrize("what", ["garbage", "a folder", "a link", "no folder", "another program's", "newer"])
def test_an_archive_that_cannot_be_used_lets_the_session_stop(place: projects.Place, tmp_path: Path, what: str) -> None:
    db = Path(place.db)
    if what == "no folder":
        db.parent.parent.mkdir(parents=True)
        db.parent.write_text("in the way")
    elif what == "newer":
        supervise(STOP, verdict(True))
        with closing(sqlite3.connect(db)) as connection:
            connection.execute(f"PRAGMA user_version = {append.SCHEMA_VERSION + 1}")
    else:
        db.parent.mkdir(parents=True)
        if what == "garbage":
            db.write_bytes(b"garbage" * 1000)
        elif what == "a folder":
            db.mkdir()
        elif what == "a link":
            db.symlink_to(tmp_path / "elsewhere")
        else:
            with closing(sqlite3.connect(db)) as connection:
                connection.execute("CREATE TABLE theirs (x)")
    before = db.read_bytes() if db.is_file() else b""
    result = supervise(STOP, f"touch {tmp_path}/asked; {verdict(False)}")
    assert result.code == 1
    assert result.stderr.startswith("supervisor SDK failed: ")
    assert not (tmp_path / "asked").exists()
    assert (db.read_bytes() if db.is_file() else b"") == before


def test_a_read_only_archive_lets_the_session_stop(place: projects.Place) -> None:
    supervise(STOP, verdict(True))
    with closing(sqlite3.connect(place.db)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    os.chmod(place.db, 0o400)
    os.chmod(place.home, 0o500)
    try:
        result = supervise(STOP, verdict(False), preexec_fn=_without_privileges)
    finally:
        os.chmod(place.home, 0o700)
    assert result.code == 1
    assert result.stderr.startswith("supervisor SDK failed: ")


def _without_privileges() -> None:
    """Let permissions count for root, too."""
    if os.geteuid() == 0:
        drop_from_bounding_set, dac_override = 24, 1
        assert ctypes.CDLL(None).prctl(drop_from_bounding_set, dac_override, 0, 0, 0) == 0


def test_secrets_reach_neither_the_reviewer_nor_the_archive(hook: Hook, place: projects.Place, tmp_path: Path) -> None:
    hook({"session_id": "s1", "hook_event_name": "UserPromptSubmit", "prompt": f"Use {TOKEN}"})
    payload = {**ASK, "last_assistant_message": f"I used {TOKEN}", "tool_input": {"questions": [{"question": TOKEN}]}}
    reviewer = f"cat > {tmp_path}/brief; : {TOKEN}; {verdict(False, f'Never print {TOKEN}')}"
    supervise(payload, reviewer)
    brief = (tmp_path / "brief").read_text()
    assert TOKEN not in brief
    assert brief.count("[redacted:github-token:") == 3
    assert TOKEN not in "".join(connection_dump(place))
    assert "[redacted:github-token:" in events(place)[0]["message"]


def connection_dump(place: projects.Place) -> list[str]:
    with closing(sqlite3.connect(place.db)) as connection:
        return list(connection.iterdump())


# --- What people see --------------------------------------------------------------------------------------------------


def sessionlog(*words: str) -> str:
    done = subprocess.run([sys.executable, "-m", "sessionlog", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_decisions_read_well_wherever_a_session_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "no").write_text('{"allow_stop": false, "feedback": "Run **the** tests.\\n\\u001b[31m<script>"}')
    (tmp_path / "yes").write_text('{"allow_stop": true, "feedback": "Good."}')
    monkeypatch.chdir(tmp_path)
    supervise(STOP, "cat no")
    supervise(ASK, "cat yes")
    supervise(STOP, "exit 3")
    supervise(STOP, "cat no", "--max-iterations", "3")
    shown = sessionlog("show", "s1")
    assert re.findall(r"review  +(.*)", re.sub(r"\d+ ms|\d\.\d s", "N ms", shown)) == [
        "not allowed to stop, review 1 of 20, N ms, by cat no",
        "allowed to ask, review 2 of 20, N ms, by cat yes",
        "no verdict, review 3 of 20, N ms, by exit 3",
        "allowed to stop without a review",
    ]
    assert "Run **the** tests." in shown and "\\x1b[31m" in shown and "the reviewer ended with 3" in shown
    assert "SupervisorReview" not in shown
    assert sessionlog("show", "s1", "--full").count("Supervisor…") == 4
    markdown = sessionlog("export", "s1", "--format", "markdown", "--detail", "brief")
    assert "**review** not allowed to stop, review 1 of 20" in markdown and "<script>" not in markdown
    html = sessionlog("export", "s1", "--format", "html")
    assert html.count('<article class="other trouble">') == 2 and "<strong>the</strong>" in html
    assert "<script>" not in html
    tail = sessionlog("tail", "-n", "20")
    assert "not allowed: Run **the** tests." in tail and "1 of 20 begins, by cat no" in tail
    assert "Run **the** tests" in sessionlog("search", "tests", "--event", "SupervisorDecision")


def test_decisions_go_out_as_jsonl_and_come_back(place: projects.Place, tmp_path: Path) -> None:
    supervise(STOP, verdict(False, "x"))
    (tmp_path / "out.jsonl").write_text(sessionlog("export", "s1"))
    columns = ", ".join(COLUMNS)  # an event that comes in again is sealed again
    before = rows(place, f"SELECT {columns} FROM events ORDER BY id")
    os.rename(place.db, tmp_path / "old.db")
    sessionlog("import", str(tmp_path / "out.jsonl"))
    assert rows(place, f"SELECT {columns} FROM events ORDER BY id") == before


# --- Without a supervisor ---------------------------------------------------------------------------------------------


def test_without_a_supervisor_no_event_prints_or_ends_with_2(place: projects.Place) -> None:
    """The recorder's own commands, as registered, on every payload there is."""
    commands = registration.handlers(RECORDED)
    assert not any(registration.is_supervisor(handler["command"]) for handler in commands.values())
    known = [json.loads(path.read_bytes()) for path in PAYLOAD_FILES] + FLAT
    if not thorough():
        known = [*{payload.get("hook_event_name"): payload for payload in known}.values()]
    payloads = [json.dumps(payload).encode() for payload in known]
    payloads += [b"", b"no JSON", json.dumps(ASK).encode()]
    for data in payloads:
        try:
            event = json.loads(data).get("hook_event_name", "Stop")
        except ValueError:
            event = "Stop"
        command = commands.get(event, commands["Stop"])["command"]
        done = subprocess.run(["/bin/sh", "-c", command], input=data, capture_output=True, timeout=60, check=False)
        assert done.stdout == b"", data
        assert done.returncode in (0, 1), data
    assert not rows(place, "SELECT 1 FROM events WHERE event LIKE 'Supervisor%'")
