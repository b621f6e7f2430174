"""Exact sums where an engine adds: each double is split into whole numbers, which add up the same in any order.

The powers of two that the numbers have are looked up first. A window of them is moved into 0 to 1, and each number in
it is cut into limbs of 30 bits; limbs times counts stay below 2^63 up to 2^33 rows. What is in no window yet takes
the next one, so that subnormal numbers and 1e300 add up together. Python joins the sums of limbs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import polars as pl

from steelyard.statistics import ExactSums

VALUE, COUNT = "_value", "_count"
BITS = 30
_MAX_LIMBS = 8
_SPAN = BITS * _MAX_LIMBS - 53
"""Powers of two that one window holds: each number takes 53 bits below its own."""
_INFINITE = {"_up": math.inf, "_down": -math.inf}


class _Window(NamedTuple):
    """Numbers from 2^low on and below 2^high."""

    low: int
    high: int

    @property
    def limbs(self) -> int:
        return -(-(self.high - self.low + 53) // BITS)


def finite_size() -> nw.Expr:
    """How large a number is, where it is neither 0 nor infinite."""
    size = nw.col(VALUE).abs()
    return nw.when((size > 0) & (size < math.inf)).then(size)


def _windows(least: float | None, most: float | None) -> Iterator[_Window]:
    if least is None or most is None:
        return
    low, end = math.frexp(least)[1] - 1, math.frexp(most)[1]
    while low < end:
        yield _Window(low, min(low + _SPAN, end))
        low += _SPAN


def limb_sums(
    rows: nw.LazyFrame[Any],  # Any: wherever the engine keeps it
    keys: Sequence[str],
    least: float | None,
    most: float | None,
) -> nw.LazyFrame[Any]:
    """For each group the sums of limbs, the count of values and of either infinity.

    `rows` has the keys, `VALUE` and `COUNT`; `least` and `most` bound the sizes of its values.
    """
    value, count = nw.col(VALUE), nw.col(COUNT)
    signed = nw.when(value < 0).then(-count).otherwise(count)
    finite = finite_size()
    windows = list(_windows(least, most))
    scaled = {
        f"_scaled_{number}": nw.when(_inside(finite, window)).then(_times_power(finite, -window.high)).otherwise(0.0)
        for number, window in enumerate(windows)
    }
    staged = rows.with_columns(
        signed.alias("_signed"),
        nw.when(~value.is_null()).then(count).alias("_known"),
        *(nw.when(value == infinite).then(count).alias(name) for name, infinite in _INFINITE.items()),
        *(column.alias(name) for name, column in scaled.items()),
    )
    limbs = [
        (_limb(nw.col(f"_scaled_{number}"), limb).cast(nw.Int64) * nw.col("_signed")).alias(_name(number, limb))
        for number, window in enumerate(windows)
        for limb in range(1, window.limbs + 1)
    ]
    summed = ["_known", *_INFINITE, *(_name(n, limb) for n, w in enumerate(windows) for limb in range(1, w.limbs + 1))]
    parts = staged.select(*keys, "_known", *_INFINITE, *limbs)
    added = parts.group_by(*keys).agg(*(nw.col(name).sum() for name in summed))
    return added.with_columns(*(nw.col(name).cast(nw.Int64) for name in summed))


def _inside(size: nw.Expr, window: _Window) -> nw.Expr:
    inside = size >= math.ldexp(1.0, window.low)
    return inside & (size < math.ldexp(1.0, window.high)) if window.high < 1024 else inside


def _times_power(size: nw.Expr, exponent: int) -> nw.Expr:
    """The number times a power of two that need not be a double itself."""
    half = exponent // 2
    return size * math.ldexp(1.0, half) * math.ldexp(1.0, exponent - half)


def _limb(scaled: nw.Expr, number: int) -> nw.Expr:
    """Return the limb's 30 bits: the integer part after moving the point, minus that of the previous limb."""
    upper = _floor(scaled, BITS * number)
    return upper if number == 1 else upper - _floor(scaled, BITS * (number - 1)) * 2.0**BITS


def _floor(scaled: nw.Expr, power: int) -> nw.Expr:
    """Return the integer part after moving the point; Spark returns at most 64 bits."""
    moved = scaled * 2.0**power
    if power < 63:
        return moved.floor()
    return nw.when(moved < 2.0**53).then(moved.floor().cast(nw.Float64)).otherwise(moved)


def _name(window: int, limb: int) -> str:
    return f"_limb_{window}_{limb}"


def joined_sums(found: pl.DataFrame, least: float | None, most: float | None) -> ExactSums:
    """The exact sums in the rows of what `limb_sums` gave."""
    windows = list(_windows(least, most))
    exponent = min((window.high - BITS * window.limbs for window in windows), default=0)
    numerators = [0] * found.height
    for number, window in enumerate(windows):
        for limb in range(1, window.limbs + 1):
            shift = window.high - BITS * limb - exponent
            for place, added in enumerate(found[_name(number, limb)].fill_null(0).to_list()):
                numerators[place] += added << shift
    counts = found["_known"].fill_null(0).to_numpy().astype(np.int64)
    up, down = (found[name].fill_null(0).to_numpy() > 0 for name in _INFINITE)
    non_finite = np.where(up & down, np.nan, np.where(up, np.inf, np.where(down, -np.inf, 0.0)))
    return ExactSums(numerators, exponent, counts, non_finite)
