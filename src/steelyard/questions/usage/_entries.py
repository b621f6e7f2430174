"""Usage of one run by day and model of its calls: tokens and known cost."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import isclose
from typing import TYPE_CHECKING

import msgspec

from steelyard.prices import PICO_PER_USD, Charge, PlacesOf, PriceTable, charges
from steelyard.records import Call, Run, Usage, calls_in

if TYPE_CHECKING:
    from fractions import Fraction

SHARED, UNSHARED = "shared_cost", "unshared_cost"
"""A cost that a run states for all its calls: divided by their prices, or left where the run began."""


class UsageEntry(msgspec.Struct, frozen=True):
    """What a run used of one model at one place in time."""

    place: Hashable
    model: str | None
    usage: Usage | None
    """None if the record does not report it."""
    calls: int | None
    """None where the calls are not listed."""
    pico: int | Fraction | None
    """What is known of the cost in pico-dollars; None where nothing is."""
    of: int
    """How many entries the run has."""
    is_low: bool = False
    """Whether the cost is known to be too low."""
    unpriced_calls: int = 0
    unpriced: str | None = None
    """Why tokens have no price; None where they have one, or the run states its cost."""
    elsewhere: bool = False
    """Whether the run states one cost for all its entries in another of them."""

    @property
    def is_unreported(self) -> bool:
        """Whether neither tokens nor a cost are stated."""
        return self.usage is None and self.pico is None and not self.elsewhere


def entries_of(run: Run, price_table: PriceTable, places_of: PlacesOf) -> tuple[list[UsageEntry], str | None]:
    """The run's entries, and whether a stated cost was divided among them."""
    parts = charges(run, price_table, places_of)
    if not parts:
        parts = [Charge(places_of([run.started_at or run.ended_at])[0], run.model, ())]
    is_low = bool(run.cost_is_lower_bound)
    if run.cost_usd is None:
        return [_priced(run, part, len(parts), is_low=is_low) for part in parts], None
    costs, note = _shares(run.cost_usd, parts)
    return [
        UsageEntry(
            part.place, part.model, part.usage, _calls(run, part), cost, len(parts), is_low, elsewhere=cost is None
        )
        for part, cost in zip(parts, costs, strict=True)
    ], note


def _priced(run: Run, part: Charge, count: int, *, is_low: bool) -> UsageEntry:
    entry = UsageEntry(part.place, part.model, part.usage, _calls(run, part), _exact(part), count, is_low)
    if part.reason is None and not part.unpriced:  # as it mostly is
        return entry
    return msgspec.structs.replace(
        entry,
        is_low=is_low or not part.unpriced,
        unpriced_calls=part.unpriced if part.calls else 0,
        unpriced=part.reason or "a call reports no tokens" if part.unpriced else None,
    )


def _calls(run: Run, part: Charge) -> int | None:
    return calls_in(part.calls) if part.calls or run.calls else None


def _exact(part: Charge) -> int | Fraction | None:
    if part.pico is None or isinstance(part.pico, int):
        return part.pico
    from fractions import Fraction  # here and below: most logs state no cost, and most prices are whole

    return Fraction(part.pico)


def _shares(usd: float, parts: Sequence[Charge]) -> tuple[list[int | Fraction | None], str | None]:
    """The stated cost divided as the calls state theirs, else by their prices; else all of it in the first part."""
    from fractions import Fraction

    stated = Fraction(usd) * PICO_PER_USD
    if len(parts) == 1:
        return [stated], None
    by_calls = [_stated_by(part.calls) for part in parts]
    known = [cost for cost in by_calls if cost is not None]
    if known and isclose(sum(known), usd):
        return [None if cost is None else cost * PICO_PER_USD for cost in by_calls], None
    prices = [Fraction(part.pico or 0) for part in parts]
    if any(part.reason or part.unpriced for part in parts) or not any(prices):
        return [stated, *[None] * (len(parts) - 1)], UNSHARED
    whole = sum(prices, Fraction(0))
    return [stated * price / whole for price in prices], SHARED


def _stated_by(calls: Sequence[Call]) -> Fraction | None:
    """Return the cost that the calls report; None if none reports one."""
    from fractions import Fraction

    known = [Fraction(call.cost_usd) for call in calls if call.cost_usd is not None]
    return sum(known, Fraction(0)) if known else None
