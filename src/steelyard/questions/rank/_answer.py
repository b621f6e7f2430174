"""Answer of `rank`: ranks with rank intervals, scores and cost."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from steelyard.formatting import counted
from steelyard.questions._answer import Answer, Part, Rows
from steelyard.questions.compare import Verdict
from steelyard.records import Finding
from steelyard.statistics import Interval, KruskalWallis


class RankInterval(NamedTuple):
    """Confidence set for a rank."""

    best: int
    worst: int


class PassEstimate(Interval, frozen=True, kw_only=True):
    """pass@k or pass^k; `n` is the number of tasks with k scored attempts."""

    missing: int
    """Number of shared tasks with fewer scored attempts."""


class RankedTasks(Part, frozen=True, kw_only=True):
    """Number of tasks of a ranking."""

    common: int
    """Tasks that every group has a value for."""
    all: int


class LeaderMargin(Part, frozen=True, kw_only=True):
    """Difference of the leader from the second group, paired by task, as `compare` judges the two."""

    sentence: str
    second: str
    """Name of the second group."""
    verdict: Verdict
    leader_value: float | None
    """Value of the leader on the tasks that the two share."""
    second_value: float | None
    """Value of the second group on these tasks."""
    difference: Interval
    p_value: float | None
    tasks: int
    """Tasks on which both have a value."""


class RankedGroup(Part, frozen=True, kw_only=True):
    """One ranked group."""

    key: dict[str, str | int | None]
    tier_name: str | None
    """Meaning of the tier; None without a tier or in a scheme that does not define it."""
    rank: int
    """Rank of the point estimate; ties share the better rank."""
    rank_interval: RankInterval
    score: Interval
    """Its value over the shared tasks, with its interval."""
    runs: int
    cost_usd: float | None
    """Mean cost on the shared tasks, over runs with a known cost; None if there are none."""
    cost_runs: int
    """Number of runs with a reported or priced cost, over which the mean is taken."""
    cost_of_pass: float | None
    """Cost of pass on the shared tasks, over runs with both a cost and a verdict; None if there are none."""
    pareto_optimal: bool | None
    """Whether no other group scores at least as high at no higher cost; None if its cost is unknown."""
    pareto_frequency: float | None
    """Fraction of bootstrap resamples of tasks, or of their clusters, in which it is Pareto optimal."""
    pareto_reason: str | None
    """Reason why one of the two is missing."""
    extra_metrics: dict[str, float | None]
    """Other requested metrics on the shared tasks; None if no run has a value."""
    lower_bounds: dict[str, int]
    """Number of runs whose value is a lower bound, by metric; those metrics are lower bounds too."""
    strength: float | None
    """Bradley-Terry strength; None in other orders."""
    pass_at_k: dict[str, PassEstimate]
    """At least one of k attempts passes, by k up to the largest number of scored attempts; empty if that is 1."""
    pass_all_k: dict[str, PassEstimate]
    """All of k attempts pass."""
    margin: LeaderMargin | None
    """Difference from the second group; None except for the leader, and without a second group."""

    @property
    def rank_text(self) -> str:
        """The rank interval as text: `2-4`, or `1` for a single rank."""
        best, worst = self.rank_interval
        return str(best) if best == worst else f"{best}-{worst}"


class Ranking(Answer, frozen=True, kw_only=True):
    """Ranking of groups."""

    rows: ClassVar[Rows] = Rows("groups", keep=("tier_scheme",), without=("pass_at_k", "pass_all_k"))
    profile: str
    by: tuple[str, ...]
    tier_scheme: str | None
    """Common scheme of all tiers, when tiers are ranked; None if the key contains it."""
    metrics: tuple[str, ...]
    """The metric that groups are ranked by, then those listed in addition."""
    order: str
    test: str
    """Test behind the rank intervals."""
    correction: str | None
    """Correction for multiple comparisons."""
    weight_by: str
    """Unit of analysis of means and proportions: tasks or runs."""
    unscored: str
    """Policy for runs without a verdict: exclude or fail."""
    clean: bool
    """Whether passed runs with an integrity violation count as not passed."""
    tasks: RankedTasks
    kruskal_wallis: dict[str, KruskalWallis]
    """Test of each metric over the runs of the groups, by metric; it ignores that tasks are shared, so it never decides
    a rank."""
    confidence: float
    seed: int
    resamples: int
    row_kind: str
    """Kind of row that each group has several of: run, prompt, attempt, benchmark or submission."""
    groups: tuple[RankedGroup, ...]
    """In the order of their ranks."""
    findings: tuple[Finding, ...]
    rejected_count: int

    @property
    def about(self) -> str:
        """Groups, metric and tasks."""
        by, tasks = ",".join(self.by), self.tasks
        groups = counted(len(self.groups), "group")
        return f"{groups} by {by} on {self.metrics[0]}: {tasks.common:,} of {tasks.all:,} tasks"
