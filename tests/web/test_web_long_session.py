"""A session of any length: the tab holds what is near the screen, and one always knows where one is."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from sessionlog.archive.place import Place
from tests.conftest import thorough
from tests.helpers.archives import event, store
from tests.web.browsing import Open, Serve, Share
from tests.web.test_web_session import a_long_session, is_in_view, pair, path_of, until

TURNS = 477 if thorough() else 100
MIDDLE = 42 * (TURNS // 2) + 13  # a call in the middle
MOST_NODES = 5_000
STEPS = 400 if thorough() else 120  # so many that what was there at first is dropped

NODES = """() => {
  const walker = document.createTreeWalker(document);
  let nodes = 1;
  while (walker.nextNode()) nodes += 1;
  return nodes;
}"""
# Where an entry is, and how high the window; nothing if the entry is not in the page.
EDGES = """name => {
  const box = document.getElementById(name)?.getBoundingClientRect();
  return box && [box.top, box.bottom, innerHeight];
}"""
# Presses a key so often; gives the names that had the focus, and the most nodes that were there.
WALK = """async ([key, steps]) => {
  const nodes = NODES;
  const seen = [];
  let most = 0;
  for (let step = 0; step < steps; step += 1) {
    await window.sessionlogKeys[key]();
    seen.push(document.activeElement.id);
    if (step % 7 === 0) most = Math.max(most, nodes());
  }
  return [seen, most];
}""".replace("NODES", f"({NODES})")


@pytest.fixture(scope="module")
def address(share: Share) -> str:
    address, place = share(lambda place: a_long_session(42 * TURNS))
    return f"{address}{path_of(place)[1:]}"


def walk(page: Page, key: str, steps: int) -> tuple[list[int], int]:
    seen, most = page.evaluate(WALK, [key, steps])
    return [int(name[1:]) for name in seen], most


def test_a_long_session_opens_anywhere_and_scrolls(address: str, visit: Open) -> None:
    """Many times as long as what the page holds at once; twenty thousand events in a thorough run."""
    middle = 21 * TURNS
    page = visit(address)
    assert page.locator(".call").count() < 100
    expect(page.locator("#outline summary")).to_contain_text(f"{TURNS}")
    for _ in range(8):
        page.mouse.wheel(0, 4000)
        page.wait_for_timeout(150)
    expect(page.locator("#outline li.here")).not_to_contain_text(re.compile(r"Step 1\b"))
    until(page, "Number(document.querySelectorAll('.call')[0].id.slice(1)) > 20")
    # Each call is there once, in order, whatever was loaded when.
    numbers = page.evaluate("[...document.querySelectorAll('.call')].map(e => Number(e.id.slice(1)))")
    assert numbers == sorted(set(numbers))
    # The middle, and upwards from there without a jump of what one reads.
    page = visit(f"{address}?at=e{middle}#e{middle}")
    target = page.locator(".target")
    expect(target).to_be_visible()
    assert is_in_view(page, ".target")
    page.wait_for_timeout(600)
    assert is_in_view(page, ".target")
    first = page.evaluate("document.querySelector('.call').id")
    page.evaluate("scrollTo({ top: 0, behavior: 'instant' })")
    until(page, f"document.querySelector('.call').id !== '{first}'")
    page.wait_for_timeout(500)
    assert is_in_view(page, f"#{first}"), "what was at the top is still there, with more above it"
    for _ in range(6):
        page.mouse.wheel(0, -3000)
        page.wait_for_timeout(150)
    until(page, f"Number(document.querySelector('.call').id.slice(1)) < {middle - 100}")
    numbers = page.evaluate("[...document.querySelectorAll('.call')].map(e => Number(e.id.slice(1)))")
    assert numbers == sorted(set(numbers))
    assert middle // 2 < numbers[0]
    # A prompt that is not on the page is fetched.
    page = visit(f"{address}?end=1")
    page.locator("#outline a", has_text=f"Step {TURNS - 20}").first.click()
    expect(page.locator(".target .words")).to_have_text(f"Step {TURNS - 20} 第{TURNS - 20}步")
    assert is_in_view(page, ".target")
    page.keyboard.press("n")
    expect(page.locator(".target .words")).to_have_text(f"Step {TURNS - 19} 第{TURNS - 19}步")
    page.keyboard.press("G")
    expect(page.locator("#timeline")).to_contain_text(f"Step {TURNS} is done")


def test_the_tab_holds_what_is_near(address: str, visit: Open) -> None:
    page = visit(address)
    seen, most = walk(page, "j", STEPS)
    # From one entry to the next, none left out, whatever was dropped meanwhile.
    assert seen == sorted(set(seen)) and len(seen) == STEPS
    assert seen[-1] - seen[0] > 1.75 * STEPS
    assert page.locator("#e2").count() == 0, "the first was dropped"
    back, most_back = walk(page, "k", STEPS - 10)
    assert back == list(reversed(seen[9:-1]))
    # The jumps, and a big fling with the wheel.
    for key in ("G", "p", "p", "X", "x", "n"):
        page.keyboard.press(key)
        page.wait_for_timeout(150)
        most = max(most, page.evaluate(NODES))
    for direction in (-1, 1):
        for _ in range(8):
            page.mouse.wheel(0, direction * 3000)
            most = max(most, page.evaluate(NODES))
    assert max(most, most_back) < MOST_NODES
    assert is_in_view(page, ".block:nth-of-type(3)") or page.locator(".block").count() > 3


def test_no_step_waits_for_the_server(address: str, visit: Open) -> None:
    page = visit(address)
    page.wait_for_load_state("networkidle")  # what comes next is asked for ahead
    page.route("**/part?*", lambda route: route.fulfill(status=204))  # the server has nothing more to say
    seen, most = walk(page, "j", STEPS)
    assert len(set(seen)) == STEPS and most < MOST_NODES
    assert page.locator("#e2").count() == 0, "the first was dropped"
    back, _ = walk(page, "k", STEPS - 1)
    assert back == list(reversed(seen[:-1]))


def test_what_was_dropped_comes_back_at_the_same_place(address: str, visit: Open) -> None:
    page = visit(f"{address}?at=e{MIDDLE}#e{MIDDLE}")
    target = page.locator(".target")
    expect(target).to_be_visible()
    name = target.get_attribute("id")
    for _ in range(30):
        page.mouse.wheel(0, 1500)
        page.wait_for_timeout(60)
        if not page.locator(f"#{name}").count():
            break
    assert page.locator(f"#{name}").count() == 0
    for _ in range(200):
        top, bottom, height = page.evaluate(EDGES, name) or (-1, -1, 0)
        if bottom > 0 and top < height:
            break
        # A busy machine may carry out several turns of the wheel at once: back down if that went too far.
        page.mouse.wheel(0, 300 if top > 0 else -600)
        page.wait_for_timeout(60)
    else:
        raise AssertionError("it did not come back")
    numbers = page.evaluate("[...document.querySelectorAll('.call')].map(e => Number(e.id.slice(1)))")
    assert numbers == sorted(set(numbers))


def test_what_somebody_opened_is_still_open_after_it_was_away(address: str, visit: Open) -> None:
    page = visit(f"{address}?at=e{MIDDLE - 1}#e{MIDDLE - 1}")
    folded = page.locator(".call:not([open])").first
    name = folded.get_attribute("id")
    folded.locator("summary").click()
    expect(page.locator(f"#{name} .inside")).to_be_visible()
    walk(page, "j", STEPS)
    assert page.locator(f"#{name}").count() == 0
    page.goto(f"{page.url.partition('#')[0]}#{name}")
    expect(page.locator(f"#{name} .inside")).to_be_visible()


def test_the_outline_and_the_map_follow(address: str, visit: Open) -> None:
    page = visit(f"{address}?at=e{MIDDLE}#e{MIDDLE}")
    line = page.locator("#outline li.here")
    expect(line).to_contain_text(f"Step {TURNS // 2 + 1} ")
    # The marked line is in sight.
    in_sight = "(() => { const box = document.getElementById('outline').getBoundingClientRect();" + (
        "const own = document.querySelector('#outline li.here').getBoundingClientRect();"
        "return own.top > box.top - 2 && own.bottom < box.bottom + 2 })()"
    )
    until(page, in_sight)
    you = page.locator("#you")
    assert 400 < float(you.get_attribute("x") or 0) < 600
    # Beyond the prompts that are listed.
    page.locator("#outline li a").last.click()
    expect(line).to_contain_text(f"Step {TURNS // 2 + 41} ")
    walk(page, "n", 2)
    expect(line).to_contain_text(f"Step {TURNS // 2 + 43} ")
    until(page, in_sight)
    page.keyboard.press("G")
    expect(line).to_contain_text(f"Step {TURNS} ")
    until(page, "Number(document.getElementById('you').getAttribute('x')) > 950")
    # The map is always there; it comes anew with the end of the session.
    until(
        page, "(box => box.bottom > 0 && box.top < innerHeight)(document.getElementById('map').getBoundingClientRect())"
    )


def test_problems_far_away_are_found(place: Place, serve: Serve, visit: Open) -> None:
    events: list[Any] = [event("UserPromptSubmit", prompt="Begin")]
    for number in range(300):
        events += pair("Bash", command=f"make {number}", error="Exit code 2" if number in (3, 290) else "")
    store(place, *events)
    page = visit(f"{serve()}{path_of(place)[1:]}")
    page.keyboard.press("x")
    expect(page.locator(".target .argument")).to_have_text("$ make 3")
    page.keyboard.press("x")
    expect(page.locator(".target .argument")).to_have_text("$ make 290")
    page.keyboard.press("X")
    expect(page.locator(".target .argument")).to_have_text("$ make 3")


def test_filters_keep_the_place_and_context_leads_back(address: str, visit: Open) -> None:
    page = visit(f"{address}?at=e{MIDDLE}#e{MIDDLE}")
    turn = f"Step {TURNS // 2 + 1} "
    expect(page.locator("#outline li.here")).to_contain_text(turn)
    page.keyboard.press("f")
    expect(page.locator(".call")).to_have_count(0)
    expect(page.locator("#outline li.here")).to_contain_text(turn)
    until(
        page,
        f"[...document.querySelectorAll('article.kind-prompt')].some(e => e.textContent.includes('{turn}')"
        " && e.getBoundingClientRect().bottom > 0 && e.getBoundingClientRect().top < innerHeight)",
    )
    page.keyboard.press("f")
    expect(page.locator(".call").first).to_be_visible()
    expect(page.locator("#outline li.here")).to_contain_text(re.compile(rf"Step ({TURNS // 2 + 1}|{TURNS // 2}) "))
    # From any entry of a filtered view to its place.
    page.get_by_role("link", name=re.compile("Problems")).click()
    expect(page.locator("article.kind-prompt")).to_have_count(0)
    problem = page.locator("#timeline .call").first
    name = problem.get_attribute("id")
    page.locator(".row", has=page.locator(f"#{name}")).get_by_text("in context").click()
    expect(page.locator(f"#{name}.target")).to_be_visible()
    assert is_in_view(page, f"#{name}")
    assert page.url.endswith(f"?at={name}#{name}")
    assert page.locator(".call").count() > 5


def test_a_link_by_any_of_its_names_is_marked_and_has_the_focus(address: str, visit: Open) -> None:
    for name in (MIDDLE + 1, MIDDLE):  # the end of a call, and its start
        page = visit(f"{address}?at=e{name}#e{name}")
        expect(page.locator(".call.target")).to_be_visible()
        until(page, f"document.activeElement.id === 'e{MIDDLE}'")
        style = page.locator(".call.target").evaluate(
            "e => [getComputedStyle(e).outlineOffset, getComputedStyle(e).outlineStyle]"
        )
        assert style == ["-2px", "solid"], "a frame within the block, which cuts off what is outside"


def test_focused_keeps_a_line_of_the_work(address: str, visit: Open) -> None:
    page = visit(f"{address}?focus=1")
    line = page.locator("details.work").first
    expect(line.locator("summary")).to_contain_text("20 calls · 10 edits")
    expect(line.locator(".badge")).to_have_text("1 ✗")
    line.locator("summary").click()
    expect(line.locator(".call")).to_have_count(20)
    assert line.locator(".call .inside").count() > 0
    expect(line.get_by_text("In context", exact=True)).to_have_attribute("href", re.compile(r"\?at=e3#e3$"))
