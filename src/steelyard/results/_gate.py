"""Result of `gate`: the status of each rule and of the gate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from steelyard.formatting import counted
from steelyard.records import Finding, finding_dict
from steelyard.results._base import Result, json_number, json_numbers

if TYPE_CHECKING:
    from steelyard.statistics import Interval

GateStatus = Literal["pass", "fail", "inconclusive"]
Inconclusive = Literal["pass", "fail", "report"]
EXIT: dict[GateStatus, int] = {"pass": 0, "fail": 3, "inconclusive": 4}
"""The exit status of each result."""
EXIT_IF_INCONCLUSIVE: dict[Inconclusive, int] = {"pass": 0, "fail": 3, "report": 4}


@dataclass(frozen=True, slots=True)
class Rule:
    """Limit on a metric: `factor` times the baseline, plus `offset`."""

    text: str
    metric: str
    at_least: bool
    """Whether the limit is a lower bound (>=) or an upper bound (<=)."""
    factor: float
    """Factor of the baseline; 0 if the rule does not refer to it."""
    offset: float
    """Added to the baseline; without a baseline, the limit itself."""

    @property
    def relative(self) -> bool:
        """Whether the rule refers to the baseline."""
        return self.factor != 0


@dataclass(frozen=True, slots=True)
class RuleCheck:
    """Result of one rule."""

    rule: Rule
    status: GateStatus
    sentence: str
    interval: Interval
    """Tested quantity: the candidate's value, or its difference from `factor` times the baseline."""
    tasks: int
    """Number of tasks."""
    baseline: float | None
    candidate: float | None
    tasks_needed: int | None = None
    """Sample size that resolves the rule at 80% power; None when it is conclusive or the sample size is unknown."""
    resolvable_rule: str | None = None
    """Nearest rule that `tasks_needed` tasks resolve, if no sample size resolves this one."""


@dataclass(frozen=True, repr=False)
class Gate(Result):
    """Result of all rules. It fails if one rule fails, and is inconclusive if none fails and one is inconclusive."""

    checks: tuple[RuleCheck, ...]
    tasks: int
    """Tasks of the candidate; with a baseline, tasks that both sides attempted."""
    level: float
    seed: int
    profile: str
    findings: tuple[Finding, ...] = ()
    rejected_count: int = 0
    weight_by: str = "tasks"
    """Unit of analysis of means and proportions: tasks or runs."""
    unscored: str = "exclude"
    """Policy for runs without a verdict: exclude or fail."""
    inconclusive: Inconclusive = "report"
    """How an inconclusive gate is treated: pass, fail or report."""

    @property
    def status(self) -> GateStatus:
        """Overall status of all rules."""
        statuses = {check.status for check in self.checks}
        return next(status for status in ("fail", "inconclusive", "pass") if status in statuses)

    @property
    def exit_code(self) -> int:
        """Exit status: 0 pass, 3 fail, 4 inconclusive (or as set by `inconclusive`)."""
        return EXIT_IF_INCONCLUSIVE[self.inconclusive] if self.status == "inconclusive" else EXIT[self.status]

    def _about(self) -> str:
        return f"{self.status}: {len(self.checks)} rule{'s' * (len(self.checks) != 1)}, {counted(self.tasks, 'task')}"

    def to_dicts(self) -> list[dict[str, Any]]:  # Any: cells of any type
        """Return one flat row per rule."""
        return [
            {
                "rule": check.rule.text,
                "metric": check.rule.metric,
                "status": check.status,
                "baseline": check.baseline,
                "candidate": check.candidate,
                "estimate": check.interval.estimate,
                "low": check.interval.low,
                "high": check.interval.high,
                "method": check.interval.method,
                "factor": check.rule.factor,
                "offset": check.rule.offset,
                "tasks": check.tasks,
                "tasks_needed": check.tasks_needed,
                "sentence": check.sentence,
            }
            for check in self.checks
        ]

    def _shape(self) -> dict[str, Any]:  # Any: JSON values
        return {
            "status": self.status,
            "exit_code": self.exit_code,
            "inconclusive": self.inconclusive,
            "profile": self.profile,
            "weight_by": self.weight_by,
            "unscored": self.unscored,
            "tasks": self.tasks,
            "confidence": self.level,
            "seed": self.seed,
            "rules": [
                {
                    "rule": check.rule.text,
                    "metric": check.rule.metric,
                    "status": check.status,
                    "sentence": check.sentence,
                    "baseline": json_number(check.baseline),
                    "candidate": json_number(check.candidate),
                    **json_numbers(check.interval.as_dict()),
                    "factor": check.rule.factor,
                    "offset": check.rule.offset,
                    "tasks": check.tasks,
                    "tasks_needed": check.tasks_needed,
                    **({"resolvable_rule": check.resolvable_rule} if check.resolvable_rule else {}),
                }
                for check in self.checks
            ],
            "findings": [finding_dict(finding) for finding in self.findings],
        }
