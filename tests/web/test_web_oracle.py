"""An independent count of what happened in a session, against everybody who tells it."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sessionlog.archive import read
from sessionlog.ask.rollup import stats
from sessionlog.session import merge
from sessionlog.transcripts import importer
from tests.cli.test_cli import printed
from tests.conftest import rows
from tests.helpers import counts
from tests.helpers.made_sessions import Session
from tests.helpers.recording import record
from tests.helpers.transcript_files import shop
from tests.web.browsing import Serve, urlopen

EDITING = ("Edit", "Write", "NotebookEdit")
Line = dict[str, Any]


def texts(line: Line) -> str:
    content = line["message"]["content"]
    return content if isinstance(content, str) else ""


def blocks(lines: list[Line], kind: str) -> list[Line]:
    found = [line["message"]["content"] for line in lines if "message" in line]
    return [block for content in found if isinstance(content, list) for block in content if block["type"] == kind]


def counted(session: Session) -> dict[str, int]:
    """By looking at the lines alone: hooks saw nothing that is not in them."""
    main, every = session.main.lines, [line for file in session.files for line in file.lines]
    users = [line for line in main if line["type"] == "user" and not line["isSidechain"]]
    typed = [
        texts(line)
        for line in users
        if texts(line)
        and not texts(line).startswith("<")
        and not line.get("isMeta")
        and not line.get("isCompactSummary")
    ]
    typed += [line["attachment"]["prompt"] for line in main if line["type"] == "attachment"]
    queue = Counter(line["content"] for line in main if line.get("operation") == "enqueue")
    queue -= Counter(line["content"] for line in main if line.get("operation") == "popAll") + Counter(typed)
    calls = {block["id"]: block for block in blocks(every, "tool_use")}
    results = {block["tool_use_id"]: block for block in blocks(every, "tool_result")}
    denied = {key for key, block in results.items() if "doesn't want to proceed" in block["content"]}
    ended = {key: block for key, block in results.items() if key not in denied}
    edited = [calls[key] for key, block in ended.items() if calls[key]["name"] in EDITING and not block.get("is_error")]
    answers: dict[str, Line] = {}
    for line in every:
        if "usage" in line.get("message", {}):
            answers[line["message"]["id"]] = line["message"]["usage"]
    tasks = [line for line in main if line["type"] == "user" and line["isSidechain"] and texts(line)]
    return {
        "prompts": len(typed) + queue.total(),
        "tool_calls": len(ended),
        "edits": len(edited),
        "failures": sum(bool(block.get("is_error")) for block in ended.values())
        + sum(bool(line.get("isApiErrorMessage")) for line in main),
        "subagents": len(session.files) - 1 + len(tasks),
        "compactions": sum(line.get("subtype") == "compact_boundary" for line in main),
        "denials": len(denied),
        "files": len({call["input"].get("file_path") or call["input"].get("notebook_path") for call in edited}),
        "tokens": sum(sum(usage.values()) for usage in answers.values()),
    }


@pytest.mark.parametrize("seen", [0.0, 0.5, 1.0])
def test_everybody_counts_what_is_in_the_lines(
    home: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch, seen: float
) -> None:
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", "/home/dev/shop")
    made = [Session(int(100 * seen) + number, seen) for number in range(3)]
    for session in made:
        record(shop(), session.events)
        for file in session.files:
            file.write(home)
    importer.run()
    address = serve()

    def page(path: str) -> str:
        with urlopen(f"{address}{path}") as response:
            return str(response.read().decode())

    whole: Counter[str] = Counter()
    for session in made:
        wanted = counted(session)
        whole += Counter(wanted)
        name = session.main.session_id
        everywhere = counts.everywhere(shop(), name, page)
        wrong = {
            where: {key: (number, wanted[key]) for key, number in said.items() if number != wanted[key]}
            for where, said in everywhere.items()
        }
        assert {where: said for where, said in wrong.items() if said} == {}
        views = {
            "denials": "SELECT count(*) AS n FROM permission_decisions WHERE decision = 'denied' AND session_id = ?",
            "prompts": "SELECT count(*) AS n FROM prompts WHERE session_id = ?",
            "tool_calls": "SELECT count(*) AS n FROM tool_calls WHERE outcome IN ('ok', 'failed') AND session_id = ?",
            "subagents": "SELECT count(*) AS n FROM subagents WHERE session_id = ?",
            "tokens": "SELECT sum(input_tokens + output_tokens) AS n FROM session_usage WHERE session_id = ?",
        }
        assert {key: rows(shop(), query, name)[0]["n"] for key, query in views.items()} == {
            key: wanted[key] for key in views
        }
        with closing(read.connect(shop())) as connection:
            items = merge.read(connection, name).items
        assert sum(item.kind == "tool" and item.outcome == "denied" for item in items) == wanted["denials"]
    assert all(whole[key] > 3 for key in wanted), whole  # else it compares nothing
    with stats.Counted([shop()]) as all_of_them:
        total = stats.totals(all_of_them)
    assert (total["prompts"], total["tools"], total["failures"]) == (
        whole["prompts"], whole["tool_calls"], whole["failures"],
    )  # fmt: skip
    assert total["input_tokens"] + total["output_tokens"] == whole["tokens"]
    assert total["files"] == len(
        {row["file_path"] for row in json.loads(printed("sql", "SELECT file_path FROM file_edits", "--json"))}
        | {row["file_path"] for row in json.loads(printed("sql", "SELECT file_path FROM file_writes", "--json"))}
    )
