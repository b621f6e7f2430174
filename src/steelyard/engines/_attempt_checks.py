"""Groups whose attempts are not those that were expected, or whose costs are known unevenly."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.engines._identical_results import AGENT
from steelyard.engines._local import LocalEngine
from steelyard.records import Finding, Missing, Place, PlacesOnDemand, key_label

RETRIED = (
    "attempts end with a task's first pass, so that rates over all attempts depend on when one stopped; "
    "the first attempts alone do not"
)
EARLY_PASSES = 2
"""So many tasks must have stopped before the limit, and as many have passed after a failure, to call it a plan."""

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]


def unexpected_run_counts(engine: LocalEngine, by: Sequence[str]) -> list[Finding]:
    """The groups in which a task has another number of runs than the profile expects."""
    expected = engine.profile.expected_runs
    if expected is None:
        return []
    keys = list(dict.fromkeys([*by, "task"]))
    combinations = engine.keys.combine(keys)
    sizes = combinations.sizes
    odd = np.flatnonzero(sizes != expected)
    if not len(odd):
        return []

    def made(numbers: range) -> Iterator[Place]:
        chosen = odd[numbers.start : numbers.stop].tolist()
        for number, key in zip(chosen, combinations.keys(chosen), strict=True):
            yield Place(where=key_label(keys, key), message=_runs(int(sizes[number])))

    message = f"profile {engine.profile.name} expects {_runs(expected)} of a task"
    places = PlacesOnDemand(len(odd), made)
    return [Finding(code="run_count", severity="info", message=message, places=places)]


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count:,} runs"


def retried_until_pass(engine: LocalEngine, by: Sequence[str]) -> list[Finding]:
    """The groups in which each agent tried each task until it passed, with the pass rate over first attempts.

    So it is taken to be where no task has a second pass or an attempt after its pass, all tasks that never passed have
    the same number of attempts, and no task has more.
    """
    passed = engine.values(["pass_rate"])["pass_rate"]
    if isinstance(passed, Missing):
        return []
    combinations = engine.keys.combine(by)
    groups = combinations.grouping()
    cells = _Cells.of(engine, by, passed, groups.codes.astype(np.int64))
    flagged = np.flatnonzero(cells.stopped_at_pass(groups.groups)).tolist()
    if not flagged:
        return []
    tasks = engine.keys.combine([*by, *(key for key in ("task",) if key not in by)]).grouping().codes.astype(np.int64)
    places = []
    for group, key in zip(flagged, combinations.keys(flagged), strict=True):
        rows = np.flatnonzero((groups.codes == group) & ~np.isnan(passed))
        attempts, wins = np.bincount(tasks[rows]), np.bincount(tasks[rows], weights=passed[rows])
        tried = attempts > 0
        by_task = math.fsum((wins[tried] / attempts[tried]).tolist()) / int(tried.sum())
        first, of = cells.first_attempts(group)
        figures = f"pass rate over runs {passed[rows].mean():.4g}, over tasks {by_task:.4g}, over first attempts "
        figures += f"{first / of:.4g} ({first:,} of {of:,})"
        places.append(Place(where=key_label(by, key) or "all runs", message=figures))
    return [Finding(code="retried_until_pass", message=RETRIED, places=tuple(places))]


@dataclass(frozen=True, slots=True)
class _Cells:
    """The attempts of each agent at each task."""

    group: Codes
    attempts: Codes
    passes: Codes
    known: Codes
    """Attempts with a verdict."""
    goes_on: NDArray[np.bool_]
    """Whether an attempt came after a pass, as far as their order is known."""

    @classmethod
    def of(cls, engine: LocalEngine, by: Sequence[str], passed: Floats, groups: Codes) -> _Cells:
        grouping = engine.keys.combine(list(dict.fromkeys([*by, *AGENT, "experiment", "task"]))).grouping()
        codes, n = grouping.codes.astype(np.int64), grouping.groups
        group = np.zeros(n, np.int64)
        group[codes] = groups
        order = _order(engine)
        last = np.full(n, -np.inf)
        np.maximum.at(last, codes, np.where(np.isnan(order), -np.inf, order))
        goes_on = np.zeros(n, bool)
        goes_on[codes[(passed == 1) & (order < last[codes])]] = True
        return cls(
            group,
            grouping.sizes,
            np.bincount(codes, weights=passed == 1, minlength=n).astype(np.int64),
            np.bincount(codes, weights=~np.isnan(passed), minlength=n).astype(np.int64),
            goes_on,
        )

    def stopped_at_pass(self, groups: int) -> NDArray[np.bool_]:
        """Of each group, whether all of its cells stopped at the first pass."""
        most = np.zeros(groups, np.int64)
        np.maximum.at(most, self.group, self.attempts)
        limit = most[self.group]
        otherwise = (self.passes > 1) | self.goes_on | ((self.passes == 0) & (self.attempts < limit))
        stopped_early = (self.passes == 1) & (self.attempts < limit)
        passed_late = (self.passes == 1) & (self.attempts > 1)

        def cells_with(mark: NDArray[np.bool_]) -> Codes:
            return np.bincount(self.group, weights=mark, minlength=groups).astype(np.int64)

        enough = (cells_with(stopped_early) >= EARLY_PASSES) & (cells_with(passed_late) >= EARLY_PASSES)
        return np.asarray(enough & (cells_with(otherwise) == 0), dtype=bool)

    def first_attempts(self, group: int) -> tuple[int, int]:
        """How many first attempts passed, and how many there are: who passed after more than one failed at first."""
        own = (self.group == group) & (self.known > 0)
        return int(((self.attempts == 1) & (self.passes == 1) & own).sum()), int(own.sum())


def _order(engine: LocalEngine) -> Floats:
    """The number of each attempt, else its start; NaN where neither is known."""
    for name in ("attempt", "start_time"):
        values = engine.values([name])[name]
        if not isinstance(values, Missing) and not np.isnan(values).all():
            return values
    return np.full(engine.n, np.nan)


UNEVEN_COSTS = (
    "costs are known for another share of the passed than of the failed runs, so that cost of pass over the complete "
    "cases leans to one side; by verdict, a run without a cost counts with the mean cost of its verdict"
)


def unevenly_known_costs(engine: LocalEngine, by: Sequence[str]) -> list[Finding]:
    """The groups in which costs are missing more often of one verdict, with cost of pass by verdict beside it."""
    values = engine.values(["pass_rate", "cost_usd"])
    passed, costs = values["pass_rate"], values["cost_usd"]
    if isinstance(passed, Missing) or isinstance(costs, Missing):
        return []
    combinations = engine.keys.combine(by)
    codes, n = combinations.grouping().codes.astype(np.int64), combinations.grouping().groups
    known = ~np.isnan(costs)
    counts = {
        (verdict, priced): np.bincount(codes[(passed == verdict) & (known == priced)], minlength=n)
        for verdict in (0, 1)
        for priced in (False, True)
    }
    uneven = counts[0, True] * counts[1, False] != counts[1, True] * counts[0, False]
    flagged = np.flatnonzero(uneven & (counts[1, True] > 0)).tolist()
    places = []
    for group, key in zip(flagged, combinations.keys(flagged), strict=True):
        means = [_mean(costs[(codes == group) & (passed == verdict) & known]) for verdict in (0, 1)]
        sizes = [(int(counts[verdict, True][group]), int(counts[verdict, False][group])) for verdict in (0, 1)]
        if (sentence := _cost_sentence(means, sizes)) is not None:
            places.append(Place(where=key_label(by, key) or "all runs", message=sentence))
    return [Finding(code="uneven_costs", message=UNEVEN_COSTS, places=tuple(places))] if places else []


def _mean(costs: Floats) -> float | None:
    return math.fsum(costs.tolist()) / len(costs) if len(costs) else None


def _cost_sentence(means: Sequence[float | None], sizes: Sequence[tuple[int, int]]) -> str | None:
    """Both figures; None where they are the same to the digits that are shown."""
    (failed_known, failed_unknown), (passed_known, passed_unknown) = sizes
    failed, passed = failed_known + failed_unknown, passed_known + passed_unknown
    told = f"known for {passed_known:,} of {passed:,} passed and {failed_known:,} of {failed:,} failed runs"
    of_failed, of_passed = means
    assert of_passed is not None, "a group without the cost of a pass is not listed"
    if of_failed is None:
        return f"{told}: cost of pass is ${of_passed:.4g} over passes alone, and unknown by verdict"
    complete = f"${(passed_known * of_passed + failed_known * of_failed) / passed_known:.4g}"
    by_verdict = f"${(passed * of_passed + failed * of_failed) / passed:.4g}"
    if complete == by_verdict:
        return None
    return f"{told}: cost of pass over runs is {complete} over the complete cases, {by_verdict} by verdict"
