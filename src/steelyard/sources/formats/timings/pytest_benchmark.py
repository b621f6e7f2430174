"""pytest-benchmark JSON, with or without samples: `--benchmark-json` keeps them, `--benchmark-save` does not."""

from __future__ import annotations

from typing import Any

from steelyard.files import count, number, text_or_none
from steelyard.records import BenchmarkPlace, Timing, TimingSummary
from steelyard.sources.formats._timing_format import (
    OpenedFile,
    TimingFile,
    TimingFormat,
    collected,
    each_timing,
    environment_of,
    finite_numbers,
    total_seconds,
)

_ENVIRONMENT = ("node", "python_implementation", "python_version", "machine")


def _recognizes(opened: OpenedFile) -> bool:
    values = opened.values
    return isinstance(values, dict) and "machine_info" in values and isinstance(values.get("benchmarks"), list)


def _read(opened: OpenedFile) -> TimingFile:
    values, path = opened.values, opened.path
    environment = environment_of(values.get("machine_info"), _ENVIRONMENT)
    timings = each_timing(path, values["benchmarks"], lambda benchmark: _timing(benchmark, environment))
    return collected(path, "pytest-benchmark", timings)


def _timing(benchmark: Any, environment: str | None) -> Timing:  # Any: JSON values
    name = text_or_none(benchmark.get("fullname")) if isinstance(benchmark, dict) else None
    if name is None:
        raise ValueError("missing fullname")
    stats = benchmark.get("stats")
    stats = stats if isinstance(stats, dict) else {}
    suite, place, params = _place(name)
    samples = finite_numbers(stats.get("data")) or None
    median = number(stats.get("median"))
    return Timing(
        name=name,
        suite=suite,
        **place._asdict(),
        params=params,
        status="ok" if samples or median is not None else "missing",
        samples=samples,
        measured_seconds=total_seconds(samples or (), times=count(stats.get("iterations")) or 1),
        summary=TimingSummary(
            median=median, q25=number(stats.get("q1")), q75=number(stats.get("q3")), rounds=count(stats.get("rounds"))
        ),
        environment=environment,
    )


def _place(name: str) -> tuple[str, BenchmarkPlace, tuple[str, ...]]:
    """File, place and parameters of a pytest id.

    >>> _place("tests/test_b.py::TestC::test_m[10-a]")
    ('tests/test_b.py', BenchmarkPlace(module='tests.test_b', class_name='TestC', function='test_m'), ('10-a',))
    """
    bare, bracket, params = name.partition("[")
    file, *inner = bare.split("::")
    module = file.removesuffix(".py").replace("/", ".") or None
    function = inner[-1] if inner else None
    class_name = "::".join(inner[:-1]) or None
    return file, BenchmarkPlace(module, class_name, function), (params.removesuffix("]"),) if bracket else ()


FORMAT = TimingFormat(
    name="pytest-benchmark",
    title="pytest-benchmark JSON, with or without samples",
    yields=("benchmarks",),
    recognizes=_recognizes,
    read=_read,
)
