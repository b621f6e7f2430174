"""Figure of a gate: the quantity that each rule limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.figures import Figure, dots
from steelyard.formatting import counted
from steelyard.metrics import catalog
from steelyard.pages import confidence_text, own_scales, scaled_estimate

if TYPE_CHECKING:
    from steelyard.questions.gate._answer import Gate


def rule_dots(answer: Gate, width: int) -> Figure:
    """The figure or difference that each rule limits, with its interval and the limit."""
    rows = [
        scaled_estimate(
            rule.interval,
            unit=catalog()[rule.metric].unit,
            label=rule.rule,
            text=rule.status,
            sentence=rule.sentence,
            is_sure=rule.status != "inconclusive",
            limit=rule.factor if rule.is_ratio else rule.offset,
            is_ratio=rule.is_ratio,
        )
        for rule in answer.rules
    ]
    level = confidence_text(answer.confidence, [rule.interval for rule in answer.rules])
    note = f"{level}, {counted(answer.tasks, 'task')}; vertical tick: limit; hollow: inconclusive"
    axis = own_scales("lower", "higher")
    return dots(rows, title=f"Gate: {answer.status}", axis=axis, note=note, reference=0.0, width=width)


DRAWINGS = {"rules": rule_dots}
"""Figures of the answer, the default first."""
