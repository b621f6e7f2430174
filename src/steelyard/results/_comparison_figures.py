"""Figure of the rules of a gate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.figures import Figure, dots
from steelyard.formatting import counted
from steelyard.metrics import catalog
from steelyard.pages import confidence_text, own_scales, scaled_estimate

if TYPE_CHECKING:
    from steelyard.results._gate import Gate


def rule_dots(result: Gate, width: int) -> Figure:
    """The figure or difference that each rule limits, with its interval and the limit."""
    rows = []
    for check in result.checks:
        metric = catalog()[check.rule.metric]
        rows.append(
            scaled_estimate(
                check.interval,
                unit=metric.unit,
                label=check.rule.text,
                text=check.status,
                sentence=check.sentence,
                is_sure=check.status != "inconclusive",
                limit=check.rule.offset,
            )
        )
    level = confidence_text(result.level, [check.interval for check in result.checks])
    note = f"{level}, {counted(result.tasks, 'task')}; vertical tick: limit; hollow: inconclusive"
    axis = own_scales("lower", "higher")
    return dots(rows, title=f"Gate: {result.status}", axis=axis, note=note, reference=0.0, width=width)
