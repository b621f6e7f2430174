"""Timing files: the format that recognizes one, its content, and contradictions in it, one side of which is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from statistics import median

from steelyard.errors import UnreadableFileError
from steelyard.files import parse_json, read_text
from steelyard.records import Finding, Rejected, Timing, TimingSummary
from steelyard.settings import shown_path
from steelyard.sources.formats._catalog import each_timing_format
from steelyard.sources.formats._timing_format import TOLERANCE, OpenedFile, TimingFile, TimingFormat, collected

_NOT_RESULTS = frozenset({"benchmarks.json", "machine.json"})
"""Files that asv keeps next to its results."""
_RESULT_ENDINGS = (".json", ".json.gz", ".jsonl", ".txt", ".csv")


def open_timings(path: Path) -> tuple[OpenedFile, TimingFormat]:
    """Return the file and the format that recognizes it; raise an error that names the file when none does."""
    text = read_text(path)
    path = shown_path(path)
    for_json = text.lstrip()[:1] in ("{", "[") or not text.strip()
    declared = _recognized(OpenedFile(path, text, None))
    if declared is not None:
        return OpenedFile(path, text, None), declared
    if not for_json:
        raise UnreadableFileError(str(path), "unknown timing file format", hint=_known())
    opened = OpenedFile(path, text, parse_json(text, path))
    declared = _recognized(opened)
    if declared is None:
        raise UnreadableFileError(str(path), "unknown timing file format", hint=_known())
    return opened, declared


def read_timings(path: Path) -> TimingFile:
    """The timings in one file of any known format, or in a folder that is one side."""
    if not path.is_dir():
        opened, declared = open_timings(path)
        return declared.read(opened)
    for declared in each_timing_format():
        if declared.folder_pattern and (files := sorted(path.glob(declared.folder_pattern))):
            return collected(path, declared.name, _each(files))
    results = sorted(
        file
        for file in path.rglob("*")
        if file.name.endswith(_RESULT_ENDINGS) and file.name not in _NOT_RESULTS and file.is_file()
    )
    if len(results) != 1:
        raise UnreadableFileError(
            str(path), f"the directory contains {len(results)} result files", hint="name one of them"
        )
    return read_timings(results[0])


def _each(files: Iterable[Path]) -> Iterator[Timing | Rejected | Finding]:
    for file in files:
        try:
            read = read_timings(file)
        except UnreadableFileError as error:
            yield Rejected(path=error.where or str(file), reason=error.message, hint=error.hint, code=error.kind)
        else:
            yield from read.findings
            yield from read.rejected
            yield from read.timings


def _recognized(opened: OpenedFile) -> TimingFormat | None:
    return next((declared for declared in each_timing_format() if declared.recognizes(opened)), None)


def _known() -> str:
    own = 'custom timings: CSV with the header name,seconds and one line per sample, or JSON {"parse": [0.19, 0.21]}'
    return f"{own}; known: " + ", ".join(declared.name for declared in each_timing_format())


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
    return Finding(code="contradicting_timings", message=f"{what}: {', '.join(names[:SHOWN])}{more}", where=where)


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
    ("reported as failed or skipped, but has samples; the samples are ignored", _samples_of_nothing),
    ("quartiles, median or interval are out of order", _out_of_order),
    ("a time is negative", _below_zero),
)
