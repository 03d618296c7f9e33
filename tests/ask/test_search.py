"""Everything that was recorded can be found, and any question may be asked."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sessionlog.archive import append, migrate, sidecar
from sessionlog.archive import place as projects
from sessionlog.archive.event import normalise
from sessionlog.ask.search import find as search
from sessionlog.ask.search import index, query
from sessionlog.cli.main import cli
from sessionlog.transcripts import importer
from tests.conftest import PAYLOAD_FILES, Hook
from tests.record.test_hook import prompt, tool

CORPUS = [
    "请帮我写一个按钮组件，并修复购物车的折扣计算。数据库连接超时。",
    "ボタンコンポーネントを作成してください。テストが失敗しました。",
    "버튼 컴포넌트를 만들어 주세요. 테스트 실패",
    "混合 mixed 文本 with threading.Lock and snake_case_name，还有 camelCaseName。",
    "import { HTTPServer, parseURL } from './net/http2Server'; const x2y = getUserName(user_id)",
    "Café naïve über; résumé.pdf /etc/nginx/nginx.conf v1.2.3 ERR_CONNECTION_REFUSED 0xDEADBEEF",
]


def fill(place: projects.Place, payloads: list[dict[str, Any]], start: int = 1_794_793_274_000) -> None:
    connection = append.open_for_writing(place)
    for number, payload in enumerate(payloads):
        append.append(connection, normalise(payload, at_ms=start + number * 20_000, via="test"), start)
    connection.close()


def found(place: projects.Place, question: str, **filters: Any) -> list[int]:
    return [hit.row["id"] for hit in search.find(place, question, search.Filters(**filters))]


@pytest.fixture
def corpus(place: projects.Place) -> projects.Place:
    fill(place, [prompt(text) for text in CORPUS])
    return place


def substrings(text: str, length: int) -> set[str]:
    runs = re.findall(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]+", text)
    return {run[start : start + length] for run in runs for start in range(len(run) - length + 1)}


@pytest.mark.parametrize("length", [1, 2, 3, 5])
def test_every_piece_of_chinese_japanese_and_korean_is_found(corpus: projects.Place, length: int) -> None:
    pieces = {piece for text in CORPUS for piece in substrings(text, length)}
    assert len(pieces) > 30
    for piece in pieces:
        expected = [number for number, text in enumerate(CORPUS, 1) if piece in text]
        assert sorted(found(corpus, piece)) == expected, piece


def test_every_identifier_and_its_parts_are_found(corpus: projects.Place) -> None:
    for number, text in enumerate(CORPUS, 1):
        for identifier in re.findall(r"\b[^\W\d]\w*(?:\.\w+)*", text):
            assert number in found(corpus, identifier), identifier
            assert number in found(corpus, identifier.lower()), identifier
    for part in (
        "camel",
        "case",
        "name",
        "Server",
        "HTTP",
        "parse",
        "URL",
        "user",
        "getUser",
        "UserName",
        "snake",
        "Lock",
    ):
        assert found(corpus, part), part


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("alpha", [1, 2, 3]),
        ("alpha beta", [1, 2]),
        ('"alpha beta"', [1]),
        ("beta OR gamma", [1, 2, 3]),
        ("alpha -beta", [3]),
        ("alpha -beta -gamma", []),
        ("-beta", [3]),
        ("alp*", [1, 2, 3]),
        ('"alpha be"*', [1]),
        ("ALPHA", [1, 2, 3]),
        ("alpha OR", [1, 2, 3]),
        ("OR alpha", [1, 2, 3]),
        ("delta", []),
        ("-> x", []),
    ],
)
def test_the_language_of_questions(place: projects.Place, question: str, expected: list[int]) -> None:
    fill(place, [prompt("alpha beta"), prompt("beta, then alpha"), prompt("alpha gamma")])
    assert sorted(found(place, question)) == expected


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(question=st.text(max_size=30) | st.text(st.sampled_from('ab"*-+^:(){}[]OR ANDNEAR按\0\ud800'), max_size=20))
def test_any_question_is_safe(corpus: projects.Place, question: str) -> None:
    list(search.find(corpus, question))


def test_newest_first_and_within_limits_of_time(place: projects.Place) -> None:
    fill(place, [prompt(f"word {number}") for number in range(5)])
    assert found(place, "word") == [5, 4, 3, 2, 1]
    middle = list(search.find(place, "word"))[2].row["at"]
    assert found(place, "word", since=middle) == [5, 4, 3]
    assert found(place, "word", until=middle) == [2, 1]


def test_best_first(place: projects.Place) -> None:
    fill(place, [prompt("lock lock lock"), tool(1, tool_response={"stdout": "lock " + "other " * 200})])
    assert [hit.row["id"] for hit in search.find(place, "lock", best_first=True)] == [1, 2]


@pytest.fixture
def recorded(place: projects.Place) -> projects.Place:
    fill(place, [json.loads(path.read_bytes()) for path in PAYLOAD_FILES])
    return place


@pytest.mark.parametrize(
    ("question", "filters", "where"),
    [
        ("按钮", {}, "said"),
        ("hello.py", {"tool": "Edit"}, "path"),
        ("nonexistent", {"failed": True}, "input"),
        ("hello", {"file": "hello.py", "tool": "Write"}, "path"),
        ("hello", {"file": "/home/*/hello.py", "tool": "Write"}, "path"),
        ("from-subagent", {"agent": "af79", "event": "PostToolUse"}, "input"),
        ("from-subagent", {"agent": "general-purpose", "role": "tool", "event": "PostToolUse"}, "input"),
        ("完成了", {"role": "assistant"}, "said"),
        ("SQLite", {"session": "c684", "event": "PostToolUse"}, "input"),
        ("世界", {"tool": "Bash"}, "output"),
    ],
)
def test_filters(recorded: projects.Place, question: str, filters: dict[str, Any], where: str) -> None:
    hits = list(search.find(recorded, question, search.Filters(**filters)))
    assert [hit.field for hit in hits] == [where]
    (hit,) = hits
    assert [hit.snippet[start:end].lower() for start, end in hit.marks], "the words are marked"
    scanned = list(search.scan(recorded, re.compile(re.escape(question)), search.Filters(**filters)))
    assert hit.name in [other.name for other in scanned], "a scan finds it too"


def test_a_filter_that_fits_nothing_finds_nothing(recorded: projects.Place) -> None:
    for filters in (
        {"tool": "Grep"},
        {"failed": True, "tool": "Write"},
        {"branch": "no"},
        {"file": "*.rs"},
        {"session": "zz"},
    ):
        assert found(recorded, "hello", **filters) == []


def test_the_index_catches_up(hook: Hook, place: projects.Place) -> None:
    hook(prompt("first"))
    assert len(found(place, "first")) == 1
    hook(prompt("second"))
    assert len(found(place, "second")) == 1
    assert found(place, "third") == []


def test_a_search_ends_although_events_keep_coming(hook: Hook, place: projects.Place) -> None:
    hook(prompt("first"))
    calls = 0

    def one_more(done: int, total: int) -> None:
        nonlocal calls
        calls += 1
        assert calls < 5, "the search runs after the events for ever"
        hook(prompt(f"meanwhile {calls}"))

    assert len(list(search.find(place, "first", progress=one_more))) == 1
    assert len(found(place, "meanwhile")) == calls


@pytest.mark.parametrize("damage", ["deleted", "garbage", "another version", "another archive"])
def test_an_index_that_does_not_fit_is_made_anew(hook: Hook, place: projects.Place, damage: str) -> None:
    hook(prompt("first"))
    assert len(found(place, "first")) == 1
    path = Path(index.path_of(place))
    if damage == "deleted":
        sidecar.forget(place)
    elif damage == "garbage":
        path.write_bytes(b"garbage" * 1000)
    elif damage == "another version":
        subprocess.run(["sqlite3", str(path), "PRAGMA user_version = 99"], check=True)
    else:
        for ending in ("", "-wal", "-shm"):
            Path(place.db + ending).unlink(missing_ok=True)
        migrate.open_new_or_outdated(place, 1).close()
        hook(prompt("first"))
    assert len(found(place, "first")) == 1


def test_many_searches_at_once_index_everything_once(place: projects.Place) -> None:
    fill(place, [tool(number) for number in range(600)])
    command = [sys.executable, "-m", "sessionlog", "search", "echo", "-n", "0", "--json"]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(4)]
    counts = [len(json.loads(process.communicate()[0])) for process in processes]
    assert counts == [600] * 4


def test_the_index_is_private(hook: Hook, place: projects.Place) -> None:
    hook(prompt("x"))
    found(place, "x")
    assert os.stat(index.path_of(place)).st_mode & 0o777 == 0o600


def run(*arguments: str) -> str:
    done = CliRunner().invoke(cli, ["search", *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_command(recorded: projects.Place) -> None:
    assert "请帮我写一个按钮组件" in run("按钮")
    assert "$ python3 hello.py && ls -la" in run('"ls -la"', "-C", "1")
    (hit,) = json.loads(run("完成了", "--json"))
    assert hit["session_id"].startswith("f0b8") and hit["payload"]["hook_event_name"] == "Stop"
    assert "nonexistent" in run("--regex", r"no\w+tent")
    assert "nonexistent" in run("--substring", "onexis")
    assert run("-postgres", "-n", "1")


@pytest.mark.parametrize(
    "text", ["按钮", "a按b钮", "按 x", "x 按", "é", "ㄱあ\u1100\u11ff\u1200", "\U0001b000é\U00020000"]
)
def test_a_short_question_has_the_words_of_a_long_text(text: str) -> None:
    # Short texts are taken apart letter by letter, long ones by a regular expression.
    long = f"{text} {'x' * 200}"
    assert query.tokens(long)[:-1] == query.tokens(text)
    assert query.segment(text).split() == query.tokens(text)


def test_segmenting_is_stable() -> None:
    assert query.segment("a 按钮 getUserName HTTPServer") == (
        "a  按 钮  getUserName HTTPServer\nHTTP Server\nget User Name"
    )


def test_texts_are_segmented_together_as_each_alone() -> None:
    texts = ["getUserName", "", "a\0bC", "人々とgetName按é。", "plain", "HTTPServer parseURL", "\0", "한국어gg😀가"]
    assert query.segmented(texts) == [query.segment(text) for text in texts]
    assert [text.split() for text in query.segmented(texts)[2:4]] == [
        ["a", "bC", "b", "C"],
        ["人", "々", "と", "getName", "按", "é。", "get", "Name"],
    ]


def test_exactly_the_characters_of_chinese_japanese_and_korean_stand_alone() -> None:
    letters = [letter for letter in map(chr, range(0x80, sys.maxunicode + 1)) if letter.isalnum()]
    alone = {letter for letter in letters if query.tokens(f"a{letter}{letter}é") == ["a", letter, letter, "é"]}
    assert alone == {letter for letter in letters if query.is_cjk(letter)}
    assert len(alone) > 80_000


def test_what_only_the_transcript_knows_is_found_whole(home: Path, project: Path, place: projects.Place) -> None:
    def line(number: int, role: str, content: Any) -> dict[str, Any]:
        return {
            "type": role,
            "uuid": f"u{number}",
            "sessionId": "t1",
            "cwd": str(project),
            "gitBranch": "topic",
            "timestamp": f"2026-11-16T01:00:0{number}.000Z",
            "message": {"role": role, "content": content},
        }

    long_output = "x" * 5000 + " needle 针"
    entries = [
        line(1, "user", "please look"),
        line(2, "assistant", [{"type": "text", "text": "I will look 看"}]),
        line(3, "assistant", [{"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "ls"}}]),
        line(4, "user", [{"type": "tool_result", "tool_use_id": "c1", "content": long_output}]),
    ]
    path = home / ".claude/projects/x/t1.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    importer.run([])
    for question, where in (
        ("needle", "output"),
        ("针", "output"),
        ("看", "said"),
        ("please", "said"),
        ("ls", "input"),
    ):
        (hit,) = search.find(place, question, search.Filters(branch="topic"))
        assert hit.is_message and hit.field == where and hit.marks, question
    assert [hit.field for hit in search.scan(place, re.compile("needle"))] == ["output"]
