"""Figures of a comparison: differences by metric and by task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.errors import UsageError
from steelyard.figures import NARROW, Figure, TaskPair, dots, dumbbells, flips
from steelyard.formatting import counted
from steelyard.metrics import catalog
from steelyard.option_names import option
from steelyard.pages import change_with_limits, confidence_text, metric_axis, own_scales, scaled_estimate

if TYPE_CHECKING:
    from steelyard.questions.compare._answer import Comparison

VERDICT_MARKS = {"better": " better", "worse": " worse"}
"""Text next to a significant difference."""


def difference_dots(answer: Comparison, width: int) -> Figure:
    """Draw B minus A of every metric around one zero line: better to the right, each row on its own scale."""
    rows, directions, intervals = [], set(), []
    for pair in answer.pairs:
        for name, compared in pair.metrics.items():
            directions.add(compared.better)
            title, interval = catalog()[name].title, compared.difference
            intervals.append(interval)
            is_ratio = compared.scale == "ratio"
            text = change_with_limits(interval, compared.unit, is_ratio=is_ratio)
            rows.append(
                scaled_estimate(
                    interval,
                    unit=compared.unit,
                    label=title if len(answer.pairs) == 1 else f"{title}: {pair.candidate.label}",
                    # in a narrow figure, the side of the zero line shows the verdict
                    text=text if width < NARROW else text + VERDICT_MARKS.get(compared.verdict, ""),
                    sentence=compared.sentence,
                    is_sure=compared.is_significant,
                    way=-1 if compared.better == "lower" else 1,
                    is_ratio=is_ratio,
                )
            )
    sides_of_zero = ("worse", "better")
    if "neither" in directions:
        sides_of_zero = ("lower", "higher") if len(directions) == 1 else ("worse or lower", "better or higher")
    sides = answer.pairs[0].candidate.label if len(answer.pairs) == 1 else "B"
    title = f"{sides} minus {answer.baseline.label}"
    tasks = counted(answer.pairs[0].tasks.common, "shared task") if len(answer.pairs) == 1 else "shared tasks"
    level = confidence_text(answer.confidence, intervals)
    is_corrected = answer.correction != "none" and answer.comparisons > 1
    among = f" among {answer.comparisons} comparisons" if is_corrected else ""
    note = f"{level}, {tasks}, paired by task; hollow: inconclusive{among}"
    return dots(rows, title=title, axis=own_scales(*sides_of_zero), note=note, reference=0.0, width=width)


def flip_square(answer: Comparison, width: int) -> Figure:
    """Tasks solved by both sides, by one, by neither."""
    pair = answer.pairs[0]
    compared = pair.metrics.get("pass_rate")
    if compared is None or not compared.tasks:
        raise UsageError("flips need the pass rate of both sides on shared tasks", hint="compare pass_rate")
    counts = compared.flips
    if counts is None:
        raise UsageError("flips require equally weighted tasks", hint=option("weight_by", "tasks"))
    return flips(
        a=answer.baseline.label,
        b=pair.candidate.label,
        both=counts.both,
        only_a=len(counts.lost),
        only_b=len(counts.gained),
        neither=counts.neither,
        title=f"Tasks that flip: {answer.baseline.label} and {pair.candidate.label}",
        note=f"{counted(compared.tasks, 'shared task')}; solved: at least half of the runs pass",
        width=width,
    )


def task_dumbbells(answer: Comparison, width: int) -> Figure:
    """The first metric that tasks differ on, task by task."""
    pair = answer.pairs[0]
    name = pair.differing_metric or next(iter(pair.metrics))
    metric, compared = catalog()[name], pair.metrics[name]
    tasks = [
        TaskPair(each.task, each.baseline, each.candidate)
        for each in (*compared.by_task.higher, *compared.by_task.lower)
    ]
    equal = compared.tasks - len(tasks)
    return dumbbells(
        tasks,
        a=answer.baseline.label,
        b=pair.candidate.label,
        title=f"{metric.title} by task: {answer.baseline.label} and {pair.candidate.label}",
        axis=metric_axis(metric),
        note=f"{counted(len(tasks), 'differing task')} of {compared.tasks:,}, {equal:,} equal",
        width=width,
    )


DRAWINGS = {"differences": difference_dots, "flips": flip_square, "dumbbells": task_dumbbells}
"""Figures of the answer, the default first."""
