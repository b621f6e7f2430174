"""Result of `rank`: ranks with rank intervals, scores and cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from steelyard.records import Finding, finding_dict
from steelyard.results._base import Result, json_number, json_numbers
from steelyard.results._measurement import scheme_dict, tier_name_dict

if TYPE_CHECKING:
    from steelyard.statistics import Interval

Order = Literal["mean", "bradley-terry", "ranked-pairs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedGroup:
    """One ranked group."""

    key: Mapping[str, str | int | None]
    rank: int
    """Rank of the point estimate; ties share the better rank."""
    best: int
    """Best rank in the rank interval."""
    worst: int
    """Worst rank in the rank interval."""
    score: Interval
    """Its value over the shared tasks, with its interval."""
    strength: float | None = None
    """Bradley-Terry strength, if requested."""
    cost_usd: float | None = None
    """Mean cost on the shared tasks, over runs with a known cost; None if there are none."""
    cost_runs: int = 0
    """Number of runs with a reported or priced cost, over which the mean is taken."""
    cost_of_pass: float | None = None
    """Cost of pass on the shared tasks, over runs with both a cost and a verdict; None if there are none."""
    pareto_optimal: bool | None = None
    """Whether no other group scores at least as high at no higher cost; None if its cost is unknown."""
    pareto_frequency: float | None = None
    """Fraction of bootstrap resamples of tasks in which it is Pareto optimal."""
    passes: Mapping[int, tuple[Interval, Interval]] = field(default_factory=dict)
    """pass@k and pass^k for every k up to the largest number of scored attempts; `n` is the number of tasks."""
    tasks: int = 0
    """Number of shared tasks; the `n` of a pass@k may be smaller."""
    runs: int = 0
    extra_metrics: Mapping[str, float | None] = field(default_factory=dict)
    """Other requested metrics on the shared tasks; None if no run has a value."""

    @property
    def rank_interval(self) -> tuple[int, int]:
        """Confidence set for the rank: the best and the worst rank."""
        return self.best, self.worst

    @property
    def rank_text(self) -> str:
        """The rank interval as text: `2-4`, or `1` for a single rank."""
        return str(self.best) if self.best == self.worst else f"{self.best}-{self.worst}"


@dataclass(frozen=True, repr=False)
class Ranking(Result):
    """Ranking of groups."""

    by: tuple[str, ...]
    tier_scheme: str | None
    """Common scheme of all tiers, when tiers are ranked; None if the key contains it."""
    on: str
    order: Order
    test: str
    groups: tuple[RankedGroup, ...]
    tasks: int
    all_tasks: int
    level: float
    seed: int
    resamples: int
    profile: str
    findings: tuple[Finding, ...] = ()
    rejected_count: int = 0
    weight_by: str = "tasks"
    """Unit of analysis of means and proportions: tasks or runs."""
    unscored: str = "exclude"
    """Policy for runs without a verdict: exclude or fail."""
    extra_metrics: tuple[str, ...] = ()
    """Metrics listed in addition to the one ranked by."""
    rows: str = "run"
    """Kind of row that each group has several of: run, prompt, attempt, benchmark or submission."""

    def _about(self) -> str:
        by = ",".join(self.by)
        return f"{len(self.groups)} groups by {by} on {self.on}: {self.tasks:,} of {self.all_tasks:,} tasks"

    def to_dicts(self) -> list[dict[str, Any]]:  # Any: cells of any type
        """Return one flat row per group."""
        return [
            {
                **scheme_dict(self.tier_scheme),
                **place.key,
                "rank": place.rank,
                "best_rank": place.best,
                "worst_rank": place.worst,
                "score": place.score.estimate,
                "low": place.score.low,
                "high": place.score.high,
                "method": place.score.method,
                "runs": place.runs,
                "cost_usd": place.cost_usd,
                "cost_runs": place.cost_runs,
                "cost_of_pass": place.cost_of_pass,
                "pareto_optimal": place.pareto_optimal,
                "pareto_frequency": place.pareto_frequency,
                "strength": place.strength,
                **{
                    name: value
                    for name, value in place.extra_metrics.items()
                    if name not in ("cost_usd", "cost_of_pass")
                },
            }
            for place in self.groups
        ]

    def _shape(self) -> dict[str, Any]:  # Any: JSON values
        return {
            "profile": self.profile,
            "by": list(self.by),
            **scheme_dict(self.tier_scheme),
            "metrics": [self.on, *self.extra_metrics],
            "order": self.order,
            "test": self.test,
            "correction": "holm" if "Holm" in self.test else "step-down" if "step-down" in self.test else None,
            "weight_by": self.weight_by,
            "unscored": self.unscored,
            "tasks": {"common": self.tasks, "all": self.all_tasks},
            "confidence": self.level,
            "seed": self.seed,
            "resamples": self.resamples,
            "groups": [_group_dict(place, self.tier_scheme) for place in self.groups],
            "findings": [finding_dict(finding) for finding in self.findings],
        }


def _group_dict(place: RankedGroup, tier_scheme: str | None) -> dict[str, Any]:  # Any: JSON values
    shape: dict[str, Any] = {
        "key": dict(place.key),
        **tier_name_dict(place.key, tier_scheme),
        "rank": place.rank,
        "rank_interval": list(place.rank_interval),
        "score": json_numbers(place.score.as_dict()),
        "runs": place.runs,
        "cost_usd": json_number(place.cost_usd),
        "cost_runs": place.cost_runs,
        "cost_of_pass": json_number(place.cost_of_pass),
        "pareto_optimal": place.pareto_optimal,
        "pareto_frequency": place.pareto_frequency,
    }
    if place.extra_metrics:
        shape["extra_metrics"] = json_numbers(place.extra_metrics)
    if place.strength is not None:
        shape["strength"] = place.strength
    if place.passes:
        for which, name in enumerate(("pass_at_k", "pass_all_k")):
            shape[name] = {
                str(k): json_numbers(pair[which].as_dict()) | {"missing": place.tasks - pair[which].n}
                for k, pair in place.passes.items()
            }
    return shape
