from __future__ import annotations

from datetime import date
from typing import Annotated, Any

from cyclopts import Parameter

from steelyard.errors import UnknownNameError, UsageError
from steelyard.formatting import counted
from steelyard.prices import DEFAULT_BOOK, ModelPrices, PriceBook, PriceLine, book_names, open_book, price_lines
from steelyard.records import TOKEN_KINDS
from steelyard.reports import DASH, add_row, plain_table
from steelyard.results import versioned
from steelyard.surfaces.cli._options import Json, PricesOption
from steelyard.surfaces.cli._print import print_json, show_results

NAMES_SUGGESTED = 5


def prices(
    model: Annotated[str | None, Parameter(help="The model, by any name that logs give it.")] = None,
    /,
    *,
    on: Annotated[date | None, Parameter(help="Only the prices of this day, as 2026-03-13.")] = None,
    prices: PricesOption = DEFAULT_BOOK,
    json: Json = False,
) -> int:
    """Show what a model's tokens cost, by day and size of context; without a model, list the price books.

    Example: steelyard prices claude-opus-4-6 --on 2026-03-01
    """
    if model is None:
        if on is not None:
            raise UsageError("--on needs a model", hint="steelyard prices MODEL --on DATE")
        _list_books(json=json)
        return 0
    book = open_book(prices)
    model_prices = book.find(model)
    if not isinstance(model_prices, ModelPrices):
        raise UnknownNameError(
            "model", model, book.nearest(model, limit=NAMES_SUGGESTED), where=f"price book {book.name}"
        )
    lines = price_lines(model_prices, on=on)
    if json:
        print_json(versioned(_as_json(book, model, model_prices, on, lines)))
        return 0
    _print_lines(book, model, model_prices, on, lines)
    return 0


def _list_books(*, json: bool) -> None:
    books = [(name, open_book(name)) for name in book_names()]
    if json:
        listed = [
            {"name": name, "version": book.version, "models": len(book.models()), "default": name == DEFAULT_BOOK}
            for name, book in books
        ]
        print_json(versioned({"books": listed}))
        return
    table = plain_table()
    for heading in ("book", "version", "models", ""):
        table.add_column(heading, justify="right" if heading == "models" else "left")
    for name, book in books:
        note = "the default" if name == DEFAULT_BOOK else ""
        add_row(table, name, book.version, f"{len(book.models()):,}", note)
    own = "A book of your own is a TOML file: --prices FILE.toml (docs/prices.md shows the format)."
    show_results([f"{counted(len(books), 'price book')}.", table, own])


def _as_json(
    book: PriceBook, model: str, model_prices: ModelPrices, on: date | None, lines: tuple[PriceLine, ...]
) -> dict[str, Any]:  # Any: JSON values
    return {
        "book": {"name": book.name, "version": book.version},
        "model": model,
        "id": model_prices.id,
        "provider": model_prices.provider,
        "on": None if on is None else on.isoformat(),
        "prices": [line.to_dict() for line in lines],
    }


def _print_lines(
    book: PriceBook, model: str, model_prices: ModelPrices, on: date | None, lines: tuple[PriceLine, ...]
) -> None:
    same = "" if model_prices.id == model else f" ({model_prices.id})"
    provider = f" by {model_prices.provider}" if model_prices.provider else ""
    day = f" on {on.isoformat()}" if on else ""
    told = f"{model}{same}{provider}{day}, in dollars per million tokens."
    table = plain_table()
    columns = _columns(lines)
    for heading in columns:
        table.add_column(heading, justify="right", spare=1 if heading.startswith("cache write") else 0)
    for row in zip(*columns.values(), strict=True):
        add_row(table, *row)
    show_results([told, table, f"Price book {book.label}. Times are UTC."])


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
        columns["a request"] = [f"{line.rates.usd_per_request:f}" for line in lines]
    for index, kind in enumerate(TOKEN_KINDS):
        usd_per_million = [line.rates.usd_per_million[index] for line in lines]
        columns[kind.removesuffix("_tokens").replace("_", " ")] = [
            DASH if price is None else f"{price:f}" for price in usd_per_million
        ]
    return columns
