"""Rows to groups: each distinct combination of keys gets a number, in the order the groups are shown."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from steelyard.engines._grouped import Grouping
from steelyard.errors import UsageError

Key = tuple[str | int | None, ...]


def group_rows(frame: pl.LazyFrame, by: Sequence[str], n: int) -> tuple[list[Key], Grouping]:
    """The groups' keys, sorted with missing ones last, and which rows belong to each."""
    names = frame.collect_schema().names()
    codes = np.zeros(n, np.int64)
    levels: list[list[str | int | None]] = []
    for name in by:
        column = (
            _column(frame, name) if name in names else pl.Series(name, [None], dtype=pl.String).new_from_index(0, n)
        )
        own, values = _codes_of(column)
        if math.prod(map(len, [*levels, values])) >= 2**62:
            raise UsageError("the keys have too many combinations to be numbered", hint="group by fewer keys")
        codes = codes * max(len(values), 1) + own
        levels.append(values)
    keys, dense = _decoded(codes, levels, n)
    return keys, Grouping.of(dense, len(keys))


def _column(frame: pl.LazyFrame, name: str) -> pl.Series:
    return frame.select(name).collect().to_series()


def _codes_of(column: pl.Series) -> tuple[NDArray[np.int64], list[str | int | None]]:
    """Each row's index into the sorted distinct values; missing comes last."""
    distinct = column.unique().drop_nulls().sort()
    found: list[str | int | None] = distinct.to_list()
    if column.dtype == pl.String:
        physical = column.cast(pl.Enum(distinct)).to_physical().cast(pl.Int64)
    else:
        physical = distinct.search_sorted(column.fill_null(distinct[0] if found else 0)).cast(pl.Int64)
        physical = physical.set(column.is_null(), None)
    if column.null_count():
        found.append(None)
    codes = physical.fill_null(len(found) - 1).to_numpy().astype(np.int64)
    return codes, found


def _decoded(
    codes: NDArray[np.int64], levels: list[list[str | int | None]], n: int
) -> tuple[list[Key], NDArray[np.uint32]]:
    space = math.prod(max(len(level), 1) for level in levels)
    if space <= max(4 * n, 1_000_000):
        present = np.flatnonzero(np.bincount(codes, minlength=space)) if n else np.zeros(0, np.int64)
        renumbered = np.zeros(space, np.uint32)
        renumbered[present] = np.arange(len(present), dtype=np.uint32)
        dense = renumbered[codes]
    else:
        present, inverse = np.unique(codes, return_inverse=True)
        dense = inverse.astype(np.uint32)
    keys: list[Key] = []
    for code in present.tolist():
        parts: list[str | int | None] = []
        rest = code
        for level in reversed(levels):
            rest, index = divmod(rest, max(len(level), 1))
            parts.append(level[index])
        keys.append(tuple(reversed(parts)))
    return keys, dense
