"""Figures of fitted models: abilities, predicted scores and calibration of predicted probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.errors import UsageError
from steelyard.figures import Axis, Estimate, Figure, ScoreBin, dots, reliability
from steelyard.formatting import exact_percent
from steelyard.pages import confidence_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from steelyard.results._arena_models import AbilityRanking, CorrectnessEstimates, PredictedScores

SHOWN = 60
"""Maximum number of rows in a figure."""


def ability_dots(result: AbilityRanking, width: int) -> Figure:
    """Plot the predicted score of each tool on an average task."""
    model = result.model
    rows = [
        Estimate(
            label=_tool(tool.key),
            value=tool.ability.estimate,
            low=tool.ability.low,
            high=tool.ability.high,
            note=f"plain mean {tool.mean_score:.2f} (rank {tool.mean_rank}), {tool.tasks:,} tasks",
            text=f"{tool.ability.estimate:.2f}",
        )
        for tool in model.tools[:SHOWN]
    ]
    note = model.reason or f"{confidence_text(model.confidence)}, {model.submissions:,} submissions"
    return dots(
        rows, title="Tools by ability", axis=Axis(title="Predicted score on an average task"), note=note, width=width
    )


def prediction_dots(result: PredictedScores, width: int) -> Figure:
    """Plot the predicted score of each tool on the task; hollow if the tool has not attempted it."""
    rows = [
        Estimate(
            label=_tool(score.key),
            value=score.prediction.estimate,
            low=score.prediction.low,
            high=score.prediction.high,
            faint=not score.submissions,
            note=f"{score.submissions:,} submissions" if score.submissions else "not attempted",
            text=f"{score.prediction.estimate:.2f}",
        )
        for score in result.scores[:SHOWN]
    ]
    axis = Axis(title="Overall score of the next submission", low=0, high=100)
    note = result.reason or f"{exact_percent(result.confidence)} prediction intervals; hollow: not attempted"
    return dots(rows, title=f"Predicted scores on {result.task_id}", axis=axis, note=note, width=width)


def correctness_reliability(result: CorrectnessEstimates, width: int) -> Figure:
    """Plot the pass rate of held-out submissions by predicted probability."""
    model = result.model
    if model.reason is not None:
        raise UsageError(f"nothing to draw: {model.reason}")
    bins = [
        ScoreBin(each.low, each.high, each.predicted, each.observed, each.observed_low, each.observed_high, each.n)
        for each in model.bins
    ]
    return reliability(
        bins,
        title="Observed pass rate by predicted probability",
        score=Axis(title="Predicted probability (leave-one-task-out)", low=0, high=1),
        rate=Axis(title="Submissions that passed", unit="fraction", low=0, high=1),
        note=f"Brier score {model.brier:.3f}, calibration error {model.calibration_error:.3f},"
        f" {model.examples:,} submissions",
        width=width,
    )


def _tool(key: Mapping[str, str | None]) -> str:
    return " ".join(part or "-" for part in key.values())
