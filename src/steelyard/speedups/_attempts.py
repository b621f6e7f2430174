"""Everything that is known of a set of attempts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from steelyard.profiles import Unscored
from steelyard.records import Finding, Missing
from steelyard.results import BenchmarkNode, SpeedupAttempt, SpeedupResult, SpeedupSummary
from steelyard.speedups._benchmark_table import Attempt, BenchmarkTable, table_of
from steelyard.speedups._benchmark_tree import tree_of
from steelyard.speedups._constants import SpeedupConstants
from steelyard.speedups._measures import (
    SpeedupIntervals,
    benchmark_measures,
    measures,
    speedup_intervals_of,
    task_figures,
)
from steelyard.speedups._payload import payloads
from steelyard.speedups._speedup_findings import coverage, dominant, findings_of, unscored_attempts
from steelyard.speedups._summary import by_agent, fronts, overall, run_figures, summary

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
        count = self._summaries[key].counts["mean_cost_per_task"]
        cost: float | None = self.summaries[key]["mean_cost_per_task"]
        return cost if count["n"] == count["of"] else None

    @cached_property
    def _summaries(self) -> dict[str, SpeedupSummary]:
        return {
            key: summary(self.table, indexes, self.figures, unscored=self.unscored)
            for key, indexes in by_agent(self.table).items()
        }

    @property
    def summaries(self) -> dict[str, Fields]:
        """The specification's run-level fields of each agent."""
        return {key: agent_summary.fields for key, agent_summary in self._summaries.items()}

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

    def tree(self, index: int) -> BenchmarkNode:
        """The tree of one attempt."""
        return tree_of(self.table, index, self.speedup_intervals)

    def result(self, *, many: bool, rejected_count: int = 0) -> SpeedupResult:
        """Return all of it as a record; trees only for one task's files, since a thousand are not drawn."""
        attempts = tuple(
            SpeedupAttempt(
                task=attempt.task,
                trial=attempt.trial,
                number=attempt.number,
                agent=attempt.agent,
                payload=payload,
                missing=reasons,
                measures=measures(self.table, index, self.figures[index]),
                benchmarks={}
                if self.speedup_intervals is None
                else benchmark_measures(self.table, index, self.speedup_intervals),
                tree=None if many else self.tree(index),
            )
            for index, (attempt, (payload, reasons)) in enumerate(
                zip(self.table.attempts, payloads(self.table, self.figures), strict=True)
            )
        )
        return SpeedupResult(
            profile=self.profile,
            unscored=self.unscored,
            many=many,
            attempts=attempts,
            summaries=self._summaries,
            overall=self.overall,
            run=run_figures(self.table, unscored=self.unscored),
            coverage=coverage(self.table.attempts),
            findings=tuple(self.findings),
            usable=bool(self.table.valid.any()),
            rejected_count=rejected_count,
        )


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
