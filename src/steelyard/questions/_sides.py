"""The two sides of a comparison: selections of runs, or files and directories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import cast

from steelyard.errors import UsageError
from steelyard.option_names import option
from steelyard.questions._run_input import Measurable, Runs, input_names, is_table
from steelyard.records import Selection
from steelyard.settings import is_stdin, is_store, named_path

FILE = "file"
"""The key that names the input of a run."""


def sides_of(
    runs: Measurable, baseline: Selection | None, candidates: Sequence[Selection]
) -> tuple[Measurable, Selection, tuple[Selection, ...]]:
    """Return the inputs and the selections of both sides.

    A side that is a file or directory is an input, selected by its name. Without any side, the first input is the
    baseline and each of the others a candidate; with a file as the baseline, each input is a candidate.
    """
    inputs = _paths_in(runs)
    sides = [*([] if baseline is None else [baseline]), *candidates]
    # without paths as input, as on a server, a side is never a file
    paths = [_path_of(side) if inputs else None for side in sides]
    if not any(paths) and baseline is not None and candidates:
        return runs, baseline, tuple(candidates)

    added = [path for path in paths if path is not None and path not in inputs]
    if baseline is None and not candidates:
        if len(inputs) < 2:
            hint = f"name two inputs, or {option('baseline', 'agent=NAME')} and {option('candidate', 'agent=NAME')}"
            raise UsageError("no baseline and no candidate to compare", hint=hint)
        chosen: list[Selection] = [{FILE: name} for name in input_names(inputs)]
        return list(inputs), chosen[0], tuple(chosen[1:])
    if baseline is None:
        raise UsageError("no baseline to compare with", hint=option("baseline", "agent=NAME,model=NAME"))
    if not candidates and paths[0] is None:
        raise UsageError("no candidate to compare", hint=option("candidate", "agent=NAME,model=NAME"))
    together = list(dict.fromkeys([*inputs, *added]))
    names = {path: name for name, path in input_names(together).items()}
    picked = [side if path is None else {FILE: names[path]} for side, path in zip(sides, paths, strict=True)]
    picked += [] if candidates else [{FILE: names[path]} for path in inputs]
    return together, picked[0], tuple(picked[1:])


def checked_sides(
    runs: Measurable, baseline: Measurable | None, candidate: Selection | None, *, is_relative: bool
) -> dict[str, tuple[Measurable, Selection | None]]:
    """Return the input and the selection of each side of a check; the first of two inputs may be the baseline."""
    before = _selection(baseline)
    if before is None and candidate is None:
        inputs = _paths_in(runs)
        if baseline is None and is_relative and len(inputs) == 2:
            input_names(inputs)  # rejects the same input twice
            baseline, runs = inputs
        sides: dict[str, tuple[Measurable, Selection | None]] = {} if baseline is None else {BASELINE: (baseline, None)}
        return {**sides, CANDIDATE: (runs, None)}
    if candidate is None:
        raise UsageError("no candidate to check", hint=option("candidate", "agent=NAME,model=NAME"))
    if baseline is None:
        return {CANDIDATE: (runs, candidate)}
    return {BASELINE: (runs if before is not None else baseline, before), CANDIDATE: (runs, candidate)}


BASELINE, CANDIDATE = "the baseline", "the candidate"


def input_count(runs: Measurable) -> int:
    """Return the number of paths that the runs are read from; 0 if they are records."""
    given = cast("Runs", runs)  # other tables have no paths
    if not is_table(given):
        return len(_paths_in(runs))
    return 0 if given.source is None else len(_paths_in(given.source.inputs))


def _selection(side: object) -> Selection | None:
    """The selection that a side is; None where it holds runs."""
    if isinstance(side, Mapping):
        return None if "task" in side else side  # a record has a task
    several = [side] if isinstance(side, (str, PathLike)) else side
    if not isinstance(several, (list, tuple)) or len(several) != 1 or not isinstance(several[0], (str, PathLike)):
        return None
    text = str(several[0])
    return text if "=" in text and not Path(text).exists() else None


def _path_of(side: object) -> Path | None:
    if isinstance(side, PathLike):
        return named_path(side)
    if not isinstance(side, str) or isinstance(side, Mapping):
        return None
    path = Path(side)
    return path if "=" not in side or path.exists() else None


def _paths_in(runs: Measurable) -> list[Path]:
    """The paths of the input; none where it holds records or is a store."""
    given = [runs] if isinstance(runs, (str, PathLike)) else runs
    if not isinstance(given, (list, tuple)) or not all(isinstance(each, (str, PathLike)) for each in given):
        return []
    if any(is_store(fspath(each)) for each in given):
        return []
    return [named_path(each) for each in given if not is_stdin(named_path(each))]
