"""Interface of all engines.

An engine counts, sorts and adds whole numbers; every division is made in Python, rounded once. So the same runs give
the same bits on every engine. `by` are the keys that make a group; missing values of a key come last in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from steelyard.metrics import Value
from steelyard.profiles import Profile
from steelyard.records import Missing
from steelyard.statistics import ExactSums, Floats, Ints, WeightBy

First = TypeVar("First")
Other = TypeVar("Other")
Key = tuple[str | int | None, ...]
GroupedStatistics = dict[str, NDArray[Any]]  # Any: floats, NaN where there is no value; whole numbers for counts
"""By the name of each statistic one array, one element a group."""
RUNS = "runs"
"""The column of a tally that counts all runs."""


class Groups(Protocol):
    """The groups that occur, in order."""

    @property
    def sizes(self) -> Ints:
        """How many runs each has."""
        ...

    def keys(self, numbers: Sequence[int] | None = None) -> list[Key]:
        """The keys of the numbered groups, or of all of them."""
        ...


class CodedRuns(Groups, Protocol):
    """The same with the group of each run."""

    @property
    def rows(self) -> NDArray[np.uint32]:
        """The number of each run's group, in the order of `Engine.values`."""
        ...


class Rows(Protocol):
    """Rows in order, computed when they are asked for and handed out in pieces."""

    def between(self, start: int, stop: int) -> Iterator[tuple[Any, ...]]:  # Any: texts, flags and numbers
        """Some of them."""
        ...


class Engine(Protocol):
    """Evaluates metrics over one table of runs."""

    n: int
    """Total number of runs."""
    profile: Profile
    """Whose constants formulas take."""
    weight_by: WeightBy
    """Unit of analysis of means."""

    @property
    def columns(self) -> frozenset[str]:
        """The columns that the table has."""
        ...

    def with_profile(self, profile: Profile) -> Engine:
        """The same runs by another profile."""
        ...

    def weighted(self, weight_by: WeightBy) -> Engine:
        """The same runs with another weight in means."""
        ...

    def column(self, name: str) -> Value:
        """A fact or run metric as a column expression; Missing, with the reason, where no run can have it."""
        ...

    def groups(self, by: Sequence[str], /) -> Groups:
        """The groups that occur."""
        ...

    def statistics(self, names: Sequence[str], by: Sequence[str]) -> Mapping[str, GroupedStatistics | Missing]:
        """Every declared statistic of each named fact or metric in each group."""
        ...

    def means(
        self, names: Sequence[str], by: Sequence[str], *, complete: bool = False
    ) -> Mapping[str, GroupedStatistics | Missing]:
        """The `mean` as it is weighted, `sum` and `count` alone; with `complete`, of the runs that have all names."""
        ...

    def tally(
        self,
        by: Sequence[str],
        *,
        counts: Mapping[str, nw.Expr],
        least: Mapping[str, nw.Expr] | None = None,
        most: Mapping[str, nw.Expr] | None = None,
    ) -> pl.DataFrame:
        """A row for each group, with its keys, all of its `runs`, in how many each condition holds, and extremes."""
        ...

    def sums(self, columns: Mapping[str, nw.Expr], by: Sequence[str]) -> tuple[pl.DataFrame, dict[str, ExactSums]]:
        """The keys of each group, and the exact sums of the columns in them."""
        ...

    def hits(self, condition: nw.Expr, shown: Sequence[nw.Expr]) -> Rows:
        """The runs for which the condition holds, with what is shown of each, in the order of that."""
        ...

    def why_missing(self, name: str, by: Sequence[str], key: Key) -> str:
        """Why a metric is missing in a group where no run has it: the reason of one run, whatever the order of rows."""
        ...

    def at_once(
        self, question: Callable[[], First], others: Sequence[Callable[[], Other]]
    ) -> tuple[First, list[Other]]:
        """The answers to questions that ask this engine; asked side by side where that is faster."""
        ...

    def values(self, names: Sequence[str]) -> dict[str, Floats | Missing]:
        """Each fact or metric of all runs, NaN where it is missing: eight bytes a run, for what deals runs."""
        ...

    def codes(self, by: Sequence[str]) -> CodedRuns:
        """The groups and the group of each run, in the order of `values`."""
        ...

    @property
    def tasks(self) -> Ints:
        """The number of each run's task, in the order of `values`."""
        ...


class Source(Protocol):
    """What a lazy engine needs: a frame of facts with the row number, and how such frames are computed."""

    @property
    def frame(self) -> nw.LazyFrame[Any]:  # Any: whatever Narwhals takes
        """The facts."""
        ...

    def collect(self, lazy: nw.LazyFrame[Any], /) -> pl.DataFrame:
        """The rows of a small result."""
        ...

    def keep(self, lazy: nw.LazyFrame[Any], /) -> AbstractContextManager[nw.LazyFrame[Any]]:
        """The frame, computed once and read several times while the block runs; it may be larger than memory."""
        ...

    def add(self, frame: pl.DataFrame, /) -> nw.LazyFrame[Any]:
        """Rows of ours as a frame that can be joined with the facts."""
        ...
