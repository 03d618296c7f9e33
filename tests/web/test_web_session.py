"""A session as one reads it in a browser: at any moment, with filters, with keys, while it grows."""

from __future__ import annotations

import http.client
import json
import re
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from sessionlog.archive.place import Place
from sessionlog.web import ansi, highlight
from tests.conftest import thorough
from tests.helpers.archives import call, event, store
from tests.helpers.recording import hostile_session, record
from tests.web.browsing import Open, Serve, Share, Site, complaints, headers


def get(address: str, path: str) -> tuple[int, str, http.client.HTTPMessage]:
    parts = urlsplit(address)
    assert parts.hostname
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=120)
    connection.request("GET", path, headers=headers(address))
    response = connection.getresponse()
    body = response.read().decode()
    connection.close()
    return response.status, body, response.headers


def name_of(place: Place) -> str:
    return place.db.rpartition("/")[2].removesuffix(".db")


def path_of(place: Place, session_id: str = "s1") -> str:
    return f"/-/session/{name_of(place)}/{session_id}"


def pair(tool: str, *, error: str = "", response: Any = None, session_id: str = "s1", **inputs: Any) -> list[Any]:
    """A call from its start to its end."""
    done = call(tool, session_id, **inputs)
    start = {**done, "hook_event_name": "PreToolUse"}
    if error:
        return [start, {**done, "hook_event_name": "PostToolUseFailure", "error": error}]
    return [start, {**done, "tool_response": response}]


def in_agent(payloads: list[Any], agent_id: str) -> list[Any]:
    return [{**payload, "agent_id": agent_id, "agent_type": "Explore"} for payload in payloads]


ANSWER = "Done. **It** works:\n\n```python\ndef total():\n    return 1\n```\n\nSee <https://example.org/a>."


def a_session() -> list[dict[str, Any]]:
    """Everything that can happen, once; events are numbered from 1."""
    return [
        event("SessionStart", source="startup", model="claude-x", permission_mode="default"),
        event("UserPromptSubmit", prompt="Fix the total,\n  and 写测试"),
        *pair("Edit", file_path="/p/cart.py", old_string="return amount - discount", new_string="return amount * 2"),
        *pair("Bash", command="make check", error="Exit code 3\n" + "\n".join(f"line {n}" for n in range(100))),
        event("Stop", last_assistant_message=ANSWER),
        event("UserPromptSubmit", prompt="Look around"),
        event("SubagentStart", agent_id="a1", agent_type="Explore"),
        *in_agent(pair("Grep", pattern="discount", response={"filenames": ["a.py"]}), "a1"),
        *in_agent(pair("Bash", command="rg x", error="Exit code 127\nno rg"), "a1"),
        event("SubagentStop", agent_id="a1", agent_type="Explore", last_assistant_message="Two places."),
        pair("Bash", command="git push --force")[0],
        event("PermissionDenied", tool_name="Bash", tool_input={"command": "git push --force"}, reason="never"),
        event("Notification", message="Claude waits", notification_type="idle_prompt"),
        event("PreCompact", trigger="auto"),
        event("StopFailure", error="529 Overloaded"),
        event("SomethingNew", message="nobody knows this"),
        event("SupervisorDecision", message="Run the tests", decision="block", iteration=1, reviewer="./review.sh"),
        event("SessionEnd", reason="logout"),
    ]


@pytest.fixture(scope="module")
def site(share: Share) -> Site:
    return share(lambda place: a_session())


def test_session_reads_from_start_to_end(site: Site, visit: Open) -> None:
    address, place = site
    page = visit(f"{address}{path_of(place)[1:]}")
    expect(page.locator("h1")).to_contain_text("Fix the total")
    expect(page.locator(".facts")).to_contain_text("3 failures")
    expect(page.locator("article.kind-prompt .words").first).to_have_text("Fix the total,\n  and 写测试")
    # A small edit shows its diff without a click, the changed words marked, in colours.
    diff = page.locator(".diff").first
    expect(diff.locator(".del")).to_have_text("return amount - discount")
    expect(diff.locator(".add")).to_have_text("return amount * 2")
    expect(diff.locator(".add .word").first).to_be_visible()
    assert diff.locator("span.k").first.evaluate("e => getComputedStyle(e).color") != diff.evaluate(
        "e => getComputedStyle(e).color"
    )
    # What went wrong is open, with its code and the end of its output.
    failed = page.locator("#e5")
    expect(failed.locator(".badge")).to_have_text("exit 3")
    expect(failed.locator("pre.output")).to_contain_text("line 99")
    failed.get_by_text("Show all 100 lines").click()
    expect(failed.locator("pre.output")).to_contain_text("line 50")
    expect(page.locator(".kind-answer pre.code .k").first).to_have_text("def")
    expect(page.locator(".kind-answer strong")).to_have_text("It")
    # A sub-agent is one line until it is opened.
    agent = page.locator("details.agent")
    expect(agent).to_contain_text("2 calls")
    expect(agent.locator(".call").first).to_be_hidden()
    agent.locator("summary").first.click()
    expect(agent.locator(".call").first).to_be_visible()
    for text in ("never", "Claude waits", "529 Overloaded", "nobody knows this", "Run the tests", "logged out"):
        expect(page.locator("#timeline")).to_contain_text(text)
    assert page.locator("#outline li").count() == 2
    expect(page.locator("#outline li").first.locator(".badge")).to_contain_text("1")


def test_the_head_counts_what_the_filters_count(site: Site) -> None:
    address, place = site
    _, body, _ = get(address, path_of(place))
    (number,) = re.findall(r'<a href="[^"]*kind=sub-agent">(\d+) sub-agent', body)
    _, filtered, _ = get(address, f"{path_of(place)}?kind=sub-agent")
    assert number == "1" and filtered.partition('id="timeline"')[2].count('class="block"') == 1


# Whether the boxes of two selectors overlap anywhere within a row.
OVERLAPS = """([row, one, other]) => [...document.querySelectorAll(row)].filter((e) => {
  const [a, b] = [e.querySelector(one), e.querySelector(other)].map((part) => part?.getBoundingClientRect());
  if (!a?.width || !b?.width) return false;
  return a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
}).map((e) => e.textContent.trim().slice(0, 80))"""


def test_nothing_covers_anything_on_a_phone(site: Site, visit: Open) -> None:
    address, place = site
    page = visit(f"{address}{path_of(place)[1:]}", phone=True)
    page.evaluate("document.querySelectorAll('#timeline details').forEach(e => { e.open = true })")
    page.wait_for_load_state("networkidle")
    assert page.locator("#timeline .badge").count() > 2
    for one, other in ((".badge", ".when"), ("summary .argument", ".badge"), ("pre.code", "button[data-copy]")):
        assert page.evaluate(OVERLAPS, [".row, .entry", one, other]) == [], (one, other)
    # What stays at the top leaves the screen to the session.
    page.evaluate("scrollTo({ top: 600, behavior: 'instant' })")
    covered = page.evaluate(
        "[...document.querySelectorAll('.top, .outline, .tools')].map(e => e.getBoundingClientRect())"
        ".filter(box => box.top < 200 && box.bottom > 0).reduce((end, box) => Math.max(end, box.bottom), 0)"
    )
    assert covered < 0.15 * 844


def test_boxes_are_whole_and_times_in_line(site: Site, visit: Open) -> None:
    address, place = site
    page = visit(f"{address}{path_of(place)[1:]}")
    page.evaluate("document.querySelectorAll('#timeline details').forEach(e => { e.open = true })")
    page.wait_for_load_state("networkidle")
    for box in page.locator("#timeline .terminal").all():
        assert box.evaluate("e => getComputedStyle([...e.querySelectorAll('pre')].at(-1)).borderBottomWidth") == "1px"
    failed = page.locator("#e5")
    bars = "e => [e, e.parentElement].filter(one => parseFloat(getComputedStyle(one).borderLeftWidth) > 1).length"
    assert failed.evaluate(bars) == 1, "one bar says that it failed"
    rights = page.locator("#timeline .row > .when").evaluate_all(
        "times => times.filter(e => e.offsetWidth && !e.closest('.agent')).map(e => Math.round(e.getBoundingClientRect().right))"
    )
    middles = page.locator("#timeline .calls > .row > .call").evaluate_all(
        "calls => calls.map(e => [e.querySelector('summary .name, summary .argument'), e.parentElement.querySelector('.when')]"
        ".map(part => part.getBoundingClientRect()).map(box => (box.top + box.bottom) / 2))"
    )
    assert middles and all(abs(name - time) < 3 for name, time in middles), middles
    assert len(rights) > 3 and max(rights) - min(rights) <= 1, rights
    # Boxes end where those of calls do, in a permission's row, too.
    expect(page.locator("#timeline .kind-permission pre.code")).to_have_count(1)
    ends = page.locator("#timeline pre.code").evaluate_all(
        "boxes => boxes.filter(e => e.offsetWidth && !e.closest('.agent, article'))"
        ".map(e => Math.round(e.getBoundingClientRect().right))"
    )
    assert len(ends) > 3 and max(ends) - min(ends) <= 1, ends
    # Above the timeline the prompts have a bar from edge to edge.
    for width in (390, 761, 1000):
        page.set_viewport_size({"width": width, "height": 800})
        bar = page.locator("#outline").bounding_box()
        assert bar and (bar["x"], bar["width"]) == (0, width), (width, bar)
    page.set_viewport_size({"width": 1280, "height": 800})
    # Paper is white, whatever the screen is; what is for the mouse is not printed.
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(251, 250, 248)"
    expect(page.get_by_role("button", name="Pin")).to_be_hidden()
    page.emulate_media(media="screen", color_scheme="light")


def test_diffs_side_by_side_are_remembered(site: Site, visit: Open) -> None:
    address, place = site
    page = visit(f"{address}{path_of(place)[1:]}")
    old, new = page.locator(".diff .change .old").first, page.locator(".diff .change .new").first

    def tops() -> tuple[float, float]:
        return (old.bounding_box() or {})["y"], (new.bounding_box() or {})["y"]

    assert tops()[0] < tops()[1]
    page.locator("#diff-switch").click()
    assert tops()[0] == tops()[1]
    page.reload()
    assert tops()[0] == tops()[1]


def test_filters_are_in_the_address(site: Site, visit: Open) -> None:
    address, place = site
    page = visit(f"{address}{path_of(place)[1:]}")
    page.get_by_role("link", name=re.compile("Problems")).click()
    expect(page.locator("article.kind-prompt")).to_have_count(0)
    expect(page.locator("#timeline [data-bad]")).to_have_count(6)
    assert page.url.endswith("?trouble=1")
    page.go_back()
    expect(page.locator("article.kind-prompt")).to_have_count(2)
    page.locator(".more-filters summary").click()
    page.locator(".by .chip", has_text="Edit").click()
    expect(page.locator(".call")).to_have_count(1)
    page.reload()
    expect(page.locator(".call")).to_have_count(1)
    expect(page.locator("article.kind-prompt")).to_have_count(0)
    page.get_by_role("link", name="Focused").click()
    expect(page.locator("#timeline .entry")).to_have_count(3)
    expect(page.locator(".call")).to_have_count(0)


def until(page: Page, condition: str) -> None:
    """Wait for it from outside: the policy of the page lets no text be run as a script."""
    for _ in range(1200):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    raise AssertionError(condition)


def is_in_view(page: Page, selector: str) -> bool:
    return bool(
        page.locator(selector).evaluate(
            "e => { const r = e.getBoundingClientRect(); return r.bottom > 0 && r.top < innerHeight }"
        )
    )


def test_links_to_a_moment(site: Site, visit: Open) -> None:
    address, place = site
    base = f"{address}{path_of(place)[1:]}"
    page = visit(f"{base}#event-6")  # the end of the call that began with e5
    expect(page.locator("#e5.target")).to_be_visible()
    assert is_in_view(page, "#e5")
    page = visit(f"{base}?at=e11#e11")  # inside a sub-agent that is folded
    expect(page.locator("#e9.target, #e11.target, .call.target")).to_be_visible()
    expect(page.locator("details.agent")).to_have_attribute("open", "")
    page.locator("#e2 .when").click()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == f"{base}?at=e2#e2"
    assert visit(copied).locator("#e2.target").is_visible()


def test_keys_go_through_the_session(site: Site, visit: Open) -> None:
    address, place = site
    page = visit(f"{address}{path_of(place)[1:]}")

    def focused() -> str:
        return str(page.evaluate("document.activeElement.id"))

    # Without anything marked, k begins at the lower end of the screen, j at the upper.
    page.keyboard.press("k")
    last = "e => { const box = e.getBoundingClientRect(); return innerHeight - box.bottom }"
    assert 0 <= page.locator("#timeline :focus").evaluate(last) < 400
    page.evaluate("document.activeElement.blur()")
    for key, name in (
        ("j", "e1"),
        ("n", "e2"),
        ("n", "e8"),
        ("p", "e2"),
        ("j", "e3"),
        ("j", "e5"),
        ("k", "e3"),
        ("x", "e5"),
    ):
        page.keyboard.press(key)
        assert focused() == name, key
    assert page.locator("#e5").get_attribute("open") is not None
    page.keyboard.press("o")
    assert page.locator("#e5").get_attribute("open") is None
    page.keyboard.press("Enter")
    assert page.locator("#e5").get_attribute("open") is not None
    page.keyboard.press("y")
    until(page, "navigator.clipboard.readText().then(text => text.endsWith('#e5'))")
    page.keyboard.press("f")
    expect(page.locator(".call")).to_have_count(0)
    page.keyboard.press("f")
    expect(page.locator(".call").first).to_be_visible()
    page.keyboard.press("G")
    assert focused() == "e22"
    page.keyboard.press("?")
    expect(page.locator("#help")).to_contain_text("Next, previous prompt")


def test_what_fits_on_the_screen_is_read_from_its_top(site: Site, visit: Open) -> None:
    address, place = site
    page = visit(address)
    page.set_viewport_size({"width": 1280, "height": 3000})
    page.goto(f"{address}{path_of(place)[1:]}?focus=1")
    expect(page.locator("#outline li").first).to_have_class("here")


def test_downloads_and_texts(site: Site) -> None:
    address, place = site
    base = path_of(place)
    for ending, told in (("md", "Fix the total"), ("html", "<!doctype html>"), ("jsonl", '"session_id"')):
        status, body, headers = get(address, f"{base}/export.{ending}")
        assert status == 200
        assert told in body
        assert headers["Content-Disposition"] == f'attachment; filename="session-s1.{ending}"'
        assert "default-src 'none'" in headers["Content-Security-Policy"]
    status, body, headers = get(address, f"{base}/text/e6/output")
    assert (status, body.count("\n")) == (200, 99)
    assert headers["Content-Type"] == "text/plain; charset=utf-8"
    assert get(address, f"{base}/text/e2/diff")[0] == 404
    assert get(address, f"{base}/text/e999/text")[0] == 404
    assert get(address, path_of(place, "none"))[0] == 404
    assert get(address, "/-/session/nowhere/s1")[0] == 404
    status, css, _ = get(address, "/-/code.css")
    assert ".code .k{color:light-dark(#" in css


def a_long_session(events: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [event("SessionStart", source="startup")]
    turn = 0
    while len(found) < events:
        turn += 1
        found.append(event("UserPromptSubmit", prompt=f"Step {turn} 第{turn}步"))
        for number in range(10):
            found += pair("Bash", command=f"make {turn}.{number}", error="Exit code 1" if number == turn % 97 else "")
            found += pair("Edit", file_path=f"/p/{number}.py", old_string=f"a = {number}", new_string=f"b = {number}")
        found.append(event("Stop", last_assistant_message=f"Step {turn} is done"))
    return found


def test_without_scripts_there_are_links_to_earlier_and_later(place: Place, serve: Serve) -> None:
    store(place, *a_long_session(600))
    address = serve()
    found: list[str] = []
    path: str | None = path_of(place)
    while path:
        _, body, _ = get(address, path)
        found += re.findall(r'<details class="call [^"]*" id="e(\d+)"', body)
        later = re.search(r'rel="next" href="([^"]+)"', body)
        path = later[1].replace("&amp;", "&") if later else None
    expected = [
        number for number, payload in enumerate(a_long_session(600), 1) if payload["hook_event_name"] == "PreToolUse"
    ]
    assert [int(name) for name in found] == expected
    _, body, _ = get(address, f"{path_of(place)}?end=1")
    assert 'rel="prev"' in body
    assert 'rel="next"' not in body


def test_live_session_grows_while_the_hook_writes(
    place: Place, serve: Serve, visit: Open, hook: Callable[..., Any]
) -> None:
    base = {"session_id": "s1", "cwd": place.project}
    running = {**base, "tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "sleep 9"}}
    hook({**base, "hook_event_name": "UserPromptSubmit", "prompt": "Begin"})
    page = visit(f"{serve()}{path_of(place)[1:]}")
    expect(page.locator("h1 .badge.live")).to_be_visible()
    hook({**running, "hook_event_name": "PreToolUse"})
    expect(page.locator(".call .badge")).to_have_text("running")
    expect(page.locator(".badge.bad, .chip.kind-trouble")).to_have_count(0)
    hook({**running, "hook_event_name": "PostToolUse", "tool_response": {"stdout": "woke up", "stderr": ""}})
    expect(page.locator(".call.is-ok")).to_have_count(1)
    expect(page.locator(".call .badge")).to_have_count(0)
    notices = [{**base, "hook_event_name": "Notification", "message": f"notice {number}"} for number in range(30)]
    record(place, notices, int(time.time() * 1000), 0)
    # Whoever is at the bottom stays there.
    expect(page.locator("#timeline")).to_contain_text("notice 29")
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    hook({**base, "hook_event_name": "Stop", "last_assistant_message": "The **end**"})
    expect(page.locator(".kind-answer strong")).to_have_text("end")
    until(page, "innerHeight + scrollY >= document.documentElement.scrollHeight - 5")
    # Whoever reads further up is told, and not moved.
    page.evaluate("scrollTo({ top: 0, behavior: 'instant' })")
    hook({**base, "hook_event_name": "UserPromptSubmit", "prompt": "More"})
    expect(page.locator("#to-end")).to_be_visible()
    assert page.evaluate("scrollY") == 0
    expect(page.locator("#outline li")).to_have_count(2)
    page.locator("#to-end").click()
    expect(page.locator("#to-end")).to_be_hidden()


def test_hostile_content_does_nothing(place: Place, serve: Serve, visit: Open) -> None:
    store(place, *hostile_session("hostile"))
    big = "<script>document.title='pwned'</script>" + "\u202e\x1b[31m" + "x" * (5_000_000 if thorough() else 250_000)
    store(
        place,
        event("UserPromptSubmit", "big", prompt=big),
        *pair("Bash", session_id="big", command=big, response={"stdout": big, "stderr": big}),
        *pair(
            "Write",
            session_id="big",
            file_path="/p/a.py",
            content="\n".join([big, *["a = 1"] * (100_000 if thorough() else 3_000)]),
        ),
        *pair("Edit", session_id="big", file_path=big, old_string=big, new_string=f"{big}!"),
        *pair(big[:2000], session_id="big", error=big, anything=big, more=[big, {big[:99]: 1}]),
        event("Stop", "big", last_assistant_message=big),
    )
    address = serve()
    for session_id in ("hostile", "big"):
        base = f"{address}{path_of(place, session_id)[1:]}"
        page = visit(base)
        seen = 0
        for _ in range(60):  # to the very end, everything open
            page.evaluate("document.querySelectorAll('#timeline details').forEach(e => { e.open = true })")
            page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
            page.wait_for_timeout(120)
            count = page.locator(".block").count()
            if count == seen and not page.locator(".edge[rel=next]").count():
                break
            seen = count
        else:
            raise AssertionError("the end never came")
        assert "pwned" not in page.title() or "document.title=" in page.title()
        assert page.locator("#timeline script, #timeline svg, #timeline img, #timeline iframe, #pwned").count() == 0
        links = page.evaluate("[...document.querySelectorAll('a')].map(a => String(a.href.baseVal ?? a.href))")
        assert not [link for link in links if not link.startswith(("http://", "https://", "/"))]
        assert not page.evaluate(
            "[...document.querySelectorAll('*')].some(e => [...e.attributes].some(a => a.name.startsWith('on')))"
        )
        text = page.locator("main").inner_text()
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert seen >= 3
        assert page.evaluate("document.documentElement.outerHTML.length") < 3_000_000
    # More of a big text comes in pieces, when asked for.
    output = page.locator(".call", has_text="$ <script>").first
    output.get_by_text("Show all of it").last.click()
    expect(output.get_by_text("Show more").last).to_be_visible()
    for name in ("agent", "kind", "tool", "at", "before", "after"):
        status, body, _ = get(address, f"{path_of(place, 'hostile')}?{name}=%3Cscript%3E%22%27%00%F0")
        assert status == 200
        assert "<script>" not in body.partition("<main")[2]


def test_colours_of_a_terminal_are_shown_and_nothing_else_is_obeyed() -> None:
    shown = ansi.html("a\x1b[1;31mred <b>\x1b[0m \x1b]0;title\x07\x1b[2J\x1b[38;5;9mx\x1b[39;22m\u202e")
    assert shown == 'a<span class="ansi-bold ansi-red">red &lt;b&gt;</span> \\x1b]0;title\\x07\\x1b[2Jx\\u202e'


def test_text_that_is_made_to_take_long_stays_plain() -> None:
    blank = "\n \n" * 5_000  # takes the lexer of C ten seconds
    started = time.thread_time()
    found = highlight.lines(blank, highlight.for_file("a.c"))
    assert time.thread_time() - started < 3
    assert "\n".join("".join(piece for _, piece in line) for line in found) == blank


@pytest.mark.parametrize("width", [390, 1440])
def test_page_is_sound_for_everybody(site: Site, visit: Open, width: int) -> None:
    address, place = site
    page = visit(f"{address}{path_of(place)[1:]}", phone=width == 390)
    page.set_viewport_size({"width": width, "height": 900})
    said = {}
    other = "?trouble=1" if width == 390 else "/files"
    for end in ("", "?trouble=1", "/files") if thorough() else ("", other):
        page.goto(f"{address}{path_of(place)[1:]}{end}")
        page.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true })")
        page.wait_for_load_state("networkidle")
        said[end] = complaints(page, "light" if width == 390 else "dark")
    assert not any(said.values()), json.dumps(said, indent=1)
