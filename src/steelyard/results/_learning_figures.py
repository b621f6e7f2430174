"""Figures of what was learned: abilities beside means, expected scores, and how well chances are calibrated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.errors import UsageError
from steelyard.figures import Axis, Estimate, Figure, ScoreBin, dots, reliability
from steelyard.formatting import confidence_level
from steelyard.results._board_figures import confidence_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from steelyard.results._arena_learning import ExpectedScores, LearnedAbilities, LearnedCorrectness

SHOWN = 60
"""Rows that a figure holds."""


def ability_dots(result: LearnedAbilities, width: int) -> Figure:
    """The score that each tool is expected to have on an average task."""
    told = result.learned
    rows = [
        Estimate(
            label=_tool(tool.key),
            value=tool.ability.estimate,
            low=tool.ability.low,
            high=tool.ability.high,
            note=f"plain mean {tool.mean_score:.2f} (rank {tool.mean_rank}), {tool.tasks:,} tasks",
            text=f"{tool.ability.estimate:.2f}",
        )
        for tool in told.tools[:SHOWN]
    ]
    note = told.reason or f"{confidence_text(told.confidence)}, {told.submissions:,} submissions"
    return dots(
        rows, title="Tools by ability", axis=Axis(title="Score expected on an average task"), note=note, width=width
    )


def expected_dots(result: ExpectedScores, width: int) -> Figure:
    """What each tool is expected to score on the task; hollow where it has not tried it."""
    rows = [
        Estimate(
            label=_tool(score.key),
            value=score.expected.estimate,
            low=score.expected.low,
            high=score.expected.high,
            faint=not score.submissions,
            note=f"{score.submissions:,} submissions" if score.submissions else "not tried",
            text=f"{score.expected.estimate:.2f}",
        )
        for score in result.scores[:SHOWN]
    ]
    axis = Axis(title="Overall score of a further submission", low=0, high=100)
    note = result.reason or f"limits at {confidence_level(result.confidence)}; hollow: not tried"
    return dots(rows, title=f"Expected on {result.task_id}", axis=axis, note=note, width=width)


def chance_reliability(result: LearnedCorrectness, width: int) -> Figure:
    """The share of left-out submissions that passed their tests, by their learned chance."""
    model = result.model
    if model.reason is not None:
        raise UsageError(f"there is nothing to draw: {model.reason}")
    bins = [
        ScoreBin(each.low, each.high, each.chance, each.right, each.right_low, each.right_high, each.n)
        for each in model.bins
    ]
    return reliability(
        bins,
        title="Passed tests by learned chance",
        score=Axis(title="Learned chance, the task left out of the fit", low=0, high=1),
        rate=Axis(title="Submissions that passed", unit="share", low=0, high=1),
        note=f"Brier score {model.brier:.3f}, calibration error {model.calibration_error:.3f},"
        f" {model.examples:,} submissions",
        width=width,
    )


def _tool(key: Mapping[str, str | None]) -> str:
    return " ".join(part or "-" for part in key.values())
