"""What answers cost: by the day, the length of the prompt, the mode, and the names that clouds give to models."""

from __future__ import annotations

import json
import re
from datetime import date
from pathlib import Path

import pytest

from sessionlog.agents.claude_code import prices
from sessionlog.install.doctor.machine import prices_in_force
from sessionlog.transcripts import importer
from tests.cli.test_cli import printed
from tests.conftest import FIXTURES, rows
from tests.helpers import transcript_lines as made
from tests.helpers.transcript_files import shop

TABLE = prices.load("/nowhere")
MILLION = 1_000_000
OUT = (0, MILLION, 0, 0, 0)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("claude-haiku-4-5-20251001", "claude-haiku-4-5"),
        ("claude-sonnet-4-5[1m]", "claude-sonnet-4-5"),
        ("claude-opus-4-6-20260205[1m]", "claude-opus-4-6"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("anthropic.claude-3-haiku-20240307-v1:0", "claude-3-haiku"),
        ("global.anthropic.claude-opus-4-5-20251101-v1:0[1m]", "claude-opus-4-5"),
        ("claude-opus-4-1@20250805", "claude-opus-4-1"),
        ("anthropic/claude-opus-5-5", "claude-opus-5-5"),
        ("claude-3-7-sonnet-latest", "claude-3-7-sonnet"),
        ("claude-3-5-haiku-20241022", "claude-3-5-haiku"),
    ],
)
def test_names_of_clouds_snapshots_and_options(model: str, name: str) -> None:
    assert prices.name_in_table(model) == name
    assert prices.of_answer(TABLE, model, None, OUT) == prices.of_answer(TABLE, name, None, OUT) is not None


@pytest.mark.parametrize(
    ("model", "at", "tokens", "speed", "region", "cost"),
    [
        (
            "claude-opus-5-5",
            "2026-11-01",
            (MILLION, MILLION, MILLION, MILLION, MILLION),
            None,
            None,
            4 + 20 + 0.2 + 5 + 8,
        ),
        ("claude-opus-5-5", "2026-11-01", (MILLION, MILLION, 0, 0, 0), "fast", None, 48),
        ("claude-opus-5-5", "2026-11-01", (MILLION, MILLION, 0, 0, 0), "standard", "us", 26.4),
        ("claude-opus-5-5", "2026-11-01", (MILLION, MILLION, 0, 0, 0), None, "global", 24),
        ("claude-opus-4-8", "2026-11-01", OUT, "fast", None, None),  # nobody says what that costs
        ("claude-sonnet-5-5", "2026-10-06T23:59:59.999Z", (0, 0, MILLION, 0, 0), None, None, 0.2),
        ("claude-sonnet-5-5", "2026-10-07T00:00:00.000Z", (0, 0, MILLION, 0, 0), None, None, 0.1),
        ("claude-haiku-5-5", None, (100_000, 0, 0, 0, 0), None, None, 0.01),
        ("claude-haiku-5-5", None, (50_000, 0, 50_001, 0, 0), None, None, 0.025 + 0.05 * 0.050001),
        ("claude-haiku-5-5", None, (0, 0, 0, 100_001, 0), None, None, None),
        ("claude-sonnet-4-5", None, (200_001, 0, 0, 0, 0), None, None, 6 * 0.200001),
        ("claude-haiku-9", None, OUT, None, None, None),
        ("gpt-9", None, OUT, None, None, None),
    ],
)
def test_a_price_has_its_day_its_length_and_its_mode(
    model: str, at: str | None, tokens: tuple[int, ...], speed: str | None, region: str | None, cost: float | None
) -> None:
    assert prices.of_answer(TABLE, model, at, tokens, speed, region) == (None if cost is None else pytest.approx(cost))


def test_the_usual_multiples_hold_where_the_page_says_nothing_else() -> None:
    for model, listed in TABLE["models"].items():
        for price in listed:
            if price["cache_write_5m"] is not None and model != "claude-3-haiku":
                assert price["cache_write_5m"] == pytest.approx(1.25 * price["input"]), model
                assert price["cache_write_1h"] == pytest.approx(2 * price["input"]), model
            assert price["cache_read"] <= price["input"] < price["output"], model


def test_every_model_of_the_recordings_has_a_price() -> None:
    text = "\n".join(path.read_text() for path in FIXTURES.rglob("*.json*") if path.suffix in (".json", ".jsonl"))
    models = set(re.findall(r'"model":"(claude-[a-z0-9-]+\d)"', text)) - {"claude-x"}
    assert models
    assert {model for model in models if prices.of_answer(TABLE, model, None, OUT) is None} == set()


def test_doctor_says_when_the_table_is_old() -> None:
    made_on = date.fromisoformat(TABLE["date"])
    assert prices_in_force("/nowhere", made_on).level == "ok"
    assert prices_in_force("/nowhere", date(made_on.year + 1, made_on.month, made_on.day)).level == "note"


def test_one_cost_everywhere_with_a_plus_for_what_has_no_price(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", "/home/dev/shop")
    one = made.Transcript("s")
    one.user("go")
    usage = {"input_tokens": MILLION, "output_tokens": MILLION}
    one.answer("ok", usage={**usage, "speed": "fast"})
    one.answer("who knows", model="claude-unheard-of", usage=usage)
    inner = {"id": "msg_agent", "model": "claude-opus-5", "usage": {"input_tokens": 0, "output_tokens": MILLION}}
    progress = {"type": "agent_progress", "agentId": "a1", "message": {"type": "assistant", "message": inner}}
    one.add("progress", data=progress)
    one.write(home)
    importer.run()
    cost = 48 + 25
    told = [
        rows(shop(), "SELECT sum(cost_usd) AS n FROM session_usage")[0]["n"],
        rows(shop(), "SELECT cost_usd AS n FROM session_costs")[0]["n"],
        json.loads(printed("sessions", "--json"))[0]["cost_usd"],
        sum(row["cost_usd"] or 0 for row in json.loads(printed("stats", "--by", "model", "--json"))),
    ]
    assert told == [pytest.approx(cost)] * 4
    assert f"${cost}.00+" in printed("sessions") and f"${cost}.00+" in printed("stats")


def test_another_table_of_prices_is_applied_to_all(home: Path) -> None:
    one = made.Transcript("s")
    one.answer("ok", usage={"input_tokens": 0, "output_tokens": MILLION})
    one.write(home)
    importer.run()
    own = {"claude-opus-5-5": dict.fromkeys(prices.KINDS, 7)}
    (Path(shop().home) / "prices.json").write_text(json.dumps({"date": "2026-01-01", "models": own}))
    two = made.Transcript("t")
    two.user("hello")
    two.write(home)
    importer.run()
    assert rows(shop(), "SELECT cost_usd FROM session_costs WHERE session_id = 's'") == [{"cost_usd": 7.0}]
