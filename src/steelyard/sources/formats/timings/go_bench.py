"""What `go test -bench` prints, as text or with `-json`: a line for each measurement, so `-count` gives the samples.

The number of processors at the end of a name (`BenchmarkJoin-8`) depends on the machine, so it is no part of the
name where all lines have the same; under `-cpu 1,2` it distinguishes measurements and stays. A benchmark that is
announced without a result is listed as missing, failed or skipped.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from steelyard.files import text_or_none
from steelyard.records import JSON_ERRORS, SECONDS, Rejected, Timing, TimingStatus
from steelyard.sources.formats._timing_format import OpenedFile, TimingFile, TimingFormat, collected

_NAME = r"Benchmark(?![a-z])\S*"
_RESULT = re.compile(rf"({_NAME})[ \t]+\d+((?:[ \t]+\S+ \S+)+)[ \t]*\n?")
_ANY_RESULT = re.compile(rf"^{_RESULT.pattern}$", re.MULTILINE)
_VALUE = re.compile(r"(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?) (\S+)")
_ANNOUNCED = re.compile(rf"\s*(?:=== RUN\s+|--- (SKIP|FAIL|BENCH): )?({_NAME})(?: \([\d.]+s\))?")
_CONTEXT = re.compile(r"(goos|goarch|pkg|cpu): (.*\S)\s*")
_PROCESSORS = re.compile(r"-(\d+)$")
_STATUS: dict[str, TimingStatus] = {"SKIP": "skipped", "FAIL": "failed"}
_NANOSECONDS, _PER_SECOND = "ns/op", 10**9


@dataclass
class _Benchmark:
    """The lines of one benchmark."""

    package: str | None
    name: str
    environment: tuple[str, ...] = ()
    unit: str = SECONDS
    samples: list[float] = field(default_factory=list)
    status: TimingStatus = "missing"


def _recognizes(opened: OpenedFile) -> bool:
    if opened.values is not None:
        return False
    if not opened.text.lstrip().startswith("{"):
        return _ANY_RESULT.search(opened.text) is not None
    event = _event(opened.text.lstrip().partition("\n")[0])
    return event is not None and isinstance(event.get("Action"), str) and bool({"Package", "ImportPath"} & event.keys())


def _event(line: str) -> dict[str, Any] | None:  # Any: JSON values
    try:
        event = msgspec.json.decode(line)
    except JSON_ERRORS:
        return None
    return event if isinstance(event, dict) else None


def _read(opened: OpenedFile) -> TimingFile:
    rejected: list[Rejected] = []
    benchmarks: dict[tuple[str | None, str], _Benchmark] = {}
    for package, text in _outputs(opened, rejected):
        _collect(opened, package, text, benchmarks, rejected)
    results = [benchmark for benchmark in benchmarks.values() if benchmark.samples]
    ends = {match[1] if (match := _PROCESSORS.search(benchmark.name)) else None for benchmark in results}
    processors = ends.pop() if len(ends) == 1 else None
    measured = sorted((benchmark.package or "", _bare(benchmark.name, processors)) for benchmark in results)
    timings = [
        _timing(benchmark, processors)
        for benchmark in benchmarks.values()
        if benchmark.samples or not _has_result(benchmark.package or "", _bare(benchmark.name, processors), measured)
    ]
    return collected(opened.path, "go-bench", (*rejected, *timings))


def _outputs(opened: OpenedFile, rejected: list[Rejected]) -> Iterator[tuple[str | None, str]]:
    """What was printed; of `-json` put together for each package, since a line may come in several pieces."""
    if not opened.text.lstrip().startswith("{"):
        yield None, opened.text
        return
    pieces: dict[str | None, list[str]] = {}
    for number, line in enumerate(opened.text.splitlines(), 1):
        if not line.strip():
            continue
        event = _event(line)
        if event is None:
            rejected.append(Rejected(path=str(opened.path), line=number, reason="not a JSON object"))
        elif isinstance(event.get("Output"), str):
            pieces.setdefault(text_or_none(event.get("Package")), []).append(event["Output"])
    yield from ((package, "".join(outputs)) for package, outputs in pieces.items())


def _collect(
    opened: OpenedFile,
    package: str | None,
    text: str,
    benchmarks: dict[tuple[str | None, str], _Benchmark],
    rejected: list[Rejected],
) -> None:
    environment: dict[str, str] = {}
    for line in text.splitlines(keepends=True):
        if context := _CONTEXT.fullmatch(line):
            environment[context[1]] = context[2]
            package = environment.get("pkg", package)
            continue
        result = _RESULT.fullmatch(line)
        announced = None if result else _ANNOUNCED.fullmatch(line.rstrip())
        if not result and not announced:
            continue
        name = result[1] if result else announced[2] if announced else ""
        benchmark = benchmarks.setdefault((package, name), _Benchmark(package, name))
        if announced:
            benchmark.status = _STATUS.get(announced[1] or "", benchmark.status)
        elif result and not line.endswith("\n"):
            rejected.append(Rejected(path=str(opened.path), reason=f"the last line ({name}) is truncated"))
        elif result:
            benchmark.environment = tuple(environment.get(key, "") for key in ("goos", "goarch", "cpu"))
            _add(benchmark, result[2])


def _add(benchmark: _Benchmark, measured: str) -> None:
    """The time of one line; what is measured besides (bytes, allocations) is left out unless it is all there is."""
    values = {unit: float(value) for value, unit in _VALUE.findall(measured)}
    if _NANOSECONDS in values:
        benchmark.samples.append(values[_NANOSECONDS] / _PER_SECOND)
    elif values:
        benchmark.unit, value = next(iter(values.items()))
        benchmark.samples.append(value)
    if benchmark.samples and benchmark.status != "failed":
        benchmark.status = "ok"


def _has_result(package: str, name: str, measured: list[tuple[str, str]]) -> bool:
    """Whether an announced benchmark has a result, or holds others that have one; `measured` is sorted."""
    own, below = (bisect_left(measured, (package, sought)) for sought in (name, f"{name}/"))
    return measured[own : own + 1] == [(package, name)] or any(
        other == package and inner.startswith(f"{name}/") for other, inner in measured[below : below + 1]
    )


def _bare(name: str, processors: str | None) -> str:
    return name.removesuffix(f"-{processors}") if processors else name


def _timing(benchmark: _Benchmark, processors: str | None) -> Timing:
    name = _bare(benchmark.name, processors)
    function, *params = name.split("/")
    where = (*benchmark.environment, f"GOMAXPROCS={processors}" if processors else "")
    return Timing(
        name=f"{benchmark.package}.{name}" if benchmark.package else name,
        module=benchmark.package,
        function=function,
        params=tuple(params),
        unit=benchmark.unit,
        status=benchmark.status,
        samples=tuple(benchmark.samples) or None,
        environment=", ".join(filter(None, where)) or None,
    )


FORMAT = TimingFormat(
    name="go-bench",
    title="go test -bench, text or -json",
    yields=("benchmarks",),
    recognizes=_recognizes,
    read=_read,
)
