"""Open price tables: genai-prices, the built-in files, and any TOML file."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from steelyard.errors import PriceTableError, UnknownNameError
from steelyard.prices._file import read_price_file
from steelyard.prices._genai_prices import GenaiPriceTable
from steelyard.prices._price_table import PriceTable

DEFAULT_PRICE_TABLE = GenaiPriceTable.name

_SHIPPED = Path(__file__).parent / "tables"
_DEEPEST_EXTENSION = 8


def price_table_names() -> tuple[str, ...]:
    """The price tables that ship, the default one first."""
    return (DEFAULT_PRICE_TABLE, *sorted(path.stem for path in _SHIPPED.glob("*.toml")))


def open_price_table(name_or_path: str = DEFAULT_PRICE_TABLE) -> PriceTable:
    """The price table of that name, or the one in a TOML file."""
    return _open(name_or_path, depth=0)


def _open(name_or_path: str, *, depth: int) -> PriceTable:
    if depth > _DEEPEST_EXTENSION:
        raise PriceTableError("circular extends in price tables", where=name_or_path)
    if name_or_path in price_table_names():
        return _shipped(name_or_path)
    path = Path(name_or_path)
    if path.suffix.lower() != ".toml":
        raise UnknownNameError("price table", name_or_path, price_table_names())

    def open_base(base: str) -> PriceTable:
        is_file = Path(base).suffix.lower() == ".toml"
        return _open(str(path.parent / base) if is_file else base, depth=depth + 1)

    return read_price_file(path, open_base=open_base)


@cache
def _shipped(name: str) -> PriceTable:
    if name == DEFAULT_PRICE_TABLE:
        return GenaiPriceTable()
    return read_price_file(_SHIPPED / f"{name}.toml", open_base=_shipped)
