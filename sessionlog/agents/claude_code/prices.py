"""What a model's tokens cost: a dated table that comes with sessionlog, or the user's own in its place."""

import os

from sessionlog.errors import SessionlogError
from sessionlog.fastlib import parse_json
from sessionlog.system.files import read_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from typing import Any

SHIPPED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "prices.json")

KINDS = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")


def load(home: str) -> "dict[str, Any]":
    """The table in force: `<home>/prices.json` if the user made one, else ours."""
    own = f"{home}/prices.json"
    path = own if os.path.exists(own) else SHIPPED
    try:
        table: dict[str, Any] = parse_json(read_regular(path, 1 << 20).decode())
        for price in table["models"].values():
            [float(price[kind]) for kind in KINDS]
        str(table["date"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SessionlogError(
            f"{path} is not a table of prices ({type(error).__name__}: {error}); {SHIPPED} shows its form"
        ) from error
    return table


def of_model(table: "dict[str, Any]", model: str) -> "dict[str, float] | None":
    """The price of a model by its id, with or without the date of its snapshot; None if the table does not know it."""
    name, _, snapshot = model.rpartition("-")
    if len(snapshot) == 8 and snapshot.isdigit():
        model = name
    price: dict[str, float] | None = table["models"].get(model)
    return price


def apply(connection: "sqlite3.Connection", table: "dict[str, Any]") -> None:
    """Give every model of this archive its price, and take it from those that the table no longer knows."""
    models = [row[0] for row in connection.execute("SELECT DISTINCT model FROM model_answers")]
    rows = []
    for model in models:
        price = of_model(table, model)
        if price:
            rows.append((model, *(float(price[kind]) for kind in KINDS), str(table["date"])))
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("DELETE FROM model_prices")
    connection.executemany("INSERT INTO model_prices VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    connection.execute("COMMIT")
