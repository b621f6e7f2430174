"""Answer of `judges`: inter-rater agreement, severity, inconsistent scores and votes, and gold labels."""

from __future__ import annotations

from typing import ClassVar, Literal

from steelyard.formatting import counted
from steelyard.questions._answer import Answer, Part, Rows
from steelyard.records import Finding
from steelyard.statistics import Interval, JudgeAccuracy, KruskalWallis


class Agreement(Part, frozen=True, kw_only=True):
    """Inter-rater agreement on a set of runs."""

    runs: int
    """Runs scored by at least two judges."""
    alpha_scores: Interval
    """Krippendorff's alpha of the scores (interval scale)."""
    alpha_votes: Interval
    """Krippendorff's alpha of pass and fail (nominal scale)."""
    fleiss_kappa: float | None
    """Fleiss' kappa of the votes, on runs that every judge voted on; None if there are too few."""
    split_votes: int
    """Runs with split votes."""
    voted: int
    """Runs with at least two votes."""


class JudgeRecord(Part, frozen=True, kw_only=True):
    """One judge."""

    runs: int
    """Runs scored by the judge."""
    mean_score: float
    severity: Interval
    """Its score minus the mean of the other judges on the same runs; negative values are strict."""
    checked: int
    """Judgments with both a reported score and criteria to recompute it from."""
    mean_error: float | None
    """Mean of reported minus recomputed scores; None if no judgment was checked."""
    max_error: float | None
    """Largest absolute difference between reported and recomputed score; None if no judgment was checked."""
    differing: int
    """Judgments whose difference exceeds the tolerance."""
    contradictions: int
    """Votes that contradict the judge's own score."""
    kruskal_wallis: KruskalWallis
    """Whether the judge's scores differ between groups."""
    accuracy: JudgeAccuracy | None
    """Agreement with the gold labels; None without labels."""


class JudgePair(Part, frozen=True, kw_only=True):
    """Agreement of two judges."""

    judge: str
    other_judge: str
    cohens_kappa: float | None
    """Cohen's kappa of their votes; None if chance explains all agreement or there are no common votes."""
    runs_voted: int
    """Runs on which both voted."""
    spearman: float | None
    """Spearman's rho of their scores; None if `reason` is set."""
    kendall_tau_b: float | None
    """Kendall's tau-b of their scores; None if `reason` is set."""
    runs_scored: int
    """Runs scored by both."""
    reason: str | None
    """Reason for missing correlations."""


class ScoreRange(Part, frozen=True, kw_only=True):
    """Runs whose mean judge score is in a range, and how many of them passed."""

    low: float
    high: float
    mean_score: float
    pass_rate: Interval
    """Fraction of the runs that passed, by verdict."""


class CorrectedPassRate(Part, frozen=True, kw_only=True):
    """Judged pass rate of one group, corrected with gold labels."""

    keys: dict[str, str | None]
    judged_rate: float | None
    """Fraction of the runs that a strict majority of the judges passes."""
    corrected: Interval
    """Estimated fraction of the runs that people would pass."""
    labels: int
    """Gold labels used."""
    tuning: float | None
    """Weight of the judges in PPI++, 0 to 1; None for Rogan-Gladen."""
    label: str | None
    """Why the actual coverage may be below the confidence level; None if simulations cover the case."""


class Judges(Answer, frozen=True, kw_only=True):
    """Agreement, severity and consistency of judges."""

    rows: ClassVar[Rows] = Rows("judges", "pairs", "pass_rates")
    profile: str
    runs: int
    """Runs with a judgment."""
    confidence: float
    """Confidence level of the intervals."""
    pass_threshold: float
    """Score from which a vote is expected to be a pass."""
    score_tolerance: float
    """Largest difference between a reported and a recomputed score that is not counted."""
    by: tuple[str, ...]
    """Grouping keys of the Kruskal-Wallis tests."""
    overall: Agreement
    tasks: dict[str, Agreement]
    judges: dict[str, JudgeRecord]
    pairs: tuple[JudgePair, ...]
    kruskal_wallis: KruskalWallis
    """Whether the mean scores of runs differ between groups."""
    calibration: tuple[ScoreRange, ...]
    """Pass rates by score, over runs with a verdict; empty ranges are omitted."""
    gold_source: Literal["sample", "other"] | None
    """Whether the gold labels are a random sample of these runs or of other runs; None without labels."""
    pass_rates: tuple[CorrectedPassRate, ...]
    """Judged pass rate of each group, corrected with the gold labels; empty without labels."""
    findings: tuple[Finding, ...]
    """Includes every vote that contradicts the judge's own score (judge_contradiction)."""
    rejected_count: int

    @property
    def about(self) -> str:
        """Judges, runs and agreement."""
        alpha = self.overall.alpha_scores.estimate
        agreement = "" if alpha is None else f", alpha {alpha:.3f}"
        return f"{counted(len(self.judges), 'judge')} of {counted(self.runs, 'run')}{agreement}"
