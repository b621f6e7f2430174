"""Price tables in TOML files: the built-in ones and the user's own; opening a table by name or path.

Format history:
    1  2026-11  first version
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Annotated

import msgspec

from steelyard.errors import PriceTableError, UnknownNameError
from steelyard.files import errors_as, parse_toml, read_text
from steelyard.prices._genai_prices import GenaiPriceTable
from steelyard.prices._price_table import ModelPrices, Period, PriceTable, Rates
from steelyard.records import TOKEN_KINDS
from steelyard.settings import TEXT_BYTES

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


FORMAT_VERSION = 1
MAX_LINE_BYTES = 1_000
"""Characters; the time that a dotted key takes to parse grows with the square of its length."""
MAX_PRICE_USD = 1_000_000
MAX_DECIMALS = 6
MAX_REQUEST_DECIMALS = 12

_NOTHING = Rates((None,) * len(TOKEN_KINDS))
"""Placeholder for the time before a model's first dated price."""

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=1024)]


def _check(what: str, price: Decimal, *, decimals: int) -> None:
    if not price.is_finite() or not 0 <= price <= MAX_PRICE_USD:
        raise ValueError(f"{what} must be between 0 and {MAX_PRICE_USD} (got {price})")
    if price != round(price, decimals):
        raise ValueError(f"{what} must have at most {decimals} decimals (got {price})")


class PerMillion(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """USD for a million tokens of each kind. A kind left out has no price: tokens of it make the cost missing."""

    input: Decimal
    """Input that was neither read from nor written to a cache."""
    output: Decimal
    """Generated text."""
    cache_read: Decimal | None = None
    """Input read from a cache."""
    cache_write_5m: Decimal | None = None
    """Input written to a cache kept for five minutes."""
    cache_write_1h: Decimal | None = None
    """Input written to a cache kept for one hour."""
    reasoning: Decimal | None = None
    """Hidden reasoning; the price of output when left out."""

    def __post_init__(self) -> None:
        for kind in self.__struct_fields__:
            price: Decimal | None = getattr(self, kind)
            if price is not None:
                _check(f"the price of {kind}", price, decimals=MAX_DECIMALS)


class PriceEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Prices with the day and the context size from which they hold."""

    usd_per_million: PerMillion
    usd_per_request: Decimal = Decimal(0)
    since: date | None = None
    """The first day; left out for the oldest prices known."""
    above_input_tokens: Annotated[int, msgspec.Meta(gt=0)] | None = None
    """They hold for calls with more input tokens of all kinds than this; left out for all calls."""

    def __post_init__(self) -> None:
        _check("usd_per_request", self.usd_per_request, decimals=MAX_REQUEST_DECIMALS)


class ModelEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One model: its other names, and either one set of prices or several with day or context size."""

    aliases: tuple[Name, ...] = ()
    usd_per_million: PerMillion | None = None
    prices: tuple[PriceEntry, ...] = ()

    def __post_init__(self) -> None:
        if (self.usd_per_million is None) == (not self.prices):
            raise ValueError("a model needs either usd_per_million or prices")


class PriceFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole file."""

    format: int
    name: Name | None = None
    version: Name
    """Written into every result that was priced with the price table."""
    extends: Name | None = None
    """The price table that is asked about models which this one does not have."""
    models: dict[Name, ModelEntry] = {}


class FilePriceTable(PriceTable):
    """A price table read from a file, over the one it extends."""

    def __init__(self, file: PriceFile, *, name: str, where: str, base: PriceTable | None) -> None:
        super().__init__()
        self.name = file.name or name
        self.version = file.version if base is None else f"{file.version} over {base.label}"
        self._base = base
        self._own: dict[str, ModelPrices] = {}
        self._names = tuple(file.models)
        for model, entry in file.models.items():
            prices = ModelPrices(model, None, _periods(model, entry, where))
            for alias in dict.fromkeys(text.lower() for text in (model, *entry.aliases)):
                if alias in self._own:
                    raise PriceTableError(f"duplicate model name {alias!r}", where=where)
                self._own[alias] = prices

    def look_up(self, model: str) -> ModelPrices | None:
        """The file's own prices win over those of the price table it extends."""
        own = self._own.get(model.lower())
        if own is None and self._base is not None:
            return self._base.look_up(model)
        return own

    def models(self) -> Sequence[str]:
        """Own names first, then those of the price table it extends."""
        return (*self._names, *(self._base.models() if self._base is not None else ()))

    def likely_names(self) -> Sequence[str]:
        """The same, of the price table it extends as that has them."""
        return (*self._names, *(self._base.likely_names() if self._base is not None else ()))

    def cost_of_uneven(
        self, prices: ModelPrices, rates: Rates, tokens: tuple[int, ...], at: datetime | None
    ) -> Decimal:
        """Own prices are always even, so uneven ones are the extended price table's."""
        if self._base is None:
            return super().cost_of_uneven(prices, rates, tokens, at)
        return self._base.cost_of_uneven(prices, rates, tokens, at)


def _rates(entry: PriceEntry) -> Rates:
    given = entry.usd_per_million
    by_kind = {
        "input_tokens": given.input,
        "output_tokens": given.output,
        "cache_read_tokens": given.cache_read,
        "cache_write_5m_tokens": given.cache_write_5m,
        "cache_write_1h_tokens": given.cache_write_1h,
        "reasoning_tokens": given.output if given.reasoning is None else given.reasoning,
    }
    return Rates(tuple(by_kind[kind] for kind in TOKEN_KINDS), entry.usd_per_request, entry.above_input_tokens)


def _periods(model: str, entry: ModelEntry, where: str) -> tuple[Period, ...]:
    if entry.usd_per_million is not None:
        return (Period((_rates(PriceEntry(usd_per_million=entry.usd_per_million)),)),)
    entries = sorted(entry.prices, key=lambda price: (price.since or date.min, price.above_input_tokens or 0))
    periods = []
    for since, group in groupby(entries, key=lambda price: price.since):
        tiers = tuple(_rates(price) for price in group)
        sizes = [tier.above_input_tokens for tier in tiers]
        if sizes[0] is not None:
            raise PriceTableError(
                f"{model}: the smallest calls have no price; add an entry without above_input_tokens", where=where
            )
        if len(set(sizes)) != len(sizes):
            raise PriceTableError(f"{model}: two prices apply to the same calls", where=where)
        periods.append(Period(tiers, since=since))
    if periods[0].since is not None:
        periods.insert(0, Period((_NOTHING,)))
    return tuple(periods)


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation as error:  # an exponent of twenty digits
        raise ValueError(f"the number {text[:40]} is out of range") from error


def read_price_file(path: Path, *, open_base: Callable[[str], PriceTable]) -> FilePriceTable:
    """Return the price table in a TOML file. `open_base` opens the price table it extends."""
    where = str(path)
    with errors_as(PriceTableError):
        text = read_text(path, limit=TEXT_BYTES)
        if max(map(len, text.splitlines()), default=0) > MAX_LINE_BYTES:
            raise PriceTableError(f"a line must have at most {MAX_LINE_BYTES:,} characters", where=where)
        # Decimal: a price of 0.1 must not become the nearest binary fraction
        raw = parse_toml(text, path, parse_float=_decimal)
    try:
        file = msgspec.convert(raw, PriceFile)
    except (msgspec.ValidationError, ArithmeticError) as problem:
        raise PriceTableError(str(problem), where=where, hint="see docs/prices.md for the format") from problem
    if file.format != FORMAT_VERSION:
        raise PriceTableError(f"unknown format {file.format}; supported: {FORMAT_VERSION}", where=where)
    base = open_base(file.extends) if file.extends is not None else None
    return FilePriceTable(file, name=path.stem, where=where, base=base)
