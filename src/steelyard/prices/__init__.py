"""Price books: what tokens cost, by model and day."""

from __future__ import annotations

from steelyard.prices._book import MOST_TOKENS, ModelPrices, Period, PriceBook, Priced, Rates, Span
from steelyard.prices._columns import PricedColumn, price_columns
from steelyard.prices._describe import PriceLine, price_lines
from steelyard.prices._open import DEFAULT_BOOK, book_names, open_book
from steelyard.prices._runs import price_component, price_run

__all__ = [
    "DEFAULT_BOOK",
    "MOST_TOKENS",
    "ModelPrices",
    "Period",
    "PriceBook",
    "PriceLine",
    "Priced",
    "PricedColumn",
    "Rates",
    "Span",
    "book_names",
    "open_book",
    "price_columns",
    "price_component",
    "price_lines",
    "price_run",
]
