"""How long one benchmark took under one version of the code, whatever tool measured it."""

from __future__ import annotations

import math
from functools import lru_cache
from sys import intern
from typing import Literal, NamedTuple

import msgspec

from steelyard.records._record_types import Count, Name, Record

TimingStatus = Literal["ok", "failed", "skipped", "missing"]

SECONDS = "seconds"
"""The unit of what can be compared; other units (bytes, a tracked number) are read and not compared."""


class BenchmarkPlace(NamedTuple):
    """Place of a benchmark in the tree that levels are made of. None where there is no such part."""

    module: str | None
    class_name: str | None
    function: str | None


def place_of(name: str) -> BenchmarkPlace:
    """Return the place in a benchmark's name.

    The text from the first "(" on is parameters. Of three or more parts, a capitalized last but one is the class.

    >>> place_of("pkg.mod.Suite.time_f(1, 'x.y')")
    BenchmarkPlace(module='pkg.mod', class_name='Suite', function='time_f')
    >>> place_of("pkg.suite.time_f")
    BenchmarkPlace(module='pkg.suite', class_name=None, function='time_f')
    """
    return _place_of_function(name.split("(", 1)[0])


@lru_cache(maxsize=4096)  # a function comes again with other parameters, and under every side
def _place_of_function(name: str) -> BenchmarkPlace:
    parts = [part for part in name.strip().split(".") if part]
    if not parts:
        return BenchmarkPlace(None, None, None)
    # Interned: a module is named with each of its benchmarks, and one text is cheaper to keep and compare than many.
    if len(parts) >= 3 and parts[-2][:1].isupper():
        return BenchmarkPlace(intern(".".join(parts[:-2])), intern(parts[-2]), parts[-1])
    return BenchmarkPlace(intern(".".join(parts[:-1])) or None, None, parts[-1])


class TimingSummary(Record, frozen=True, kw_only=True):
    """What a tool kept of the samples."""

    median: float | None = None
    """The median; None when the tool kept none."""
    q25: float | None = None
    """First quartile."""
    q75: float | None = None
    """Third quartile."""
    ci99_low: float | None = None
    """Lower end of the tool's own 99% CI; minus infinity when unknown."""
    ci99_high: float | None = None
    """Upper end of the same."""
    rounds: Count | None = None
    """How many samples there were."""


class Timing(Record, frozen=True, kw_only=True):
    """One benchmark with one set of parameters, measured once under one version of the code."""

    name: Name
    """The tool's own full name with parameters; two sides are matched by it."""
    suite: str | None = None
    """The file or collection the benchmark belongs to, where the tool reports it."""
    module: str | None = None
    """The module, first level of the tree."""
    class_name: str | None = msgspec.field(name="class", default=None)
    """The class; None for a plain function."""
    function: str | None = None
    """The function."""
    params: tuple[str, ...] = ()
    """Values of the parameters, as the tool writes them."""
    unit: str = SECONDS
    """What the numbers are in."""
    status: TimingStatus = "ok"
    """`failed` and `skipped` as the tool reports; `missing` when it lists the benchmark without a number."""
    samples: tuple[float, ...] | None = None
    """Each measured time; None when the tool kept only a summary."""
    measured_seconds: float | None = None
    """Sum of all measured times, with repetitions that a sample averages; None when that is not known."""
    process_sizes: tuple[Count, ...] | None = None
    """How many of the samples each process gave, in order; None when that is not known."""
    summary: TimingSummary | None = None
    """The tool's notes on the samples."""
    speedup: float | None = None
    """Speedup over the unchanged code, in files that state this instead of times."""
    code_version: str | None = None
    """Digest of the benchmark's own code: two versions are not comparable."""
    environment: str | None = None
    """Machine and environment of the measurement."""

    def __post_init__(self) -> None:
        if self.process_sizes is not None and sum(self.process_sizes) != len(self.samples or ()):
            raise ValueError(f"benchmark {self.name!r}: the sample counts of its processes do not sum to its samples")

    @property
    def place(self) -> BenchmarkPlace:
        """The benchmark's place in the tree."""
        return BenchmarkPlace(self.module, self.class_name, self.function)

    @property
    def usable_samples(self) -> tuple[float, ...]:
        """The samples that are numbers."""
        return tuple(filter(math.isfinite, self.samples or ()))
