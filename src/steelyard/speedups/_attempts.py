"""Everything that is known of a set of attempts, and its JSON shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec

from steelyard.records import Finding
from steelyard.speedups._benchmark_table import Attempt, BenchmarkTable, table_of
from steelyard.speedups._benchmark_tree import Node, tree_of
from steelyard.speedups._constants import SpeedupConstants
from steelyard.speedups._measures import Surety, benchmark_measures, measures, surety_of
from steelyard.speedups._payload import Payload, payloads
from steelyard.speedups._speedup_findings import coverage, dominant, findings_of
from steelyard.speedups._summary import SpeedupSummary, by_agent, fronts, overall, run_figures, summary

Fields = dict[str, Any]  # Any: JSON values


@dataclass(frozen=True, eq=False)
class Speedups:
    """Payloads, summaries and findings of a set of attempts; each part is made when it is asked for."""

    table: BenchmarkTable
    options: SpeedupConstants
    profile: str
    surety: Surety | None
    """Intervals and verdicts; None when they were not asked for."""
    earlier: tuple[Finding, ...] = ()
    """What reading the files found."""

    @cached_property
    def measured(self) -> dict[int, Fields]:
        """Our figures of each attempt."""
        attempts = range(len(self.table.attempts))
        return {index: measures(self.table, index, self.surety, self.options) for index in attempts}

    @cached_property
    def overall(self) -> dict[str, Fields]:
        """Our figures of each agent over its tasks, and whether it is on the front of cost and gain."""
        figures = {
            key: overall(self.table, at, self.measured, self.options) for key, at in by_agent(self.table).items()
        }
        costs = {key: self._whole_cost(key) for key in figures}
        gains = {key: fields["mean_log_advantage"] for key, fields in figures.items()}
        on_front = fronts(costs, gains)
        return {key: fields | {"on_cost_front": on_front[key]} for key, fields in figures.items()}

    def _whole_cost(self, key: str) -> float | None:
        """The agent's mean cost where every task's is known: over other tasks than another's it compares nothing."""
        count = self._summaries[key].counts["mean_cost_per_task"]
        cost: float | None = self.summaries[key]["mean_cost_per_task"]
        return cost if count["n"] == count["of"] else None

    @cached_property
    def _summaries(self) -> dict[str, SpeedupSummary]:
        return {key: summary(self.table, indexes) for key, indexes in by_agent(self.table).items()}

    @property
    def summaries(self) -> dict[str, Fields]:
        """The specification's run-level fields of each agent."""
        return {key: agent_summary.fields for key, agent_summary in self._summaries.items()}

    @cached_property
    def findings(self) -> list[Finding]:
        """All findings, those of reading first."""
        findings = [*self.earlier, *findings_of(self.table, self.surety, self.measured, self.options)]
        for key, fields in self.overall.items():
            findings += dominant(fields["largest_share"], fields["tasks"], "task", self.options, key)
        return findings

    def tree(self, index: int) -> Node:
        """The tree of one attempt."""
        return tree_of(self.table, index)

    def as_dict(self, *, many: bool) -> Fields:
        """The JSON shape, in dictionaries and lists only: `agents` for one task, `tasks` for many."""
        return self._shape(many=many, plain=True)

    def as_json(self, *, many: bool) -> bytes:
        """The same as indented JSON text, without making the dictionaries first."""
        return msgspec.json.format(msgspec.json.encode(self._shape(many=many, plain=False)), indent=2)

    def _shape(self, *, many: bool, plain: bool) -> Fields:
        parts: Fields = {"profile": self.profile}
        if many:
            parts["tasks"] = {}
        else:
            parts |= {"agents": {}, "measures": {}, "missing": {}}
        each_payload = payloads(self.table, plain=plain)
        for index, (attempt, (payload, reasons)) in enumerate(zip(self.table.attempts, each_payload, strict=True)):
            task = parts
            if many:
                task = parts["tasks"].setdefault(attempt.trial, {"agents": {}, "measures": {}, "missing": {}})
            self._add(task, index, msgspec.structs.asdict(payload) if plain else payload, reasons)
        parts["summary"] = self.summaries
        parts["summary_missing"] = {key: agent_summary.missing for key, agent_summary in self._summaries.items()}
        parts["summary_counts"] = {key: agent_summary.counts for key, agent_summary in self._summaries.items()}
        parts["overall"] = self.overall
        parts["run"] = run_figures(self.table)
        parts["coverage"] = coverage(self.table.attempts)
        parts["findings"] = [_finding(finding) for finding in self.findings]
        return parts

    def _add(self, task: Fields, index: int, payload: Payload | Fields, reasons: dict[str, str]) -> None:
        attempt = self.table.attempts[index]
        key = attempt.agent
        if key in task["agents"]:  # one task given with several attempts of an agent
            key = f"{key}#{attempt.number}"
        task["agents"][key], task["missing"][key] = payload, reasons
        benchmarks = {} if self.surety is None else benchmark_measures(self.table, index, self.surety)
        task["measures"][key] = self.measured[index] | {"benchmarks": benchmarks}


def _finding(finding: Finding) -> Fields:
    return {"code": finding.code, "severity": finding.severity, "message": finding.message, "where": finding.where}


def speedups_of(
    attempts: Sequence[Attempt],
    options: SpeedupConstants,
    *,
    profile: str = "speedup-1",
    intervals: bool = True,
    earlier: Sequence[Finding] = (),
) -> Speedups:
    """The speedups of these attempts, in order of task, number and agent whatever the order given."""
    ordered = sorted(attempts, key=lambda attempt: (attempt.task, attempt.number, attempt.agent))
    table = table_of(ordered, agent_only_failures=options.agent_only_failures)
    surety = surety_of(table, options) if intervals else None
    return Speedups(table, options, profile, surety, tuple(earlier))
