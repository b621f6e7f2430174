"""A Run record of ours with `benchmarks`: it brings tests, snapshot, cost and turns along with the times."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.errors import UnreadableFileError
from steelyard.files import amount
from steelyard.records import DecodeError, Run, Timing, TimingSummary, decode_run, place_of
from steelyard.sources.formats._timing_format import OpenedFile, TimingFile, TimingFormat, collected, total_seconds


def _recognizes(opened: OpenedFile) -> bool:
    values = opened.values
    return isinstance(values, dict) and "task" in values and isinstance(values.get("benchmarks"), list)


def _read(opened: OpenedFile) -> TimingFile:
    try:
        run = decode_run(opened.text.strip().encode())
    except DecodeError as error:
        raise UnreadableFileError(str(opened.path), error.reason, hint=error.hint) from error
    return collected(
        opened.path,
        "native",
        _timings(run),
        tests=run.tests,
        snapshot=run.snapshot,
        cost_usd=amount(run.cost_usd),
        trajectory_length=run.iterations,
        run=run,
    )


def _timings(run: Run) -> Iterator[Timing]:
    for benchmark in run.benchmarks or ():
        known = benchmark.samples or benchmark.seconds is not None
        yield Timing(
            name=benchmark.name,
            **place_of(benchmark.name)._asdict(),
            status="ok" if known else "missing",
            samples=benchmark.samples or None,
            measured_seconds=total_seconds(benchmark.samples or ()),
            summary=None if benchmark.seconds is None else TimingSummary(median=benchmark.seconds),
        )


FORMAT = TimingFormat(
    name="native",
    title="Steelyard run record with benchmarks",
    yields=("benchmarks", "tests", "snapshot", "cost_usd", "iterations"),
    recognizes=_recognizes,
    read=_read,
)
