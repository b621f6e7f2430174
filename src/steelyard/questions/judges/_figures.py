"""Figures of judges: severity, and pass rates by score."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.errors import UsageError
from steelyard.figures import Axis, Estimate, Figure, ScoreBin, dots, reliability
from steelyard.formatting import counted
from steelyard.pages import confidence_text

if TYPE_CHECKING:
    from steelyard.questions.judges._answer import Judges


def judge_severity(answer: Judges, width: int) -> Figure:
    """Draw each judge's score minus the mean of the others on the same runs."""
    rows = [
        Estimate(
            label=name,
            value=judge.severity.estimate,
            low=judge.severity.low,
            high=judge.severity.high,
            faint=not judge.severity.excludes(0.0),
            note=f"{counted(judge.runs, 'run')}, mean score {judge.mean_score:.3f}"
            + (f"; {judge.severity.reason}" if judge.severity.reason else ""),
            text="" if judge.severity.estimate is None else f"{judge.severity.estimate:+.3f}",
        )
        for name, judge in answer.judges.items()
    ]
    axis = Axis(title="Score minus the mean of the others: left is strict, right is lenient")
    note = f"{confidence_text(answer.confidence)}, {answer.runs:,} judged runs; hollow: the interval contains 0"
    return dots(rows, title="Severity of judges", axis=axis, note=note, reference=0.0, width=width)


def judge_reliability(answer: Judges, width: int) -> Figure:
    """Draw the fraction of runs that passed, by the mean score of their judges."""
    if not answer.calibration:
        raise UsageError(
            "no judged run has a verdict to compare its score with", hint="add the field `passed` to the records"
        )
    rates = [each.pass_rate for each in answer.calibration]
    bins = [
        ScoreBin(each.low, each.high, each.mean_score, rate.estimate, rate.low, rate.high, rate.n)
        for each, rate in zip(answer.calibration, rates, strict=True)
    ]
    runs = sum(rate.n for rate in rates)
    return reliability(
        bins,
        title="Pass rate by the judges' score",
        score=Axis(title="Mean score of a run's judges", low=0, high=1),
        rate=Axis(title="Runs that passed", unit="fraction", low=0, high=1),
        note=f"{confidence_text(answer.confidence)} (exact), {counted(runs, 'run')}; "
        "bars: runs; dashed: score = pass rate",
        width=width,
    )


DRAWINGS = {"severity": judge_severity, "reliability": judge_reliability}
"""Figures of the answer, the default first."""
