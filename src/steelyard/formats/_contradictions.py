"""Contradictions within a timing file, shown as findings, since one of the two values must be wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median

from steelyard.formats._timing_format import TimingFile
from steelyard.records import Finding, Timing, TimingSummary

CODE = "contradicting_timings"
TOLERANCE = 0.01
"""Fraction by which two statements of one number may differ: tools round what they write."""
SHOWN = 5
"""Maximum number of names in a message; the rest are counted."""


def contradictions(file: TimingFile) -> Iterator[Finding]:
    """A finding for each kind of contradiction in the file, with the benchmarks that show it."""
    for what, shows in _KINDS:
        names = [timing.name for timing in file.timings if shows(timing, timing.summary or _NO_SUMMARY)]
        if names:
            yield contradiction(what, names, where=file.path)


def contradiction(what: str, names: list[str], *, where: str) -> Finding:
    """The finding that these benchmarks contradict themselves."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return Finding(code=CODE, message=f"{what}: {', '.join(names[:SHOWN])}{more}", where=where)


def differ(value: float, other: float) -> bool:
    """Whether two statements of one number are further apart than rounding explains.

    >>> differ(1.0, 1.005), differ(1.0, 2.0)
    (False, True)
    """
    return abs(value - other) > TOLERANCE * max(abs(value), abs(other))


_NO_SUMMARY = TimingSummary()


def _other_median(timing: Timing, summary: TimingSummary) -> bool:
    samples = timing.usable_samples
    return (
        timing.status == "ok"
        and summary.median is not None
        and bool(samples)
        and differ(summary.median, median(samples))
    )


def _other_number(timing: Timing, summary: TimingSummary) -> bool:
    return timing.samples is not None and summary.rounds is not None and summary.rounds != len(timing.samples)


def _samples_of_nothing(timing: Timing, _summary: TimingSummary) -> bool:
    return timing.status != "ok" and bool(timing.samples)


def _out_of_order(_timing: Timing, summary: TimingSummary) -> bool:
    pairs = (
        (summary.q25, summary.median),
        (summary.median, summary.q75),
        (summary.q25, summary.q75),
        (summary.ci99_low, summary.ci99_high),
    )
    return any(low is not None and high is not None and low > high and differ(low, high) for low, high in pairs)


def _below_zero(timing: Timing, summary: TimingSummary) -> bool:
    return any(value < 0 for value in (summary.median or 0.0, *timing.usable_samples))


_KINDS: tuple[tuple[str, Callable[[Timing, TimingSummary], bool]], ...] = (
    ("the reported median differs from that of the samples; the samples are used", _other_median),
    ("the reported number of rounds differs from the number of samples", _other_number),
    ("reported as failed or skipped, but has samples; they are ignored", _samples_of_nothing),
    ("quartiles, median or interval are out of order", _out_of_order),
    ("a time is negative", _below_zero),
)
