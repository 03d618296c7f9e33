"""What a model's tokens cost: a dated table that comes with sessionlog, or the user's own in its place.

A price has a day from which it holds, may hold only for prompts beyond a length, and is multiplied in fast mode and for
inference in one region. The cost of an answer is computed when it is imported, and stored with it.
"""

import os
import re
from functools import lru_cache
from zlib import crc32

from sessionlog.archive.transaction import writing
from sessionlog.errors import SessionlogError
from sessionlog.fastlib import encode_json, parse_json
from sessionlog.system.files import read_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from typing import Any

SHIPPED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "prices.json")
# Prices change. A table that is older than this many days is worth a word of `doctor`.
OLD = 120

KINDS = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")
# us.anthropic.claude-…-v1:0 is Bedrock's name, claude-…@20250929 Vertex's, and [1m] a wish for a long context.
_BEFORE = re.compile(r"^(?:[a-z-]+\.)?anthropic[./]")
_BEHIND = re.compile(r"(?:\[1m\]|@[a-z0-9-]+|-v\d+(?::\d+)?|:\d+|-latest|-20\d{6})$", re.IGNORECASE)


def load(home: str) -> "dict[str, Any]":
    """The table in force: `<home>/prices.json` if the user made one, else ours."""
    own = f"{home}/prices.json"
    path = own if os.path.exists(own) else SHIPPED
    try:
        table: dict[str, Any] = parse_json(read_regular(path, 1 << 20).decode())
        for prices in table["models"].values():
            for price in _listed(prices):
                [float(price[kind] or 0) for kind in KINDS]
                float(price.get("fast", 1)), int(price.get("above", 0)), str(price.get("from", ""))
        [float(factor) for factor in table.get("regions", {}).values()]
        str(table["date"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SessionlogError(
            f"{path} is not a table of prices ({type(error).__name__}: {error}); {SHIPPED} shows its form"
        ) from error
    return table


@lru_cache(256)  # an import asks for the same few names thousands of times
def name_in_table(model: str) -> str:
    """The name of a model without what clouds, snapshots and options add to it."""
    model = _BEFORE.sub("", model)
    while (shorter := _BEHIND.sub("", model)) != model:
        model = shorter
    return model


def of_answer(
    table: "dict[str, Any]",
    model: str,
    at: str | None,
    tokens: "tuple[int, ...]",
    speed: str | None = None,
    region: str | None = None,
) -> float | None:
    """What an answer cost, with tokens in the order of KINDS; None if one of its prices is not known."""
    prompt = tokens[0] + sum(tokens[2:])
    held = None
    for price in _listed(table["models"].get(name_in_table(model))):
        if (not price.get("from") or (at or "~") >= price["from"]) and prompt > price.get("above", -1):
            held = price  # the last one counts
    if held is None:
        return None
    factor = held.get("fast") if speed == "fast" else 1
    if factor is None:
        return None
    cost = 0.0
    for kind, count in zip(KINDS, tokens, strict=True):
        if count:
            if held[kind] is None:
                return None
            cost += count * held[kind]
    if region:
        factor *= table.get("regions", {}).get(region, 1)
    return round(factor * cost / 1e6, 9)


def register(connection: "sqlite3.Connection", home: str) -> None:
    """Let COST be computed on this connection. A table that cannot be read keeps nothing from being archived."""
    stamp = None
    try:
        table = load(home)
        stamp = _stamp(table)
    except SessionlogError:
        table = {"models": {}}

    def cost(model: str, at: str | None, speed: str | None, region: str | None, *tokens: int) -> float | None:
        return of_answer(table, model, at, tokens, speed, region)

    connection.create_function("cost_of_answer", 9, cost)
    connection.create_function("price_table", 0, lambda: stamp)


def apply(connection: "sqlite3.Connection", home: str) -> None:
    """Compute all costs again if the table has changed."""
    stamp = _stamp(load(home))
    if connection.execute("SELECT prices FROM archive").fetchone()[0] != stamp:
        register(connection, home)
        with writing(connection):
            connection.execute(f"UPDATE model_answers SET cost_usd = {COST}")
            connection.execute("UPDATE archive SET prices = ?", (stamp,))


def _stamp(table: "dict[str, Any]") -> str:
    return f"{table['date']} {crc32(encode_json(table).encode()):08x}"


# The columns of model_answers from which the cost of an answer is computed, and its cost in SQL.
PRICED = (
    "model",
    "at",
    "speed",
    "inference_geo",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_5m_tokens",
    "cache_write_1h_tokens",
)
COST = f"cost_of_answer({', '.join(PRICED)})"
# Before the first answers of an archive: all of its costs are of the table that is registered.
NOTE_TABLE = (
    "UPDATE archive SET prices = price_table() WHERE prices IS NULL AND NOT EXISTS (SELECT 1 FROM model_answers)"
)


def _listed(prices: "Any") -> "list[Any]":
    """One price may stand without its list."""
    return prices if isinstance(prices, list) else [prices] if prices else []
