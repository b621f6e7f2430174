"""Axes, labels and estimates that figures of several questions share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Protocol

from steelyard.figures import Axis, Estimate
from steelyard.formatting import bounds_text, difference_text, exact_percent, percent, ratio_bounds, ratio_text
from steelyard.records import key_text, tier_text

DRAWN_TOKENS = {
    "input": "input_tokens",
    "cache read": "cache_read_tokens",
    "cache write 5m": "cache_write_5m_tokens",
    "cache write 1h": "cache_write_1h_tokens",
    "output": "output_tokens",
    "reasoning": "reasoning_tokens",
}
"""Kinds of tokens in the order of a stacked bar, with their fields."""


class DrawnMetric(Protocol):
    """A metric, as far as a figure shows it."""

    @property
    def title(self) -> str: ...

    @property
    def unit(self) -> str: ...

    @property
    def better(self) -> str: ...

    @property
    def bounds(self) -> tuple[float, float]: ...


class DrawnInterval(Protocol):
    """An interval, as far as a figure shows it."""

    @property
    def estimate(self) -> float | None: ...

    @property
    def low(self) -> float | None: ...

    @property
    def high(self) -> float | None: ...

    @property
    def reason(self) -> str | None: ...

    @property
    def approx_coverage(self) -> float | None: ...

    @property
    def mark(self) -> str: ...


def metric_axis(metric: DrawnMetric, title: str = "") -> Axis:
    """The metric's axis: its own ends, logarithmic for money and time."""
    low, high = (bound if math.isfinite(bound) else None for bound in metric.bounds)
    unit = "" if metric.unit in ("fraction", "ratio") else f", {metric.unit}"
    arrow = {"higher": ", higher is better", "lower": ", lower is better"}.get(metric.better, "")
    log = metric.unit in ("USD", "s")
    return Axis(title=f"{title or metric.title}{unit}{arrow}", unit=metric.unit, low=low, high=high, log=log)


def key_name(key: Mapping[str, str | int | None], tier_scheme: str | None) -> str:
    """Return a group's values in one line, with the meaning of a tier; a dash if it has none."""
    scheme = key.get("tier_scheme", tier_scheme)
    known = {name: value for name, value in key.items() if name != "tier_scheme" and value is not None}
    values = [
        tier_text(str(value), None if scheme is None else str(scheme)) if name == "tier" else key_text(value)
        for name, value in known.items()
    ]
    return " / ".join(values) or (key_text(None) if key else "all runs")


def confidence_text(level: float, intervals: Sequence[DrawnInterval] = ()) -> str:
    """Return the level of intervals as a note, with how many are known to fall short of it.

    >>> confidence_text(0.95)
    '95% CIs'
    """
    text = f"{exact_percent(level)} CIs"
    reached = sorted(interval.approx_coverage for interval in intervals if interval.approx_coverage is not None)
    if not reached:
        return text
    ends = list(dict.fromkeys(percent(share, decimals=0) for share in (reached[0], reached[-1])))
    return f"{text}, {len(reached)} of {len(intervals)} with at least {' to '.join(ends)} actual coverage"


def own_scales(left: str, right: str) -> Axis:
    """Return the axis of rows that each have a scale of their own around 0."""
    return Axis(title=f"Left: {left}, right: {right}; each row has its own scale", low=-1, high=1, bare=True)


def change_with_limits(interval: DrawnInterval, unit: str, *, is_ratio: bool = False) -> str:
    """Return a difference, or a ratio, with its interval in parentheses."""
    estimate, low, high = interval.estimate, interval.low, interval.high
    if estimate is None:
        return "unknown"
    text = ratio_text(estimate) if is_ratio else difference_text(estimate, unit, signed=True)
    if low is None or high is None:
        return text
    ends = ratio_bounds(low, high) if is_ratio else bounds_text(low, high, unit, of_difference=True)
    return f"{text} ({ends}, {interval.mark})" if interval.mark else f"{text} ({ends})"


def scaled_estimate(
    interval: DrawnInterval,
    *,
    unit: str,
    label: str,
    text: str,
    sentence: str,
    is_sure: bool,
    limit: float | None = None,
    way: int = 1,
    is_ratio: bool = False,
) -> Estimate:
    """The interval as a fraction of the farthest number in its row; `way` -1 has lower values at the right.

    Ratios are placed by their logarithms, so that 1 is in the middle.
    """

    def place(end: float) -> float:
        return math.log(end) if is_ratio else end

    ends = [place(end) for end in (interval.estimate, interval.low, interval.high, limit) if end is not None]
    farthest = max((abs(end) for end in ends if math.isfinite(end)), default=0.0) or 1.0

    def share(end: float | None) -> float | None:
        return None if end is None else way * place(end) / (1.05 * farthest)

    low, high = (share(end) for end in (interval.low, interval.high)[::way])
    return Estimate(
        label=label,
        value=share(interval.estimate),
        low=low,
        high=high,
        faint=not is_sure,
        limit=share(limit),
        text=text,
        note=interval.reason or "",
        tooltip=f"{sentence} {change_with_limits(interval, unit, is_ratio=is_ratio)}",
    )
