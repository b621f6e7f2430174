"""The options of the verbs over the figures of runs, declared as all options are."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from steelyard.errors import UsageError
from steelyard.profiles import DEFAULT, UNSCORED_FAILS, Profile, Unscored, load_profile
from steelyard.records import Chosen
from steelyard.statistics import WeightBy
from steelyard.workflow._checking_profiles import check_profile
from steelyard.workflow._opening_runs import EngineName, Measurable, Progress, Reading
from steelyard.workflow._options import (
    ManyChosen,
    Names,
    Options,
    PricedRunOptions,
    ProfileName,
    RunOptions,
    Texts,
)

if TYPE_CHECKING:
    from steelyard.standings import StatisticsOptions

MIN_RESAMPLES, MAX_RESAMPLES = 100, 1_000_000
CONFIDENCE = 0.95


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ProfileOptions(Options):
    """By which constants runs are measured."""

    profile: ProfileName = DEFAULT
    """A shipped profile (steelyard profiles) or a TOML file."""

    def outcome_profile(self) -> Profile:
        """The profile, read and checked."""
        chosen = self.profile if isinstance(self.profile, Profile) else load_profile(self.profile)
        check_profile(chosen)
        return chosen


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class VerdictOptions(ProfileOptions):
    """The same where runs without a verdict matter."""

    unscored: Unscored = "exclude"
    """What a run without a verdict counts as: left out, or failed as most benchmarks publish it."""

    def outcome_profile(self) -> Profile:
        """The profile, with what it makes of a run without a verdict."""
        chosen = super().outcome_profile()
        return chosen if self.unscored == "exclude" else chosen.with_constant(UNSCORED_FAILS, 1)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class EngineOptions(PricedRunOptions):
    """Which runs count, priced, and what evaluates metrics over them."""

    engine: EngineName = "auto"
    """The engine that evaluates metrics: local, duckdb (larger than memory), spark, spark://HOST:PORT or sc://HOST;
    auto takes DuckDB where the runs would not fit into memory."""

    def reading(self, progress: Progress | None = None) -> Reading:
        """How the runs are read, chosen and evaluated, checked."""
        if self.engine not in ("auto", "local"):
            from steelyard.engines import check_engine  # brings numpy and Polars

            check_engine(self.engine)
        return replace(super().reading(progress), engine=self.engine)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ConfidenceOptions(Options):
    """How sure the answer is to be."""

    confidence: float = CONFIDENCE
    """The confidence level of intervals, as a fraction."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DrawOptions(ConfidenceOptions):
    """The same where random draws are made."""

    seed: int | None = None
    """Seed of the random draws; the same seed gives the same bytes."""
    resamples: int | None = None
    """How many random draws; 10,000 by default."""
    weight_by: WeightBy = "tasks"
    """What counts once in means and shares: tasks, however often each was tried, or runs."""

    def statistics(self, method: str = "auto") -> StatisticsOptions:
        """What the statistics take, checked, with the defaults filled in."""
        from steelyard.standings import StatisticsOptions  # brings numpy and scipy
        from steelyard.statistics import RESAMPLES, SEED, check_level

        if self.resamples is not None and not MIN_RESAMPLES <= self.resamples <= MAX_RESAMPLES:
            hint = f"give between {MIN_RESAMPLES} and {MAX_RESAMPLES:,}"
            raise UsageError(f"{self.resamples} resamples cannot be used", hint=hint)
        if self.seed is not None and self.seed < 0:
            raise UsageError("a seed is a whole number from 0 on")
        return StatisticsOptions(
            level=check_level(self.confidence),
            seed=SEED if self.seed is None else self.seed,
            resamples=RESAMPLES if self.resamples is None else self.resamples,
            method=method,
        )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DifferenceOptions(DrawOptions):
    """The same where two sides are compared."""

    interval: str = "auto"
    """How the interval of a difference is computed: auto, paired-t, percentile or bca."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MeasureOptions(VerdictOptions, ConfidenceOptions, EngineOptions):
    """What `measure` measures."""

    by: Names = ()
    """What to group by, separated by commas: tier, agent, model, task, experiment, ..."""
    metrics: Names = ()
    """Only these metrics, separated by commas."""
    interval: str = "none"
    """How each figure's interval is computed: auto, none, or a method (wilson, clustered, bca, ...)."""
    base_tier: str | None = None
    """The tier that uplift is measured against; T0 by default."""
    weight_by: WeightBy = "runs"
    """What counts once in means and shares: runs, or tasks however often each was tried."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CompareOptions(VerdictOptions, DifferenceOptions, EngineOptions):
    """What `compare` compares."""

    baseline: Chosen
    """Runs to compare with, e.g. agent=NAME,model=NAME."""
    candidate: ManyChosen
    """Runs to test; repeatable."""
    metrics: Names = ()
    """Only these metrics, separated by commas."""
    correction: Literal["holm", "bh", "none"] = "holm"
    """Multiple-comparison correction of p-values."""
    effect_size: float | None = None
    """Difference to detect, in the metric\'s unit (0.05 is 5 pp): report the sample size it needs."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RankOptions(VerdictOptions, DrawOptions, EngineOptions):
    """What `rank` ranks."""

    by: Names = ("agent", "model")
    """Keys to group by, comma-separated: agent, model, tier, experiment."""
    metrics: Names = ()
    """Metrics, comma-separated; ranked by the first (default: the score most runs have)."""
    order: Literal["mean", "bradley-terry", "ranked-pairs"] = "mean"
    """Ranking method: mean over tasks, or pairwise wins per task."""
    min_task_coverage: float = 0.5
    """Leave out groups that tried a smaller fraction of the tasks."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MatrixOptions(VerdictOptions, EngineOptions):
    """What `matrix` shows."""

    by: Names = ("agent", "model")
    """Keys of the columns, comma-separated: agent, model, tier, experiment."""
    metric: str = "pass_rate"
    """Metric to show."""
    sort: Literal["difficulty", "discrimination", "disagreement", "task"] = "difficulty"
    """Order of tasks: hardest first, best at separating groups, largest difference between two groups, or name."""
    baseline: Chosen | None = None
    """Group to subtract, e.g. agent=NAME; the first of two groups by default."""
    candidate: Chosen | None = None
    """Group to subtract it from; the second of two groups by default."""
    weight_by: WeightBy = "tasks"
    """What counts once in a group's own value: tasks, however often each was tried, or runs."""


SECTIONS = (
    "board",
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
"""What a report may hold, in its order."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ReportOptions(RankOptions):
    """What `report` holds."""

    by: Names = ()
    """What to rank and compare, separated by commas; by default those of agent, model and tier that differ."""
    metrics: Names = ()
    """The metric to rank by; by default the score that most runs have."""
    title: str | None = None
    """The title of the report."""
    sections: Names = ()
    """Sections: board, measure, compare, judges, repeatability, speedup, usage, completeness, findings, runs,
    outputs."""
    with_outputs: bool = False
    """Show what the agents wrote, up to 64,000 characters each."""
    redact: bool = True
    """Remove keys and tokens from all text."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class GateOptions(VerdictOptions, DifferenceOptions, EngineOptions):
    """What `gate` checks."""

    rule: Texts
    """Rule, e.g. "pass_rate >= 0.45", "pass_rate >= baseline - 0.02", "cost_usd <= baseline * 1.1"; repeatable."""
    baseline: Measurable | None = None
    """Baseline run records, for rules that refer to it; repeatable."""
    inconclusive: Literal["pass", "fail", "report"] = "report"
    """Treat an inconclusive gate as pass (exit 0) or fail (exit 3), or report it (exit 4)."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class JudgesOptions(ProfileOptions, ConfidenceOptions, RunOptions):
    """What `judges` examines."""

    by: Names = ("agent", "model")
    """Groups whose scores are compared, comma-separated: agent, model, tier, experiment."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ExplainOptions(VerdictOptions, PricedRunOptions):
    """What `explain` explains."""

    metric: str = field(kw_only=False)
    """The metric to explain (steelyard metrics)."""
    run: str | None = None
    """The run's id, or the beginning of it; in a store, the submission's."""
    by: Names = ()
    """Explain the metric in each of these groups, separated by commas."""
    weight_by: WeightBy = "runs"
    """What counts once in a group's means and shares: runs, or tasks however often each was tried."""
