"""What `gate` gives: each rule held against the data, and the verdict over all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from steelyard.records import Finding, finding_dict
from steelyard.results._comparison import Difference
from steelyard.results._manners import Result, json_number, json_numbers

GateVerdict = Literal["holds", "fails", "cannot be told"]
EXIT: dict[GateVerdict, int] = {"holds": 0, "fails": 3, "cannot be told": 4}
"""The exit status of each result."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A limit on how far a metric may move from the baseline."""

    text: str
    metric: str
    at_least: bool
    """Whether the difference must be at least the limit, or at most."""
    limit: float
    """The limit of candidate minus baseline; with `relative`, as a share of the baseline's figure."""
    relative: bool = False


@dataclass(frozen=True, slots=True)
class RuleCheck:
    """One rule held against the data."""

    rule: Rule
    result: GateVerdict
    sentence: str
    difference: Difference
    """Candidate minus baseline; for a relative rule, minus the baseline moved by the allowed share."""
    baseline: float | None
    candidate: float | None
    needed: int | None
    """Tasks at which the question would be settled if the difference stays; None when unknown or settled."""


@dataclass(frozen=True, repr=False)
class Gate(Result):
    """All rules together: it fails when one fails, and cannot be told when none fails and one cannot be told."""

    checks: tuple[RuleCheck, ...]
    tasks: int
    level: float
    seed: int
    profile: str
    findings: tuple[Finding, ...] = ()
    rejected_count: int = 0
    weight_by: str = "tasks"
    """What counts once in means and shares: tasks or runs."""
    unscored: str = "exclude"
    """What a run without a verdict counts as: left out, or failed."""

    @property
    def result(self) -> GateVerdict:
        """The verdict over all rules."""
        results = [check.result for check in self.checks]
        for worst in ("fails", "cannot be told"):
            if worst in results:
                return worst
        return "holds"

    @property
    def exit_code(self) -> int:
        """0 holds, 3 fails, 4 cannot be told."""
        return EXIT[self.result]

    def _about(self) -> str:
        return f"{self.result}: {len(self.checks)} rules, {self.tasks:,} common tasks"

    def to_dicts(self) -> list[dict[str, Any]]:  # Any: cells of any type
        """One flat row a rule."""
        return [
            {
                "rule": check.rule.text,
                "metric": check.rule.metric,
                "result": check.result,
                "baseline": check.baseline,
                "candidate": check.candidate,
                "difference": check.difference.value,
                "low": check.difference.interval.low,
                "high": check.difference.interval.high,
                "method": check.difference.interval.method,
                "limit": check.rule.limit,
                "relative": check.rule.relative,
                "tasks": check.difference.tasks,
                "tasks_needed": check.needed,
                "sentence": check.sentence,
            }
            for check in self.checks
        ]

    def _shape(self) -> dict[str, Any]:  # Any: JSON values
        return {
            "result": self.result,
            "exit_code": self.exit_code,
            "profile": self.profile,
            "weight_by": self.weight_by,
            "unscored": self.unscored,
            "tasks": self.tasks,
            "confidence": self.level,
            "seed": self.seed,
            "rules": [
                {
                    "rule": check.rule.text,
                    "result": check.result,
                    "sentence": check.sentence,
                    "baseline": json_number(check.baseline),
                    "candidate": json_number(check.candidate),
                    "difference": json_numbers(check.difference.interval.as_dict()),
                    "limit": check.rule.limit,
                    "relative": check.rule.relative,
                    "tasks_needed": check.needed,
                }
                for check in self.checks
            ],
            "findings": [finding_dict(finding) for finding in self.findings],
        }
