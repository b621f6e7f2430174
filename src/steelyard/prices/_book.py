"""What a price book is: model names to dated prices, and the one place where tokens become dollars."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from decimal import Context, Decimal
from typing import Any, Literal, TypeAlias

from steelyard.records.missing import Missing
from steelyard.records.run import TOKEN_KINDS, Usage, as_utc

Priced: TypeAlias = float | Missing
"""A cost in USD, or why there is none."""

Span: TypeAlias = Literal["call", "run"]
"""What a usage covers: one model call, or an unknown number of them. Context tiers and request fees go by the call."""

PICO_PER_USD = 10**12
"""Costs are added up in pico-dollars: a price of up to six decimals per million tokens is a whole number of them."""

NEEDED_KINDS = ("input_tokens", "output_tokens")
"""Kinds that must be known; of the others, one that is not stated was not used."""

INPUT_KINDS = tuple(kind for kind in TOKEN_KINDS if kind not in {"output_tokens", "reasoning_tokens"})
"""Kinds that fill the context window: their sum decides the context tier."""

KIND_WORDS = {kind: kind.removesuffix("_tokens").replace("_", " ") for kind in TOKEN_KINDS}

EXACT = Context(prec=60)
"""Room for every digit of a sum of prices, so that sums do not depend on their order."""

UNDATED = "the price of {model} depends on the {what}, and it is not known"
WHOLE_RUN_TIERS = "{model} has another price in calls of more than {above} input tokens, and the calls are not known"
WHOLE_RUN_FEES = "{model} charges for each request, and the number of calls is not known"
NO_MODEL = "the model is not known"


def unknown_tokens(kind: str) -> str:
    """The reason given where a needed kind of tokens is not known."""
    return f"the {KIND_WORDS[kind]} tokens are not known"


@dataclass(frozen=True, slots=True)
class Rates:
    """Prices that hold for calls above a size of context."""

    usd_per_million: tuple[Decimal | None, ...]
    """In the order of TOKEN_KINDS; None where the book has no price for the kind."""
    usd_per_request: Decimal = Decimal(0)
    """What a call costs besides its tokens."""
    above_input_tokens: int | None = None
    """They hold for calls with more input tokens than this; None for every call."""
    pico: tuple[int | None, ...] | None = field(init=False)
    """Pico-dollars for a token of each kind; None when a price has too many decimals to be whole."""
    pico_per_request: int = field(init=False)

    def __post_init__(self) -> None:
        prices = [None if price is None else price * 1_000_000 for price in self.usd_per_million]
        fee = self.usd_per_request * PICO_PER_USD
        whole = all(price is None or price == int(price) for price in (*prices, fee))
        pico = tuple(None if price is None else int(price) for price in prices) if whole else None
        object.__setattr__(self, "pico", pico)
        object.__setattr__(self, "pico_per_request", int(fee))


@dataclass(frozen=True, slots=True)
class Period:
    """Prices that hold from a day on, or between two times of every day."""

    tiers: tuple[Rates, ...]
    """By rising context size; the first holds for every call."""
    since: date | None = None
    between: tuple[time, time] | None = None
    """Start and end of a daily slot in UTC; it may pass midnight."""

    def active(self, at: datetime) -> bool:
        """Whether the prices hold at a moment given in UTC."""
        if self.since is not None and at.date() < self.since:
            return False
        if self.between is None:
            return True
        start, end = self.between
        clock = at.time()
        return start <= clock < end if start <= end else clock >= start or clock < end

    def rates(self, input_tokens: int) -> Rates:
        """The prices of a call with that many input tokens of all kinds."""
        found = self.tiers[0]
        for tier in self.tiers[1:]:
            if tier.above_input_tokens is not None and input_tokens > tier.above_input_tokens:
                found = tier
        return found


@dataclass(frozen=True, slots=True)
class ModelPrices:
    """All that a book knows of a model's prices."""

    id: str
    """The book's own name of the model."""
    provider: str | None
    periods: tuple[Period, ...]
    """The last one that is active holds; the first one when none is."""
    origin: Any = field(
        default=None, repr=False, compare=False
    )  # Any: whatever the book keeps to ask its library again
    exact: bool = field(init=False)
    """Whether every price is a whole number of pico-dollars."""

    def __post_init__(self) -> None:
        rates = (tier for period in self.periods for tier in period.tiers)
        object.__setattr__(self, "exact", all(tier.pico is not None for tier in rates))

    def period(self, at: datetime) -> Period:
        """The prices of a moment in UTC."""
        return next((period for period in reversed(self.periods) if period.active(at)), self.periods[0])

    @property
    def depends_on(self) -> str:
        """Why the moment of a call matters, in words."""
        days = [f"{period.since:%Y-%m-%d}" for period in self.periods if period.since is not None]
        parts = [f"day (it changed on {', '.join(days)})"] if days else []
        if any(period.between for period in self.periods):
            parts.append("time of day")
        return " and the ".join(parts)


class PriceBook(ABC):
    """Prices by model and day. A model the book does not know has no price: the reason names the nearest known one."""

    name: str
    version: str

    def __init__(self) -> None:
        self._found: dict[str, ModelPrices | Missing] = {}

    @abstractmethod
    def look_up(self, model: str) -> ModelPrices | None:
        """The prices of a model by any of its names; None when the book does not know it."""

    @abstractmethod
    def models(self) -> Sequence[str]:
        """The names that an unknown one is compared with."""

    def find(self, model: str | None) -> ModelPrices | Missing:
        """The prices of a model, or why there are none. Answers are kept, so asking for every call is cheap."""
        if model is None:
            return Missing(NO_MODEL)
        found = self._found.get(model)
        if found is None:
            found = self.look_up(model) or Missing(self._unknown(model))
            self._found[model] = found
        return found

    def price(self, usage: Usage, *, model: str | None, at: datetime | None, span: Span = "call") -> Priced:
        """Cost of the tokens in USD, as the book had it at that moment."""
        cost = self.cost(usage, model=model, at=at, span=span)
        return cost if isinstance(cost, Missing) else float(cost)

    def cost(self, usage: Usage, *, model: str | None, at: datetime | None, span: Span = "call") -> Decimal | Missing:
        """The same to the last digit, for sums."""
        found = self.find(model)
        if isinstance(found, Missing):
            return found
        for kind in NEEDED_KINDS:
            if getattr(usage, kind) is None:
                return Missing(unknown_tokens(kind))
        tokens = tuple(getattr(usage, kind) or 0 for kind in TOKEN_KINDS)
        if at is not None:
            moment = as_utc(at).astimezone(UTC)
            return self._cost_in(found, found.period(moment), tokens, moment, span)
        costs = [self._cost_in(found, period, tokens, None, span) for period in found.periods]
        if all(cost == costs[0] for cost in costs):
            return costs[0]
        return Missing(UNDATED.format(model=found.id, what=found.depends_on))

    def _cost_in(
        self, found: ModelPrices, period: Period, tokens: tuple[int, ...], at: datetime | None, span: Span
    ) -> Decimal | Missing:
        total_input = sum(count for kind, count in zip(TOKEN_KINDS, tokens, strict=True) if kind in INPUT_KINDS)
        rates = period.rates(total_input)
        if span == "run" and (doubt := whole_run_doubt(found, period, rates)):
            return Missing(doubt)
        for kind, count, price in zip(TOKEN_KINDS, tokens, rates.usd_per_million, strict=True):
            if count and price is None:
                return Missing(no_price(found, rates, kind))
        if rates.pico is None:
            return self.cost_of_uneven(found, rates, tokens, at)
        return Decimal(pico_cost(rates.pico, rates.pico_per_request, tokens)).scaleb(-12, EXACT)

    def cost_of_uneven(self, found: ModelPrices, rates: Rates, tokens: tuple[int, ...], at: datetime | None) -> Decimal:
        """Cost under prices that are not whole pico-dollars."""
        del found, at  # only a book that asks another library needs them
        cost = rates.usd_per_request
        for count, price in zip(tokens, rates.usd_per_million, strict=True):
            cost = EXACT.add(cost, EXACT.multiply(price or Decimal(0), Decimal(count)).scaleb(-6, EXACT))
        return cost

    def _unknown(self, model: str) -> str:
        from rapidfuzz import fuzz, process  # a C library; only a name that is not known needs it

        known = sorted(self.models(), key=lambda name: (name.count("/"), name))
        close = process.extract(model, known, scorer=fuzz.ratio, processor=_bare, limit=1)
        hint = f"; the nearest known is {close[0][0]!r}" if close else ""
        return f"the price book {self.name!r} does not know the model {model!r}{hint}"


def _bare(model: str) -> str:
    return model.lower().rsplit("/", 1)[-1]


def pico_cost(prices: Sequence[int | None], fee: int, tokens: Sequence[int]) -> int:
    """Cost of one call in pico-dollars."""
    return fee + sum(count * price for count, price in zip(tokens, prices, strict=True) if price is not None)


def no_price(found: ModelPrices, rates: Rates, kind: str) -> str:
    """The reason given where tokens were used that the book has no price for."""
    if not any(price is not None for price in rates.usd_per_million):
        return f"the price book has no token prices for {found.id}" + (" on that day" if len(found.periods) > 1 else "")
    return f"the price book has no price for {KIND_WORDS[kind]} tokens of {found.id}"


def whole_run_doubt(found: ModelPrices, period: Period, rates: Rates) -> str | None:
    """Why the price of many calls together cannot be told from the sum of their tokens; None when it can.

    A sum below the first context tier is safe: no call in it can be above.
    """
    if rates.above_input_tokens is not None:
        return WHOLE_RUN_TIERS.format(model=found.id, above=f"{period.tiers[1].above_input_tokens:,}")
    if rates.usd_per_request:
        return WHOLE_RUN_FEES.format(model=found.id)
    return None
