"""Entries of a session: each tool has a look of its own, pictures are shown, tags and control codes are understood."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from sessionlog.agents.claude_code import tags
from sessionlog.archive.place import Place
from sessionlog.session import pictures
from sessionlog.text import terminal_output
from sessionlog.transcripts import importer
from sessionlog.web import markdown
from tests.helpers.archives import event, store
from tests.web.browsing import Open, Serve, Share, Site
from tests.web.test_web_session import get, in_agent, pair, path_of, until


def png(width: int = 64, height: int = 48) -> bytes:
    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    rows = b"".join(b"\0" + b"\x20\x80\xc0" * width for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


PICTURE = base64.b64encode(png()).decode()
TASKS = [{"content": "Find it", "status": "completed"}, {"content": "Fix it", "status": "in_progress"}]
QUESTION = {"question": "Which?", "options": [{"label": "Red", "description": "warm"}, {"label": "Blue"}]}
FOUND = {"content": [{"title": "The law", "url": "https://example.org/law"}, {"title": "x", "url": "javascript:1"}]}
PLAN = "## Plan\n\n1. Fix **it**"

CALLS: list[dict[str, Any]] = [
    {"tool": "TodoWrite", "todos": TASKS, "response": {"newTodos": TASKS}},
    {"tool": "ExitPlanMode", "plan": PLAN, "response": {"plan": PLAN}},
    {
        "tool": "WebFetch",
        "url": "https://example.org",
        "prompt": "Why?",
        "response": {"code": 200, "result": "# The *law*"},
    },
    {"tool": "WebSearch", "query": "law", "response": {"results": [FOUND]}},
    {"tool": "AskUserQuestion", "questions": [QUESTION], "response": {"answers": {"Which?": "Blue"}}},
    {"tool": "TaskCreate", "subject": "Write docs", "description": "all", "response": {"task": {"id": "1"}}},
    {"tool": "TaskList", "response": {"tasks": [{"id": "1", "subject": "Write docs", "status": "completed"}]}},
    {"tool": "NotebookEdit", "notebook_path": "/p/a.ipynb", "cell_id": "c3", "new_source": "a = 2", "response": {}},
    {
        "tool": "Bash",
        "command": "build",
        "response": {"stdout": "10%\r50%\r\x1b[2K100%\n\x1b[32mok\x1b[0m", "stderr": ""},
    },
    {"tool": "Bash", "command": "logs", "response": {"stdout": "[info] not JSON\n[info] at all", "stderr": ""}},
    {"tool": "Edit", "file_path": "/p/a", "error": "<tool_use_error>File is gone.</tool_use_error>"},
    {"tool": "Read", "file_path": "/p/a.png", "response": {"type": "image", "file": {"base64": PICTURE}}},
    {"tool": "mcp__web__shot", "response": [{"type": "text", "text": "Here"}, {"type": "image", "data": PICTURE}]},
    {"tool": "KillShell", "shell_id": "b1", "response": {"message": "killed", "shell_id": "b1", "was_running": True}},
    {"tool": "Skill", "skill": "review", "args": "src", "response": {"success": True}},
    {"tool": "Bash", "command": "cat a.json", "response": {"stdout": '{"a": 1}', "stderr": ""}},
]


def every_tool(_: Place) -> list[dict[str, Any]]:
    events = [event("UserPromptSubmit", prompt="<bash-input>ls -la</bash-input><bash-stdout>a\nb</bash-stdout>")]
    for one in CALLS:
        events += pair(one["tool"], **{key: value for key, value in one.items() if key != "tool"})
    return events


@pytest.fixture(scope="module")
def site(share: Share) -> Site:
    return share(every_tool)


@pytest.fixture
def page(site: Site, visit: Open) -> Page:
    page = visit(f"{site.address}{path_of(site.place)[1:]}")
    page.evaluate("document.querySelectorAll('details.call').forEach(e => { e.open = true })")
    until(page, "[...document.querySelectorAll('.call')].every(e => e.querySelector('.inside'))")
    return page


def test_every_tool_has_a_look_of_its_own(page: Page) -> None:
    def call(number: int) -> Any:
        return page.locator(".call").nth(number)

    expect(call(0).locator(".todos li")).to_have_text(["✓ Find it", "▸ Fix it"])
    expect(call(0).locator("summary .argument")).to_have_text("1 of 2 done")
    assert "{" not in call(0).inner_text()
    expect(call(1).locator(".markdown strong")).to_have_count(1)
    expect(call(1).locator("summary .argument")).to_have_text("Plan")
    expect(call(2).locator(".markdown em")).to_have_text("law")
    expect(call(2).locator(".inside")).to_contain_text("HTTP 200")
    expect(call(3).locator(".todos a")).to_have_count(1)
    expect(call(3).locator(".todos a")).to_have_attribute("href", "https://example.org/law")
    expect(call(4).locator(".todos li.done")).to_have_text("✓ Blue ")
    expect(call(5).locator("summary .argument")).to_have_text("Write docs")
    expect(call(6).locator(".todos li")).to_have_text("✓ Write docs")
    expect(call(7).locator(".about-call")).to_contain_text("cell c3")
    expect(call(7).locator(".diff .add")).to_have_text("a = 2")
    # What drew over itself leaves its last state, in its colours; a bracket does not make JSON.
    expect(call(8).locator("pre.output")).to_have_text("100%\nok")
    expect(call(8).locator(".ansi-green")).to_have_text("ok")
    call(8).get_by_text("as it came").click()
    expect(call(8).locator("pre.output")).to_contain_text("\\x1b[2K")
    expect(call(9).locator("pre.output span")).to_have_count(0)
    expect(call(10).locator("pre.failed")).to_have_text("File is gone.")
    # A few facts are a list; a command that printed JSON printed it.
    expect(call(13).locator(".inputs dt")).to_have_text(["message", "shell id", "was running"])
    expect(call(13).locator(".inputs dd")).to_have_text(["killed", "b1", "yes"])
    expect(call(14).locator(".inputs")).to_have_text("successyes")
    expect(call(15).locator("pre.output")).to_have_text('{"a": 1}')
    colour = "e => getComputedStyle(e).color"
    assert call(10).locator("pre.failed").evaluate(colour) == page.locator("body").evaluate(colour), "not all of it red"


def test_pictures_are_shown_and_nothing_else_is(page: Page, site: Site) -> None:
    place = site.place
    for number in (11, 12):
        picture = page.locator(".call").nth(number).locator("img")
        picture.scroll_into_view_if_needed()
        name = page.locator(".call").nth(number).get_attribute("id")
        until(page, f"document.querySelector('#{name} img').naturalWidth === 64")
        assert picture.get_attribute("loading") == "lazy"
        assert PICTURE[:40] not in page.locator(".call").nth(number).inner_text()
        assert "[image" not in page.locator(".call").nth(number).inner_text()
    expect(page.locator(".call").nth(12).locator("pre.output")).to_have_text("Here")
    address = page.url
    name = page.locator(".call").nth(11).get_attribute("id")
    status, _, headers = get_bytes(address, f"{path_of(place)}/picture/{name}/0")
    assert (status, headers["Content-Type"]) == (200, "image/png")
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert get(address, f"{path_of(place)}/picture/{name}/1")[0] == 404


def get_bytes(address: str, path: str) -> tuple[int, bytes, Any]:
    import http.client
    from urllib.parse import urlsplit

    from tests.web.browsing import headers

    parts = urlsplit(address)
    assert parts.hostname
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=120)
    connection.request("GET", path, headers=headers("/".join(address.split("/", 3)[:3]) + "/"))
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response.status, body, response.headers


def test_only_what_begins_like_a_picture_is_one() -> None:
    svg = base64.b64encode(b"<svg onload='x'>").decode()
    shapes = [
        {"type": "image", "data": svg, "mimeType": "image/png"},
        {"type": "image", "data": "no base64!"},
        {"type": "image", "source": {"type": "base64", "data": PICTURE}},
        {"content": [{"type": "image", "file": {"base64": PICTURE}}]},
    ]
    found = pictures.found_in(shapes)
    assert [(one.content_type, one.width, one.height) for one in found] == [("image/png", 64, 48)] * 2
    assert found[0].bytes == png()
    deep: Any = PICTURE
    for _ in range(5000):
        deep = [deep]
    assert pictures.found_in(deep) == []


def test_a_pasted_picture_is_shown(
    place: Place, serve: Serve, visit: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SESSIONLOG_DB", place.db)
    content = [
        {"type": "text", "text": "What is this?"},
        {"type": "image", "source": {"type": "base64", "data": PICTURE}},
    ]
    line = {
        "type": "user",
        "uuid": "u1",
        "sessionId": "s1",
        "timestamp": "2026-11-16T00:00:00.000Z",
        "cwd": place.project,
    }
    folder = tmp_path / "projects" / "-p"
    folder.mkdir(parents=True)
    (folder / "s1.jsonl").write_text(json.dumps(line | {"message": {"role": "user", "content": content}}) + "\n")
    importer.run([str(tmp_path / "projects")], workers=1)
    page = visit(f"{serve()}{path_of(place)[1:]}")
    expect(page.locator("article.kind-prompt img")).to_have_count(1)
    until(page, "document.querySelector('article img').naturalWidth === 64")


def test_tags_of_the_client_are_understood(page: Page) -> None:
    told = page.locator(".entry").first
    told.locator("summary").click()
    expect(told.locator("pre.prompted")).to_contain_text("ls -la")
    expect(told.locator("pre.output")).to_have_text("a\nb")
    assert "bash-input" not in page.locator("main").inner_text()


@pytest.mark.parametrize(
    ("text", "headline"),
    [
        ("<command-name>/review</command-name>\n<command-args>src</command-args>", "/review src"),
        ("<local-command-stdout>Bye</local-command-stdout>", "Bye"),
        ("<task-notification><status>done</status><summary>Agent ready</summary></task-notification>", "Agent ready"),
        ("a < b and <b>bold</b>", "a < b and  bold "),
        ("words <system-reminder>hidden</system-reminder>", "words"),
    ],
)
def test_the_headline_of_what_is_tagged(text: str, headline: str) -> None:
    assert tags.without(text) == headline


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("one\r\ntwo", "one\ntwo"),
        ("10%\r20%\rdone\n", "done\n"),
        ("abc\b\bX", "aXc"),
        ("line 1\nline 2\x1b[1A\x1b[2K\rover", "over\nline 2"),
        ("\x1b]0;title\x07text\x1b[?25l", "text"),
        ("\x1b[2Jkept", "kept"),
    ],
)
def test_what_a_terminal_shows_in_the_end(written: str, shown: str) -> None:
    assert terminal_output.settled(written) == shown


def test_codes_that_are_made_to_fill_the_memory_do_not() -> None:
    settled = terminal_output.settled("\x1b[9999C.\n\x1b[9999B" * 6_000)
    assert len(settled) < 400_000


def test_task_lists_and_aligned_columns_of_markdown() -> None:
    html = markdown.html("- [x] done\n- [ ] open\n\n| a | b |\n|---|---:|\n| 1 | 2 |")
    assert html
    assert '<li class="task">☑ done</li>' in html
    assert '<td class="right">2</td>' in html
    assert "style" not in html


def test_problems_open_the_sub_agent_that_has_them(place: Place, serve: Serve, visit: Open) -> None:
    store(
        place,
        event("UserPromptSubmit", prompt="Look"),
        event("SubagentStart", agent_id="a1", agent_type="Explore"),
        *in_agent(pair("Grep", pattern="x", response={"filenames": []}), "a1"),
        *in_agent(pair("Bash", command="rg x", error="Exit code 127\nno rg"), "a1"),
    )
    page = visit(f"{serve()}{path_of(place)[1:]}?trouble=1")
    agent = page.locator("details.agent")
    expect(agent.locator(".call.is-failed")).to_be_visible()
    expect(agent.locator("summary").first).to_contain_text("2 calls · 3.0 s")
    page = visit(f"{page.url.partition('?')[0]}")
    page.keyboard.press("x")
    expect(page.locator("details.agent .call.target")).to_contain_text("no rg")
