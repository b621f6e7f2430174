"""A model's prices as lines to read."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time

from steelyard.prices._price_table import ModelPrices, Period, Rates


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
