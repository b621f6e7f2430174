"""Figures of two sides: what differs, on which tasks, and the rules of a gate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.errors import UsageError
from steelyard.figures import Figure, TaskPair, dots, dumbbells, flips
from steelyard.formatting import counted
from steelyard.metrics import catalog
from steelyard.option_names import option
from steelyard.pages import confidence_text, limits_text, metric_axis, own_scales, scaled_estimate, signed_text

if TYPE_CHECKING:
    from steelyard.results._comparison import Comparison, Pair
    from steelyard.results._gate import Gate

VERDICT_MARKS = {"better": " better", "worse": " worse"}
"""Text next to a significant difference."""


def difference_dots(result: Comparison, width: int) -> Figure:
    """B minus A of every metric on one zero line, what is better at the right, each row on a scale of its own."""
    rows, directions = [], set()
    for pair in result.pairs:
        for judged in pair.metrics:
            metric = catalog()[judged.difference.metric]
            directions.add(metric.better)
            label = metric.title if len(result.pairs) == 1 else f"{metric.title}: {pair.candidate.label}"
            interval = judged.difference.interval
            text = f"{signed_text(judged.difference.value, metric.unit)}{limits_text(interval, metric.unit)}"
            text += VERDICT_MARKS.get(judged.verdict, "")
            way = -1 if metric.better == "lower" else 1
            rows.append(
                scaled_estimate(
                    interval,
                    unit=metric.unit,
                    label=label,
                    text=text,
                    sentence=judged.sentence,
                    is_sure=judged.is_shown,
                    way=way,
                )
            )
    sides_of_zero = ("worse", "better")
    if "neither" in directions:
        sides_of_zero = ("lower", "higher") if len(directions) == 1 else ("worse or lower", "better or higher")
    sides = result.pairs[0].candidate.label if len(result.pairs) == 1 else "B"
    title = f"{sides} minus {result.baseline.label}"
    tasks = counted(result.pairs[0].coverage.common, "shared task") if len(result.pairs) == 1 else "shared tasks"
    level = confidence_text(result.level, [each.difference.interval for pair in result.pairs for each in pair.metrics])
    is_corrected = result.correction != "none" and result.comparisons > 1
    among = f" among {result.comparisons} comparisons" if is_corrected else ""
    note = f"{level}, {tasks}, paired by task; hollow: inconclusive{among}"
    return dots(rows, title=title, axis=own_scales(*sides_of_zero), note=note, reference=0.0, width=width)


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


def flip_square(result: Comparison, width: int) -> Figure:
    """Tasks solved by both sides, by one, by neither."""
    pair = result.pairs[0]
    judged = next((each for each in pair.metrics if each.difference.metric == "pass_rate"), None)
    if judged is None or not judged.difference.tasks:
        raise UsageError("flips need the pass rate of both sides on shared tasks", hint="compare pass_rate")
    counts = judged.difference.flips
    if counts is None:
        raise UsageError("flips need tasks of equal weight", hint=option("weight_by", "tasks"))
    return flips(
        a=result.baseline.label,
        b=pair.candidate.label,
        both=counts.both,
        only_a=len(counts.lost),
        only_b=len(counts.gained),
        neither=counts.neither,
        title=f"Tasks that flip: {result.baseline.label} and {pair.candidate.label}",
        note=f"{counted(judged.difference.tasks, 'shared task')}; solved: at least half of the runs pass",
        width=width,
    )


def task_dumbbells(result: Comparison, width: int) -> Figure:
    """The first metric that tasks differ on, task by task."""
    pair = result.pairs[0]
    judged = next((each for each in pair.metrics if each.difference.higher or each.difference.lower), None)
    difference = (judged or pair.metrics[0]).difference
    metric = catalog()[difference.metric]
    pairs = [TaskPair(each.task, each.baseline, each.candidate) for each in (*difference.higher, *difference.lower)]
    unchanged = difference.tasks - len(pairs)
    note = f"{counted(len(pairs), 'differing task')} of {difference.tasks:,}, {unchanged:,} equal"
    return dumbbells(
        pairs,
        a=result.baseline.label,
        b=pair.candidate.label,
        title=f"{metric.title} by task: {_sides(result, pair)}",
        axis=metric_axis(metric),
        note=note,
        width=width,
    )


def _sides(result: Comparison, pair: Pair) -> str:
    return f"{result.baseline.label} and {pair.candidate.label}"
