"""What `gate` gives: each rule held against the data, and the verdict over all of them."""

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
    """A limit on a metric: the baseline's figure times `factor`, plus `offset`."""

    text: str
    metric: str
    at_least: bool
    """Whether the candidate must reach the limit, or stay within it."""
    factor: float
    """What the baseline's figure is multiplied by; 0 where the rule does not speak of a baseline."""
    offset: float
    """What is added; without a baseline, the limit itself."""

    @property
    def relative(self) -> bool:
        """Whether the rule speaks of the baseline."""
        return self.factor != 0


@dataclass(frozen=True, slots=True)
class RuleCheck:
    """One rule held against the data."""

    rule: Rule
    status: GateStatus
    sentence: str
    interval: Interval
    """What the rule's offset limits: the candidate's figure, or its difference from `factor` times the baseline's."""
    tasks: int
    """Tasks that it rests on."""
    baseline: float | None
    candidate: float | None
    tasks_needed: int | None = None
    """Sample size that resolves the rule at 80% power; None when it is conclusive or the sample size is unknown."""
    resolvable_rule: str | None = None
    """Nearest rule that `tasks_needed` tasks resolve, if no sample size resolves this one."""


@dataclass(frozen=True, repr=False)
class Gate(Result):
    """All rules together: it fails when one fails, and is inconclusive when none fails and one is inconclusive."""

    checks: tuple[RuleCheck, ...]
    tasks: int
    """Tasks of the candidate; with a baseline, those that both sides tried."""
    level: float
    seed: int
    profile: str
    findings: tuple[Finding, ...] = ()
    rejected_count: int = 0
    weight_by: str = "tasks"
    """What counts once in means and shares: tasks or runs."""
    unscored: str = "exclude"
    """What a run without a verdict counts as: left out, or failed."""
    inconclusive: Inconclusive = "report"
    """What an inconclusive gate is to the build."""

    @property
    def status(self) -> GateStatus:
        """The verdict over all rules."""
        statuses = {check.status for check in self.checks}
        return next(status for status in ("fail", "inconclusive", "pass") if status in statuses)

    @property
    def exit_code(self) -> int:
        """0 holds, 3 fails; inconclusive is 4, or what the caller takes it for."""
        return EXIT_IF_INCONCLUSIVE[self.inconclusive] if self.status == "inconclusive" else EXIT[self.status]

    def _about(self) -> str:
        return f"{self.status}: {len(self.checks)} rule{'s' * (len(self.checks) != 1)}, {counted(self.tasks, 'task')}"

    def to_dicts(self) -> list[dict[str, Any]]:  # Any: cells of any type
        """One flat row a rule."""
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
