"""Scales: positions of numbers on an axis, and their labels."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import TypeGuard

from steelyard.formatting import difference_text, quantity, tick

HUGE, TINY = 1e300, 1e-300
"""What is farther out or closer together is drawn at these ends; tooltips contain the number itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """What is drawn along an axis."""

    title: str
    unit: str = ""
    """`share` (printed as a percentage), `pp` (a difference of fractions, in percentage points), `USD`, `s`, `tokens`,
    `count`, `day` (counted from the first of year 1) or another."""
    low: float | None = None
    """The metric's lowest value, where it has one: the axis begins there."""
    high: float | None = None
    """The metric's highest value, where it has one: the axis ends there."""
    log: bool = False
    down: bool = False
    """Whether the lowest value is at the top: the first rank."""
    bare: bool = False
    """Whether it has no numbers, since each row has a scale of its own."""


@dataclass(frozen=True, slots=True)
class Scale:
    """An axis with its ends on the paper."""

    axis: Axis
    low: float
    high: float
    start: float
    end: float
    log: bool

    def at(self, value: float) -> float:
        """Return the position of the value, clipped to the axis."""
        low, high, inner = self.low, self.high, min(max(value, self.low), self.high)
        if self.log:
            low, high, inner = math.log10(low), math.log10(high), math.log10(inner)
        return self.start + (self.end - self.start) * (inner - low) / (high - low)

    def holds(self, value: float) -> bool:
        """Whether the value is drawn where it is, not at an end of the axis."""
        return self.low <= value <= self.high

    @property
    def ticks(self) -> list[float]:
        """Round numbers along the axis, as many as have room for their text."""
        if self.axis.bare:
            return []
        room = abs(self.end - self.start)
        most = max(int(room / 54), 2)
        if self.axis.unit == "day":
            return _day_ticks(self.low, self.high, max(int(room / 90), 2))
        if self.axis.unit == "times":  # whole doublings: 0.7071 x is hard to read
            stride = max(math.ceil((self.high - self.low) / most), 1)
            return [
                float(tick) for tick in range(math.ceil(self.low / stride) * stride, math.floor(self.high) + 1, stride)
            ]
        return _log_ticks(self.low, self.high, most) if self.log else _linear_ticks(self.low, self.high, most)

    def tick_text(self, value: float) -> str:
        """A tick's number, short."""
        return short_text(value, self.axis.unit)


def scale_of(axis: Axis, values: Iterable[float | None], start: float, end: float) -> Scale:
    """The axis from the metric's ends, else from round numbers around the values.

    A logarithmic axis needs values above 0: otherwise the axis is linear, and its title shows it.
    """
    known = [min(max(value, -HUGE), HUGE) for value in values if is_drawn(value)]
    log = axis.log and bool(known) and min(known) > 0
    if log:
        low, high = _log_ends(max(min(known), TINY), max(known))
        return Scale(axis, low, high, start, end, log=True)
    low, high = _ends(axis, known)
    return Scale(axis, low, high, start, end, log=False)


def is_drawn(value: float | None) -> TypeGuard[float]:
    """Whether a value has a place: it is known and finite."""
    return value is not None and math.isfinite(value)


def amount_drawn(amount: float | None) -> float:
    """The height of what is known, so bounded that a sum of many stays a number; nothing for what is not known."""
    return min(max(amount, 0.0), HUGE / 1e6) if is_drawn(amount) else 0.0


def _ends(axis: Axis, known: list[float]) -> tuple[float, float]:
    bounded = [bound for bound in (axis.low, axis.high) if is_drawn(bound)]
    low, high = (min([*known, *bounded]), max([*known, *bounded])) if known or bounded else (0.0, 1.0)
    if high - low < max(TINY, 1e-12 * max(abs(low), abs(high))):
        margin = abs(low) / 2 or 1.0
        low, high = (low if low == axis.low else low - margin), (high if high == axis.high else high + margin)
    if low == axis.low and high == axis.high:
        return low, high
    if axis.unit == "day":
        return low, high
    step = _step(high - low, 5)
    lower = low if low == axis.low else max(math.floor(low / step) * step, -2 * HUGE)
    upper = high if high == axis.high else min(math.ceil(high / step) * step, 2 * HUGE)
    return lower, upper


def _step(span: float, most: int) -> float:
    rough = max(span / most, TINY)
    base = 10.0 ** math.floor(math.log10(rough))
    return next((factor * base for factor in (1, 2, 5) if factor * base >= rough * (1 - 1e-9)), 10 * base)


def _linear_ticks(low: float, high: float, most: int) -> list[float]:
    step = _step(high - low, most)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    if last - first > 50:  # ends so far from 0 that steps between them are lost in rounding
        return [low, high]
    return [count * step for count in range(first, last + 1)]


def _log_ends(low: float, high: float) -> tuple[float, float]:
    """The round numbers 1, 2, 5 around the values, never the same twice."""
    lower, upper = _rounded(low, up=False), _rounded(high, up=True)
    return (lower, upper) if upper > lower else (_rounded(low * 0.5, up=False), _rounded(high * 2, up=True))


def _rounded(value: float, *, up: bool) -> float:
    base = 10.0 ** math.floor(math.log10(value))
    factors = [factor * base for factor in (1.0, 2.0, 5.0, 10.0)]
    near = 1 + 1e-9
    if up:
        return next((factor for factor in factors if factor * near >= value), factors[-1])
    return next((factor for factor in reversed(factors) if factor <= value * near), factors[0])


def _log_ticks(low: float, high: float, most: int) -> list[float]:
    decades = math.log10(high / low) if low > 0 and high / low < math.inf else 600.0
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    factors = (1.0, 2.0, 5.0) if decades * 3 <= most else (1.0, 3.0) if decades * 2 <= most else (1.0,)
    stride = max(1, math.ceil(decades / most))
    ticks = [factor * 10.0**power for power in range(first, last + 1, stride) for factor in factors if power < 308]
    inside = [tick for tick in ticks if low * (1 - 1e-9) <= tick <= high * (1 + 1e-9)]
    return inside if len(inside) > 2 else _linear_ticks(low, high, most)


def _day_ticks(low: float, high: float, most: int) -> list[float]:
    step = next(
        (days for days in (1, 2, 7, 14, 28, 91, 182, 365, 1826, 36_525) if (high - low) / days <= most), 365_250
    )
    return [float(day) for day in range(math.ceil(low), math.floor(high) + 1, step)] or [low]


def value_text(value: float | None, unit: str) -> str:
    """Return a number as a label shows it.

    >>> value_text(0.7121, "fraction"), value_text(0.61239, "USD"), value_text(12345.6, "tokens"), value_text(None, "s")
    ('71.2%', '$0.6124', '12,346', 'unknown')
    """
    if value is None or math.isnan(value):
        return "unknown"
    if unit == "day" and math.isfinite(value):
        return _day_text(value)
    if unit == "pp":
        return difference_text(value, "fraction", signed=True)
    return quantity(value, unit, in_table=True)


def short_text(value: float, unit: str) -> str:
    """Return a number as an axis shows it: thousands as k, M and G."""
    return _day_text(value) if unit == "day" else tick(value, unit)


def _day_text(value: float) -> str:
    return date.fromordinal(min(max(int(value), 1), date.max.toordinal())).isoformat()
