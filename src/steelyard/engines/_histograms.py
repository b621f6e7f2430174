"""The statistics of groups from how often each value occurs, in an engine that can hold more than memory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import polars as pl

from steelyard.engines._exact_limbs import COUNT, VALUE, finite_size, joined_sums, limb_sums
from steelyard.statistics import ExactSums, Floats, GroupedValues, Ints, midpoint

if TYPE_CHECKING:
    from steelyard.engines._lazy import Source

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
