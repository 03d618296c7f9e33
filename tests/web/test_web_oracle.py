"""An independent count of what happened in a session, against everybody who tells it."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sessionlog.archive import read
from sessionlog.session import merge
from sessionlog.transcripts import importer
from tests.cli.test_cli import printed
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


def counted(every: list[Line]) -> dict[str, int]:
    """By looking at the lines of a session alone: hooks saw nothing that is not in them."""
    main = [line for line in every if "agentId" not in line]
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
    files, ended, denied = ends(every)
    tasks = [line for line in main if line["type"] == "user" and line["isSidechain"] and texts(line)]
    return {
        "prompts": len(typed) + queue.total(),
        "tool_calls": len(ended),
        "edits": len(files),
        "failures": sum(bool(block.get("is_error")) for block in ended.values())
        + sum(bool(line.get("isApiErrorMessage")) for line in main),
        "subagents": len({line["agentId"] for line in every if "agentId" in line}) + len(tasks),
        "compactions": sum(line.get("subtype") == "compact_boundary" for line in main),
        "denials": denied,
        "files": len(set(files)),
    }


def ends(lines: list[Line]) -> tuple[list[str], dict[str, Line], int]:
    """The files of the edits that succeeded; the results of calls that ran; how many calls were denied."""
    calls = {block["id"]: block for block in blocks(lines, "tool_use")}
    results = {block["tool_use_id"]: block for block in blocks(lines, "tool_result")}
    ended = {key: block for key, block in results.items() if "doesn't want to proceed" not in block["content"]}
    done = [calls[key] for key, block in ended.items() if calls[key]["name"] in EDITING and not block.get("is_error")]
    files = [call["input"].get("file_path") or call["input"].get("notebook_path") for call in done]
    return files, ended, len(results) - len(ended)


def tokens(sessions: dict[str, list[Line]]) -> Counter[str]:
    """Of each session; an answer that a fork repeats was paid by the session that it comes from."""
    found: Counter[str] = Counter()
    paid = set()
    for name, lines in sorted(sessions.items(), key=lambda session: session[0].startswith("fork-")):
        spent = {
            line["message"]["id"]: line["message"]["usage"] for line in lines if "usage" in line.get("message", {})
        }
        found[name] = sum(sum(usage.values()) for key, usage in spent.items() if key not in paid)
        paid |= set(spent)
    return found


VIEWS = {
    "denials": "SELECT session_id, count(*) AS n FROM permission_decisions WHERE decision = 'denied' GROUP BY 1",
    "prompts": "SELECT session_id, count(*) AS n FROM prompts GROUP BY 1",
    "tool_calls": "SELECT session_id, count(*) AS n FROM tool_calls WHERE outcome IN ('ok', 'failed') GROUP BY 1",
    "subagents": "SELECT session_id, count(*) AS n FROM subagents GROUP BY 1",
    "tokens": "SELECT session_id, sum(input_tokens + output_tokens) AS n FROM session_usage GROUP BY 1",
    "files": "SELECT session_id, count(DISTINCT file_path) AS n FROM (SELECT session_id, file_path FROM file_edits "
    "UNION ALL SELECT session_id, file_path FROM file_writes) GROUP BY 1",
}


@pytest.mark.parametrize(("seed", "seen"), [(10, 0.0), (52, 0.5), (107, 1.0)])
def test_everybody_counts_what_is_in_the_lines(
    home: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch, seed: int, seen: float
) -> None:
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", "/home/dev/shop")
    made = [Session(seed + number, seen) for number in range(2)]
    files = [*made[0].files, *made[1].files, made[0].fork()]
    for session in made:
        record(shop(), session.events)
    lines: dict[str, list[Line]] = defaultdict(list)
    for file in files:
        file.write(home)
        for line in file.lines:
            lines[line["sessionId"]].append(line)
    importer.run()
    address = serve()

    def page(path: str) -> str:
        with urlopen(f"{address}{path}") as response:
            return str(response.read().decode())

    wanted = {name: counted(own) for name, own in lines.items()}
    for name, number in tokens(lines).items():
        wanted[name]["tokens"] = number
    whole: Counter[str] = sum((Counter(each) for each in wanted.values()), Counter())
    assert len(wanted) >= 4 and all(whole[key] > 3 for key in wanted[made[0].main.session_id]), whole

    wrong = {}
    for name in wanted:
        for where, said in counts.everywhere(shop(), name, page).items():
            wrong |= {(name, where, key): n for key, n in said.items() if n != wanted[name][key]}
        if name.startswith("other-"):  # its lines stand between those of the session that the file is named after
            links = re.findall(r"goes on from lines of <a[^>]*>([^<]*)<", page(f"-/session/{shop().name}/{name}"))
            assert links == [name[6:]]
        told = re.search(r"(\d+) files? changed", page(f"-/session/{shop().name}/{name}/files"))
        if (int(told[1]) if told else 0) != wanted[name]["files"]:
            wrong[name, "page of files", "files"] = told
        with closing(read.connect(shop())) as connection:
            items = merge.read(connection, name).items
            prompts = [merge.words(connection, item, 99) for item in items if item.kind == "prompt"]
        if sum(item.kind == "tool" and item.outcome == "denied" for item in items) != wanted[name]["denials"]:
            wrong[name, "outline", "denials"] = None
        if not seen:  # events of these hooks have the times of another day
            in_file = [texts(line) for line in lines[name] if "message" in line and texts(line) in prompts]
            assert [text for text in prompts if text in in_file] == in_file
    for key, query in VIEWS.items():
        told = {row["session_id"]: row["n"] for row in json.loads(printed("sql", query, "--json"))}
        wrong |= {(name, "sql", key): told.get(name) for name in wanted if told.get(name, 0) != wanted[name][key]}
    assert wrong == {}

    total = json.loads(printed("stats", "--since", "2020-01-01", "--json"))["totals"]
    paths = {path for own in lines.values() for path in ends(own)[0]}
    assert [total[key] for key in ("sessions", "prompts", "tools", "failures", "files")] == [
        len(wanted), whole["prompts"], whole["tool_calls"], whole["failures"], len(paths),
    ]  # fmt: skip
    assert total["input_tokens"] + total["output_tokens"] == whole["tokens"]
