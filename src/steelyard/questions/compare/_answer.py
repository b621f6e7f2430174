"""Answer of `compare`: differences per metric with corrected verdicts."""

from __future__ import annotations

from typing import ClassVar, Literal

from steelyard.formatting import counted
from steelyard.questions._answer import Answer, Part, Rows
from steelyard.records import Finding
from steelyard.statistics import Equivalence, Interval, Significance

Correction = Literal["holm", "bh", "none"]
Verdict = Literal[
    "better", "worse", "differs", "equivalent", "non-inferior", "inconclusive", "no difference", "unknown"
]

SOLVED_FROM = 0.5
"""A task counts as solved by a side when at least half of its runs there pass."""


class ComparedSide(Part, frozen=True, kw_only=True):
    """One side of a comparison."""

    label: str
    chosen: dict[str, str]
    """Values that its runs were selected by."""
    runs: int
    tasks: int
    tier_scheme: str | None = None
    """Scheme of its tier; None if its runs were not selected by tier."""
    tier_name: str | None = None
    """Meaning of its tier; None if the scheme defines none."""

    @property
    def choice(self) -> str:
        """Filter that selected its runs, as `key=value`."""
        return ",".join(f"{key}={value}" for key, value in self.chosen.items())


class Coverage(Part, frozen=True, kw_only=True):
    """Shared tasks of two sides, and tasks of one side only."""

    common: int
    only_baseline: tuple[str, ...]
    only_candidate: tuple[str, ...]


class SideCounts(Part, frozen=True, kw_only=True):
    """Number of runs of both sides."""

    baseline: int
    candidate: int


class CorrectedTest(Significance, frozen=True, kw_only=True):
    """Test of the null hypothesis of no difference."""

    adjusted_p_value: float | None
    """P-value corrected for the number of comparisons; None if unknown."""


class EffectSize(Part, frozen=True, kw_only=True):
    """Size of a difference."""

    cliffs_delta: float | None
    """Probability that a task mean of the candidate exceeds one of the baseline, minus the reverse."""
    size: str | None
    """Usual word for the absolute Cliff's delta."""
    standardized: float | None
    """Mean difference in units of its standard deviation."""


class PowerAnalysis(Part, frozen=True, kw_only=True):
    """What sample sizes detect, by simulating the decision rule of the comparison."""

    effect_size: float
    """True difference to detect: the one asked for, or the effect of interest."""
    tasks_needed: int | None
    """Tasks needed to detect it; None if unknown."""
    min_tasks: int | None
    """Lower end of a range of the tasks needed, since the variance is itself an estimate (90% CI)."""
    max_tasks: int | None
    """Upper end; None if unknown or above 10 million."""
    minimum_detectable_effect: float | None
    """Smallest true difference that this sample size detects; None if unknown or too large for the baseline."""
    power: float
    reason: str | None
    """Reason for missing numbers."""


class TaskValues(Part, frozen=True, kw_only=True):
    """Values of both sides on a task."""

    task: str
    baseline: float
    candidate: float


class EqualTasks(Part, frozen=True, kw_only=True):
    """Number of tasks on which both sides have the same value."""

    value: float
    tasks: int


class TaskDifferences(Part, frozen=True, kw_only=True):
    """Shared tasks by the side with the higher value; empty for a ratio of means."""

    higher: tuple[TaskValues, ...]
    """Tasks on which the candidate is higher, largest difference first."""
    lower: tuple[TaskValues, ...]
    """Tasks on which the candidate is lower, largest difference first."""
    same: tuple[EqualTasks, ...]


class Flips(Part, frozen=True, kw_only=True):
    """Shared tasks by the sides that solve them."""

    solved_from: float
    """Fraction of passing runs from which a side solves a task."""
    gained: tuple[TaskValues, ...]
    """Tasks that only the candidate solves, largest difference first."""
    lost: tuple[TaskValues, ...]
    """Tasks that only the baseline solves, largest difference first."""
    both: int
    """Tasks that both solve."""
    neither: int
    """Tasks that neither solves."""


class MissingBounds(Part, frozen=True, kw_only=True):
    """Worst-case bounds of a difference over all missing values."""

    low: float
    high: float


class SequentialState(Part, frozen=True, kw_only=True):
    """Progress of a sequential test."""

    planned: int
    """Tasks planned before the first look."""
    completed: int
    """Tasks completed by both sides."""
    decided_at: int | None
    """Number of completed tasks at which the test first decided; None if it has not. The decision is final."""


class MetricDifference(Part, frozen=True, kw_only=True):
    """Candidate minus baseline on the tasks for which both have a value."""

    sentence: str
    verdict: Verdict
    baseline: float | None
    """Value of the baseline on the shared tasks."""
    candidate: float | None
    """Value of the candidate on the shared tasks."""
    unit: str
    better: str
    scale: Literal["difference", "ratio"]
    """Whether `difference`, `simultaneous` and `equivalence` are differences, or ratios of geometric means (candidate
    to baseline), whose effect sizes are relative (0.05 is 5%)."""
    difference: Interval
    test: CorrectedTest
    tasks: int
    """Tasks on which both have a value."""
    runs: SideCounts
    """Runs on these tasks that have a value."""
    missing: SideCounts
    """Runs on shared tasks that have no value."""
    lower_bounds: SideCounts
    """Runs on shared tasks whose value is a lower bound."""
    effect: EffectSize
    power_analysis: PowerAnalysis | None
    """None unless an effect size was requested or the result is inconclusive."""
    simultaneous: Interval | None
    """Interval that holds together with those of the other comparisons; the sentence prints it. None for a single one
    or without correction. A limit of exactly 0 is excluded if a difference is found."""
    equivalence: Equivalence | None
    """Result for the equivalence margin; None if none was given or the metric is not the first."""
    tipping_point: SideCounts | None
    """Unscored runs of each side that undo the claim if their verdicts were against it; None without a claim or if
    none can."""
    sequential: SequentialState | None
    """Progress of the sequential test; None for a fixed sample."""
    by_task: TaskDifferences
    flips: Flips | None
    """Tasks solved by each side; only for pass rates that weight tasks equally, else None."""
    geometric_ratio: Interval | None
    """Ratio of the geometric means, candidate to baseline, which is robust to skewness; None if a value is not positive
    or the metric has an upper bound, or is a geometric mean itself."""
    missing_bounds: MissingBounds | None
    """None if no value is missing or the metric has no bounds."""

    @property
    def equal(self) -> float:
        """Estimate of equal sides."""
        return 1.0 if self.scale == "ratio" else 0.0

    @property
    def printed(self) -> Interval:
        """The interval that tables and sentences show."""
        return self.simultaneous or self.difference

    @property
    def is_significant(self) -> bool:
        """Whether the difference is significant after correction."""
        return self.verdict in ("better", "worse", "differs")


class Pair(Part, frozen=True, kw_only=True):
    """Candidate vs. baseline."""

    candidate: ComparedSide
    tasks: Coverage
    metrics: dict[str, MetricDifference]

    @property
    def sentences(self) -> tuple[str, ...]:
        """Sentences of the metrics, without duplicates."""
        return tuple(dict.fromkeys(metric.sentence for metric in self.metrics.values()))

    @property
    def differing_metric(self) -> str | None:
        """First metric with tasks that differ; None if there is none."""
        compared = ((name, metric.by_task) for name, metric in self.metrics.items())
        return next((name for name, tasks in compared if tasks.higher or tasks.lower), None)


class Comparison(Answer, frozen=True, kw_only=True):
    """Comparison of candidates with a baseline."""

    rows: ClassVar[Rows] = Rows("pairs.metrics", keep=("baseline",))
    profile: str
    baseline: ComparedSide
    pairs: tuple[Pair, ...]
    weight_by: str
    """Unit of analysis of means and proportions: tasks or runs."""
    unscored: str
    """Policy for runs without a verdict: exclude or fail."""
    confidence: float
    seed: int
    resamples: int
    correction: Correction
    comparisons: int
    """Number of tests that p-values are corrected for."""
    rejected_count: int = 0
    findings: tuple[Finding, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether no metric could be compared on any task."""
        return not any(metric.tasks for pair in self.pairs for metric in pair.metrics.values())

    @property
    def about(self) -> str:
        """Sides of the first pair and what was compared."""
        first, more = self.pairs[0], len(self.pairs) - 1
        others = f" and {more} more" if more else ""
        counts = f"{counted(len(first.metrics), 'metric')}, {first.tasks.common:,} common tasks"
        return f"B {first.candidate.choice}{others} vs A {self.baseline.choice}: {counts}"
