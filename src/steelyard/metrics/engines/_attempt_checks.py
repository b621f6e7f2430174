"""Findings about groups: unexpected attempts, missing verdicts, costs known unevenly, identical results of agents."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from steelyard.errors import MemoryLimitError
from steelyard.formatting import dollars, percent
from steelyard.metrics.engines._columns import number_column
from steelyard.metrics.engines._protocol import RUNS, Engine, Key
from steelyard.metrics.engines._run_groups import KeyCoder
from steelyard.profiles import UNSCORED_FAILS
from steelyard.records import Finding, Missing, Place, PlacesOnDemand, key_label
from steelyard.statistics import Coincidence, coincidences, mean_of

PASSES_ONLY = "lists_passes_only"
MEASURED = ("duration_seconds", "cost_usd", "total_tokens")
"""What is measured finely enough that two runs hardly ever agree in it."""
AGENT = ("agent", "model", "tier")
"""Keys that distinguish agents."""
MESSAGE = (
    "the results of two agents are identical on more tasks than expected by chance; check whether one is a copy "
    "of the other"
)

MAX_RUNS = 20_000_000
"""All pairs of results are compared in memory; above this many runs the check is skipped, on every engine."""


def identical_results(engine: Engine) -> list[Finding]:
    """The pairs of agents that have the same durations, costs or tokens, each with how likely that is by chance."""
    names = [key for key in AGENT if len(engine.groups([key]).sizes) > 1]
    if not names:
        return []
    if engine.n > MAX_RUNS:
        return [_not_checked(f"up to {MAX_RUNS:,} runs (got {engine.n:,})")]
    try:
        return _identical(engine, names)
    except MemoryLimitError:
        return [_not_checked(f"if the results of all runs fit in memory; those of {engine.n:,} runs do not")]


def _not_checked(where: str) -> Finding:
    message = f"identical results are checked only {where}"
    return Finding(code="not_checked", severity="info", message=message)


def _identical(engine: Engine, names: Sequence[str]) -> list[Finding]:
    combinations = engine.codes(names)
    agents = combinations.keys()
    tasks = engine.codes(["task"]).rows
    pairs: dict[tuple[int, int], list[str]] = {}
    for name in MEASURED:
        values = engine.values([name])[name]
        if isinstance(values, Missing):
            continue
        # coarse numbers agree too easily
        for pair in coincidences(tasks, combinations.rows, values, only_fine=True, looks=len(MEASURED)):
            pairs.setdefault((pair.first, pair.second), []).append(_sentence(name, pair))
    places = [
        Place(
            where=f"{key_label(names, agents[first])} and {key_label(names, agents[second])}",
            message="; ".join(sentences),
        )
        for (first, second), sentences in sorted(pairs.items())
    ]
    return [Finding(code="duplicate_results", message=MESSAGE, places=tuple(places))] if places else []


def _sentence(name: str, pair: Coincidence) -> str:
    return f"{name} on {pair.agreeing:,} of {pair.tasks:,} tasks (probability {pair.chance_text})"


RETRIED = (
    "the attempts on a task stop at its first pass, so rates over all attempts depend on the stopping rule; "
    "rates over first attempts do not"
)
EARLY_PASSES = 2
"""At least this many tasks must have stopped before the limit, and passed after a failure, to call it a plan."""

EXCEPTIONS = 0.05
"""The fraction of tasks that may have gone otherwise: a run that was cancelled, one that was made once more."""

OF_VERDICTS = frozenset({"pass_rate", "cost_of_pass", "composite_score"})
"""Metrics that a run without a verdict is left out of."""

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]


def unexpected_run_counts(engine: Engine, by: Sequence[str]) -> list[Finding]:
    """The groups in which a task has another number of runs than the profile expects."""
    expected = engine.profile.expected_runs
    if expected is None:
        return []
    keys = list(dict.fromkeys([*by, "task"]))
    groups = engine.groups(keys)
    sizes = groups.sizes
    odd = np.flatnonzero(sizes != expected)
    if not len(odd):
        return []

    def made(numbers: range) -> Iterator[Place]:
        chosen = odd[numbers.start : numbers.stop].tolist()
        for number, key in zip(chosen, groups.keys(chosen), strict=True):
            yield Place(where=key_label(keys, key), message=_runs(int(sizes[number])))

    message = f"profile {engine.profile.name} expects {_runs(expected)} per task"
    places = PlacesOnDemand(len(odd), made, are_all=len(odd) == len(sizes))  # who plans one run a task knows it
    return [Finding(code="run_count", severity="info", message=message, places=places)]


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count:,} runs"


@dataclass(frozen=True, slots=True)
class LabeledGroups:
    """Labeled groups of runs: their keys, and the number of the label of each key."""

    by: Sequence[str]
    number_of: Callable[[Key], int | None]
    """None for a key whose runs are in no group."""
    labels: Sequence[str]

    def numbers(self, cells: pl.DataFrame) -> Codes:
        """The number of each row's label, -1 for none."""
        combinations = KeyCoder(cells.lazy(), cells.height).combine(self.by)
        given = map(self.number_of, combinations.keys())
        return np.array([-1 if number is None else number for number in given], dtype=np.int64)[combinations.rows]


def skewed_groups(engine: Engine, metrics: Collection[str], groups: LabeledGroups) -> list[Finding]:
    """What makes a group's metrics mislead: no verdicts, attempts that end with a pass, costs of one verdict alone."""
    if not OF_VERDICTS.intersection(metrics):
        return []
    cells = _Cells.of(engine, groups)
    findings = [*_lists_of_passes(cells, groups.labels), *_without_verdict(engine, cells, groups.labels)]
    if isinstance(engine.column("pass_rate"), Missing):
        return findings
    findings += _retried(cells, groups.labels)
    if not isinstance(engine.column("cost_usd"), Missing) and "cost_of_pass" in metrics:
        findings += _unevenly_known_costs(engine, cells, groups)
    return findings


@dataclass(frozen=True, slots=True)
class _Cells:
    """The attempts of each agent at each task; the same agent and task in two groups are two."""

    group: Codes
    task: Codes
    counted: dict[str, Codes]
    goes_on: NDArray[np.bool_]
    """Whether an attempt came after a pass, as far as their order is known."""

    @classmethod
    def of(cls, engine: Engine, groups: LabeledGroups) -> _Cells:
        """Those of the runs inside a group."""
        by = list(dict.fromkeys([*groups.by, *AGENT, "experiment", "task"]))
        passed, order = _numbers(engine, "pass_rate"), _order(engine)
        cells = engine.tally(
            by,
            counts=_counts(engine, passed),
            least={"first_pass": nw.when(passed == 1).then(order)},
            most={"last": order},
        )
        numbers = groups.numbers(cells)
        inside = numbers >= 0
        tasks = KeyCoder(cells.lazy(), cells.height).combine(["task"]).rows.astype(np.int64)
        goes_on = (cells["first_pass"] < cells["last"]).fill_null(value=False).to_numpy()
        counted = {
            name: cells[name].fill_null(0).cast(pl.Int64).to_numpy()[inside]
            for name in cells.columns
            if name not in (*by, "first_pass", "last")
        }
        return cls(numbers[inside], tasks[inside], counted, goes_on[inside])

    @property
    def attempts(self) -> Codes:
        """How many attempts each cell has."""
        return self.counted[RUNS]

    @property
    def passes(self) -> Codes:
        """How many of them passed."""
        return self.counted["passes"]

    def by_group(self, name: str, groups: int) -> Codes:
        """The counts of all cells of each group."""
        return _added(self.counted[name], self.group, groups)

    def stopped_at_pass(self, groups: int) -> NDArray[np.bool_]:
        """Of each group, whether all of its cells stopped at the first pass."""
        limit = self._usual_limits(groups)[self.group]
        otherwise = self._goes_on_after_pass | ((self.passes == 0) & (self.attempts < limit))
        stopped_early = (self.passes == 1) & (self.attempts < limit)
        passed_late = (self.passes == 1) & (self.attempts > 1)

        def cells_with(mark: NDArray[np.bool_]) -> Codes:
            return _added(mark.astype(np.int64), self.group, groups)

        enough = (cells_with(stopped_early) >= EARLY_PASSES) & (cells_with(passed_late) >= EARLY_PASSES)
        few = cells_with(otherwise) <= EXCEPTIONS * np.bincount(self.group, minlength=groups)
        return np.asarray(enough & few, dtype=bool)

    def _usual_limits(self, groups: int) -> Codes:
        """Return the usual number of attempts of tasks that never passed, the larger of two; the most without any."""
        limits = np.zeros(groups, np.int64)
        np.maximum.at(limits, self.group, self.attempts)
        failed = self.passes == 0
        pairs, counts = np.unique(np.stack([self.group, self.attempts])[:, failed], axis=1, return_counts=True)
        order = np.lexsort((pairs[1], counts))  # per group, the last assignment counts
        limits[pairs[0][order]] = pairs[1][order]
        return limits

    @property
    def _goes_on_after_pass(self) -> NDArray[np.bool_]:
        return np.asarray((self.passes > 1) | self.goes_on, dtype=bool)

    def first_attempts(self, group: int) -> tuple[int, int]:
        """How many first attempts passed, and how many there are: who passed after more than one failed at first.

        Where an attempt has no verdict or came after a pass, the first one's verdict is not known from the counts.
        """
        own = (self.group == group) & (self.counted["known"] == self.attempts) & ~self._goes_on_after_pass
        return int(((self.attempts == 1) & (self.passes == 1) & own).sum()), int(own.sum())


def _added(counts: Codes, groups: Codes, size: int) -> Codes:
    added = np.zeros(size, dtype=np.int64)
    np.add.at(added, groups, counts)
    return added


def _numbers(engine: Engine, name: str) -> nw.Expr:
    """A fact or metric as numbers; null where no run has it."""
    column = engine.column(name)
    return nw.lit(None, nw.Float64) if isinstance(column, Missing) else number_column(column)


def _counts(engine: Engine, passed: nw.Expr) -> dict[str, nw.Expr]:
    """What is counted of the runs of a cell."""
    stated = passed
    if engine.profile.unscored == "fail":
        stated = _numbers(engine.with_profile(engine.profile.with_constant(UNSCORED_FAILS, 0)), "pass_rate")
    errored = nw.col("outcome").cast(nw.String) == "errored" if "outcome" in engine.columns else nw.lit(value=False)
    known_cost = ~_numbers(engine, "cost_usd").is_null()
    passes_only = nw.col(PASSES_ONLY).fill_null(value=False) if PASSES_ONLY in engine.columns else nw.lit(value=False)
    return {
        "passes": passed == 1,
        "known": ~passed.is_null(),
        "unscored": stated.is_null() & ~passes_only,
        "crashed": stated.is_null() & ~passes_only & errored,
        "passes_only": passes_only,
        **{
            _cost_count(verdict, priced): (passed == verdict) & (known_cost if priced else ~known_cost)
            for verdict in (0, 1)
            for priced in (False, True)
        },
    }


def _cost_count(verdict: int, priced: bool) -> str:
    return f"{'passed' if verdict else 'failed'}_{'priced' if priced else 'unpriced'}"


def _order(engine: Engine) -> nw.Expr:
    """The number of each attempt, else its start; null where neither is known."""
    for name in ("attempt", "start_time"):
        order = _numbers(engine, name)
        if name in engine.columns and int(engine.tally([], counts={"known": ~order.is_null()})["known"].sum()):
            return order
    return nw.lit(None, nw.Float64)


def _lists_of_passes(cells: _Cells, labels: Sequence[str]) -> list[Finding]:
    """Report the groups whose runs are from lists of passed tasks, so that they have no pass rate."""
    listed = cells.by_group("passes_only", len(labels))
    places = tuple(
        Place(where=labels[group], message=_runs(int(listed[group]))) for group in np.flatnonzero(listed).tolist()
    )
    message = (
        "the file lists only tasks that passed, so the pass rate is missing; the option tasks names the expected "
        "tasks, their number or the dataset"
    )
    return [Finding(code="no_denominator", message=message, places=places)] if places else []


def _without_verdict(engine: Engine, cells: _Cells, labels: Sequence[str]) -> list[Finding]:
    """Report how many runs of each group have no verdict, how many of them crashed, and how they count.

    Data in which no run has a verdict and none crashed were never scored, so there is no finding.
    """
    runs, without, broken = (cells.by_group(name, len(labels)) for name in (RUNS, "unscored", "crashed"))
    if not without.any() or (without.sum() == runs.sum() and not broken.any()):
        return []
    places = tuple(
        Place(where=labels[group], message=_unscored_text(int(without[group]), int(broken[group]), int(runs[group])))
        for group in np.flatnonzero(without).tolist()
    )
    if engine.profile.unscored == "fail":
        message = "runs without a verdict count as failed; the option unscored can exclude them"
        return [Finding(code="unscored_runs", severity="info", message=message, places=places)]
    message = (
        "runs without a verdict are excluded from pass rate and cost of pass; "
        "the option unscored can count them as failed"
    )
    return [Finding(code="unscored_runs", message=message, places=places)]


def _unscored_text(without: int, broken: int, runs: int) -> str:
    text = f"{without:,} of {_runs(runs)}"
    if broken == without:
        return f"{text} crashed"
    return f"{text}, {broken:,} of them crashed" if broken else text


def _retried(cells: _Cells, labels: Sequence[str]) -> list[Finding]:
    """The groups in which each agent tried each task until it passed, with the pass rate over first attempts.

    So it is taken to be where no task has a second pass or an attempt after its pass, and no task that never passed has
    fewer attempts than is usual for those; a few exceptions aside.
    """
    places = []
    for group in np.flatnonzero(cells.stopped_at_pass(len(labels))).tolist():
        own = cells.group == group
        tasks = int(cells.task.max()) + 1
        known, passes = (_added(cells.counted[name][own], cells.task[own], tasks) for name in ("known", "passes"))
        tried = known > 0
        by_task = mean_of(passes[tried] / known[tried])
        first, of = cells.first_attempts(group)
        fraction = f"{percent(first / of)} ({first:,} of {of:,})" if of else "unknown"
        over_runs = int(passes.sum()) / int(known.sum())
        figures = (
            f"pass rate over runs {percent(over_runs)}, over tasks {percent(by_task)}, over first attempts {fraction}"
        )
        places.append(Place(where=labels[group], message=figures))
    return [Finding(code="retried_until_pass", message=RETRIED, places=tuple(places))] if places else []


UNEVEN_COSTS = (
    "costs are missing at different rates for passed and failed runs, which biases the cost of pass from complete "
    "cases (runs with a known cost); the cost of pass by verdict replaces each missing cost with the mean cost of runs "
    "with the same verdict"
)


def _unevenly_known_costs(engine: Engine, cells: _Cells, groups: LabeledGroups) -> list[Finding]:
    """Report groups in which costs are missing more often for one verdict, with cost of pass by verdict."""
    size = len(groups.labels)
    counts = {
        (verdict, priced): cells.by_group(_cost_count(verdict, priced), size)
        for verdict in (0, 1)
        for priced in (False, True)
    }
    uneven = counts[0, True] * counts[1, False] != counts[1, True] * counts[0, False]
    chosen = np.flatnonzero(uneven & (counts[1, True] > 0)).tolist()
    if not chosen:
        return []
    passed, costs = _numbers(engine, "pass_rate"), _numbers(engine, "cost_usd")
    by_verdict = {str(verdict): nw.when(passed == verdict).then(costs) for verdict in (0, 1)}
    keys, sums = engine.sums(by_verdict, groups.by)
    numbers = groups.numbers(keys) if groups.by else np.array([groups.number_of(()) or 0])
    means = [sums[str(verdict)].merged(numbers, size).means for verdict in (0, 1)]
    places = []
    for group in chosen:
        sizes = [(int(counts[verdict, True][group]), int(counts[verdict, False][group])) for verdict in (0, 1)]
        if (sentence := _cost_sentence([float(mean[group]) for mean in means], sizes)) is not None:
            places.append(Place(where=groups.labels[group], message=sentence))
    return [Finding(code="uneven_costs", message=UNEVEN_COSTS, places=tuple(places))] if places else []


def _cost_sentence(means: Sequence[float], sizes: Sequence[tuple[int, int]]) -> str | None:
    """Both figures; None where they are the same to the digits that are shown."""
    (failed_known, failed_unknown), (passed_known, passed_unknown) = sizes
    failed, passed = failed_known + failed_unknown, passed_known + passed_unknown
    known = f"known for {passed_known:,} of {passed:,} passed and {failed_known:,} of {failed:,} failed runs"
    of_failed, of_passed = means
    if math.isnan(of_failed):
        return f"{known}: cost of pass is {dollars(of_passed)} from passed runs only, and unknown by verdict"
    complete = dollars((passed_known * of_passed + failed_known * of_failed) / passed_known)
    by_verdict = dollars((passed * of_passed + failed * of_failed) / passed)
    if complete == by_verdict:
        return None
    return f"{known}: cost of pass over runs is {complete} from complete cases, {by_verdict} by verdict"
