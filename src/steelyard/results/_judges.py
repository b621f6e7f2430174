"""Result of `judges`: inter-rater agreement, severity, and inconsistent scores and votes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from steelyard.records import Finding, finding_dict
from steelyard.results._base import Result, json_numbers

if TYPE_CHECKING:
    from steelyard.statistics import Interval, KruskalWallis


@dataclass(frozen=True, slots=True)
class Agreement:
    """Inter-rater agreement on a set of runs."""

    runs: int
    """Runs scored by at least two judges."""
    scores: Interval
    """Krippendorff's alpha of the scores (interval scale)."""
    votes: Interval
    """Krippendorff's alpha of pass and fail (nominal scale)."""
    fleiss: float | None
    """Fleiss' kappa of the votes, on runs that every judge voted on."""
    split: int
    """Runs with split votes."""
    voted: int
    """Runs with at least two votes."""


@dataclass(frozen=True, slots=True)
class JudgeRecord:
    """One judge."""

    judge: str
    runs: int
    mean: float
    severity: Interval
    """Its score minus the mean of the other judges on the same runs; negative values are strict."""
    checked: int
    """Judgments with both a reported score and criteria to recompute it from."""
    mean_error: float | None
    """Mean of stated minus recomputed scores."""
    max_error: float | None
    """Largest absolute difference between stated and recomputed score."""
    differing: int
    """Judgments whose difference exceeds the tolerance."""
    contradictions: int
    """Votes that contradict the judge's own score."""


@dataclass(frozen=True, slots=True)
class JudgeCorrelation:
    """Rank correlation of two judges' scores."""

    judges: tuple[str, str]
    spearman: float | None
    """Spearman's rho; None if `reason` is set."""
    kendall: float | None
    """Kendall's tau-b; None if `reason` is set."""
    runs: int
    """Runs scored by both judges."""
    reason: str | None = None
    """Reason for a missing correlation."""


@dataclass(frozen=True, slots=True)
class ScoreRange:
    """Runs whose mean judge score is in a range, and how many of them passed."""

    low: float
    high: float
    score: float
    """Mean of their scores."""
    rate: Interval
    """Fraction of them that passed, by verdict."""


@dataclass(frozen=True, repr=False)
class Judges(Result):
    """Agreement, severity and consistency of judges."""

    overall: Agreement
    tasks: dict[str, Agreement]
    judges: tuple[JudgeRecord, ...]
    kappas: dict[tuple[str, str], tuple[float | None, int]]
    """Cohen's kappa of the votes of each pair of judges, and the number of runs on which both voted."""
    correlations: tuple[JudgeCorrelation, ...]
    """Rank correlations of the scores of each pair of judges."""
    by: tuple[str, ...]
    """Grouping keys."""
    group_tests: dict[str | None, KruskalWallis]
    """Kruskal-Wallis test between groups per judge; None is the mean of each run's scores."""
    contradictions: tuple[Finding, ...]
    runs: int
    calibration: tuple[ScoreRange, ...]
    """Pass rates by score, over runs with a verdict; empty ranges are omitted."""
    threshold: float
    tolerance: float
    level: float
    profile: str
    findings: tuple[Finding, ...] = ()
    rejected_count: int = 0

    def _about(self) -> str:
        alpha = self.overall.scores.estimate
        agreement = "" if alpha is None else f", alpha {alpha:.3f}"
        return f"{len(self.judges)} judges of {self.runs:,} runs{agreement}"

    def to_dicts(self) -> list[dict[str, Any]]:  # Any: cells of any type
        """Return one flat row per judge."""
        return [
            {
                "judge": record.judge,
                "runs": record.runs,
                "mean_score": record.mean,
                "severity": record.severity.estimate,
                "severity_low": record.severity.low,
                "severity_high": record.severity.high,
                "checked": record.checked,
                "mean_error": record.mean_error,
                "max_error": record.max_error,
                "differing": record.differing,
                "contradictions": record.contradictions,
                "kruskal_wallis_h": self.group_tests[record.judge].statistic,
                "kruskal_wallis_df": self.group_tests[record.judge].degrees,
                "kruskal_wallis_p_value": self.group_tests[record.judge].p_value,
                **self._with_others(record.judge),
            }
            for record in self.judges
        ]

    def _with_others(self, judge: str) -> dict[str, float | None]:
        """Return the judge's row of the pair tables; a judge has no value with itself."""
        row: dict[str, float | None] = {}
        kappas = {pair: kappa for pair, (kappa, _) in self.kappas.items()}
        of_pair = {correlation.judges: correlation for correlation in self.correlations}
        for record in self.judges if len(self.judges) > 1 else ():
            pair = (min(judge, record.judge), max(judge, record.judge))
            correlation = of_pair.get(pair)
            row[f"cohens_kappa_{record.judge}"] = kappas.get(pair)
            row[f"spearman_{record.judge}"] = correlation.spearman if correlation else None
            row[f"kendall_tau_b_{record.judge}"] = correlation.kendall if correlation else None
        return row

    def _shape(self) -> dict[str, Any]:  # Any: JSON values
        return {
            "profile": self.profile,
            "runs": self.runs,
            "confidence": self.level,
            "pass_threshold": self.threshold,
            "score_tolerance": self.tolerance,
            "overall": _agreement_dict(self.overall),
            "tasks": {task: _agreement_dict(agreement) for task, agreement in self.tasks.items()},
            "judges": {record.judge: _judge_dict(record) for record in self.judges},
            "kappas": [
                {"judges": list(pair), "cohens_kappa": kappa, "n": n} for pair, (kappa, n) in self.kappas.items()
            ],
            "correlations": [_correlation_dict(correlation, of=self.runs) for correlation in self.correlations],
            "by": list(self.by),
            "kruskal_wallis": [_test_dict(judge, test, of=self.runs) for judge, test in self.group_tests.items()],
            "calibration": [_range_dict(scores) for scores in self.calibration],
            "contradictions": [finding_dict(finding) for finding in self.contradictions],
            "findings": [finding_dict(finding) for finding in self.findings],
        }


def _agreement_dict(agreement: Agreement) -> dict[str, Any]:  # Any: JSON values
    return {
        "runs": agreement.runs,
        "alpha_scores": json_numbers(agreement.scores.as_dict()),
        "alpha_votes": json_numbers(agreement.votes.as_dict()),
        "fleiss_kappa": agreement.fleiss,
        "split_votes": agreement.split,
        "voted": agreement.voted,
    }


def _range_dict(scores: ScoreRange) -> dict[str, Any]:  # Any: JSON values
    rate = json_numbers(scores.rate.as_dict())
    return {"low": scores.low, "high": scores.high, "mean_score": scores.score, "pass_rate": rate}


def _correlation_dict(correlation: JudgeCorrelation, *, of: int) -> dict[str, Any]:  # Any: JSON values
    shape = {
        "judges": list(correlation.judges),
        "spearman": correlation.spearman,
        "kendall_tau_b": correlation.kendall,
        "n": correlation.runs,
        "of": of,
    }
    return shape if correlation.reason is None else shape | {"reason": correlation.reason}


def _test_dict(judge: str | None, test: KruskalWallis, *, of: int) -> dict[str, Any]:  # Any: JSON values
    shape = {
        "judge": judge,
        "h": test.statistic,
        "df": test.degrees,
        "p_value": test.p_value,
        "groups": test.groups,
        "n": test.n,
        "of": of,
    }
    return shape if test.reason is None else shape | {"reason": test.reason}


def _judge_dict(record: JudgeRecord) -> dict[str, Any]:  # Any: JSON values
    return {
        "runs": record.runs,
        "mean_score": record.mean,
        "severity": json_numbers(record.severity.as_dict()),
        "stated_against_recomputed": {
            "checked": record.checked,
            "mean_error": record.mean_error,
            "max_error": record.max_error,
            "differing": record.differing,
        },
        "contradictions": record.contradictions,
    }
