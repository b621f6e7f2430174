"""Speedups of a set of attempts: the specification's summaries, our figures with intervals over tasks, and records."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from typing import Any

import msgspec
import numpy as np
from msgspec import structs

from steelyard import metrics
from steelyard.metrics import Metric, geometric_mean, harmonic_mean
from steelyard.profiles import Unscored
from steelyard.questions.speedup._answer import BenchmarkLevel, SpeedupAttempt, SpeedupRun, SpeedupSummary
from steelyard.questions.speedup._benchmark_table import NO_ORACLE, Attempt, BenchmarkTable, Floats, table_of
from steelyard.questions.speedup._findings import dominant, findings_of, unscored_attempts
from steelyard.questions.speedup._inputs import SpeedupConstants
from steelyard.questions.speedup._measures import (
    SpeedupIntervals,
    benchmark_speedups,
    measures,
    payload_fields,
    speedup_intervals_of,
    task_figures,
    without_missing,
)
from steelyard.records import Finding, Missing, exact_mean
from steelyard.statistics import Interval, clustered, pass_at_k, skewed_mean

Fields = dict[str, Any]  # Any: JSON values
Figures = Mapping[str, float | Missing]

_ADVANTAGES = ("agent_advantage", *(f"agent_advantage_level{level}" for level in range(1, 5)))
RARE = 0.04
"""Where one task in twenty wins by far, the interval holds about as often as one task in 25 is among the tasks."""
RARE_WINS = "one task in 20 with a far larger advantage"
"""Tail that the coverage of the mean log advantage is stated for."""
MIN_COVERAGE = 0.93
"""From here on an interval needs no label."""


def by_agent(table: BenchmarkTable) -> dict[str, list[int]]:
    """Positions of each agent's attempts, agents by name."""
    indexes_by_agent: dict[str, list[int]] = {}
    for index in sorted(
        range(len(table.attempts)),
        key=lambda position: (table.attempts[position].agent, table.attempts[position].trial),
    ):
        indexes_by_agent.setdefault(table.attempts[index].agent, []).append(index)
    return indexes_by_agent


def verdicts_of(attempts: Sequence[Attempt], unscored: Unscored) -> list[bool | Missing]:
    """Whether each attempt succeeded, under the policy for those that have no verdict."""
    verdicts = [attempt.success for attempt in attempts]
    if unscored == "exclude":
        return verdicts
    return [False if isinstance(verdict, Missing) else verdict for verdict in verdicts]


def summary(table: BenchmarkTable, indexes: Sequence[int], figures: Sequence[Figures], *, unscored: Unscored) -> Fields:
    """The specification's run-level fields of one agent, with `counts` and `missing`.

    Every task counts once, however often it was attempted; only `accuracy` and `total_cost` are over attempts.
    """
    attempts = [table.attempts[index] for index in indexes]
    at_tasks = _Tasks(attempts)
    speedups = at_tasks.means(figures[index]["task_speedup"] for index in indexes)
    advantages = {name: at_tasks.means(figures[index][name] for index in indexes) for name in _ADVANTAGES}
    no_advantage = _why([figures[index]["agent_advantage"] for index in indexes])
    costs = at_tasks.whole_means(attempt.cost_usd for attempt in attempts)
    weighted, weighted_tasks = _cost_weighted(
        at_tasks, [figures[index]["agent_advantage"] for index in indexes], [attempt.cost_usd for attempt in attempts]
    )
    verdicts = verdicts_of(attempts, unscored)
    successes = at_tasks.means(verdicts)
    lengths = at_tasks.means(attempt.trajectory_length for attempt in attempts)
    scored = _known(verdicts)
    passed = passes(attempts, verdicts)
    measured, valid = _benchmarks(table, indexes)
    fields, missing = without_missing(
        {
            "mean_speedup": metrics.mean_speedup(task_speedups=speedups),
            "mean_success_rate": metrics.mean_success_rate(successes=successes),
            "num_benchmarks": measured,
            "num_valid_benchmarks": valid,
            **{name: exact_mean(values) if values else no_advantage for name, values in advantages.items()},
            "mean_cost_per_task": metrics.mean_cost_per_task(costs=costs),
            "cost_weighted_advantage": weighted,
            "mean_trajectory_length": metrics.mean_trajectory_length(lengths=lengths),
            "accuracy": metrics.accuracy(successes=scored),
            "pass@k": passed.estimates or Missing("no attempt has a verdict"),
            "total_cost": _total([attempt.cost_usd for attempt in attempts]),
        }
    )
    tasks = len(at_tasks.rows)
    used = {"mean_speedup": speedups, "mean_success_rate": successes, **advantages}
    used |= {"mean_cost_per_task": costs, "mean_trajectory_length": lengths}
    counts: Fields = {name: n_of(len(values), tasks) for name, values in used.items()}
    counts["cost_weighted_advantage"] = n_of(weighted_tasks, tasks)
    counts["accuracy"] = n_of(len(scored), len(attempts))
    counts["pass@k"] = passed.counts()
    counts["total_cost"] = n_of(len(_known(attempt.cost_usd for attempt in attempts)), len(attempts))
    return fields | {"counts": counts, "missing": missing}


def n_of(n: int, of: int) -> dict[str, int]:
    """How many values a figure was made from, and how many there could have been."""
    return {"n": n, "of": of}


class _Tasks:
    """The attempts of some agents by task: an agent's attempts at one task are one witness, not several."""

    def __init__(self, attempts: Sequence[Attempt]) -> None:
        by_task: dict[tuple[str, str], list[int]] = {}
        for position, attempt in enumerate(attempts):
            by_task.setdefault((attempt.task, attempt.agent), []).append(position)
        self.rows = [rows for _, rows in sorted(by_task.items())]

    def means(
        self, values: Iterable[float | Missing], *, of: Callable[[list[float]], float] = exact_mean
    ) -> list[float]:
        """The mean of each task's known values; a task without any is left out."""
        return [of(known) for known, _ in self._known(values) if known]

    def whole_means(self, values: Iterable[float | Missing]) -> list[float]:
        """The mean of each task all of whose values are known: part of what was paid for a task is not its cost."""
        return [exact_mean(known) for known, attempts in self._known(values) if len(known) == attempts]

    def _known(self, values: Iterable[float | Missing]) -> Iterator[tuple[list[float], int]]:
        """Each task's known values, and how many attempts there were."""
        listed = list(values)
        return ((_known(listed[position] for position in rows), len(rows)) for rows in self.rows)


def _benchmarks(table: BenchmarkTable, indexes: Sequence[int]) -> tuple[int, int]:
    """How many benchmarks nop measured, and how many were valid in some attempt, added over tasks."""
    measured: set[tuple[str, str]] = set()
    valid: set[tuple[str, str]] = set()
    for index in indexes:
        attempt, rows = table.attempts[index], table.rows(index)
        names = [(attempt.task, name) for name in attempt.nop.measured_names]
        measured.update(names)
        valid.update(compress(names, table.valid[rows].tolist()))
    return len(measured), len(valid)


def _cost_weighted(
    at_tasks: _Tasks, advantages: Sequence[float | Missing], costs: Sequence[float | Missing]
) -> tuple[float | Missing, int]:
    """The advantage per dollar of the attempts that have an advantage, and over how many tasks that is.

    Missing where some of their costs are unknown: an advantage of all over the cost of some is no ratio of anything.
    """
    pairs = zip(advantages, costs, strict=True)
    paid = [advantage if isinstance(advantage, Missing) else cost for advantage, cost in pairs]
    compared, known = len(_known(advantages)), len(_known(paid))
    if 0 < known < compared:
        return Missing(f"the cost of {compared - known} of {compared} attempts is unknown"), len(at_tasks.means(paid))
    means, costs_by_task = at_tasks.means(advantages), at_tasks.means(paid)
    weighted = metrics.cost_weighted_advantage(advantages=means or _why(advantages), costs=costs_by_task)
    return weighted, len(costs_by_task)


def run_figures(table: BenchmarkTable, *, unscored: Unscored) -> Fields:
    """The figures of the whole run: all agents together, and the cost of each."""
    attempts = table.attempts
    costs = {key: _total([attempts[index].cost_usd for index in indexes]) for key, indexes in by_agent(table).items()}
    by_key, reasons = without_missing(costs)
    verdicts = verdicts_of(attempts, unscored)
    scored, passed = _known(verdicts), passes(attempts, verdicts)
    fields, missing = without_missing(
        {
            "accuracy": metrics.accuracy(successes=scored),
            "pass@k": passed.estimates or Missing("no attempt has a verdict"),
            "total_cost": _total([attempt.cost_usd for attempt in attempts]),
            "cost_by_agent_model": by_key,
        }
    )
    counts = {
        "accuracy": n_of(len(scored), len(attempts)),
        "pass@k": passed.counts(),
        "total_cost": n_of(len(_known(attempt.cost_usd for attempt in attempts)), len(attempts)),
    }
    missing |= {f"cost_by_agent_model.{key}": why for key, why in reasons.items()}
    return fields | {"missing": missing, "counts": counts}


@dataclass(frozen=True, slots=True)
class Passes:
    """The chance that one of k attempts has the verdict: a mean over the tasks where k verdicts are known."""

    estimates: dict[str, float]
    """For every k up to the smallest number of attempts at a task, so that every task could have entered."""
    beyond: dict[str, float]
    """For the larger k that some tasks still allow: each over fewer tasks than were attempted."""
    used: dict[str, int]
    """How many tasks each k is over."""
    tasks: int

    def counts(self, *, beyond: bool = False) -> dict[str, dict[str, int]]:
        """How many of the tasks each k is over."""
        return {k: n_of(self.used[k], self.tasks) for k in (self.beyond if beyond else self.estimates)}


def passes(
    attempts: Sequence[Attempt],
    verdicts: Sequence[bool | Missing],
    *,
    over_tasks: Callable[[list[float]], float] = lambda chances: metrics.pass_at_k.function(chances=chances),
) -> Passes:
    """pass@k of each k that some task allows."""
    rows = _Tasks(attempts).rows
    known = [_known(verdicts[position] for position in inside) for inside in rows]
    smallest = min((len(inside) for inside in rows), default=0)
    estimates: dict[str, float] = {}
    used: dict[str, int] = {}
    for k in range(1, max((len(task_verdicts) for task_verdicts in known), default=0) + 1):
        chances = [
            chance
            for task_verdicts in known
            if (chance := pass_at_k(len(task_verdicts), sum(task_verdicts), k)) is not None
        ]
        estimates[str(k)], used[str(k)] = over_tasks(chances), len(chances)
    inside = {k: value for k, value in estimates.items() if int(k) <= smallest}
    beyond = {k: value for k, value in estimates.items() if int(k) > smallest}
    return Passes(inside, beyond, used, len(rows))


def overall(
    table: BenchmarkTable,
    indexes: Sequence[int],
    figures: Sequence[Figures],
    options: SpeedupConstants,
    *,
    unscored: Unscored,
) -> Fields:
    """Our figures of one agent over its tasks."""
    attempts, own_figures = [table.attempts[index] for index in indexes], [figures[index] for index in indexes]
    at_tasks, verdicts = _Tasks(attempts), verdicts_of(attempts, unscored)
    to_oracle = _to_oracle(at_tasks, own_figures)
    curves, counts = _curves(attempts, verdicts, own_figures, options)
    fields, reasons = without_missing(to_oracle | curves)
    means = at_tasks.means(of_attempt["log_advantage"] for of_attempt in own_figures)
    counts |= dict.fromkeys(to_oracle, n_of(len(means), len(at_tasks.rows)))
    passed = passes(attempts, verdicts)
    counts |= {"pass@k_beyond": passed.counts(beyond=True)}
    interval = _over_tasks(fields["mean_log_advantage"], means, options)
    return (
        fields
        | {"pass@k_beyond": passed.beyond, "log_advantage_interval": interval.as_dict(), "tasks": len(means)}
        | {"counts": counts, "missing": reasons}
    )


def _to_oracle(at_tasks: _Tasks, figures: Sequence[Figures]) -> dict[str, float | Missing]:
    """Compare an agent with the reference solution, with equal weight per task."""

    def over_tasks(declared: Metric, values: Sequence[float | Missing], of: Callable[[list[float]], float]) -> Any:
        (name,) = declared.inputs
        return declared(**{name: at_tasks.means(values, of=of) or _why(values)})

    columns = ("log_advantage", "agent_advantage", "speedup_ratio_gmean")
    log_advantages, advantages, ratios = ([of_attempt[name] for of_attempt in figures] for name in columns)
    return {
        "mean_log_advantage": over_tasks(metrics.mean_log_advantage, log_advantages, exact_mean),
        "speedup_ratio_gmean_over_tasks": over_tasks(metrics.speedup_ratio_gmean_over_tasks, ratios, geometric_mean),
        "speedup_ratio_hmean_over_tasks": over_tasks(metrics.speedup_ratio_hmean_over_tasks, ratios, harmonic_mean),
        "max_fraction": over_tasks(metrics.max_fraction, advantages, exact_mean),
    }


def _over_tasks(figure: float | None, means: Sequence[float], options: SpeedupConstants) -> Interval:
    """The interval for the mean over tasks, corrected for skew, with what it reaches where a few tasks win by far.

    Limits that do not hold their figure, as one task may make them that outweighs all others, give way to Student's.
    """
    interval = skewed_mean(means, level=options.interval_level)
    if figure is not None and interval.excludes(figure):
        interval = clustered(means, range(len(means)), level=options.interval_level)
    seen = 1 - (1 - RARE) ** len(means)
    approx_coverage = min(seen, options.interval_level) if interval.known and seen < MIN_COVERAGE else None
    assumes = None if approx_coverage is None else RARE_WINS
    return structs.replace(interval, estimate=figure, approx_coverage=approx_coverage, assumes=assumes)


def _curves(
    attempts: Sequence[Attempt],
    verdicts: Sequence[bool | Missing],
    figures: Sequence[Figures],
    options: SpeedupConstants,
) -> tuple[Fields, Fields]:
    """fast_p, opt_p and opt@k, and their counts.

    Attempts with unknown success are excluded; those without a reference solution only where it is needed.
    """
    # Nothing valid is not fast: such an attempt stays in the denominator with a speedup of 0.
    speeds = [_or_zero(of_attempt["task_speedup"]) for of_attempt in figures]
    ratios = [
        NO_ORACLE if attempt.oracle is None else _or_zero(of_attempt["speedup_ratio_hmean"])
        for attempt, of_attempt in zip(attempts, figures, strict=True)
    ]
    fast = _complete(speedups=speeds, successes=verdicts)
    best = _complete(speedups=speeds, ratios=ratios, successes=verdicts)
    gate = {"opt_min_speedup": options.opt_min_speedup}
    optimal = [_optimal(*reached, options) for reached in zip(speeds, ratios, verdicts, strict=True)]
    chances = passes(attempts, optimal, over_tasks=lambda chances: metrics.opt_at_k.function(chances=chances))
    fast_count, best_count = len(fast["successes"]), len(best["successes"])
    curves = {
        "fast_p": {str(p): metrics.fast_p(**fast, fast_p_at=p) for p in options.fast_p_points}
        if fast_count
        else _why(verdicts),
        "opt_p": {str(p): metrics.opt_p(**best, opt_p_at=p, **gate) for p in options.opt_p_points}
        if best_count
        else _why(optimal),
        "opt@k": chances.estimates or _why(optimal),
    }
    of = len(attempts)
    return curves, {"fast_p": n_of(fast_count, of), "opt_p": n_of(best_count, of), "opt@k": chances.counts()}


def _optimal(
    speed: float, ratio: float | Missing, verdict: bool | Missing, options: SpeedupConstants
) -> bool | Missing:
    """Return whether one attempt is as good as the reference solution."""
    if isinstance(verdict, Missing) or isinstance(ratio, Missing):
        return _why([verdict, ratio])
    inputs = {"speedups": [speed], "ratios": [ratio], "successes": [verdict]}
    share = metrics.opt_p(**inputs, opt_p_at=options.opt_p_at, opt_min_speedup=options.opt_min_speedup)
    return share == 1


def _complete(**columns: Sequence[float | Missing]) -> dict[str, list[Any]]:  # Any: numbers and flags
    """The columns without the attempts of which one of them is not known."""
    rows = [row for row in zip(*columns.values(), strict=True) if not any(isinstance(cell, Missing) for cell in row)]
    return {name: [row[position] for row in rows] for position, name in enumerate(columns)}


def _or_zero(value: float | Missing) -> float:
    return 0.0 if isinstance(value, Missing) else value


def fronts(costs: Mapping[str, float | None], gains: Mapping[str, float | None]) -> dict[str, bool | None]:
    """Whether each agent is on the front of cost and gain; None where its cost or gain is unknown."""
    known = {key: (cost, gain) for key, cost in costs.items() if cost is not None and (gain := gains[key]) is not None}
    pareto_optimal: dict[str, bool | None] = dict.fromkeys(costs)
    for key, (cost, gain) in known.items():
        others = [pair for other, pair in known.items() if other != key]
        verdict = metrics.pareto_optimal(
            cost=cost, gain=gain, other_costs=[pair[0] for pair in others], other_gains=[pair[1] for pair in others]
        )
        pareto_optimal[key] = verdict == 1.0
    return pareto_optimal


def _known(values: Any) -> list[Any]:  # Any: an iterable of numbers, flags and Missing
    return [value for value in values if not isinstance(value, Missing)]


def _why(values: Sequence[float | Missing]) -> Missing:
    """Why none of the values is known; each reason once."""
    return Missing("; ".join(dict.fromkeys(value.reason for value in values if isinstance(value, Missing))))


def _total(costs: Sequence[float | Missing]) -> float | Missing:
    known = _known(costs)
    if len(known) < len(costs):
        return Missing(f"the cost of {len(costs) - len(known)} of {len(costs)} attempts is unknown")
    return metrics.total_cost(costs=known)


Paths = list[tuple[tuple[str, ...], list[int]]]


def levels_of(
    table: BenchmarkTable, index: int, speedup_intervals: SpeedupIntervals | None, *, level: float
) -> tuple[BenchmarkLevel, ...]:
    """Return the levels of one attempt, each before those inside it; without intervals, nothing is noise.

    The first level is the geometric mean over all benchmarks, with the interval and the verdict of its own test.
    """
    attempt, rows = table.attempts[index], table.rows(index)
    paths: dict[tuple[str, ...], list[int]] = {}
    for row in range(rows.start, rows.stop):
        place, name = attempt.nop.places[int(table.local[row])], table.name(row)
        path = tuple(part for part in place if part is not None)
        parameters = name[name.index(path[-1]) + len(path[-1]) :] if path and path[-1] in name else name
        paths.setdefault((*path, parameters), []).append(row)
    first, *inside = _levels(table, speedup_intervals, sorted(paths.items()), ())
    overall = speedup_intervals.overall[index] if speedup_intervals is not None and speedup_intervals.overall else None
    if (
        overall is not None
        and first.agent_speedup
        and math.isclose(math.log(first.agent_speedup), overall.log_ratio, abs_tol=1e-9)
    ):
        low, high, is_noise = math.exp(overall.low), math.exp(overall.high), overall.p_value > 1 - level
        first = msgspec.structs.replace(first, low=low, high=high, is_noise=is_noise)
    return first, *inside


def _levels(
    table: BenchmarkTable, speedup_intervals: SpeedupIntervals | None, paths: Paths, above: tuple[str, ...]
) -> Iterator[BenchmarkLevel]:
    rows = [row for _, path_rows in paths for row in path_rows]
    branches: dict[str, Paths] = {}
    for path, path_rows in paths:
        if len(path) > len(above):
            branches.setdefault(path[len(above)], []).append((path, path_rows))
    counted = [row for row in rows if table.counted[row]]
    low, high = _interval(table, speedup_intervals, counted)
    yield BenchmarkLevel(
        name=("".join((".".join(above[:-1]), *above[-1:])) if not branches else ".".join(above)) or "overall",
        agent_speedup=_gmean(table.effective[counted]),
        oracle_speedup=_gmean(table.oracle[counted]) if np.isfinite(table.oracle[counted]).all() else None,
        low=low,
        high=high,
        num_benchmarks=len(rows),
        num_valid_benchmarks=int(np.count_nonzero(table.valid[rows])),
        is_noise=speedup_intervals is not None
        and bool(counted)
        and all(speedup_intervals.verdict(row) == "unclear" for row in counted),
    )
    if list(branches) != [""]:  # a function without parameters is its own benchmark
        for name, inside in branches.items():
            yield from _levels(table, speedup_intervals, inside, (*above, name))


def _interval(
    table: BenchmarkTable, speedup_intervals: SpeedupIntervals | None, rows: list[int]
) -> tuple[float | None, float | None]:
    """That of a single benchmark's speedup; one that the failure rules replaced was not measured and has none."""
    if speedup_intervals is None or len(rows) != 1 or table.effective[rows[0]] != table.agent[rows[0]]:
        return None, None
    low, high = (float(ends[rows[0]]) for ends in (speedup_intervals.speedup.low, speedup_intervals.speedup.high))
    return (math.exp(low), math.exp(high)) if math.isfinite(low) and math.isfinite(high) else (None, None)


def _gmean(values: Floats) -> float | None:
    return geometric_mean(values.tolist()) if len(values) else None


@dataclass(frozen=True, eq=False)
class Speedups:
    """Payloads, summaries and findings of a set of attempts; each part is made when it is asked for."""

    table: BenchmarkTable
    options: SpeedupConstants
    profile: str
    speedup_intervals: SpeedupIntervals | None
    """Intervals and verdicts; None when they were not asked for."""
    unscored: Unscored = "fail"
    """What an attempt without a verdict counts as."""
    earlier: tuple[Finding, ...] = ()
    """What reading the files found."""

    @cached_property
    def figures(self) -> list[dict[str, float | Missing]]:
        """The declared figures of each attempt."""
        attempts = range(len(self.table.attempts))
        return [task_figures(self.table, index, self.speedup_intervals, self.options) for index in attempts]

    @cached_property
    def overall(self) -> dict[str, Fields]:
        """Our figures of each agent over its tasks, and whether it is on the front of cost and gain."""
        figures = {
            key: overall(self.table, indexes, self.figures, self.options, unscored=self.unscored)
            for key, indexes in by_agent(self.table).items()
        }
        costs = {key: self._whole_cost(key) for key in figures}
        gains = {key: fields["mean_log_advantage"] for key, fields in figures.items()}
        pareto_optimal = fronts(costs, gains)
        return {key: fields | {"pareto_optimal": pareto_optimal[key]} for key, fields in figures.items()}

    def _whole_cost(self, key: str) -> float | None:
        """The agent's mean cost where every task's is known: over other tasks than another's it compares nothing."""
        count = self.summaries[key]["counts"]["mean_cost_per_task"]
        cost: float | None = self.summaries[key]["mean_cost_per_task"]
        return cost if count["n"] == count["of"] else None

    @cached_property
    def summaries(self) -> dict[str, Fields]:
        """The specification's run-level fields of each agent, with `counts` and `missing`."""
        return {
            key: summary(self.table, indexes, self.figures, unscored=self.unscored)
            for key, indexes in by_agent(self.table).items()
        }

    @cached_property
    def findings(self) -> list[Finding]:
        """All findings, those of reading first."""
        findings = [
            *self.earlier,
            *findings_of(self.table, self.speedup_intervals, self.figures, self.options),
            *unscored_attempts(self.table.attempts, self.unscored),
        ]
        for key, fields in self.overall.items():
            findings += dominant(fields["max_fraction"], fields["tasks"], "task", self.options, key)
        return findings

    def attempt_records(self) -> tuple[SpeedupAttempt, ...]:
        """Return a record per attempt; levels only if there is one task."""
        has_levels = len({attempt.task for attempt in self.table.attempts}) == 1
        return tuple(self._attempt_record(index, has_levels=has_levels) for index in range(len(self.table.attempts)))

    def _attempt_record(self, index: int, *, has_levels: bool) -> SpeedupAttempt:
        attempt = self.table.attempts[index]
        fields, reasons = payload_fields(self.table, index, self.figures[index])
        own_measures, own_reasons = measures(self.figures[index])
        return SpeedupAttempt(
            task=attempt.task,
            number=attempt.number,
            agent=attempt.agent,
            **fields,
            per_benchmark_speedups=benchmark_speedups(self.table, index, self.speedup_intervals),
            num_agent_only_failures=int(np.count_nonzero(self.table.agent_only[self.table.rows(index)])),
            cost_origin=attempt.cost_origin,
            trajectory_origin=attempt.trajectory_origin,
            measures=own_measures,
            missing=reasons | own_reasons,
            levels=levels_of(self.table, index, self.speedup_intervals, level=self.options.interval_level)
            if has_levels
            else (),
        )

    def summary_records(self) -> dict[str, SpeedupSummary]:
        """Return the figures of each agent over its tasks."""
        return {
            key: msgspec.convert(_joined(fields, self.overall[key]), SpeedupSummary)
            for key, fields in self.summaries.items()
        }

    def run_record(self) -> SpeedupRun:
        """Return the figures over all agents."""
        return msgspec.convert(_joined(run_figures(self.table, unscored=self.unscored)), SpeedupRun)


def _joined(*parts: Fields) -> Fields:
    """Return the fields of all parts, with the counts that have one entry per k apart from the others."""
    fields = {name: value for part in parts for name, value in part.items()}
    counts = {name: count for part in parts for name, count in part["counts"].items()}
    return fields | {
        "missing": {name: reason for part in parts for name, reason in part["missing"].items()},
        "counts": {name: count for name, count in counts.items() if "of" in count},
        "counts_by_k": {name: count for name, count in counts.items() if "of" not in count},
    }


def speedups_of(
    attempts: Sequence[Attempt],
    options: SpeedupConstants,
    *,
    profile: str = "speedup-1",
    intervals: bool = True,
    unscored: Unscored = "fail",
    earlier: Sequence[Finding] = (),
) -> Speedups:
    """The speedups of these attempts, in order of task, number and agent whatever the order given.

    `unscored` is for attempts without a verdict among those that were judged. Where nothing but timings is known of any
    attempt, success is unknown.
    """
    ordered = sorted(attempts, key=lambda attempt: (attempt.task, attempt.number, attempt.agent))
    table = table_of(ordered, agent_only_failures=options.agent_only_failures)
    speedup_intervals = speedup_intervals_of(table, options) if intervals else None
    if not any(attempt.is_judged for attempt in ordered):
        unscored = "exclude"  # timings alone: no tests were run
    return Speedups(table, options, profile, speedup_intervals, unscored, tuple(earlier))
