"""Groups and tasks of a ranking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.errors import NoValidInputError
from steelyard.metrics import catalog
from steelyard.option_names import option
from steelyard.questions.analysis._differences import linearized
from steelyard.questions.analysis._ranking import common_tasks
from steelyard.questions.analysis._samples import Mask, Samples, TaskMeans, half_names
from steelyard.records import Finding, Missing, key_label
from steelyard.statistics import Floats, Ints, WeightBy

Key = tuple[str | int | None, ...]


@dataclass(frozen=True, slots=True)
class Entrants:
    """The competitors on their common tasks."""

    keys: tuple[Key, ...]
    groups: Ints
    """The competitor of each run; -1 for runs of none."""
    common: Mask
    """The tasks that all of them have a value for."""
    scores: Floats
    """One row a common task, one column a competitor. Of a ratio of means, what each task adds to it: their mean is the
    ratio, their standard deviation what the choice of tasks leaves open (the delta method)."""
    figures: Floats
    """Each competitor's own figure over the common tasks, as it is weighted."""
    findings: tuple[Finding, ...]
    halves: tuple[Floats, Floats] | None = None
    """Numerator and denominator of a ratio of means, in the same rows and columns."""

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.keys)


def enter(
    samples: Samples, keys: Sequence[Key], codes: Ints, metric: str, *, by: Sequence[str], min_task_coverage: float
) -> Entrants:
    """Select the groups with enough tasks; findings name the others."""
    names = half_names(metric) if catalog()[metric].is_ratio else (metric,)
    for name in names:
        values = samples.known(name)
        if isinstance(values, Missing):
            raise NoValidInputError(f"cannot rank on {metric}: {values.reason}")
        if np.isinf(values).any():
            raise NoValidInputError(f"cannot rank on {metric}: some runs have an infinite value")
    means = samples.by_group(names[0], codes, len(keys))
    findings, kept = _kept(samples, keys, means, metric, by=by, min_task_coverage=min_task_coverage)
    if not kept:
        raise NoValidInputError(f"no group has {metric} on enough tasks", hint=f"lower {option('min_task_coverage')}")
    common = common_tasks([means[place] for place in kept])
    if not common.any():
        tried = ", ".join(f"{_label(by, keys[place])} {int(means[place].usable.sum()):,}" for place in kept[:6])
        raise NoValidInputError(
            f"no task has a {metric} from all {len(kept)} (tasks with one: {tried})",
            hint=f"raise {option('min_task_coverage')} to exclude groups with few tasks",
        )
    findings += _shrunk(samples, keys, means, kept, common, by=by)
    scores, halves = np.column_stack([means[place].mean[common] for place in kept]), None
    uneven = samples.weight_by == "runs" and any(np.ptp(means[place].known[common]) > 0 for place in kept)
    if len(names) > 1 or uneven:
        below_of = samples.by_group(names[1], codes, len(keys)) if len(names) > 1 else None
        above, below = _halves_on_tasks(means, below_of, kept, common, samples.weight_by)
        divides = [bool(column.any()) for column in below.T]
        findings += [_no_ratio(metric, _label(by, keys[place])) for place in _where(kept, divides, holds=False)]
        kept = _where(kept, divides, holds=True)
        if not kept:
            raise NoValidInputError(f"cannot rank on {metric}: the denominator is zero for every group")
        halves = above[:, divides], below[:, divides]
        scores = linearized(*halves)
    renumbered = np.full(len(keys), -1, dtype=np.int64)
    renumbered[kept] = np.arange(len(kept))
    groups = renumbered[codes]
    figures = samples.figures(metric, np.where(common[samples.tasks], groups, -1), len(kept))
    return Entrants(tuple(keys[place] for place in kept), groups, common, scores, figures, tuple(findings), halves)


def _halves_on_tasks(
    above: Sequence[TaskMeans],
    below: Sequence[TaskMeans] | None,
    kept: Sequence[int],
    common: Mask,
    weight_by: WeightBy,
) -> tuple[Floats, Floats]:
    """What each common task adds above and below, a column a competitor; a mean divides by how much tasks count."""
    tops = [above[place].weighted(weight_by)[common] for place in kept]
    if below is None:
        bottoms = [above[place].weights(weight_by)[common] for place in kept]
    else:
        bottoms = [below[place].weighted(weight_by)[common] for place in kept]
    return np.column_stack(tops), np.column_stack(bottoms)


def _where(places: Sequence[int], marks: Sequence[bool], *, holds: bool) -> list[int]:
    return [place for place, mark in zip(places, marks, strict=True) if mark is holds]


def _no_ratio(metric: str, label: str) -> Finding:
    message = f"excluded: the denominator of {metric} is zero on the shared tasks"
    return Finding(code="no_ratio", message=message, where=label)


def _kept(
    samples: Samples,
    keys: Sequence[Key],
    means: Sequence[TaskMeans],
    metric: str,
    *,
    by: Sequence[str],
    min_task_coverage: float,
) -> tuple[list[Finding], list[int]]:
    findings: list[Finding] = []
    kept: list[int] = []
    for place, task_means in enumerate(means):
        tried = int(task_means.usable.sum())
        if tried and tried >= min_task_coverage * len(samples.task_names):
            kept.append(place)
            continue
        message = f"excluded: {metric} is known on {tried:,} of {len(samples.task_names):,} tasks"
        findings.append(Finding(code="task_coverage", message=message, where=_label(by, keys[place])))
    return findings, kept


def _shrunk(
    samples: Samples,
    keys: Sequence[Key],
    means: Sequence[TaskMeans],
    kept: Sequence[int],
    common: Mask,
    *,
    by: Sequence[str],
) -> list[Finding]:
    """What the common tasks leave out, and who costs the most of them."""
    common_count = int(common.sum())
    if common_count == len(samples.task_names) or len(kept) < 2:
        return []
    without = {place: int(common_tasks([means[other] for other in kept if other != place]).sum()) for place in kept}
    most = max(without.values())
    message = f"ranked on the {common_count:,} of {len(samples.task_names):,} tasks that every group has a value for"
    if most > common_count:
        culprits = [_label(by, keys[place]) for place in kept if without[place] == most]
        if len(culprits) == 1:
            message += f"; {most:,} without {culprits[0]}"
    return [Finding(code="common_tasks", severity="info", message=message)]


def _label(by: Sequence[str], key: Key) -> str:
    return key_label(by, key)
