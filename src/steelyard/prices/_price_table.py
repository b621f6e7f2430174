"""What a price table is: model names to dated prices, and the one place where tokens become dollars."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from decimal import Context, Decimal
from functools import cached_property
from itertools import islice
from operator import mul
from typing import Any, Literal, TypeAlias

from steelyard.records import TOKEN_KINDS, Missing, Usage, as_utc, kinds_of

Priced: TypeAlias = float | Missing
"""A cost in USD, or why there is none."""

Pico: TypeAlias = int | Decimal
"""Pico-dollars; a Decimal where a price is not an integer of them."""

Span: TypeAlias = Literal["call", "run", "least"]
"""What a usage covers: one model call, or an unknown number of them. Context tiers and request fees go by the call.

`least` is an unknown number of calls whose cost is wanted as a lower bound: all in the first tier, one fee."""

PICO_PER_USD = 10**12
"""Costs are added up in pico-dollars: a price of up to six decimals per million tokens is a whole number of them."""

MAX_TOKENS = 10**15
"""No record holds more of a kind: a thousand years of a thousand tokens a second are 30 times fewer."""

NEEDED_KINDS = ("input_tokens", "output_tokens")
"""Kinds that must be known; of the others, one that is not stated was not used."""

INPUT_KINDS = tuple(kind for kind in TOKEN_KINDS if kind not in {"output_tokens", "reasoning_tokens"})
"""Kinds that fill the context window: their sum decides the context tier."""

_NEEDED_PLACES = tuple((TOKEN_KINDS.index(kind), kind) for kind in NEEDED_KINDS)
_INPUT_PLACES = tuple(TOKEN_KINDS.index(kind) for kind in INPUT_KINDS)

KIND_WORDS = {kind: kind.removesuffix("_tokens").replace("_", " ") for kind in TOKEN_KINDS}

MAX_COMPARED_NAME_LENGTH = 200
"""Maximum length of an unknown name that is compared with the known ones."""
NAMES_TRIED = 10
"""How many likely names the price table is asked for, for each suggested name."""

EXACT = Context(prec=60)
"""Room for every digit of a sum of prices, so that sums do not depend on their order."""

UNDATED = "the price of {model} depends on the {what}, which is unknown"
WHOLE_RUN_TIERS = "the price of {model} differs for calls above {above} input tokens, and the calls are unknown"
WHOLE_RUN_FEES = "{model} is charged per request, and the number of calls is unknown"
TOO_MANY = f"token counts above {MAX_TOKENS:,} are invalid"
NO_MODEL = "the model is unknown"


def unknown_tokens(kind: str) -> str:
    """The reason given where a needed kind of tokens is not known."""
    return f"the number of {KIND_WORDS[kind]} tokens is unknown"


@dataclass(frozen=True, slots=True)
class Rates:
    """Prices that hold for calls above a size of context."""

    usd_per_million: tuple[Decimal | None, ...]
    """In the order of TOKEN_KINDS; None where the price table has no price for the kind."""
    usd_per_request: Decimal = Decimal(0)
    """What a call costs besides its tokens."""
    above_input_tokens: int | None = None
    """They hold for calls with more input tokens than this; None for every call."""
    pico: tuple[int, ...] = field(init=False)
    """Pico-dollars for a token of each kind; 0 where there is no price or it is uneven."""
    pico_per_request: int = field(init=False)
    uneven: tuple[bool, ...] = field(init=False)
    """Kinds whose price has too many decimals to be whole pico-dollars."""
    whole: bool = field(init=False)
    """Whether every kind has a price in whole pico-dollars."""

    def __post_init__(self) -> None:
        prices = [price * 1_000_000 if price is not None else Decimal(0) for price in self.usd_per_million]
        fee = self.usd_per_request * PICO_PER_USD
        uneven_fee = fee != int(fee)
        object.__setattr__(self, "pico", tuple(int(price) if price == int(price) else 0 for price in prices))
        object.__setattr__(self, "pico_per_request", int(fee))
        object.__setattr__(self, "uneven", tuple(uneven_fee or price != int(price) for price in prices))
        object.__setattr__(self, "whole", None not in self.usd_per_million and not any(self.uneven))


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

    @property
    def rises(self) -> bool:
        """Whether no larger call has a lower price, so that the first tier's prices are the least that is paid."""
        first = self.tiers[0]
        return all(
            above is None or base is None or above >= base
            for tier in self.tiers[1:]
            for above, base in zip(tier.usd_per_million, first.usd_per_million, strict=True)
        )

    def rates(self, input_tokens: int) -> Rates:
        """The prices of a call with that many input tokens of all kinds."""
        rates = self.tiers[0]
        for tier in self.tiers[1:]:
            if tier.above_input_tokens is not None and input_tokens > tier.above_input_tokens:
                rates = tier
        return rates


@dataclass(frozen=True, slots=True)
class ModelPrices:
    """All that a price table knows of a model's prices."""

    id: str
    """The price table's own name of the model."""
    provider: str | None
    periods: tuple[Period, ...]
    """The last one that is active holds; the first one when none is."""
    origin: Any = field(
        default=None, repr=False, compare=False
    )  # Any: what a price table needs to ask its library again

    def period(self, at: datetime) -> Period:
        """The prices of a moment in UTC."""
        return next((period for period in reversed(self.periods) if period.active(at)), self.periods[0])

    def one_period(self, moments: Iterable[datetime | None]) -> Period | None:
        """The prices that hold at every one of the moments; None where that may not be so, or one is not known."""
        if len(self.periods) == 1:
            return self.periods[0]
        listed = list(moments)
        dated = [as_utc(moment) for moment in listed if moment is not None]
        if not dated or len(dated) < len(listed) or any(period.between for period in self.periods):
            return None
        first, last = self.period(_in_utc(min(dated))), self.period(_in_utc(max(dated)))
        return first if first is last else None

    def rates_of(self, usage: Usage, at: datetime) -> Rates:
        """The prices of one call."""
        counts = kinds_of(usage)
        return self.period(_in_utc(at)).rates(sum(counts[place] or 0 for place in _INPUT_PLACES))

    @property
    def depends_on(self) -> str:
        """Why the moment of a call matters, in words."""
        days = [f"{period.since:%Y-%m-%d}" for period in self.periods if period.since is not None]
        parts = [f"day (it changed on {', '.join(days)})"] if days else []
        if any(period.between for period in self.periods):
            parts.append("time of day")
        return " and the ".join(parts)


class PriceTable(ABC):
    """Prices by model and day. An unknown model has no price; the reason names the closest known model."""

    name: str
    version: str

    def __init__(self) -> None:
        self._found: dict[str, ModelPrices | Missing] = {}

    @property
    def label(self) -> str:
        """Name and version, as results that were priced with the price table state them."""
        return f"{self.name} ({self.version})"

    @abstractmethod
    def look_up(self, model: str) -> ModelPrices | None:
        """The prices of a model by any of its names; None when the price table does not know it."""

    @abstractmethod
    def models(self) -> Sequence[str]:
        """A name for every model."""

    def likely_names(self) -> Sequence[str]:
        """Names that an unknown model is compared with."""
        return self.models()

    def find(self, model: str | None) -> ModelPrices | Missing:
        """The prices of a model, or why there are none. Answers are kept, so asking for every call is cheap."""
        if model is None:
            return Missing(NO_MODEL)
        answer = self._found.get(model)
        if answer is None:
            answer = self.look_up(model) or Missing(self._unknown(model))
            self._found[model] = answer
        return answer

    def price(self, usage: Usage, *, model: str | None, at: datetime | None, span: Span = "call") -> Priced:
        """Cost of the tokens in USD, as the price table had it at that moment."""
        pico = self.pico(usage, model=model, at=at, span=span)
        return pico if isinstance(pico, Missing) else in_usd(pico)

    def pico(self, usage: Usage, *, model: str | None, at: datetime | None, span: Span = "call") -> Pico | Missing:
        """The same in pico-dollars and not rounded, for sums."""
        prices = self.find(model)
        if isinstance(prices, Missing):
            return prices
        counts = kinds_of(usage)
        for place, kind in _NEEDED_PLACES:
            if counts[place] is None:
                return Missing(unknown_tokens(kind))
        tokens = tuple([count or 0 for count in counts])
        if max(tokens) > MAX_TOKENS:
            return Missing(TOO_MANY)
        if len(prices.periods) == 1:
            return self._pico_in(prices, prices.periods[0], tokens, at, span)
        if at is not None:
            return self._pico_in(prices, prices.period(_in_utc(at)), tokens, at, span)
        answers = [self._pico_in(prices, period, tokens, None, span) for period in prices.periods]
        if all(answer == answers[0] for answer in answers):
            return answers[0]
        return Missing(UNDATED.format(model=prices.id, what=prices.depends_on))

    def pico_together(
        self,
        columns: Sequence[Sequence[int | None]],
        tokens: Sequence[int],
        *,
        model: str | None,
        moments: Iterable[datetime | None],
    ) -> int | None:
        """What calls of one model cost in sum; None where each must be asked.

        `columns` are their counts by TOKEN_KINDS, `tokens` the sums of those. They may be priced as one where one whole
        price holds for every token at all their moments, whatever the size of the call.
        """
        prices = self.find(model)
        period = None if isinstance(prices, Missing) else prices.one_period(moments)
        if period is None:
            return None
        rates, *larger = period.tiers
        if not rates.whole or rates.usd_per_request or max(tokens) > MAX_TOKENS:
            return None
        for place, _ in _NEEDED_PLACES:
            if None in columns[place]:
                return None
        if larger and _max_input(columns) > min([tier.above_input_tokens or 0 for tier in larger]):
            return None
        products: int = sum(map(mul, tokens, rates.pico))
        return products

    def _pico_in(
        self, prices: ModelPrices, period: Period, tokens: tuple[int, ...], at: datetime | None, span: Span
    ) -> Pico | Missing:
        rates = period.tiers[0]
        if span == "least":
            if not period.rises:
                return Missing(tier_doubt(prices, period))
        elif len(period.tiers) > 1:
            rates = period.rates(sum([tokens[place] for place in _INPUT_PLACES]))
        if span == "run" and (doubt := whole_run_doubt(prices, period, rates)):
            return Missing(doubt)
        if not rates.whole:
            for kind, count, price in zip(TOKEN_KINDS, tokens, rates.usd_per_million, strict=True):
                if count and price is None:
                    return Missing(no_price(prices, rates, kind))
            if any(count and uneven for count, uneven in zip(tokens, rates.uneven, strict=True)):
                return self.cost_of_uneven(prices, rates, tokens, at and _in_utc(at)).scaleb(12, EXACT)
        products: int = sum(map(mul, tokens, rates.pico))
        return rates.pico_per_request + products

    def cost_of_uneven(
        self, prices: ModelPrices, rates: Rates, tokens: tuple[int, ...], at: datetime | None
    ) -> Decimal:
        """Cost in USD under prices that are not whole pico-dollars."""
        del prices, at  # only a price table that asks another library needs them
        cost = rates.usd_per_request
        for count, price in zip(tokens, rates.usd_per_million, strict=True):
            cost = EXACT.add(cost, EXACT.multiply(price or Decimal(0), Decimal(count)).scaleb(-6, EXACT))
        return cost

    def nearest(self, model: str, *, limit: int = 1) -> list[str]:
        """The known names that are most like one that is not known; a provider before the name does not count."""
        from rapidfuzz import fuzz, process  # a C library; only a name that is not known needs it

        asked = _bare(model[:MAX_COMPARED_NAME_LENGTH])
        close = process.extract(asked, self._bare_only, scorer=fuzz.ratio, limit=limit * NAMES_TRIED)
        names = (self._bare_names[place][1] for *_, place in close)
        return list(islice((name for name in names if self.look_up(name) is not None), limit))

    @cached_property
    def _bare_names(self) -> list[tuple[str, str]]:
        known = sorted(set(self.likely_names()), key=lambda name: (name.count("/"), name))
        return [(_bare(name), name) for name in known]

    @cached_property
    def _bare_only(self) -> list[str]:
        return [bare for bare, _ in self._bare_names]

    def _unknown(self, model: str) -> str:
        close = self.nearest(model)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        return f"unknown model {model!r} in price table {self.name!r}{hint}"


def _max_input(columns: Sequence[Sequence[int | None]]) -> int:
    """The most input tokens of all kinds that one of the calls has."""
    by_kind = [columns[place] for place in _INPUT_PLACES]
    largest: int = max([sum(filter(None, counts)) for counts in zip(*by_kind, strict=True)])
    return largest


def in_usd(pico: Pico) -> float:
    """Pico-dollars as the nearest float of USD."""
    # Python divides whole numbers of any size with one correct rounding, as it converts decimals
    return pico / PICO_PER_USD if isinstance(pico, int) else float(pico.scaleb(-12, EXACT))


def add_pico(amounts: Sequence[Pico]) -> Pico:
    """The sum with every digit, so that it does not depend on the order."""
    total: Pico = sum(amount for amount in amounts if isinstance(amount, int))
    for amount in sorted(amount for amount in amounts if not isinstance(amount, int)):
        total = EXACT.add(total, amount)
    return total


def _in_utc(at: datetime) -> datetime:
    try:
        return as_utc(at).astimezone(UTC)
    except OverflowError:  # within hours of the first or last day that can be written, where no price changes
        return at.replace(tzinfo=UTC)


def _bare(model: str) -> str:
    return model.lower().rsplit("/", 1)[-1]


def no_price(prices: ModelPrices, rates: Rates, kind: str) -> str:
    """The reason given where tokens were used that the price table has no price for."""
    if not any(price is not None for price in rates.usd_per_million):
        return f"the price table has no token prices for {prices.id}" + (
            " on that day" if len(prices.periods) > 1 else ""
        )
    return f"the price table has no price for {KIND_WORDS[kind]} tokens of {prices.id}"


def tier_doubt(prices: ModelPrices, period: Period) -> str:
    """The reason given where the sizes of calls decide about their price and are not known."""
    return WHOLE_RUN_TIERS.format(model=prices.id, above=f"{period.tiers[1].above_input_tokens:,}")


def whole_run_doubt(prices: ModelPrices, period: Period, rates: Rates) -> str | None:
    """Return why the price of many calls together does not follow from the sum of their tokens; None when it can.

    A sum below the first context tier is safe: no call in it can be above.
    """
    if rates.above_input_tokens is not None:
        return tier_doubt(prices, period)
    if rates.usd_per_request:
        return WHOLE_RUN_FEES.format(model=prices.id)
    return None


@dataclass(frozen=True, slots=True)
class PriceLine:
    """Prices with all that they depend on."""

    since: date | None
    """The first day; None for the oldest prices known."""
    between: tuple[time, time] | None
    """The daily slot in UTC; None for the rest of the day."""
    rates: Rates


def price_lines(prices: ModelPrices, *, on: date | None = None) -> tuple[PriceLine, ...]:
    """Every price of the model, or those that hold at some time of one day."""
    periods = prices.periods if on is None else _periods_of_day(prices, on)
    return tuple(PriceLine(period.since, period.between, rates) for period in periods for rates in period.tiers)


def _periods_of_day(prices: ModelPrices, day: date) -> list[Period]:
    turns = {time(), *(clock for period in prices.periods for clock in period.between or ())}
    holding = [prices.period(datetime.combine(day, clock, UTC)) for clock in sorted(turns)]
    return [period for period in prices.periods if any(period is active for active in holding)]
