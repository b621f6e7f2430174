from __future__ import annotations

from datetime import date
from typing import Annotated, Any

from cyclopts import Parameter

from steelyard.cli._options import Json, PricesOption
from steelyard.cli._print import print_json, show_results
from steelyard.errors import UnknownNameError, UsageError
from steelyard.formatting import counted, exact_dollars
from steelyard.pages import DASH, add_row, plain_table
from steelyard.prices import (
    DEFAULT_PRICE_TABLE,
    ModelPrices,
    PriceLine,
    PriceTable,
    open_price_table,
    price_lines,
    price_table_names,
)
from steelyard.records import TOKEN_KINDS
from steelyard.results import versioned

NAMES_SUGGESTED = 5


def prices(
    model: Annotated[str | None, Parameter(help="Model to show; any name used in logs is accepted.")] = None,
    /,
    *,
    on: Annotated[date | None, Parameter(help="Only prices in effect on this date (2026-03-13).")] = None,
    prices: PricesOption = DEFAULT_PRICE_TABLE,
    json: Json = False,
) -> int:
    """Show model prices.

    Without a model, lists the price tables.

    Example: steelyard prices claude-opus-4-6 --on 2026-03-01
    """
    if model is None:
        if on is not None:
            raise UsageError("--on requires a model", hint="steelyard prices MODEL --on DATE")
        _list_price_tables(json=json)
        return 0
    price_table = open_price_table(prices)
    model_prices = price_table.find(model)
    if not isinstance(model_prices, ModelPrices):
        raise UnknownNameError(
            "model", model, price_table.nearest(model, limit=NAMES_SUGGESTED), where=f"price table {price_table.name}"
        )
    lines = price_lines(model_prices, on=on)
    if json:
        print_json(versioned(_as_json(price_table, model, model_prices, on, lines)))
        return 0
    _print_lines(price_table, model, model_prices, on, lines)
    return 0


def _list_price_tables(*, json: bool) -> None:
    price_tables = [(name, open_price_table(name)) for name in price_table_names()]
    if json:
        listed = [
            {
                "name": name,
                "version": price_table.version,
                "models": len(price_table.models()),
                "default": name == DEFAULT_PRICE_TABLE,
            }
            for name, price_table in price_tables
        ]
        print_json(versioned({"price_tables": listed}))
        return
    table = plain_table()
    for heading in ("price table", "version", "models", ""):
        table.add_column(heading, justify="right" if heading == "models" else "left")
    for name, price_table in price_tables:
        note = "default" if name == DEFAULT_PRICE_TABLE else ""
        add_row(table, name, price_table.version, f"{len(price_table.models()):,}", note)
    custom = "Custom price tables are TOML files: --prices FILE.toml (format: docs/prices.md)."
    show_results([f"{counted(len(price_tables), 'price table')}.", table, custom])


def _as_json(
    price_table: PriceTable, model: str, model_prices: ModelPrices, on: date | None, lines: tuple[PriceLine, ...]
) -> dict[str, Any]:  # Any: JSON values
    return {
        "price_table": {"name": price_table.name, "version": price_table.version},
        "model": model,
        "id": model_prices.id,
        "provider": model_prices.provider,
        "on": None if on is None else on.isoformat(),
        "prices": [line.to_dict() for line in lines],
    }


def _print_lines(
    price_table: PriceTable, model: str, model_prices: ModelPrices, on: date | None, lines: tuple[PriceLine, ...]
) -> None:
    same = "" if model_prices.id == model else f" ({model_prices.id})"
    provider = f" by {model_prices.provider}" if model_prices.provider else ""
    day = f" on {on.isoformat()}" if on else ""
    title = f"{model}{same}{provider}{day}, in USD per million tokens."
    table = plain_table()
    columns = _columns(lines)
    for heading in columns:
        table.add_column(heading, justify="right", spare=1 if heading.startswith("cache write") else 0)
    for row in zip(*columns.values(), strict=True):
        add_row(table, *row)
    show_results([title, table, f"Price table {price_table.label}. Times are UTC."])


def _columns(lines: tuple[PriceLine, ...]) -> dict[str, list[str]]:
    """Cells by heading; what the prices of this model do not depend on has no column."""
    columns: dict[str, list[str]] = {}
    if any(line.since for line in lines):
        columns["since"] = [line.since.isoformat() if line.since else DASH for line in lines]
    if any(line.between for line in lines):
        columns["daily"] = ["{:%H:%M}-{:%H:%M}".format(*line.between) if line.between else "else" for line in lines]
    sizes = [line.rates.above_input_tokens for line in lines]
    if any(sizes):
        columns["calls above"] = [f"{size:,} input tokens" if size else DASH for size in sizes]
    if any(line.rates.usd_per_request for line in lines):
        columns["per request"] = [exact_dollars(line.rates.usd_per_request) for line in lines]
    for index, kind in enumerate(TOKEN_KINDS):
        usd_per_million = [line.rates.usd_per_million[index] for line in lines]
        columns[kind.removesuffix("_tokens").replace("_", " ")] = [
            DASH if price is None else exact_dollars(price) for price in usd_per_million
        ]
    return columns
