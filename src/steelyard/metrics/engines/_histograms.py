"""Statistics and exact sums of groups, from how often each value occurs, in an engine that can hold more than memory.

Exact sums where an engine adds: each double is split into whole numbers, which add up the same in any order. The powers
of two that the numbers have are looked up first. A window of them is moved into 0 to 1, and each number in it is cut
into limbs of 30 bits; limbs times counts stay below 2^63 up to 2^33 rows. What is in no window yet takes the next one,
so that subnormal numbers and 1e300 add up together. Python joins the sums of limbs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import polars as pl

from steelyard.metrics.engines._protocol import Source
from steelyard.statistics import ExactSums, Floats, GroupedValues, Ints, midpoint

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


_PLACE, _BEFORE = "_place", "_before"
_SIZE = "_size"


def exact_sums(
    source: Source, rows: nw.LazyFrame[Any], keys: Sequence[str], span: tuple[float | None, float | None] | None = None
) -> tuple[pl.DataFrame, ExactSums]:
    """The exact sums of `VALUE` times `COUNT` in each group, with the groups' keys; `span` is their range."""
    least, most = _span(source, rows) if span is None else span
    found = source.collect(limb_sums(rows, keys, least, most))
    return found.select(keys), joined_sums(found, least, most)


def _span(source: Source, rows: nw.LazyFrame[Any]) -> tuple[float | None, float | None]:
    """The least and the largest size among the values."""
    sizes = rows.select(finite_size().alias(_SIZE))
    (found,) = source.collect(
        sizes.select(nw.col(_SIZE).min().alias("least"), nw.col(_SIZE).max().alias("most"))
    ).iter_rows()
    return found[0], found[1]


class Histogram(GroupedValues):
    """The known values of groups with their counts, in an engine: what `CountedGroups` holds in memory."""

    def __init__(self, source: Source, kept: nw.LazyFrame[Any], group: str, groups: int, ddof: int) -> None:
        """`kept` has one row for each group and value, with `COUNT`; a missing value is null."""
        self._source, self._kept, self._group, self.ddof = source, kept, group, ddof
        value, count = nw.col(VALUE), nw.col(COUNT)
        rows = kept.select(
            nw.col(group),
            value,
            nw.when(~value.is_null()).then(count).otherwise(0).alias("_known"),
            nw.when(value.is_null()).then(count).otherwise(0).alias("_missing"),
            finite_size().alias("_least"),
            finite_size().alias("_most"),
            nw.when(~value.is_null()).then(count).otherwise(0).alias("_top"),
        )
        found = source.collect(
            rows.group_by(group).agg(
                nw.col("_known").sum(),
                nw.col("_missing").sum(),
                nw.col(VALUE).min().alias("_first"),
                nw.col(VALUE).max().alias("_last"),
                nw.col("_least").min(),
                nw.col("_most").max(),
                nw.col("_top").max(),
            )
        ).sort(group)
        self.counts: Ints = np.zeros(groups, dtype=np.int64)
        self.missing: Ints = np.zeros(groups, dtype=np.int64)
        places = found[group].to_numpy().astype(np.int64)
        self.counts[places] = found["_known"].cast(pl.Int64).to_numpy()
        self.missing[places] = found["_missing"].cast(pl.Int64).to_numpy()
        self._found = found.filter(pl.col("_known") > 0)

    @cached_property
    def smallest(self) -> Floats:
        """The smallest value of each group."""
        return self._found["_first"].to_numpy()

    @cached_property
    def largest(self) -> Floats:
        """The largest."""
        return self._found["_last"].to_numpy()

    @cached_property
    def median(self) -> Floats:
        """The middle."""
        low, high = self._at((self.size - 1) // 2, self.size // 2)
        return midpoint(low, high)

    def at(self, place: Ints | int) -> Floats:
        """The value of each group at a place of its order; 0 is the smallest."""
        (values,) = self._at(np.broadcast_to(np.asarray(place, dtype=np.int64), self.size.shape))
        return values

    def _at(self, *places: Ints) -> list[Floats]:
        """The values at several places, by running counts."""
        known = self._kept.filter(~nw.col(VALUE).is_null())
        running = known.with_columns(nw.col(COUNT).cum_sum().over(self._group, order_by=VALUE).alias(_BEFORE))
        numbers = self._numbers
        wanted = pl.DataFrame({self._group: numbers} | {f"{_PLACE}{at}": place for at, place in enumerate(places)})
        rows = running.join(self._source.add(wanted), on=self._group, how="inner")
        holds = [self._holds(f"{_PLACE}{at}") for at in range(len(places))]
        any_holds = holds[0]
        for more in holds[1:]:
            any_holds = any_holds | more
        marked = rows.filter(any_holds).select(
            nw.col(self._group), nw.col(VALUE), *(hold.alias(f"_at{at}") for at, hold in enumerate(holds))
        )
        found = self._source.collect(marked).sort(self._group)
        return [found.filter(pl.col(f"_at{at}"))[VALUE].to_numpy() for at in range(len(places))]

    @staticmethod
    def _holds(place: str) -> nw.Expr:
        after = nw.col(_BEFORE)
        return (after > nw.col(place)) & (after - nw.col(COUNT) <= nw.col(place))

    @cached_property
    def mode(self) -> Floats:
        """The most frequent value; the smallest if tied."""
        tops = self._found["_top"].cast(pl.Int64)
        if int(tops.max() or 1) == 1:  # type: ignore[arg-type] # a whole number
            return self.smallest
        wanted = pl.DataFrame({self._group: self._numbers, "_top": tops})
        rows = self._kept.filter(~nw.col(VALUE).is_null()).join(self._source.add(wanted), on=self._group, how="inner")
        first = rows.filter(nw.col(COUNT) == nw.col("_top")).group_by(self._group).agg(nw.col(VALUE).min())
        return self._source.collect(first).sort(self._group)[VALUE].to_numpy()

    @cached_property
    def sums(self) -> ExactSums:
        """The sums of values before any rounding."""
        span = self._found["_least"].min(), self._found["_most"].max()
        keys, exact = exact_sums(self._source, self._kept, [self._group], span)  # type: ignore[arg-type] # numbers
        return self._filled(keys, exact)

    def _filled(self, keys: pl.DataFrame, exact: ExactSums) -> ExactSums:
        """The sums of the groups that have values, in order."""
        place_of = np.full(len(self.counts), -1, dtype=np.int64)
        place_of[self._numbers] = np.arange(len(self._numbers))
        return exact.merged(place_of[keys[self._group].to_numpy().astype(np.int64)], len(self._numbers))

    def squares(self, scale: float) -> ExactSums:
        """The sums of squared distances from the group's mean, all times `scale`; infinite ones count as 0."""
        means = pl.DataFrame({self._group: self._numbers, "_mean": self.mean * scale})
        known = self._kept.filter(~nw.col(VALUE).is_null()).join(self._source.add(means), on=self._group, how="inner")
        gaps = known.with_columns((nw.col(VALUE) * scale - nw.col("_mean")).alias("_gap"))
        square = nw.when(nw.col("_gap").is_finite()).then(nw.col("_gap") * nw.col("_gap")).otherwise(0.0)
        squares = gaps.select(nw.col(self._group), square.alias(VALUE), nw.col(COUNT))
        return self._filled(*exact_sums(self._source, squares, [self._group]))

    @cached_property
    def _numbers(self) -> Ints:
        return np.flatnonzero(self.counts > 0)
