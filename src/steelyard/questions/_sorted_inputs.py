"""Inputs by content: runs, experiments with repeated outputs, or timings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from steelyard.formats import PlacedRun
from steelyard.settings import is_stdin


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
    from steelyard.questions.speedup._timing_files import timings_in  # brings numpy and SciPy

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
