"""Inputs of a report: runs, repeated answers or timings, with a digest of their content."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard.errors import UnreadableFileError
from steelyard.files import file_chunks
from steelyard.formats import PlacedRun
from steelyard.records import encode_run
from steelyard.results import ReportInput
from steelyard.settings import is_stdin, shown_path


@dataclass(frozen=True, slots=True)
class SortedInputs:
    """Inputs by content; a file may contain both runs and timings."""

    runs: tuple[Path | PlacedRun, ...]
    experiments: tuple[Path, ...]
    """Experiment files with answers, canon and repairs."""
    timings: tuple[Path, ...]


def sort_inputs(given: Iterable[Path | PlacedRun], *, mapped: bool) -> SortedInputs:
    """Sort the inputs by content; unrecognized ones are left to the reader of runs.

    What a mapping reads are runs.
    """
    if mapped:
        return SortedInputs(tuple(given), (), ())
    from steelyard.questions.repeatability import looks_like_experiment  # brings rapidfuzz
    from steelyard.speedups import timings_in  # brings numpy and SciPy

    runs: list[Path | PlacedRun] = []
    experiments: list[Path] = []
    timings: list[Path] = []
    for each in given:
        if isinstance(each, PlacedRun) or is_stdin(each) or not each.exists():
            runs.append(each)
        elif each.is_file() and looks_like_experiment(each):
            experiments.append(each)
        else:
            if each.is_dir():
                experiments += sorted(file for file in each.rglob("*.json") if looks_like_experiment(file))
            found = timings_in(each)
            timings += [each] if found else []
            runs += [each] if found != "alone" else []
    return SortedInputs(tuple(runs), tuple(experiments), tuple(timings))


def described_inputs(given: Sequence[Path | PlacedRun]) -> tuple[ReportInput, ...]:
    """Each path with its digest, and all records together."""
    described = [
        ReportInput(name=str(shown_path(path)), sha256=_path_digest(path)) for path in given if isinstance(path, Path)
    ]
    records = [each for each in given if not isinstance(each, Path)]
    if records:
        digest = hashlib.sha256(b"".join(encode_run(each.run) + b"\n" for each in records))
        described.append(ReportInput(name=f"{len(records):,} records", sha256=digest.hexdigest()))
    return tuple(described)


def _path_digest(path: Path) -> str | None:
    """Of a file's bytes; of a folder's files with their names, in the order of names."""
    try:
        if path.is_file():
            return _file_digest(path)
        if not path.is_dir():
            return None
        whole = hashlib.sha256()
        for file in sorted(each for each in path.rglob("*") if each.is_file()):
            whole.update(f"{_file_digest(file)}  {file.relative_to(path).as_posix()}\n".encode("utf-8", "replace"))
        return whole.hexdigest()
    except (OSError, UnreadableFileError):
        return None  # the reader reports the error


def _file_digest(path: Path) -> str:
    digest = hashlib.sha256()
    for chunk in file_chunks(path):
        digest.update(chunk)
    return digest.hexdigest()
