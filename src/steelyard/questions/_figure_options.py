"""Options of the analysis commands."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from steelyard.errors import UsageError
from steelyard.profiles import DEFAULT, UNSCORED_FAILS, Profile, Unscored, load_profile
from steelyard.questions._checking_profiles import check_profile
from steelyard.questions._opening_runs import EngineName, Measurable, Progress, Reading
from steelyard.questions._options import (
    ManyChosen,
    Names,
    Options,
    PricedRunOptions,
    ProfileName,
    RunOptions,
    Texts,
)
from steelyard.records import Chosen
from steelyard.statistics import WeightBy

if TYPE_CHECKING:
    from steelyard.questions.analysis import StatisticsOptions

MIN_RESAMPLES, MAX_RESAMPLES = 100, 1_000_000
CONFIDENCE = 0.95


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ProfileOptions(Options):
    """Scoring profile."""

    profile: ProfileName = DEFAULT
    """Scoring profile: a built-in name (see: steelyard profiles) or a TOML file."""

    def outcome_profile(self) -> Profile:
        """Return the profile, validated."""
        chosen = self.profile if isinstance(self.profile, Profile) else load_profile(self.profile)
        check_profile(chosen)
        return chosen


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class VerdictOptions(ProfileOptions):
    """Scoring profile, with the treatment of runs without a verdict."""

    unscored: Unscored = "exclude"
    """Runs without a verdict: exclude them, or count them as fail."""

    def outcome_profile(self) -> Profile:
        """Return the profile with the treatment of runs without a verdict."""
        chosen = super().outcome_profile()
        return chosen if self.unscored == "exclude" else chosen.with_constant(UNSCORED_FAILS, 1)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class EngineOptions(PricedRunOptions):
    """Filters for runs, with prices and engine."""

    engine: EngineName = "auto"
    """auto, local, duckdb (for data larger than memory), spark, spark://HOST:PORT or sc://HOST:PORT."""

    def reading(self, progress: Progress | None = None) -> Reading:
        """Return how the runs are read, filtered and evaluated, validated."""
        if self.engine not in ("auto", "local"):
            from steelyard.engines import check_engine  # brings numpy and Polars

            check_engine(self.engine)
        return replace(super().reading(progress), engine=self.engine)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ConfidenceOptions(Options):
    """Confidence level."""

    confidence: float = CONFIDENCE
    """Confidence level, between 0 and 1."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DrawOptions(ConfidenceOptions):
    """Confidence level, resampling and weighting."""

    seed: int | None = None
    """Random seed."""
    resamples: int | None = None
    """Number of bootstrap or permutation resamples (default: 10000)."""
    weight_by: WeightBy = "tasks"
    """Weight every task equally (tasks) or every run equally (runs)."""

    def statistics(self, method: str = "auto") -> StatisticsOptions:
        """Return the options of the statistics, validated, with defaults."""
        from steelyard.questions.analysis import StatisticsOptions  # brings numpy and scipy
        from steelyard.statistics import RESAMPLES, SEED, check_level

        if self.resamples is not None and not MIN_RESAMPLES <= self.resamples <= MAX_RESAMPLES:
            hint = f"use --resamples {MIN_RESAMPLES} to {MAX_RESAMPLES}"
            raise UsageError(f"--resamples is out of range (got {self.resamples})", hint=hint)
        if self.seed is not None and self.seed < 0:
            raise UsageError(f"--seed must be 0 or more (got {self.seed})")
        return StatisticsOptions(
            level=check_level(self.confidence),
            seed=SEED if self.seed is None else self.seed,
            resamples=RESAMPLES if self.resamples is None else self.resamples,
            method=method,
        )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DifferenceOptions(DrawOptions):
    """Options of paired comparisons."""

    interval: str = "auto"
    """Interval method: auto, paired-t, percentile, bca."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MeasureOptions(VerdictOptions, ConfidenceOptions, EngineOptions):
    """Options of `measure`."""

    by: Names = ()
    """Comma-separated grouping keys: tier, agent, model, task, experiment or a custom field (x_NAME)."""
    metrics: Names = ()
    """Comma-separated metrics (see: steelyard metrics; default: the standard set)."""
    interval: str = "none"
    """Interval method: auto, none, wilson, clopper-pearson, gaffke, hall, wilson-clustered, student, clustered,
    percentile, bca, fieller, fieller-hall, median-exact, median-clustered."""
    base_tier: str | None = None
    """Reference tier for uplift (default: T0)."""
    weight_by: WeightBy = "runs"
    """Weight every run equally (runs) or every task equally (tasks)."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CompareOptions(VerdictOptions, DifferenceOptions, EngineOptions):
    """Options of `compare`."""

    baseline: Chosen
    """Runs to compare with, e.g. agent=NAME,model=NAME."""
    candidate: ManyChosen
    """Runs to test; repeatable."""
    metrics: Names = ()
    """Comma-separated metrics (see: steelyard metrics; default: the standard set)."""
    correction: Literal["holm", "bh", "none"] = "holm"
    """Multiple-comparison correction."""
    effect_size: float | None = None
    """Report the sample size needed to detect a difference of DIFF, in the metric's unit (for pass_rate, 0.05 is
    5 pp)."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RankOptions(VerdictOptions, DrawOptions, EngineOptions):
    """Options of `rank`."""

    by: Names = ("agent", "model")
    """Comma-separated grouping keys: agent, model, tier, experiment or a custom field (x_NAME)."""
    metrics: Names = ()
    """Comma-separated metrics: the one to rank by, then others to show (default: the score available for most runs)."""
    order: Literal["mean", "bradley-terry", "ranked-pairs"] = "mean"
    """Ranking method: mean over tasks, or bradley-terry or ranked-pairs over pairwise wins per task."""
    min_task_coverage: float = 0.5
    """Minimum fraction of tasks a group must attempt to be ranked."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MatrixOptions(VerdictOptions, EngineOptions):
    """Options of `matrix`."""

    by: Names = ("agent", "model")
    """Comma-separated keys that define the columns: agent, model, tier, experiment or a custom field (x_NAME)."""
    metric: str = "pass_rate"
    """Metric to show."""
    sort: Literal["difficulty", "discrimination", "disagreement", "task"] = "difficulty"
    """Task order."""
    baseline: Chosen | None = None
    """Baseline group, e.g. agent=NAME (default: the first group, if there are exactly two)."""
    candidate: Chosen | None = None
    """Group to compare with the baseline (default: the second group, if there are exactly two)."""
    weight_by: WeightBy = "tasks"
    """Weight every task equally (tasks) or every run equally (runs)."""


SECTIONS = (
    "rank",
    "measure",
    "compare",
    "judges",
    "repeatability",
    "speedup",
    "usage",
    "completeness",
    "findings",
    "runs",
    "outputs",
)
"""Sections of a report, in order."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ReportOptions(RankOptions):
    """Options of `report`."""

    by: Names = ()
    """Comma-separated grouping keys (default: agent, model and tier, if they vary)."""
    metrics: Names = ()
    """Comma-separated metrics: the one to rank by, then others to show (default: the score available for most runs)."""
    title: str | None = None
    """Report title."""
    sections: Names = ()
    """Comma-separated sections (default: all): rank, measure, compare, judges, repeatability, speedup, usage,
    completeness, findings, runs, outputs."""
    with_outputs: bool = False
    """Include agent outputs, up to 64,000 characters each."""
    redact: bool = True
    """Redact API keys and tokens."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class GateOptions(VerdictOptions, DifferenceOptions, EngineOptions):
    """Options of `gate`."""

    rule: Texts
    """Threshold, e.g. "pass_rate >= 0.45" or "cost_usd <= baseline * 1.1"; repeatable."""
    baseline: Measurable | None = None
    """Run records of the baseline; repeatable."""
    inconclusive: Literal["pass", "fail", "report"] = "report"
    """Result of an inconclusive gate: pass (exit 0), fail (exit 3) or report (exit 4)."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class JudgesOptions(ProfileOptions, ConfidenceOptions, RunOptions):
    """Options of `judges`."""

    by: Names = ("agent", "model")
    """Comma-separated grouping keys: agent, model, tier, experiment or a custom field (x_NAME)."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ExplainOptions(VerdictOptions, PricedRunOptions):
    """Options of `explain`."""

    metric: str = field(kw_only=False)
    """Metric to explain (see: steelyard metrics)."""
    run: str | None = None
    """Run id, or a unique prefix. For repeatability metrics, the task id; for a store, the submission id."""
    by: Names = ()
    """Comma-separated grouping keys; explains the metric per group."""
    weight_by: WeightBy = "runs"
    """Weight every run equally (runs) or every task equally (tasks)."""
