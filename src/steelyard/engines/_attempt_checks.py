"""Groups whose attempts are not those that were expected, that lack verdicts, or whose costs are known unevenly."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from steelyard.engines._identical_results import AGENT
from steelyard.engines._local import LocalEngine
from steelyard.profiles import UNSCORED_FAILS
from steelyard.records import Finding, Missing, Place, PlacesOnDemand, key_label
from steelyard.statistics import mean_of

RETRIED = (
    "attempts end with a task's first pass, so that rates over all attempts depend on when one stopped; "
    "the first attempts alone do not"
)
EARLY_PASSES = 2
"""So many tasks must have stopped before the limit, and as many have passed after a failure, to call it a plan."""

EXCEPTIONS = 0.05
"""The share of tasks that may have gone otherwise: a run that was cancelled, one that was made once more."""

OF_VERDICTS = frozenset({"pass_rate", "cost_of_pass", "composite_score"})
"""Metrics that a run without a verdict is left out of."""

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

    message = f"profile {engine.profile.name} expects {_runs(expected)} per task"
    places = PlacesOnDemand(len(odd), made)
    return [Finding(code="run_count", severity="info", message=message, places=places)]


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count:,} runs"


def skewed_groups(engine: LocalEngine, metrics: Collection[str], groups: Codes, labels: Sequence[str]) -> list[Finding]:
    """What makes the metrics of a group mislead: no verdicts, attempts that end with a pass, costs one verdict lacks.

    `groups` numbers the group of each run, -1 for none.
    """
    if not OF_VERDICTS.intersection(metrics):
        return []
    inside = np.flatnonzero(groups >= 0)
    findings = _without_verdict(engine, inside, groups, labels)
    values = engine.values(["pass_rate", "cost_usd"])
    passed, costs = values["pass_rate"], values["cost_usd"]
    if isinstance(passed, Missing):
        return findings
    findings += _retried(engine, passed, inside, groups, labels)
    if not isinstance(costs, Missing) and "cost_of_pass" in metrics:
        findings += _unevenly_known_costs(passed[inside], costs[inside], groups[inside], labels)
    return findings


def _without_verdict(engine: LocalEngine, inside: Codes, groups: Codes, labels: Sequence[str]) -> list[Finding]:
    """How many runs of each group have no verdict and how many of them broke off, and what is done with them.

    Data in which no run has a verdict and none broke off were never scored: there is nothing to warn of.
    """
    excluding = engine
    if engine.profile.unscored == "fail":
        excluding = LocalEngine(engine.frame, engine.n, engine.profile.with_constant(UNSCORED_FAILS, 0))
    verdicts = excluding.values(["pass_rate"])["pass_rate"]
    unscored = np.full(len(inside), fill_value=True) if isinstance(verdicts, Missing) else np.isnan(verdicts[inside])
    broke_off = unscored & _broke_off(engine)[inside]
    if not unscored.any() or (unscored.all() and not broke_off.any()):
        return []
    own = groups[inside]
    runs, without, broken = (np.bincount(own[mask], minlength=len(labels)) for mask in (own >= 0, unscored, broke_off))
    places = tuple(
        Place(where=labels[group], message=_unscored_text(int(without[group]), int(broken[group]), int(runs[group])))
        for group in np.flatnonzero(without).tolist()
    )
    if engine.profile.unscored == "fail":
        message = "runs without a verdict count as failed; --unscored exclude leaves them out"
        return [Finding(code="unscored_runs", severity="info", message=message, places=places)]
    message = "runs without a verdict are left out of pass rate and cost of pass; --unscored fail counts them as failed"
    return [Finding(code="unscored_runs", message=message, places=places)]


def _broke_off(engine: LocalEngine) -> NDArray[np.bool_]:
    if "outcome" not in engine.frame.collect_schema().names():
        return np.zeros(engine.n, dtype=bool)
    errored = (pl.col("outcome").cast(pl.String) == "errored").fill_null(value=False)
    return engine.frame.select(errored).collect().to_series().to_numpy()


def _unscored_text(without: int, broken: int, runs: int) -> str:
    text = f"{without:,} of {_runs(runs)}"
    if broken == without:
        return f"{text} broke off"
    return f"{text}, {broken:,} of them broke off" if broken else text


def _retried(engine: LocalEngine, passed: Floats, inside: Codes, groups: Codes, labels: Sequence[str]) -> list[Finding]:
    """The groups in which each agent tried each task until it passed, with the pass rate over first attempts.

    So it is taken to be where no task has a second pass or an attempt after its pass, all tasks that never passed have
    the same number of attempts, and no task has more; a few exceptions aside.
    """
    cells = _Cells.of(engine, passed, inside, groups)
    flagged = np.flatnonzero(cells.stopped_at_pass(len(labels))).tolist()
    places = []
    for group in flagged:
        rows = inside[(groups[inside] == group) & ~np.isnan(passed[inside])]
        attempts = np.bincount(engine.tasks[rows])
        passes = np.bincount(engine.tasks[rows], weights=passed[rows])
        tried = attempts > 0
        by_task = mean_of(passes[tried] / attempts[tried])
        first, of = cells.first_attempts(group)
        share = f"{first / of:.4g} ({first:,} of {of:,})" if of else "unknown"
        figures = (
            f"pass rate over runs {mean_of(passed[rows]):.4g}, over tasks {by_task:.4g}, over first attempts {share}"
        )
        places.append(Place(where=labels[group], message=figures))
    return [Finding(code="retried_until_pass", message=RETRIED, places=tuple(places))] if places else []


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
    def of(cls, engine: LocalEngine, passed: Floats, inside: Codes, groups: Codes) -> _Cells:
        """Those of the runs inside a group; the same agent and task in two groups are two."""
        tried = engine.keys.combine([*AGENT, "experiment", "task"])
        width = len(tried.present)
        both = groups[inside] * width + tried.rows[inside]
        numbers, codes, attempts = np.unique(both, return_inverse=True, return_counts=True)
        n = len(numbers)
        order, passes = _order(engine)[inside], passed[inside] == 1
        last = np.full(n, -np.inf)
        np.maximum.at(last, codes, np.where(np.isnan(order), -np.inf, order))
        goes_on = np.zeros(n, bool)
        goes_on[codes[passes & (order < last[codes])]] = True
        return cls(
            numbers // width,
            attempts,
            np.bincount(codes, weights=passes, minlength=n).astype(np.int64),
            np.bincount(codes, weights=~np.isnan(passed[inside]), minlength=n).astype(np.int64),
            goes_on,
        )

    def stopped_at_pass(self, groups: int) -> NDArray[np.bool_]:
        """Of each group, whether all of its cells stopped at the first pass."""
        most = np.zeros(groups, np.int64)
        np.maximum.at(most, self.group, self.attempts)
        limit = most[self.group]
        otherwise = self._goes_on_after_pass | ((self.passes == 0) & (self.attempts < limit))
        stopped_early = (self.passes == 1) & (self.attempts < limit)
        passed_late = (self.passes == 1) & (self.attempts > 1)

        def cells_with(mark: NDArray[np.bool_]) -> Codes:
            return np.bincount(self.group, weights=mark, minlength=groups).astype(np.int64)

        enough = (cells_with(stopped_early) >= EARLY_PASSES) & (cells_with(passed_late) >= EARLY_PASSES)
        few = cells_with(otherwise) <= EXCEPTIONS * np.bincount(self.group, minlength=groups)
        return np.asarray(enough & few, dtype=bool)

    @property
    def _goes_on_after_pass(self) -> NDArray[np.bool_]:
        return np.asarray((self.passes > 1) | self.goes_on, dtype=bool)

    def first_attempts(self, group: int) -> tuple[int, int]:
        """How many first attempts passed, and how many there are: who passed after more than one failed at first.

        Where an attempt has no verdict or came after a pass, the first one's verdict is not known from the counts.
        """
        own = (self.group == group) & (self.known == self.attempts) & ~self._goes_on_after_pass
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


def _unevenly_known_costs(passed: Floats, costs: Floats, groups: Codes, labels: Sequence[str]) -> list[Finding]:
    """The groups in which costs are missing more often of one verdict, with cost of pass by verdict beside it."""
    known = ~np.isnan(costs)
    counts = {
        (verdict, priced): np.bincount(groups[(passed == verdict) & (known == priced)], minlength=len(labels))
        for verdict in (0, 1)
        for priced in (False, True)
    }
    uneven = counts[0, True] * counts[1, False] != counts[1, True] * counts[0, False]
    places = []
    for group in np.flatnonzero(uneven & (counts[1, True] > 0)).tolist():
        means = [mean_of(costs[(groups == group) & (passed == verdict) & known]) for verdict in (0, 1)]
        sizes = [(int(counts[verdict, True][group]), int(counts[verdict, False][group])) for verdict in (0, 1)]
        if (sentence := _cost_sentence(means, sizes)) is not None:
            places.append(Place(where=labels[group], message=sentence))
    return [Finding(code="uneven_costs", message=UNEVEN_COSTS, places=tuple(places))] if places else []


def _cost_sentence(means: Sequence[float], sizes: Sequence[tuple[int, int]]) -> str | None:
    """Both figures; None where they are the same to the digits that are shown."""
    (failed_known, failed_unknown), (passed_known, passed_unknown) = sizes
    failed, passed = failed_known + failed_unknown, passed_known + passed_unknown
    told = f"known for {passed_known:,} of {passed:,} passed and {failed_known:,} of {failed:,} failed runs"
    of_failed, of_passed = means
    if math.isnan(of_failed):
        return f"{told}: cost of pass is ${of_passed:.4g} over passes alone, and unknown by verdict"
    complete = f"${(passed_known * of_passed + failed_known * of_failed) / passed_known:.4g}"
    by_verdict = f"${(passed * of_passed + failed * of_failed) / passed:.4g}"
    if complete == by_verdict:
        return None
    return f"{told}: cost of pass over runs is {complete} over the complete cases, {by_verdict} by verdict"
