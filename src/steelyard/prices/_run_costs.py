"""What the parts of a Run cost under a price table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from datetime import datetime
from functools import cached_property
from operator import add
from typing import Literal, NamedTuple, TypeAlias

import msgspec
from msgspec.structs import astuple

from steelyard.prices._price_table import Pico, Priced, PriceTable, Span, add_pico, in_usd
from steelyard.records import TOKEN_KINDS, Call, Component, Missing, Run, Usage, kinds_of, sum_columns, usage_columns

NO_USAGE = "the record has no usage"


class RunCost(NamedTuple):
    """What a run cost, and how that is known."""

    usd: float | None
    """None when the cost is not known."""
    how: Literal["reported", "priced", "lower_bound", "unknown"]
    reason: str | None = None
    """Why the tokens have no price, or only a lower bound of one."""

    @property
    def or_missing(self) -> Priced:
        """The cost, or why there is none."""
        return Missing(self.reason or NO_USAGE) if self.usd is None else self.usd


def cost_of(run: Run, price_table: PriceTable) -> RunCost:
    """The cost that the run reports, else that of its tokens, else the least that they cost."""
    cost = RunCost(run.cost_usd, "reported") if run.cost_usd is not None else token_cost(run, price_table)
    return cost if cost.usd is None or not run.cost_is_lower_bound else cost._replace(how="lower_bound")


def price_run(run: Run, price_table: PriceTable) -> Priced:
    """Cost of the run's tokens: each call under its model at its moment, tokens outside calls under the run's model.

    A call that does not name its model or moment takes the run's.
    """
    cost = token_cost(run, price_table)
    return cost.usd if cost.usd is not None and cost.how == "priced" else Missing(cost.reason or NO_USAGE)


def token_cost(run: Run, price_table: PriceTable) -> RunCost:
    """The price of the run's tokens, else the least that they cost.

    Where the price depends on how tokens fall into calls, and that is not known, they are priced as if all calls were
    small. A run that reports its cost needs no lower bound of it.
    """
    silent = 0 if run.usage is not None else sum(1 for call in run.calls or () if call.usage is None)
    if silent:
        return RunCost(None, "unknown", f"{silent} of {len(run.calls or ())} calls report no tokens")
    parts = charges(run, price_table)
    if not parts:
        return RunCost(None, "unknown", NO_USAGE)
    reasons = [part.reason for part in parts if part.reason is not None]
    reason = reasons[0] if reasons else None
    if any(part.unpriced for part in parts) or (reason is not None and run.cost_usd is not None):
        return RunCost(None, "unknown", reason)
    usd = in_usd(add_pico([part.pico for part in parts if part.pico is not None]))
    return RunCost(usd, "priced" if reason is None else "lower_bound", reason)


class Charge(msgspec.Struct, frozen=True):
    """Tokens of a run under one model at one place in time, and what they cost."""

    place: Hashable
    """What the caller makes of their moment: a day, for example."""
    model: str | None
    calls: Sequence[Call]
    """The calls; none where tokens are outside of calls."""
    usage: Usage | None = None
    """The tokens; None when the calls do not state them."""
    pico: Pico | None = None
    """What is known of the cost; None where nothing is."""
    unpriced: int = 0
    """How many of the calls have no price; 1 for tokens outside of calls that have none."""
    reason: str | None = None
    """Why some have no price, or only a lower bound of one."""


PlacesOf: TypeAlias = Callable[[Sequence[datetime | None]], Sequence[Hashable]]
"""Makes a place of each moment: its day, for example."""


def charges(run: Run, price_table: PriceTable, places_of: PlacesOf | None = None) -> list[Charge]:
    """The run's calls by model and by what `places_of` makes of their moments, then its tokens outside of calls.

    A call that does not name its model or moment takes the run's. One that took no tokens costs nothing for any
    model (tools log their own messages as such calls), unless the run has nothing else.
    """
    started = run.started_at
    pricing = _Pricing(run, price_table)
    grouped = _grouped(run, places_of)
    made = [pricing.of_calls(place, model, calls, alone=len(grouped) == 1) for (place, model), calls in grouped]
    rest = run.usage
    if rest is not None and pricing.counted:
        rest = None if pricing.whole == pricing.tokens else _outside(pricing.whole, pricing.tokens)
    if rest is not None:
        amount, reason = pricing.of(rest, run.model, started, "run")
        start = None if places_of is None else places_of([started])[0]
        made.append(Charge(start, run.model, (), rest, amount, int(amount is None), reason))
    return made


def _grouped(run: Run, places_of: PlacesOf | None) -> Collection[tuple[tuple[Hashable, str | None], Sequence[Call]]]:
    """The run's calls by place and model, in the order of the first of each."""
    calls = run.calls or ()
    if not calls:
        return ()
    models = [call.model or run.model for call in calls]
    places: Sequence[Hashable] = [None] * len(calls)
    if places_of is not None:
        places = places_of([call.at or run.started_at for call in calls])
    if models.count(models[0]) == places.count(places[0]) == len(calls):  # as it is in most runs
        return [((places[0], models[0]), calls)]
    grouped: dict[tuple[Hashable, str | None], list[Call]] = {}
    for place, model, call in zip(places, models, calls, strict=True):
        grouped.setdefault((place, model), []).append(call)
    return grouped.items()


class _Pricing:
    """Prices one run's groups of calls, and adds up their tokens."""

    def __init__(self, run: Run, price_table: PriceTable) -> None:
        self._run, self._price_table = run, price_table
        self.whole = [] if run.usage is None else [count or 0 for count in kinds_of(run.usage)]
        """What the run itself states, by kind; nothing where it does not."""
        self.tokens = [0] * len(TOKEN_KINDS)
        """What its calls state."""
        self.counted = 0
        """How many of them do."""

    def of_calls(self, place: Hashable, model: str | None, calls: Sequence[Call], *, alone: bool) -> Charge:
        """The calls of one model together where one price holds for all, else one by one."""
        usages = [call.usage for call in calls if call.usage is not None]
        self.counted += len(usages)
        silent = len(calls) - len(usages) if self._run.usage is None else 0
        columns = usage_columns(usages) if len(usages) > 1 else []
        tokens = [sum(filter(None, counts)) for counts in columns[: len(TOKEN_KINDS)]]
        usage = None
        if usages:
            tokens = tokens or [count or 0 for count in kinds_of(usages[0])]
            self.tokens = tokens if alone else list(map(add, self.tokens, tokens))
            is_whole = alone and tokens == self.whole  # so the run has added them up already
            usage = self._run.usage if is_whole else sum_columns(columns) if columns else usages[0]
        if columns:
            moments = (call.at or self._run.started_at for call in calls if call.usage is not None)
            together = self._price_table.pico_together(columns, tokens, model=model, moments=moments)
            if together is not None:
                return Charge(place, model, calls, usage, together, silent)
        amounts, reasons = [], []
        for call in calls:
            if call.usage is None or self._is_idle(call):
                continue
            at = self._run.started_at if call.at is None else call.at
            amount, reason = self.of(call.usage, model, at, "run" if call.summed else "call")
            amounts.append(amount)
            reasons += [reason] if reason is not None else []
        priced = [amount for amount in amounts if amount is not None]
        unpriced = silent + len(amounts) - len(priced)
        known = add_pico(priced) if priced or not unpriced else None
        return Charge(place, model, calls, usage, known, unpriced, reasons[0] if reasons else None)

    def of(self, usage: Usage, model: str | None, at: datetime | None, span: Span) -> tuple[Pico | None, str | None]:
        """The price; else the least that they cost where no call is more precise, and why."""
        amount = self._price_table.pico(usage, model=model, at=at, span=span)
        if not isinstance(amount, Missing):
            return amount, None
        if span != "run" or isinstance(self._price_table.find(model), Missing):
            return None, amount.reason
        least = self._price_table.pico(usage, model=model, at=at, span="least")
        return None if isinstance(least, Missing) else least, amount.reason

    @cached_property
    def _idle_alone(self) -> Call | None:
        """The first call of a run that took no tokens at all: its model's price decides whether that is free."""
        run = self._run
        counted = [call for call in run.calls or () if call.usage is not None]
        used = (run.usage, *(call.usage for call in counted))
        return None if any(usage is not None and any(kinds_of(usage)) for usage in used) else counted[0]

    def _is_idle(self, call: Call) -> bool:
        """Whether the call took no tokens and can be passed over."""
        usage = call.usage
        if usage is None or usage.input_tokens != 0 or usage.output_tokens != 0 or any(astuple(usage)):
            return False
        return call is not self._idle_alone


def _outside(stated: Sequence[int], in_calls: Sequence[int]) -> Usage | None:
    """Tokens of the run that no call accounts for; None when there are none."""
    left = [max(0, count - known) for count, known in zip(stated, in_calls, strict=True)]
    return Usage(**dict(zip(TOKEN_KINDS, left, strict=True))) if any(left) else None


def price_component(component: Component, price_table: PriceTable, *, model: str | None, at: datetime | None) -> Priced:
    """Cost of a component's tokens under the run's model."""
    usage = Usage(input_tokens=component.input_tokens, output_tokens=component.output_tokens)
    return price_table.price(usage, model=model, at=at, span="run")
