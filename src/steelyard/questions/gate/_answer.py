"""Answer of `gate`: the status of each rule and of the gate."""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from steelyard.formatting import counted
from steelyard.metrics import catalog
from steelyard.questions._answer import Answer, Part, Rows
from steelyard.records import Finding
from steelyard.statistics import Interval

Inconclusive = Literal["pass", "fail", "report"]
GateStatus = Literal["pass", "fail", "inconclusive"]
EXIT: dict[GateStatus, int] = {"pass": 0, "fail": 3, "inconclusive": 4}
"""The exit status of each result."""
EXIT_IF_INCONCLUSIVE: dict[Inconclusive, int] = {"pass": 0, "fail": 3, "report": 4}


class RuleResult(Part, frozen=True, kw_only=True):
    """Result of one rule."""

    rule: str
    metric: str
    status: GateStatus
    sentence: str
    baseline: float | None
    candidate: float | None
    difference: float | None
    """The candidate's value minus the baseline's, or the ratio of geometric means; None if the rule does not refer to
    the baseline."""
    baseline_lower_bounds: int
    """Runs of the baseline whose value is a lower bound."""
    candidate_lower_bounds: int
    """Runs of the candidate whose value is a lower bound."""
    estimate: float | None
    """Tested quantity: the candidate's value, its difference from `factor` times the baseline, or the ratio of
    geometric means."""
    low: float | None
    high: float | None
    method: str
    n: int
    """Runs (or pairs) used."""
    clusters: int
    confidence: float
    seed: int | None
    resamples: int | None
    reason: str | None
    """Reason for missing or infinite bounds."""
    approx_coverage: float | None
    """Lowest actual coverage, if it can be below the nominal level although what the interval assumes is true."""
    assumes: str | None
    """Assumptions of the interval that the data cannot confirm."""
    factor: float
    """Factor of the baseline in the limit; 0 if the rule does not refer to it."""
    offset: float
    """Added to the baseline; without a baseline, the limit itself."""
    tasks: int
    tasks_needed: int | None
    """Sample size that resolves the rule at 80% power; None when it is conclusive or the sample size is unknown."""
    resolvable_rule: str | None
    """Nearest rule that `tasks_needed` tasks resolve, if no sample size resolves this one."""

    @property
    def is_ratio(self) -> bool:
        """Whether the tested quantity is the ratio of two geometric means, and the limit is `factor`."""
        return catalog()[self.metric].is_geometric and self.factor != 0

    @property
    def interval(self) -> Interval:
        """The tested quantity with its interval."""
        return Interval(**{name: getattr(self, name) for name in Interval.__struct_fields__})


class Gate(Answer, frozen=True, kw_only=True):
    """Result of all rules. It fails if one rule fails, and is inconclusive if none fails and one is inconclusive."""

    rows: ClassVar[Rows] = Rows("rules")
    status: GateStatus
    exit_code: int
    """Exit status: 0 pass, 3 fail, 4 inconclusive (or as set by `inconclusive`); 1 if records were rejected."""
    inconclusive: Inconclusive
    """How an inconclusive gate is treated: pass, fail or report."""
    profile: str
    weight_by: str
    """Unit of analysis of means and proportions: tasks or runs."""
    unscored: str
    """Policy for runs without a verdict: exclude or fail."""
    tasks: int
    """Tasks of the candidate; with a baseline, tasks that both sides attempted."""
    confidence: float
    seed: int
    rules: tuple[RuleResult, ...]
    findings: tuple[Finding, ...]
    rejected_count: int

    @property
    def about(self) -> str:
        """Status, rules and tasks."""
        return f"{self.status}: {counted(len(self.rules), 'rule')}, {counted(self.tasks, 'task')}"

    @property
    def exit_status(self) -> int:
        """Exit status of the command."""
        return self.exit_code

    def ended(self, status: int) -> Gate:
        """Return the gate with the exit status of the command, which is 1 if records were rejected."""
        return msgspec.structs.replace(self, exit_code=status)
