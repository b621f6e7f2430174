"""Speedups of a set of attempts: records, levels of benchmarks, summaries and findings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
import numpy as np

from steelyard.metrics import geometric_mean
from steelyard.profiles import Unscored
from steelyard.records import Finding, Missing
from steelyard.speedups._benchmark_table import Attempt, BenchmarkTable, Floats, table_of
from steelyard.speedups._inputs import SpeedupConstants
from steelyard.speedups._measures import (
    SpeedupIntervals,
    benchmark_speedups,
    measures,
    payload_fields,
    speedup_intervals_of,
    task_figures,
)
from steelyard.speedups._records import BenchmarkLevel, SpeedupAttempt, SpeedupRun, SpeedupSummary
from steelyard.speedups._speedup_findings import dominant, findings_of, unscored_attempts
from steelyard.speedups._summary import by_agent, fronts, overall, run_figures, summary

Paths = list[tuple[tuple[str, ...], list[int]]]


def levels_of(
    table: BenchmarkTable, index: int, speedup_intervals: SpeedupIntervals | None
) -> tuple[BenchmarkLevel, ...]:
    """Return the levels of one attempt, each before those inside it; without intervals, nothing is noise."""
    attempt, rows = table.attempts[index], table.rows(index)
    paths: dict[tuple[str, ...], list[int]] = {}
    for row in range(rows.start, rows.stop):
        place, name = attempt.nop.places[int(table.local[row])], table.name(row)
        path = tuple(part for part in place if part is not None)
        parameters = name[name.index(path[-1]) + len(path[-1]) :] if path and path[-1] in name else name
        paths.setdefault((*path, parameters), []).append(row)
    return tuple(_levels(table, speedup_intervals, sorted(paths.items()), ()))


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


Fields = dict[str, Any]  # Any: JSON values


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
            levels=levels_of(self.table, index, self.speedup_intervals) if has_levels else (),
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
