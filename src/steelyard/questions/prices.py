"""List price tables, or show a model's prices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from steelyard import pages  # its names are imported on first use
from steelyard.errors import UnknownNameError, UsageError
from steelyard.formatting import counted, exact_dollars
from steelyard.option_names import option
from steelyard.prices import (
    DEFAULT_PRICE_TABLE,
    ModelPrices,
    PriceLine,
    open_price_table,
    price_lines,
    price_table_names,
)
from steelyard.questions._answer import Answer, Part, Rows
from steelyard.questions._options import Moment, PriceOptions
from steelyard.questions._question import doc, plain_question
from steelyard.records import TOKEN_KINDS, moment_of

if TYPE_CHECKING:
    from steelyard.pages import Column, Page

NAMES_SUGGESTED = 5


class PricesOptions(PriceOptions):
    """Options of `prices`."""

    model: str | None = doc("Model to show; any name used in logs is accepted.", default=None, kw_only=False)
    on: Moment = doc("Only prices in effect on this date (2026-03-13).", default=None)


class PriceTableInfo(Part, frozen=True, kw_only=True):
    """A price table."""

    name: str
    version: str
    model_count: int
    """Number of models with a price."""
    default: bool
    """Whether commands use it unless another one is named."""


class DailySlot(NamedTuple):
    """A part of every day, in UTC."""

    start: str
    end: str


class TokenPrices(Part, frozen=True, kw_only=True):
    """Prices by kind of token; None if the model has no price for the kind."""

    input_tokens: float | None
    output_tokens: float | None
    cache_read_tokens: float | None
    cache_write_5m_tokens: float | None
    cache_write_1h_tokens: float | None
    reasoning_tokens: float | None


class ModelPrice(Part, frozen=True, kw_only=True):
    """Prices with everything that they depend on."""

    since: str | None
    """First day; None for the oldest known prices."""
    between: DailySlot | None
    """Daily slot; None for the rest of the day."""
    above_input_tokens: int | None
    """Input tokens of a call above which the prices apply; None for any call."""
    usd_per_million: TokenPrices
    usd_per_request: float


class PricedModel(Part, frozen=True, kw_only=True):
    """A model and its prices."""

    name: str
    """Requested name."""
    id: str
    """Name in the price table."""
    provider: str | None
    """None if the price table does not name it."""
    price_table: str
    price_table_version: str
    prices: tuple[ModelPrice, ...]


class Prices(Answer, frozen=True, kw_only=True):
    """Price tables, or the prices of a model."""

    rows: ClassVar[Rows] = Rows("price_tables", "models.prices")
    price_tables: tuple[PriceTableInfo, ...]
    """Built-in price tables; empty if a model was requested."""
    on: str | None
    """Date on which the prices are in effect; None for all dates."""
    models: tuple[PricedModel, ...]
    """The requested model; empty without one."""

    @property
    def about(self) -> str:
        """Number of price tables, or the model."""
        return self.models[0].name if self.models else counted(len(self.price_tables), "price table")


@plain_question(PricesOptions, examples=({"model": "claude-opus-4-6", "on": "2026-03-01"},))
def prices(options: PricesOptions) -> Prices:
    """Return the built-in price tables, or the prices of a model.

    >>> prices("claude-opus-4-5", prices="spec").models[0].prices[0].usd_per_million.output_tokens
    75.0
    """
    if options.model is None:
        if options.on is not None:
            raise UsageError(f"{option('on')} requires a model", hint="name a model, such as claude-opus-4-6")
        return Prices(price_tables=tuple(_table_info(name) for name in price_table_names()), on=None, models=())
    price_table = open_price_table(options.prices)
    found = price_table.find(options.model)
    if not isinstance(found, ModelPrices):
        nearest = price_table.nearest(options.model, limit=NAMES_SUGGESTED)
        raise UnknownNameError("model", options.model, nearest, where=f"price table {price_table.name}")
    on = None if options.on is None else moment_of(options.on, option=option("on")).date()
    model = PricedModel(
        name=options.model,
        id=found.id,
        provider=found.provider or None,
        price_table=price_table.name,
        price_table_version=price_table.version,
        prices=tuple(_price(line) for line in price_lines(found, on=on)),
    )
    return Prices(price_tables=(), on=None if on is None else on.isoformat(), models=(model,))


def _table_info(name: str) -> PriceTableInfo:
    table = open_price_table(name)
    is_default = name == DEFAULT_PRICE_TABLE
    return PriceTableInfo(name=name, version=table.version, model_count=len(table.models()), default=is_default)


def _price(line: PriceLine) -> ModelPrice:
    per_million = (None if price is None else float(price) for price in line.rates.usd_per_million)
    return ModelPrice(
        since=None if line.since is None else line.since.isoformat(),
        between=None if line.between is None else DailySlot(*(clock.isoformat("minutes") for clock in line.between)),
        above_input_tokens=line.rates.above_input_tokens,
        usd_per_million=TokenPrices(**dict(zip(TOKEN_KINDS, per_million, strict=True))),
        usd_per_request=float(line.rates.usd_per_request),
    )


def page(answer: Prices) -> Page:
    """Return one row per price table, or per price of the model."""
    made = pages.Page(
        name="prices", title="What do tokens cost?", answer=f"{answer.about}.", refs=pages.other_catalogs("prices")
    )
    if not answer.models:
        tables = answer.price_tables
        columns = (
            pages.text_column("name", "price table", [each.name for each in tables]),
            pages.text_column("version", "version", [each.version for each in tables]),
            pages.count_column("model_count", "models", [each.model_count for each in tables]),
            pages.text_column("default", "default", ["yes" if each.default else "no" for each in tables]),
        )
        table = pages.PageTable(caption="Price tables", columns=columns)
        return replace(made, notes=("To show the prices of a model: steelyard prices MODEL",), table=table)
    (model,) = answer.models
    named = model.name if model.id == model.name else f"{model.name} ({model.id})"
    provider = f" by {model.provider}" if model.provider else ""
    day = f" on {answer.on}" if answer.on else ""
    table = pages.PageTable(
        caption="USD per million tokens; dates and times are UTC", columns=tuple(_columns(model.prices))
    )
    sentence = f"{named}{provider}{day}: price table {model.price_table} ({model.price_table_version})."
    return replace(made, answer=sentence, table=table)


def _columns(prices: tuple[ModelPrice, ...]) -> Iterator[Column]:
    """Yield the columns; prices that do not depend on a day, a time or a size have no column for it."""
    if any(each.since for each in prices):
        yield pages.text_column("since", "since", [each.since for each in prices])
    if any(each.between for each in prices):
        slots = ["-".join(each.between) if each.between else "else" for each in prices]
        yield pages.text_column("between", "daily", slots)
    if any(each.above_input_tokens for each in prices):
        sizes = [each.above_input_tokens for each in prices]
        texts = [f"{size:,} input tokens" if size else pages.DASH for size in sizes]
        yield replace(pages.count_column("above_input_tokens", "calls above", sizes), texts=texts)
    if any(each.usd_per_request for each in prices):
        yield _price_column("usd_per_request", "per request", [each.usd_per_request for each in prices])
    for kind in TOKEN_KINDS:
        title = kind.removesuffix("_tokens").replace("_", " ")
        column = _price_column(kind, title, [getattr(each.usd_per_million, kind) for each in prices])
        yield replace(column, spare=1 if title.startswith("cache write") else 0)


def _price_column(name: str, title: str, values: list[float | None]) -> Column:
    texts = [pages.DASH if value is None else exact_dollars(value) for value in values]
    return pages.Column(name=name, title=title, values=values, decimals=6, texts=texts)
