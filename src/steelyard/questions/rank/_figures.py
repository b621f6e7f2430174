"""Figures of a ranking: scores with intervals, and cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.figures import Axis, Estimate, Figure, PricedEstimate, dots, pareto
from steelyard.formatting import counted, percent
from steelyard.metrics import catalog
from steelyard.pages import confidence_text, key_name, metric_axis

if TYPE_CHECKING:
    from steelyard.questions.rank._answer import RankedGroup, Ranking


def rank_dots(answer: Ranking, width: int) -> Figure:
    """Rank intervals as bands, scores with their intervals."""
    metric = catalog()[answer.metrics[0]]
    rows = [
        Estimate(
            label=key_name(group.key, answer.tier_scheme),
            value=group.score.estimate,
            low=group.score.low,
            high=group.score.high,
            rank=group.rank_text,
            note=f"{counted(answer.tasks.common, 'task')}, {counted(group.runs, 'run')}"
            + (f"; {group.score.reason}" if group.score.reason else ""),
        )
        for group in answer.groups
    ]
    title = f"{metric.title} by {', '.join(answer.by)}"
    return dots(rows, title=title, axis=metric_axis(metric), note=_note(answer), width=width)


def rank_pareto(answer: Ranking, width: int) -> Figure:
    """Scores against mean costs on the shared tasks."""
    metric = catalog()[answer.metrics[0]]
    points = [
        PricedEstimate(
            label=key_name(group.key, answer.tier_scheme),
            value=group.score.estimate,
            low=group.score.low,
            high=group.score.high,
            cost=group.cost_usd,
            pareto_optimal=group.pareto_optimal,
            note=_cost_note(group),
        )
        for group in answer.groups
    ]
    cost = Axis(title="Mean cost, USD", unit="USD", low=0, log=True)
    note = f"{_note(answer)}; filled: on the frontier"
    title = f"{metric.title} and cost by {', '.join(answer.by)}"
    return pareto(points, title=title, quality=metric_axis(metric), cost=cost, note=note, width=width)


def _note(answer: Ranking) -> str:
    level = confidence_text(answer.confidence, [group.score for group in answer.groups])
    return f"{level}, {counted(answer.tasks.common, 'common task')}, weighted by {answer.weight_by}"


def _cost_note(group: RankedGroup) -> str:
    known = f"cost known for {group.cost_runs:,} of {counted(group.runs, 'run')}"
    if group.pareto_frequency is None:
        return f"{known}; {group.pareto_reason}" if group.pareto_optimal is not None else known
    return f"{known}; on the frontier in {percent(group.pareto_frequency, decimals=0)} of resamples"


DRAWINGS = {"dots": rank_dots, "pareto": rank_pareto}
"""Figures of the answer, the default first."""
