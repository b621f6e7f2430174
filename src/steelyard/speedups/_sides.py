"""The benchmarks of one version of the code as columns, and many such sides pooled so that arithmetic runs once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from steelyard.records.timing import SECONDS, Place, Timing, TimingStatus

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

LEVELS = ("module", "class", "function", "overall")
"""The levels from the coarsest up to all benchmarks together; as level 1 to 4 in the specification's order."""


@dataclass(frozen=True, eq=False)
class Side:
    """One version of the code (nop, oracle or an agent's) with its benchmarks, sorted by name."""

    names: tuple[str, ...]
    places: tuple[Place, ...]
    values: Floats
    """All samples, benchmark after benchmark."""
    counts: Ints
    """How many samples each benchmark has."""
    medians: Floats
    """The median that the tool stated; NaN where it stated none. Samples win over it."""
    stated: Floats
    """Speedup over nop, in files that state this instead of times; NaN elsewhere."""
    statuses: tuple[TimingStatus, ...]
    versions: tuple[str | None, ...] = ()
    environments: frozenset[str] = frozenset()
    processes: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Sizes of the processes of a benchmark (by position), where they are known and matter."""
    intervals99: Floats | None = None
    """The tool's own 99 % intervals, low and high; asv's rule falls back on them."""
    rounds: Ints | None = None
    """How many samples the tool took, kept or not; -1 where that is unknown."""
    other_units: tuple[str, ...] = ()
    """Names that were set aside because they are not in seconds."""

    @cached_property
    def measured(self) -> Flags:
        """Which benchmarks have a number at all."""
        return (self.counts > 0) | np.isfinite(self.medians) | np.isfinite(self.stated)

    @cached_property
    def level_codes(self) -> tuple[Ints, Ints, Ints]:
        """For each benchmark the number of its module, class and function."""
        functions: dict[Place, int] = {}
        function_codes = [functions.setdefault(place, len(functions)) for place in self.places]
        modules: dict[str | None, int] = {}
        classes: dict[tuple[str | None, str | None], int] = {}
        of_module = np.array([modules.setdefault(place.module, len(modules)) for place in functions], dtype=np.int64)
        of_class = np.array([classes.setdefault(place[:2], len(classes)) for place in functions], dtype=np.int64)
        codes = np.array(function_codes, dtype=np.int64)
        if not functions:
            return codes, codes, codes
        return of_module[codes], of_class[codes], codes


def side_of(timings: Iterable[Timing]) -> Side:
    """The side that these timings make (sources see to it that no name comes twice); only seconds are kept."""
    everything = sorted(timings, key=lambda timing: timing.name)
    kept = [timing for timing in everything if timing.unit == SECONDS]
    samples = [timing.usable_samples if timing.status == "ok" else () for timing in kept]
    summaries = [timing.summary for timing in kept]
    return Side(
        names=tuple(timing.name for timing in kept),
        places=tuple(timing.place for timing in kept),
        values=np.array([value for one in samples for value in one], dtype=np.float64),
        counts=np.array([len(one) for one in samples], dtype=np.int64),
        medians=_floats(timing.summary.median if timing.summary and timing.status == "ok" else None for timing in kept),
        stated=_floats(timing.speedup if timing.status == "ok" else None for timing in kept),
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
                _floats(one.ci99_low if one else None for one in summaries),
                _floats(one.ci99_high if one else None for one in summaries),
            )
        ),
        rounds=np.array([-1 if one is None or one.rounds is None else one.rounds for one in summaries], dtype=np.int64),
        other_units=tuple(timing.name for timing in everything if timing.unit != SECONDS),
    )


def _floats(values: Iterable[float | None]) -> Floats:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Pool:
    """Many sides one after another. Rows are benchmarks; samples are sorted within each row."""

    starts: dict[int, int]
    """First row of each side, by the side's identity."""
    values: Floats
    offsets: Ints
    counts: Ints
    medians: Floats
    """Median of the samples, else the stated one; NaN where there is neither."""
    stated: Floats

    def row(self, side: Side) -> int:
        """The side's first row."""
        return self.starts[id(side)]


def pooled(sides: Sequence[Side]) -> Pool:
    """All distinct sides in one pool, with the median of every row."""
    distinct = list({id(side): side for side in sides}.values())
    starts: dict[int, int] = {}
    row = 0
    for side in distinct:
        starts[id(side)] = row
        row += len(side.names)
    counts = np.concatenate([np.empty(0, dtype=np.int64), *[side.counts for side in distinct]])
    values = _joined([side.values for side in distinct])
    offsets = np.concatenate(([0], np.cumsum(counts)))
    medians = _joined([side.medians for side in distinct])
    for count, rows, block in blocks(values, offsets, counts):
        block.sort(axis=1)
        if not isinstance(rows, slice):  # a slice is a view: sorting it has sorted the values themselves
            values[offsets[rows][:, None] + np.arange(count)] = block
        middle = block[:, (count - 1) // 2]
        medians[rows] = middle if count % 2 else (middle + block[:, count // 2]) / 2
    return Pool(starts, values, offsets, counts, medians, _joined([side.stated for side in distinct]))


def blocks(values: Floats, offsets: Ints, counts: Ints) -> Iterable[tuple[int, Ints | slice, Floats]]:
    """Rows of equal length as matrices: sample count, rows, samples. One view, not a copy, when all counts agree."""
    if counts.size and counts[0] > 0 and (counts == counts[0]).all():
        yield int(counts[0]), slice(None), values.reshape(-1, int(counts[0]))
        return
    for count in np.unique(counts[counts > 0]).tolist():
        rows = np.flatnonzero(counts == count)
        yield count, rows, values[offsets[rows][:, None] + np.arange(count)]


def _joined(parts: list[Floats]) -> Floats:
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.float64)
