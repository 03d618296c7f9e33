"""Search finds what people see, each thing once, whether hooks or transcripts have it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sessionlog.archive import place as projects
from sessionlog.transcripts import importer
from tests.cli.test_cli import printed
from tests.helpers import transcript_lines as made
from tests.helpers.recording import record
from tests.helpers.transcript_files import shop


@pytest.fixture(autouse=True)
def in_shop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", "/home/dev/shop")


def hits(*arguments: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(printed("search", *arguments, "--json", "-n", "0"))
    return found


@pytest.fixture
def talked(home: Path) -> None:
    """A session that no hook saw."""
    one = made.Transcript("s")
    one.user("please deploy it")
    one.result(
        one.call("Bash", {"command": "cd infra\nkubectl get pods\n\tgrep tabbed", "description": "List"}),
        "all pods run",
    )
    one.result(one.call("Read", {"file_path": "C:\\Users\\me\\cart.py"}), 'print("quoted")\nerror in line 3', True)
    one.result(
        one.call("Edit", {"file_path": "/home/dev/shop/src/cart.py", "old_string": "x" * 900, "new_string": "tax = 1"})
    )
    one.answer("Deployed.")
    one.write(home)
    importer.run()


@pytest.mark.parametrize(
    "word", ["any", "session", "event", "tool", "role", "filePath", "file_path", "old_string", "nkubectl"]
)
def test_words_of_the_index_itself_are_not_found(talked: None, word: str) -> None:
    assert hits(word) == []


@pytest.mark.parametrize("words", ["kubectl", "kubectl -session", "deploy -any", "tabbed", "tax"])
def test_words_after_line_breaks_and_tabs_are_found(talked: None, words: str) -> None:
    assert len(hits(words)) == 1


@pytest.mark.parametrize("text", ["C:\\Users\\me", 'print("quoted")', "infra\nkubectl"])
def test_exact_text_needs_no_escapes(talked: None, text: str) -> None:
    assert len(hits("--substring", text)) == 1


@pytest.mark.parametrize(
    ("arguments", "count"),
    [
        (["error", "--tool", "Read"], 1),
        (["error", "--failed"], 1),
        (["pods", "--failed"], 0),
        (["tax", "--file", "cart.py"], 1),
        (["tax", "--file", "src/*.py"], 1),
        (["tax", "--file", "*.js"], 0),
        (["error", "--file", "*cart.py"], 1),
        (["--substring", "error", "--tool", "Read", "--failed"], 1),
        (["--substring", "tax", "--file", "cart.py"], 1),
    ],
)
def test_filters_know_what_only_a_transcript_has(talked: None, arguments: list[str], count: int) -> None:
    assert len(hits(*arguments)) == count


def test_what_hooks_and_transcript_both_say_is_found_once(home: Path) -> None:
    base = {"session_id": "s"}
    record(
        shop(),
        [
            {**base, "hook_event_name": "UserPromptSubmit", "prompt": "an elephant, please"},
            {**base, "hook_event_name": "Stop", "last_assistant_message": "Here is your zebra."},
        ],
    )
    one = made.Transcript("s")
    one.queue("enqueue", "an elephant, please")
    one.user("an elephant, please")
    one.answer("Here is your zebra.\n")
    one.write(home)
    history = {"display": "an elephant, please", "timestamp": 1, "project": "/home/dev/shop", "sessionId": "s"}
    (home / ".claude/history.jsonl").write_text(json.dumps(history) + "\n")
    importer.run()
    assert [hit["event"] for word in ("elephant", "zebra") for hit in hits(word)] == ["UserPromptSubmit", "Stop"]
    text = printed("search", "zebra") + printed("search", "elephant")
    assert "answer" in text and "prompt" in text and "Stop" not in text


def test_a_command_and_its_description_are_apart(talked: None) -> None:
    assert [hit["snippet"] for hit in hits('"tabbed list"')] == ["grep tabbed · List"]
    assert [hit["snippet"] for hit in hits("tabbed")] == ["grep tabbed"]


def test_the_hit_is_marked_in_its_context(talked: None) -> None:
    """Whether it is a call or an answer, in the words of `show`."""
    for word, entry in (("tabbed", "Bash"), ("Deployed", "answer"), ("please", "prompt")):
        around = printed("search", word, "--context", "1").splitlines()[1:-1]
        assert 1 < len(around) <= 3
        assert [entry in line for line in around if line[12] == ">"] == [True]


def test_labels_are_words_of_people(talked: None) -> None:
    assert "prompt" in printed("search", "please") and "answer" in printed("search", "Deployed")
    assert "Read output" in printed("search", "error")


def test_a_session_that_is_not_there(talked: None) -> None:
    with pytest.raises(Exception, match="no session starts with 'zzzz'"):
        printed("search", "pods", "--session", "zzzz")
    assert len(hits("pods", "--session", "s")) == 1


def test_the_best_of_all_projects_come_first(home: Path, tmp_path: Path) -> None:
    for number, prompt in enumerate(("one word of walrus " + "and more " * 60, "walrus walrus walrus")):
        folder = tmp_path / f"project{number}"
        folder.mkdir()
        record(
            projects.place(str(folder)),
            [{"session_id": f"s{number}", "hook_event_name": "UserPromptSubmit", "prompt": prompt}]
            + [
                {"session_id": f"s{number}", "hook_event_name": "UserPromptSubmit", "prompt": f"other {n}"}
                for n in range(9)
            ],
        )
    assert [hit["session_id"] for hit in hits("walrus", "--all", "--best")] == ["s1", "s0"]
