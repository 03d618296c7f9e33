"""The command palette, and pins: the one thing that the pages write."""

from __future__ import annotations

import http.client
import json
from urllib.parse import urlencode, urlsplit

from playwright.sync_api import expect

from sessionlog.archive import notes
from sessionlog.archive.place import Place
from tests.helpers.archives import bash, call, event, store
from tests.web.browsing import Open, Serve, complaints, headers, urlopen


def fill(place: Place) -> None:
    store(
        place,
        event("UserPromptSubmit", prompt="Make the cart blue"),
        call("Edit", file_path=f"{place.project}/src/cart.py", old_string="a", new_string="b"),
        bash("make"),
        event("UserPromptSubmit", "s2", prompt="<img src=x onerror=alert(1)> Something else"),
    )


def test_a_few_letters_lead_anywhere(place: Place, serve: Serve, visit: Open) -> None:
    fill(place)
    address = serve("--all")
    page = visit(address)
    page.keyboard.press("Control+k")
    field, options = page.get_by_role("combobox", name="Go to"), page.locator("#palette-list [role=option]")
    expect(field).to_be_focused()
    expect(options.first).to_be_visible()
    page.keyboard.type("cart")
    expect(options).to_contain_text(["Make the cart blue", "src/cart.py", "Search for “cart”"])
    assert complaints(page) == {}
    expect(options.nth(0)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowDown")
    expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    page.wait_for_url("**/-/files?project=*src%2Fcart.py")

    # From Datasette's pages, too; letters that are apart; an audit; Escape goes back.
    page.goto(f"{address}{place.name}/events")
    page.get_by_role("button", name="go to").click()
    page.keyboard.type("dshb")
    expect(options.first).to_have_text("Dashboard")
    field.fill("deny")
    field.fill("commands that")
    expect(options.first).to_contain_text("Commands that delete")
    field.fill("else")
    expect(options.first).to_contain_text("onerror=alert(1)")
    page.keyboard.press("Escape")
    expect(field).to_be_hidden()


def test_an_answer_is_short_whatever_is_asked(place: Place, serve: Serve) -> None:
    store(place, *(event("UserPromptSubmit", f"s{number}", prompt=f"word {number}") for number in range(40)))
    address = serve("--all")
    answer = json.loads(urlopen(f"{address}-/palette?q={'word' * 1000}").read())
    assert [group["title"] for group in answer] == ["Everything"]
    answer = json.loads(urlopen(f"{address}-/palette?q=word").read())
    assert max(len(group["items"]) for group in answer) == 7


def test_sessions_and_moments_are_pinned_to_the_home_page(place: Place, serve: Serve, visit: Open) -> None:
    fill(place)
    address = serve("--all")
    page = visit(f"{address}-/session/{place.name}/s1")
    page.get_by_role("button", name="Pin", exact=True).click()
    expect(page.get_by_role("button", name="Pinned")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("n")
    page.keyboard.press("b")
    expect(page.locator("#e1.pinned")).to_have_count(1)
    assert {key for key, one in notes.load(place).items() if one.pinned} == {("s1", ""), ("s1", "e1")}

    # They are with the archive: another browser has them too, and needs no script to take them away.
    page = visit(address)
    pins = page.get_by_role("region", name="Pinned").get_by_role("listitem")
    expect(pins).to_have_count(2)
    pins.nth(0).get_by_role("link").click()
    page.wait_for_url("**/s1?at=e1#e1")
    expect(page.locator("#e1.pinned")).to_have_count(1)
    plain = visit(address).context.browser
    assert plain
    context = plain.new_context(java_script_enabled=False, extra_http_headers=headers(address))
    name, _, value = headers(address)["Cookie"].partition("=")
    context.add_cookies([{"name": name, "value": value, "url": address}])
    without = context.new_page()
    without.goto(f"{address}-/session/{place.name}/s1")
    without.get_by_role("button", name="Pinned").click()
    expect(without.get_by_role("button", name="Pin", exact=True)).to_be_visible()
    context.close()
    assert [key for key, one in notes.load(place).items() if one.pinned] == [("s1", "e1")]


def post(address: str, form: dict[str, str], **more: str) -> int:
    parts = urlsplit(address)
    assert parts.hostname
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=120)
    sent = {"Content-Type": "application/x-www-form-urlencoded", **headers(address), **more}
    connection.request("POST", "/-/pins", urlencode(form), sent)
    response = connection.getresponse()
    response.read()
    connection.close()
    return response.status


def test_nobody_else_can_pin(place: Place, serve: Serve) -> None:
    fill(place)
    address = serve("--all")
    own = urlsplit(address).netloc
    form = {"project": place.name, "session": "s1", "pinned": "1"}
    same = {"Sec-Fetch-Site": "same-origin"}
    assert post(address, form) == 403, "no page of ours sent it"
    assert post(address, form, Origin="http://evil.example") == 403
    assert post(address, form, **{"Sec-Fetch-Site": "cross-site"}) == 403
    assert post(address, form, **same) == 403, "without Datasette's own token"
    assert post(address, {**form, "csrftoken": "guessed"}, **same) == 403
    assert post(address, {**form, "note": "x" * 30_000}, **same) == 403
    assert post(address, form, Origin=f"http://{own}", Cookie="") == 403, "without the token of the server"
    assert notes.load(place) == {}
