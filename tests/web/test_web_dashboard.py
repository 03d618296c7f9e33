"""The dashboard: charts that are right, readable and harmless."""

from __future__ import annotations

import itertools
import re
import sqlite3
import time
from contextlib import closing
from datetime import date, timedelta

import pytest
from playwright.sync_api import expect

from sessionlog.archive import place as projects
from sessionlog.archive.place import Place
from sessionlog.web import charts, dashboard, svg
from tests.helpers.archives import bash, call, event, store
from tests.web.browsing import Open, Serve

HOSTILE = "<img src=x onerror=alert(1)>\x1b[31m\u202e</svg><script>alert(2)</script>"
DAY_MS = 86_400_000


@pytest.fixture
def worked(place: Place) -> Place:
    now = int(time.time() * 1000)
    for number in range(40):
        session_id = f"s{number}"
        store(
            place,
            event("UserPromptSubmit", session_id, prompt="go"),
            *({**bash("ls", session_id), "duration_ms": 1500} for _ in range(3)),
            {**bash("make", session_id, "PostToolUseFailure"), "error": "Exit code 2"},
            call("Edit", session_id, file_path=f"{place.project}/src/cart.py", old_string="a", new_string="b"),
            call(HOSTILE, session_id),
            call("Write", session_id, file_path=f"/p/{HOSTILE}", content="x"),
            start_ms=now - number * DAY_MS - 10_000,
        )
    with closing(sqlite3.connect(place.db)) as connection:
        for number, model in enumerate(["claude-opus-5-5", HOSTILE, "a", "b", "c", "d", "e"]):
            at = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(now / 1000 - 86_400 * number))
            connection.execute(
                "INSERT INTO model_answers VALUES (?, '', 's1', NULL, 0, ?, ?, 10, 1000000, 0, 0, 0, 0, 0, NULL, NULL, ?)",
                (f"m{number}", model, at, 20.00004 if model == "claude-opus-5-5" else None),
            )
        connection.commit()
    store(projects.place("/srv/other"), event("UserPromptSubmit", "o1", prompt="x"), bash("ls", "o1"), start_ms=now)
    return place


def test_the_dashboard(worked: Place, serve: Serve, visit: Open) -> None:
    address = serve()
    page = visit(f"{address}-/dashboard")
    charts_shown = page.locator("svg.chart")
    expect(charts_shown).to_have_count(4)
    assert page.locator(".caption h2").all_inner_texts()[:4] == [
        "Activity by day", "Failure rate by day", "Tokens by day", "Cost by day",
    ]  # fmt: skip
    assert page.locator("svg.chart [style], svg.chart script, svg.chart style").count() == 0
    expect(page.locator(".totals")).to_contain_text("$20.00")
    activity = page.get_by_role("region", name="Activity", exact=True)
    activity.locator("summary").click()
    rows = activity.locator("tbody tr")
    expect(rows).to_have_count(30)
    expect(rows.first.locator("th")).to_have_text(str(date.today()))

    # No letters of an axis lie over one another or outside of the picture.
    for size in ({"width": 1280, "height": 900}, {"width": 390, "height": 844}):
        page.set_viewport_size(size)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        for number in range(4):
            for axis in ("x", "y"):
                texts = charts_shown.nth(number).locator(f".axis.{axis} text")
                boxes = [box for text in texts.all() if (box := text.bounding_box())]
                assert len(boxes) >= 2
                for one, other in itertools.pairwise(boxes):
                    apart = (
                        one["x"] + one["width"] <= other["x"]
                        if axis == "x"
                        else other["y"] + other["height"] <= one["y"] + 2
                    )
                    assert apart, (number, axis, one, other)
                assert all(box["x"] >= 0 and box["x"] + box["width"] <= size["width"] for box in boxes)
    page.set_viewport_size({"width": 1280, "height": 900})

    tools = page.get_by_role("region", name="Tools", exact=True)
    expect(tools.locator("tbody tr").first).to_contain_text("Bash")
    expect(tools.locator("tbody tr").first).to_contain_text("24.8%")
    expect(tools).to_contain_text("<img src=x")
    expect(page.get_by_role("region", name="Slowest tools")).to_contain_text("1.5 s")
    file = page.get_by_role("region", name="Most edited files").get_by_role("link").filter(has_text="src/cart.py")
    assert "/-/files?path=%2F" in str(file.get_attribute("href"))

    # Home says the same cost, and that some models have no price; what each project cost; the busiest day.
    expect(page.locator(".totals")).to_contain_text("$20.00+")
    shares = page.get_by_role("region", name="Cost by project").locator("tbody tr")
    expect(shares.first).to_contain_text(re.compile(r"shop.*\$20\.00\+\s*100%", re.DOTALL))
    expect(shares).to_have_count(2)
    expect(page.locator(".totals > div", has_text="From cache").locator("dd")).to_have_text("0%")
    assert page.locator(".totals > div", has_text="Busiest day").get_by_role("link").get_attribute("href")
    page.goto(address)
    expect(page.locator(".totals > div", has_text="Cost").locator("dd")).to_have_text("$20.00+")
    page.goto(f"{address}-/dashboard")

    # A bar leads to the sessions of its day.
    page.locator("svg.chart").first.locator(".bar a").last.click()
    expect(page).to_have_url(re.compile(rf"/-/sessions\?since={date.today()}&until={date.today()}$"))
    expect(page.locator("tr[data-item]")).to_have_count(2)

    page.goto(f"{address}-/dashboard?since=all")
    page.wait_for_load_state()
    page.locator("select[name=project]").select_option(label="other")
    expect(page.locator(".totals > div").first).to_contain_text("1")
    expect(page.locator("svg.chart")).to_have_count(2)
    page.wait_for_load_state()
    page.locator("select[name=since]").select_option("7d")
    expect(page).to_have_url(re.compile("project=other-[0-9a-f]{16}&since=7d"))
    page.goto(f"{address}-/dashboard?since=2000-01-01")
    expect(page.locator("main")).to_contain_text("by week")
    expect(page.locator("svg.chart")).to_have_count(4)


def test_a_chart_holds_only_shapes() -> None:
    texts = (f"{HOSTILE}1", "2")
    drawn = charts.bars(HOSTILE, ["a", "b"], [charts.Series(HOSTILE, (1, 0), texts, ("/-/x?a=1&b=\"'", ""))])
    assert "<script" not in drawn and "<img" not in drawn and "style=" not in drawn and "</svg><" not in drawn
    assert drawn.count("<title>") == 2 and "&lt;img" in drawn
    assert 'href="/-/x?a=1&amp;b=&quot;\'"' in drawn
    assert "<script" not in charts.legend([charts.Series(HOSTILE, (), ())])


@pytest.mark.parametrize(
    ("top", "unit", "steps"),
    [
        (0, "number", [0, 1]),
        (3, "number", [0, 1, 2, 3]),
        (97, "number", [0, 25, 50, 75, 100]),
        (1_234_567, "number", [0, 500_000, 1_000_000, 1_500_000]),
        (0.03, "dollars", [0, 0.01, 0.02, 0.03]),
        (100, "percent", [0, 25, 50, 75, 100]),
    ],
)
def test_axes_have_round_numbers(top: float, unit: str, steps: list[float]) -> None:
    assert charts._steps(top, unit) == steps


def test_bars_stand_for_more_time_when_there_are_many() -> None:
    today = date(2026, 11, 16)
    for days, unit, count in (
        (0, "day", 1),
        (89, "day", 90),
        (365, "week", 54),
        (1500, "month", 50),
        (9000, "year", 25),
    ):
        found, spans = dashboard._spans(today - timedelta(days=days), today)
        assert (found, len(spans)) == (unit, count)
        assert spans[0].first <= today - timedelta(days=days) <= spans[0].last
        assert spans[-1].first <= today <= spans[-1].last
        for one, other in itertools.pairwise(spans):
            assert other.first - one.last == timedelta(days=1)
        rows = [
            (str(today), {"n": 2}),
            (str(today - timedelta(days=days)), {"n": 3}),
            ("", {"n": 9}),
            ("1960-01-01", {"n": 9}),
        ]
        sums = dashboard._sums(spans, rows, ("n",))
        assert sum(row["n"] for _, row in sums) == 5 and sums[-1][1]["n"] in (2, 5)


def test_a_calendar_of_a_year() -> None:
    last = date(2026, 11, 18)
    days = {str(last - timedelta(days=number)): {"tools": number, "sessions": 1} for number in range(400)}
    shown = svg.calendar(days, last)
    fields = [field for row in shown.rows for field in row if field]
    assert len(shown.rows) == 7 and all(len(row) == 53 for row in shown.rows)
    assert sum(weeks for _, weeks in shown.months) == 53
    assert max(field.day for field in fields) == last and len(fields) == 52 * 7 + 3
    assert {field.level for field in fields} == {1, 2, 3, 4}
    assert {field.level for row in svg.calendar({}, last).rows for field in row if field} == {0}
