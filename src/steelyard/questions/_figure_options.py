"""Options of the analysis commands."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from steelyard import metrics, statistics
from steelyard.errors import UnknownNameError, UsageError
from steelyard.option_names import option
from steelyard.profiles import DEFAULT, UNSCORED_FAILS, Profile, Unscored, load_profile
from steelyard.questions import analysis
from steelyard.questions._expected_tasks import TasksOptions
from steelyard.questions._options import PricedRunOptions, ProfileName
from steelyard.questions._question import Names, Options, doc
from steelyard.questions._run_input import EngineName, Reading
from steelyard.records import sum_in_order
from steelyard.statistics import WeightBy

if TYPE_CHECKING:
    from steelyard.questions.analysis import StatisticsOptions


Order = Literal["mean", "bradley-terry", "ranked-pairs"]
MIN_RESAMPLES, MAX_RESAMPLES = 100, 1_000_000
CONFIDENCE = 0.95


class ProfileOptions(Options):
    """Scoring profile."""

    profile: ProfileName = doc(
        "Scoring profile: a built-in name (see: steelyard profiles) or a TOML file.",
        default=DEFAULT,
    )

    def outcome_profile(self) -> Profile:
        """Return the profile, validated."""
        chosen = self.profile if isinstance(self.profile, Profile) else load_profile(self.profile)
        check_profile(chosen)
        return chosen


def check_profile(profile: Profile) -> None:
    """Reject a profile of another specification, or with a constant that no formula has."""
    if profile.spec != "outcome":
        raise UsageError(
            f"profile {profile.name!r} is for the {profile.spec} specification",
            hint="use an outcome profile (see: steelyard profiles)",
        )

    known: dict[str, Any] = metrics.catalog().constants()
    for name in profile.constants:
        if name not in known:
            raise UnknownNameError("constant", name, known, where=profile.name)
    weights = metrics.constants_of(metrics.catalog()["composite_score"], profile).values()
    if min(weights) < 0 or sum_in_order(weights) <= 0:
        message = "pass_weight and impl_weight must be non-negative and have a positive sum"
        raise UsageError(message, where=profile.name)


class VerdictOptions(ProfileOptions):
    """Scoring profile, with the treatment of runs without a verdict."""

    unscored: Unscored | None = doc(
        "Runs without a verdict: exclude omits them, fail counts them as failed (default: exclude).", default=None
    )

    def outcome_profile(self) -> Profile:
        """Return the profile with the treatment of runs without a verdict."""
        chosen = super().outcome_profile()
        return chosen if self.unscored in (None, "exclude") else chosen.with_constant(UNSCORED_FAILS, 1)


class EngineOptions(PricedRunOptions):
    """Filters for runs, with prices and engine."""

    engine: EngineName = doc(
        "auto, local, duckdb (for data larger than memory), spark, spark://HOST:PORT or sc://HOST:PORT.",
        default="auto",
        local=True,
    )

    def reading(self) -> Reading:
        """Return how the runs are read, filtered and evaluated, validated."""
        if self.engine not in ("auto", "local"):
            metrics.check_engine(self.engine)
        return replace(super().reading(), engine=self.engine)


class ConfidenceOptions(Options):
    """Confidence level."""

    confidence: float = doc("Confidence level, between 0 and 1.", default=CONFIDENCE)


class DrawOptions(ConfidenceOptions):
    """Confidence level, resampling and weighting."""

    seed: int | None = doc("Random seed.", default=None)
    resamples: int | None = doc(
        "Number of bootstrap or permutation resamples (default: 10000).",
        default=None,
        local=True,
    )
    weight_by: WeightBy = doc("Weight every task equally (tasks) or every run equally (runs).", default="tasks")

    def statistics(self, method: str = "auto") -> StatisticsOptions:
        """Return the options of the statistics, validated, with defaults."""
        if self.resamples is not None and not MIN_RESAMPLES <= self.resamples <= MAX_RESAMPLES:
            hint = f"use {MIN_RESAMPLES} to {MAX_RESAMPLES}"
            raise UsageError(f"{option('resamples')} is out of range (got {self.resamples})", hint=hint)
        if self.seed is not None and self.seed < 0:
            raise UsageError(f"{option('seed')} must be 0 or more (got {self.seed})")
        return analysis.StatisticsOptions(
            level=statistics.check_level(self.confidence),
            seed=statistics.SEED if self.seed is None else self.seed,
            resamples=statistics.RESAMPLES if self.resamples is None else self.resamples,
            method=method,
        )


class ClusterOptions(Options):
    """Clusters of dependent tasks."""

    cluster: str | None = doc(
        "Field that identifies clusters of dependent tasks, such as repository; none treats tasks as independent "
        "(default: tasks are independent, but for SWE-bench instances a verdict must also hold with tasks clustered "
        "by repository).",
        default=None,
    )

    @property
    def cluster_keys(self) -> list[str]:
        """The field of the clusters, if one is named."""
        return [] if self.cluster in (None, "none") else [str(self.cluster)]


class DifferenceOptions(ClusterOptions, DrawOptions):
    """Options of paired comparisons."""

    interval: str = doc("Interval method: auto, paired-t, percentile, bca.", default="auto")


class ConditionOptions(Options):
    """Conditions that may differ between the sides."""

    ignore_conditions: Names = doc(
        "Comma-separated conditions that may differ: time_limit_seconds, cpus, memory_mb, network, harness.",
        default=(),
    )


class MeasureOptions(VerdictOptions, ConfidenceOptions, TasksOptions, EngineOptions):
    """Options of `measure`."""

    by: Names = doc(
        "Comma-separated grouping keys: tier, agent, model, task, experiment, file or a custom field.",
        default=(),
    )
    metrics: Names = doc(
        "Comma-separated metrics (see: steelyard metrics; default: the standard set); `all` adds the others.",
        default=(),
    )
    interval: str = doc(
        "Interval method: auto, none, wilson, clopper-pearson, gaffke, hall, wilson-clustered, student, "
        "clustered, percentile, bca, fieller, mover-r, median-exact, median-clustered.",
        default="none",
    )
    base_tier: str | None = doc("Reference tier for uplift (default: T0).", default=None)
    weight_by: WeightBy = doc("Weight every run equally (runs) or every task equally (tasks).", default="runs")


class RankOptions(VerdictOptions, ClusterOptions, DrawOptions, TasksOptions, ConditionOptions, EngineOptions):
    """Options of `rank`."""

    by: Names = doc(
        "Comma-separated grouping keys: agent, model, tier, experiment, file or a custom field (default: "
        "whichever of agent, model and tier vary).",
        default=(),
    )
    metrics: Names = doc(
        "Comma-separated metrics: the one to rank by, then others to show (default: the score available for "
        "the most runs).",
        default=(),
    )
    order: Order = doc(
        "Ranking method: mean (over tasks), or bradley-terry or ranked-pairs (from pairwise wins per task).",
        default="mean",
    )
    min_task_coverage: float = doc("Minimum fraction of tasks a group must attempt to be ranked.", default=0.5)
    clean: bool = doc("Count passed runs with an integrity violation as not passed.", default=False)
