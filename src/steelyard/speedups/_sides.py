"""The benchmarks of one version of the code as columns, and many such sides pooled so that arithmetic runs once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, compress

import numpy as np
from numpy.typing import NDArray

from steelyard.records import SECONDS, BenchmarkPlace, Timing, TimingStatus

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Side:
    """One version of the code (nop, oracle or an agent's) with its benchmarks, sorted by name."""

    names: tuple[str, ...]
    places: tuple[BenchmarkPlace, ...]
    values: Floats
    """All samples, benchmark after benchmark."""
    counts: Ints
    """How many samples each benchmark has."""
    medians: Floats
    """The median that the tool stated; NaN where it stated none. Samples win over it."""
    statuses: tuple[TimingStatus, ...]
    stated: Floats | None = None
    """Speedup over nop, in files that state this instead of times; None elsewhere."""
    versions: tuple[str | None, ...] = ()
    environments: frozenset[str] = frozenset()
    processes: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Sizes of the processes of a benchmark (by position), where they are known and matter."""
    intervals99: Floats | None = None
    """The tool's own 99% CIs, low and high; asv's rule falls back on them."""
    rounds: Ints | None = None
    """How many samples the tool took, kept or not; -1 where that is unknown."""
    other_units: tuple[str, ...] = ()
    """Names that are not compared because they are not in seconds."""

    @cached_property
    def measured(self) -> Flags:
        """Which benchmarks have a number at all."""
        timed = (self.counts > 0) | np.isfinite(self.medians)
        return timed if self.stated is None else timed | np.isfinite(self.stated)

    @cached_property
    def measured_names(self) -> tuple[str, ...]:
        """The names of those."""
        return self.names if self.measured.all() else tuple(compress(self.names, self.measured.tolist()))

    @cached_property
    def groups(self) -> dict[str, list[int]]:
        """For each of those the number of its module, its class and its function."""
        places = list(compress(self.places, self.measured.tolist()))
        depths = {"modules": 1, "classes": 2, "functions": 3}
        return {name: _numbered(place[:depth] for place in places) for name, depth in depths.items()}


def _numbered(names: Iterable[tuple[str | None, ...]]) -> list[int]:
    """Each name as a number, in the order in which they first come."""
    numbers: dict[tuple[str | None, ...], int] = {}
    return [numbers.setdefault(name, len(numbers)) for name in names]


def side_of(timings: Iterable[Timing]) -> Side:
    """The side that these timings make (sources see to it that no name comes twice); only seconds are kept."""
    everything = sorted(timings, key=lambda timing: timing.name)
    kept = [timing for timing in everything if timing.unit == SECONDS]
    samples = [timing.usable_samples if timing.status == "ok" else () for timing in kept]
    summaries = [timing.summary for timing in kept]
    return Side(
        names=tuple(timing.name for timing in kept),
        places=tuple(timing.place for timing in kept),
        values=np.array([value for own_samples in samples for value in own_samples], dtype=np.float64),
        counts=np.array([len(own_samples) for own_samples in samples], dtype=np.int64),
        medians=_floats(timing.summary.median if timing.summary and timing.status == "ok" else None for timing in kept),
        stated=_floats(timing.speedup for timing in kept) if any(timing.speedup for timing in kept) else None,
        statuses=tuple(timing.status for timing in kept),
        versions=tuple(timing.code_version for timing in kept),
        environments=frozenset(timing.environment for timing in kept if timing.environment),
        processes={
            index: timing.process_sizes
            for index, timing in enumerate(kept)
            if timing.process_sizes
            and max(timing.process_sizes) > 1
            and len(samples[index]) == len(timing.samples or ())
        },
        intervals99=np.column_stack(
            (
                _floats(summary.ci99_low if summary else None for summary in summaries),
                _floats(summary.ci99_high if summary else None for summary in summaries),
            )
        ),
        rounds=np.array(
            [-1 if summary is None or summary.rounds is None else summary.rounds for summary in summaries],
            dtype=np.int64,
        ),
        other_units=tuple(timing.name for timing in everything if timing.unit != SECONDS),
    )


def _floats(values: Iterable[float | None]) -> Floats:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Pool:
    """Many sides one after another; rows are benchmarks."""

    sides: tuple[Side, ...]
    starts: dict[int, int]
    """First row of each side, by the side's identity."""
    counts: Ints
    """How many samples each row has."""
    offsets: Ints
    """Where each row's samples begin in `values`, and one after the last."""
    values: Floats
    """All samples, sorted within each row."""
    medians: Floats
    """Median of the samples, else the one the tool stated; NaN where there is neither."""
    stated: Floats | None
    """Speedups over nop that files state instead of times; None when no side has any."""

    def row(self, side: Side) -> int:
        """The side's first row."""
        return self.starts[id(side)]


def pooled(sides: Iterable[Side]) -> Pool:
    """All distinct sides in one pool, with the median of every row."""
    distinct = tuple({id(side): side for side in sides}.values())
    lengths = [len(side.names) for side in distinct]
    counts = np.concatenate([np.empty(0, dtype=np.int64), *(side.counts for side in distinct)])
    values = np.concatenate([np.empty(0), *(side.values for side in distinct)])
    medians = np.concatenate([np.empty(0), *(side.medians for side in distinct)])
    offsets = np.concatenate(([0], np.cumsum(counts)))
    for size, rows, block in blocks(values, offsets, counts):
        block.sort(axis=1)
        values[offsets[rows][:, None] + np.arange(size)] = block
        with np.errstate(over="ignore"):  # an overflowing median is infinite, hence not valid
            medians[rows] = (block[:, (size - 1) // 2] + block[:, size // 2]) / 2
    stated = None
    if any(side.stated is not None for side in distinct):
        stated = np.concatenate(
            [np.full(len(side.names), np.nan) if side.stated is None else side.stated for side in distinct]
        )
    starts = {id(side): start for side, start in zip(distinct, accumulate(lengths, initial=0), strict=False)}
    return Pool(distinct, starts, counts, offsets, values, medians, stated)


def blocks(values: Floats, offsets: Ints, counts: Ints) -> Iterator[tuple[int, Ints, Floats]]:
    """Rows of equal length as matrices: sample count, rows, samples."""
    for size in np.unique(counts[counts > 0]).tolist():
        rows = np.flatnonzero(counts == size)
        yield size, rows, values[offsets[rows][:, None] + np.arange(size)]
