"""A model's prices as lines to read."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Any

from steelyard.prices._price_table import ModelPrices, Period, Rates
from steelyard.records import TOKEN_KINDS


@dataclass(frozen=True, slots=True)
class PriceLine:
    """Prices with all that they depend on."""

    since: date | None
    """The first day; None for the oldest prices known."""
    between: tuple[time, time] | None
    """The daily slot in UTC; None for the rest of the day."""
    rates: Rates

    def to_dict(self) -> dict[str, Any]:  # Any: JSON values
        """The line as JSON; a kind without a price is null."""
        prices = zip(TOKEN_KINDS, self.rates.usd_per_million, strict=True)
        return {
            "since": None if self.since is None else self.since.isoformat(),
            "between": None if self.between is None else [clock.isoformat("minutes") for clock in self.between],
            "above_input_tokens": self.rates.above_input_tokens,
            "usd_per_million": {kind: None if price is None else float(price) for kind, price in prices},
            "usd_per_request": float(self.rates.usd_per_request),
        }


def price_lines(prices: ModelPrices, *, on: date | None = None) -> tuple[PriceLine, ...]:
    """Every price of the model, or those that hold at some time of one day."""
    periods = prices.periods if on is None else _periods_of_day(prices, on)
    return tuple(PriceLine(period.since, period.between, rates) for period in periods for rates in period.tiers)


def _periods_of_day(prices: ModelPrices, day: date) -> list[Period]:
    turns = {time(), *(clock for period in prices.periods for clock in period.between or ())}
    holding = [prices.period(datetime.combine(day, clock, UTC)) for clock in sorted(turns)]
    return [period for period in prices.periods if any(period is active for active in holding)]
