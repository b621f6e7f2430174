"""Result of `compare`: differences per metric with corrected verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from steelyard.metrics import catalog
from steelyard.records import Finding, finding_dict
from steelyard.results._base import Result, json_number, json_numbers
from steelyard.results._measurement import scheme_dict, tier_name_dict

if TYPE_CHECKING:
    from steelyard.statistics import Interval, SensitivityBounds, Significance

Correction = Literal["holm", "bh", "none"]
SOLVED_FROM = 0.5
"""A task counts as solved by a side when at least half of its runs there pass."""

Verdict = Literal["better", "worse", "differs", "inconclusive", "no difference", "unknown"]


@dataclass(frozen=True, slots=True)
class TaskValues:
    """Values of both sides on a task."""

    task: str
    baseline: float
    candidate: float


@dataclass(frozen=True, slots=True)
class Flips:
    """Shared tasks by the sides that solve them."""

    gained: tuple[TaskValues, ...]
    """Tasks that only the candidate solves, largest difference first."""
    lost: tuple[TaskValues, ...]
    """Tasks that only the baseline solves, largest difference first."""
    both: int
    """Tasks that both solve."""
    neither: int
    """Tasks that neither solves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Candidate minus baseline on the tasks for which both have a value."""

    metric: str
    baseline: float | None
    """Value of the baseline on the shared tasks."""
    candidate: float | None
    """Value of the candidate on the shared tasks."""
    interval: Interval
    """Difference with its interval."""
    test: Significance
    """Test of the null hypothesis of no difference."""
    tasks: int
    """Tasks on which both have a value."""
    runs: tuple[int, int]
    """Runs of the baseline and the candidate on them that have a value."""
    missing: tuple[int, int]
    """Runs of the baseline and the candidate on shared tasks that have no value."""
    std_dev: float | None = None
    """Standard deviation of the differences over tasks; None if unknown."""
    cliffs_delta: float | None = None
    """Probability that a task mean of B exceeds one of A, minus the reverse."""
    standardized: float | None = None
    """Mean difference in units of its standard deviation."""
    minimum_detectable_effect: float | None = None
    """Smallest true difference detected with 80% power at this sample size."""
    higher: tuple[TaskValues, ...] = ()
    """Tasks on which the candidate is higher, largest difference first."""
    lower: tuple[TaskValues, ...] = ()
    """Tasks on which the candidate is lower, largest difference first."""
    same: tuple[tuple[float, int], ...] = ()
    """Values equal on both sides, each with its number of tasks."""
    bounds: SensitivityBounds | None = None
    """Worst-case bounds of the difference over all missing values; None if none is missing or there is no bound."""

    geometric_ratio: Interval | None = None
    """Ratio of the geometric means, candidate to baseline, which is robust to skewness; None if a value is not positive
    or the metric has an upper bound."""

    @property
    def value(self) -> float | None:
        """The difference itself."""
        return self.interval.estimate

    @property
    def flips(self) -> Flips | None:
        """Tasks solved by each side; only for pass rates that weight tasks equally, else None."""
        unchanged = sum(tasks for _, tasks in self.same)
        if self.metric != "pass_rate" or not self.tasks or len(self.higher) + len(self.lower) + unchanged != self.tasks:
            return None
        gained = tuple(each for each in self.higher if each.baseline < SOLVED_FROM <= each.candidate)
        lost = tuple(each for each in self.lower if each.candidate < SOLVED_FROM <= each.baseline)
        both = sum(min(each.baseline, each.candidate) >= SOLVED_FROM for each in (*self.higher, *self.lower))
        both += sum(tasks for value, tasks in self.same if value >= SOLVED_FROM)
        return Flips(gained, lost, both, self.tasks - len(gained) - len(lost) - both)


@dataclass(frozen=True, slots=True)
class ComparedSide:
    """One side of a comparison."""

    label: str
    chosen: Mapping[str, str]
    runs: int
    tasks: int
    tier_scheme: str | None = None
    """Scheme of its tier; None if its runs were not selected by tier."""

    @property
    def choice(self) -> str:
        """Filter that selected its runs, as `key=value`."""
        return ",".join(f"{key}={value}" for key, value in self.chosen.items())


@dataclass(frozen=True, slots=True)
class Coverage:
    """Shared tasks of two sides, and tasks of one side only."""

    common: int
    only_baseline: tuple[str, ...]
    only_candidate: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TasksNeeded:
    """Range of the sample size for an effect size, since the standard deviation is itself an estimate."""

    at_least: int
    at_most: int | None
    """None if no sample size is sufficient."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A difference with its verdict."""

    difference: Difference
    adjusted_p: float | None
    verdict: Verdict
    sentence: str
    needed: int | None
    """Tasks needed to detect the observed difference with 80% power."""
    sample_size: TasksNeeded | None = None
    """Tasks needed to detect the requested effect size."""

    @property
    def is_shown(self) -> bool:
        """Whether the difference is significant after correction."""
        return self.verdict in ("better", "worse", "differs")


@dataclass(frozen=True, slots=True)
class Pair:
    """Candidate vs. baseline."""

    candidate: ComparedSide
    coverage: Coverage
    metrics: tuple[Judged, ...]

    @property
    def sentences(self) -> tuple[str, ...]:
        """Sentences of the metrics, without duplicates."""
        return tuple(dict.fromkeys(judged.sentence for judged in self.metrics))


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """Comparison of candidates with a baseline."""

    baseline: ComparedSide
    pairs: tuple[Pair, ...]
    level: float
    seed: int
    resamples: int
    correction: Correction
    comparisons: int
    profile: str
    findings: tuple[Finding, ...] = ()
    rejected_count: int = 0
    weight_by: str = "tasks"
    """Unit of analysis of means and proportions: tasks or runs."""
    unscored: str = "exclude"
    """Policy for runs without a verdict: exclude or fail."""

    @property
    def empty(self) -> bool:
        """Whether no metric could be compared on any task."""
        return not any(judged.difference.tasks for pair in self.pairs for judged in pair.metrics)

    def _about(self) -> str:
        first, more = self.pairs[0], len(self.pairs) - 1
        others = f" and {more} more" if more else ""
        counts = f"{len(first.metrics)} metrics, {first.coverage.common:,} common tasks"
        return f"B {first.candidate.choice}{others} vs A {self.baseline.choice}: {counts}"

    def to_dicts(self) -> list[dict[str, Any]]:  # Any: cells of any type
        """Return one flat row per pair and metric."""
        return [_row(self.baseline, pair.candidate, judged) for pair in self.pairs for judged in pair.metrics]

    def _shape(self) -> dict[str, Any]:  # Any: JSON values
        return {
            "profile": self.profile,
            "baseline": _side_dict(self.baseline),
            "pairs": [
                {
                    "candidate": _side_dict(pair.candidate),
                    "tasks": {
                        "common": pair.coverage.common,
                        "only_baseline": list(pair.coverage.only_baseline),
                        "only_candidate": list(pair.coverage.only_candidate),
                    },
                    "metrics": {judged.difference.metric: _judged_dict(judged) for judged in pair.metrics},
                }
                for pair in self.pairs
            ],
            "weight_by": self.weight_by,
            "unscored": self.unscored,
            "confidence": self.level,
            "seed": self.seed,
            "resamples": self.resamples,
            "correction": self.correction,
            "comparisons": self.comparisons,
            "findings": [finding_dict(finding) for finding in self.findings],
        }


def _side_dict(side: ComparedSide) -> dict[str, Any]:  # Any: JSON values
    shape = {"label": side.label, "chosen": dict(side.chosen), "runs": side.runs, "tasks": side.tasks}
    return shape | scheme_dict(side.tier_scheme) | tier_name_dict(side.chosen, side.tier_scheme)


def _judged_dict(judged: Judged) -> dict[str, Any]:  # Any: JSON values
    from steelyard.statistics import POWER, size_word  # brings numpy and scipy, which a record does without

    difference = judged.difference
    delta = difference.cliffs_delta
    shape: dict[str, Any] = {
        "sentence": judged.sentence,
        "verdict": judged.verdict,
        "baseline": json_number(difference.baseline),
        "candidate": json_number(difference.candidate),
        "unit": catalog()[difference.metric].unit,
        "better": catalog()[difference.metric].better,
        "difference": json_numbers(difference.interval.as_dict()),
        "test": json_numbers(difference.test.as_dict()) | {"adjusted_p_value": judged.adjusted_p},
        "tasks": difference.tasks,
        "runs": {"baseline": difference.runs[0], "candidate": difference.runs[1]},
        "missing": {"baseline": difference.missing[0], "candidate": difference.missing[1]},
        "effect": {
            "cliffs_delta": delta,
            "size": None if delta is None else size_word(delta),
            "standardized": difference.standardized,
        },
        "power_analysis": {
            "tasks_needed": judged.needed,
            "minimum_detectable_effect": difference.minimum_detectable_effect,
            "power": POWER,
            **_sample_size_dict(judged.sample_size),
        },
        "by_task": {
            "higher": _task_dicts(difference.higher),
            "lower": _task_dicts(difference.lower),
            "same": [{"value": value, "tasks": tasks} for value, tasks in difference.same],
        },
    }
    if (flips := difference.flips) is not None:
        shape["flips"] = {
            "solved_from": SOLVED_FROM,
            "gained": _task_dicts(flips.gained),
            "lost": _task_dicts(flips.lost),
            "both": flips.both,
            "neither": flips.neither,
        }
    if difference.geometric_ratio is not None:
        shape["geometric_ratio"] = json_numbers(difference.geometric_ratio.as_dict())
    if difference.bounds is not None:
        shape["if_missing_were_known"] = {"low": difference.bounds.low, "high": difference.bounds.high}
    return shape


def _sample_size_dict(needed: TasksNeeded | None) -> dict[str, Any]:  # Any: JSON values
    if needed is None:
        return {}
    return {"sample_size": {"min_tasks": needed.at_least, "max_tasks": needed.at_most}}


def _task_dicts(tasks: tuple[TaskValues, ...]) -> list[dict[str, Any]]:  # Any: JSON values
    return [{"task": each.task, "baseline": each.baseline, "candidate": each.candidate} for each in tasks]


def _row(a: ComparedSide, b: ComparedSide, judged: Judged) -> dict[str, Any]:  # Any: cells of any type
    difference = judged.difference
    return {
        "baseline": a.label,
        "candidate": b.label,
        "metric": difference.metric,
        "baseline_value": difference.baseline,
        "candidate_value": difference.candidate,
        "difference": difference.value,
        "low": difference.interval.low,
        "high": difference.interval.high,
        "method": difference.interval.method,
        "p_value": difference.test.p_value,
        "adjusted_p_value": judged.adjusted_p,
        "verdict": judged.verdict,
        "tasks": difference.tasks,
        "cliffs_delta": difference.cliffs_delta,
        "tasks_needed": judged.needed,
        "sentence": judged.sentence,
    }
