"""Why runs have no cost by the price book, told of all runs of a table or of some of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from steelyard.records import Finding
from steelyard.tables._fact_columns import NO_PRICE

Mask = NDArray[np.bool_]


@dataclass(slots=True)
class Unpriced:
    """The reasons that were met, each under a number: a column of numbers is small, and its rows can be chosen."""

    book: str
    _numbers: dict[tuple[str, bool], int] = field(default_factory=dict)

    def number(self, reason: str, *, least: bool) -> int:
        """The number of a reason; with `least` the run still has a lower bound of its cost."""
        return self._numbers.setdefault((reason, least), len(self._numbers))

    def findings(self, frame: pl.LazyFrame, rows: Mask | None = None) -> list[Finding]:
        """One finding for each reason that holds of the rows, with how many runs it holds of."""
        if NO_PRICE not in frame.collect_schema().names():
            return []
        numbers = frame.select(NO_PRICE).collect().to_series()
        chosen = numbers if rows is None else numbers.filter(pl.Series(rows))
        counts = dict(chosen.drop_nulls().value_counts().iter_rows())
        reasons = sorted((least, reason, counts[at]) for (reason, least), at in self._numbers.items() if at in counts)
        return [self._finding(reason, count, least=least) for least, reason, count in reasons]

    def _finding(self, reason: str, count: int, *, least: bool) -> Finding:
        where = f"price book {self.book}"
        if least:
            runs = "1 run is" if count == 1 else f"{count:,} runs are"
            message = f"{runs} priced as if all calls were small, so that the cost is a lower bound: {reason}"
            return Finding(code="priced_at_least", message=message, where=where)
        runs = "1 run has" if count == 1 else f"{count:,} runs have"
        return Finding(code="unpriced", message=f"{runs} no cost: {reason}", where=where)


def number_column(numbers: Sequence[int | None]) -> pl.Series:
    """The column that holds the numbers, null for a run with a price."""
    return pl.Series(NO_PRICE, numbers, dtype=pl.Int32)
