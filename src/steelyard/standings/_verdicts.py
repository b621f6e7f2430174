"""From numbers to a verdict and one plain sentence."""

from __future__ import annotations

import math

from steelyard.formatting import (
    bounds_text,
    confidence_interval,
    counted,
    decimal,
    decimal_bounds,
    difference_text,
    p_value,
    p_value_cell,
    quantity,
    versus,
)
from steelyard.metrics import catalog
from steelyard.results import Difference, TasksNeeded, Verdict
from steelyard.standings._differences import NO_COMMON_TASK
from steelyard.statistics import Interval, spread_range, student_quantile, tasks_needed

VERBS: dict[str, tuple[str, str, str]] = {
    "pass_rate": ("passes {size} more than", "passes {size} less than", "passes exactly as often as"),
    "cost_usd": ("costs {size} more than", "costs {size} less than", "costs exactly as much as"),
    "duration_seconds": ("takes {size} longer than", "takes {size} less than", "takes exactly as long as"),
}
"""How a difference is told where the title alone would sound stiff: more, less, the same."""


CLAIMS: frozenset[Verdict] = frozenset({"better", "worse", "differs"})
"""The verdicts that say that there is a difference."""

INCONCLUSIVE: Verdict = "inconclusive"
RESTS_ON_UNSCORED = "rests on runs without a verdict"


def verdict(difference: Difference, adjusted: float | None) -> Verdict:
    """Better or worse only where the adjusted p-value and the interval agree that there is a difference."""
    value = difference.value
    if value is None or adjusted is None:
        return "unknown"
    if value == 0:
        return "no difference"
    if not difference.interval.known:
        return "unknown"
    if adjusted > 1 - difference.interval.level or not difference.interval.excludes(0.0):
        return INCONCLUSIVE
    better = catalog()[difference.metric].better
    if better == "neither":
        return "differs"
    return "better" if (value > 0) == (better == "higher") else "worse"


def sentence(
    difference: Difference,
    *,
    a: str,
    b: str,
    adjusted: float | None,
    comparisons: int,
    alone: str,
    rests: bool = False,
) -> str:
    """What the data say about B against A on this metric, and what it would take to be sure.

    `alone`: the options that ask for this comparison only. `rests`: counted the other way, runs without a verdict
    would say something else.
    """
    declared = catalog()[difference.metric]
    value, interval = difference.value, difference.interval
    if value is None or difference.baseline is None or difference.candidate is None:
        reason = interval.reason or difference.test.reason or "there is no value"
        if reason == NO_COMMON_TASK:
            return f"{b} and {a} cannot be compared: they have {reason}."
        return f"{declared.title}: {b} and {a} cannot be compared: {reason}."
    head = f"{_head(difference, a, b)} on the same {counted(difference.tasks, 'task')}"
    if value != 0:
        mean = "" if declared.is_ratio or math.isfinite(declared.bounds[1]) else "mean "
        head += f" ({mean}{versus(difference.candidate, difference.baseline, declared.unit)})"
    if interval.low is None or interval.high is None:
        return f"{head}: {_no_range(difference)}."
    limits = confidence_interval(interval.level, interval.low, interval.high, declared.unit, of_difference=True)
    told = INCONCLUSIVE if rests else verdict(difference, adjusted)
    ending = f"{INCONCLUSIVE}: {RESTS_ON_UNSCORED}"
    if not rests:
        ending = _ending(difference, told, a=a, b=b, adjusted=adjusted, comparisons=comparisons)
    label = f", {interval.label}" if interval.label else ""
    text = f"{head}, {limits}{label}: {ending}."
    if told == INCONCLUSIVE and not rests and _is_corrected_away(difference, comparisons):
        text += f" If this was the one comparison you planned, test it alone: {alone}."
    return f"{text}{_typical(difference)}{_about_missing(difference, told, a=a, b=b)}"


def _typical(difference: Difference) -> str:
    """The ratio of geometric means, where the interval of the difference falls short of its level."""
    ratio = difference.geometric_ratio
    if not difference.interval.label or ratio is None or ratio.low is None or ratio.high is None:
        return ""
    return f" On the geometric mean it is {decimal(ratio.estimate)} times as much ({decimal_bounds(ratio.low, ratio.high)})."


def _head(difference: Difference, a: str, b: str) -> str:
    declared = catalog()[difference.metric]
    value = difference.value or 0.0
    size = difference_text(abs(value), declared.unit)
    if difference.metric in VERBS:
        more, less, same = VERBS[difference.metric]
        words = same if value == 0 else (more if value > 0 else less).format(size=size)
        return f"{b} {words} {a}"
    title = declared.title[0].lower() + declared.title[1:]
    if value == 0:
        return f"{b} has exactly the same {title} as {a}"
    article = "an" if title[0] in "aeiou" else "a"
    return f"{b} has {article} {title} {size} {'higher' if value > 0 else 'lower'} than {a}"


def _no_range(difference: Difference) -> str:
    if difference.value == 0:
        return "no difference is seen"
    return f"whether that is more than chance is unknown: {difference.interval.reason}"


def _ending(difference: Difference, told: Verdict, *, a: str, b: str, adjusted: float | None, comparisons: int) -> str:
    match told:
        case "better":
            return f"{b} is better"
        case "worse":
            return f"{b} is worse"
        case "differs":
            return f"{a} and {b} differ"
        case "no difference":
            seen = (
                difference_text(difference.minimum_detectable_effect, catalog()[difference.metric].unit)
                if difference.minimum_detectable_effect
                else None
            )
            most = f"; this many tasks can only detect one of {seen} or more" if seen else ""
            return f"no difference is seen{most}"
        case "inconclusive" if (
            difference.interval.excludes(0.0) and (difference.test.p_value or 0) > 1 - difference.interval.level
        ):
            return (
                f"{INCONCLUSIVE}: so few tasks may agree by chance ({p_value(difference.test.p_value or 0)})"
                + _needed(difference, comparisons)
            )
        case "inconclusive" if _is_corrected_away(difference, comparisons) and adjusted is not None:
            p_values = f"{p_value(difference.test.p_value or 0)} alone, {p_value_cell(adjusted)} after correction"
            return f"{INCONCLUSIVE} among {comparisons} comparisons ({p_values})" + _needed(difference, comparisons)
        case _:
            return INCONCLUSIVE + _needed(difference, comparisons)


def _is_corrected_away(difference: Difference, comparisons: int) -> bool:
    """Whether an inconclusive difference would be shown if it were the only comparison."""
    p_value = difference.test.p_value
    is_shown = p_value is not None and p_value <= 1 - difference.interval.level
    return comparisons > 1 and is_shown and difference.interval.excludes(0.0)


def spread_of_tasks(interval: Interval, *, metric: str, tasks: int, stated: float | None) -> float | None:
    """The spread over tasks: as stated, else what an interval from draws of tasks, or of a ratio, speaks for."""
    if stated or interval.low is None or interval.high is None or tasks < 2:
        return stated or None
    drawn = catalog()[metric].is_ratio or interval.method.startswith("percentile")
    half = (interval.high - interval.low) / 2
    if not drawn or not math.isfinite(half):
        return None
    return half * math.sqrt(tasks) / float(student_quantile(interval.level, tasks - 1))


def needed_tasks(difference: Difference, comparisons: int) -> int | None:
    """Tasks like these at which the difference seen would be shown among so many comparisons, with a chance of 80%.

    The ends of the interval would promise too few, or nothing at all. Never fewer than a test of signs needs: with n
    tasks its p-value cannot go below 2 / 2^n.
    """
    value, interval = difference.value, difference.interval
    spread = spread_of_tasks(interval, metric=difference.metric, tasks=difference.tasks, stated=difference.spread)
    if value is None or spread is None or not math.isfinite(value):
        return None
    allowed = (1 - interval.level) / max(comparisons, 1)
    needed = tasks_needed(value, spread, level=1 - allowed)
    return None if needed is None else max(needed, _min_signs(allowed))


def sample_size_for(difference: Difference, size: float, comparisons: int) -> TasksNeeded | None:
    """Tasks for a true difference of the size asked for, over the spreads that the present tasks leave open."""
    if difference.spread is None:
        return None
    allowed = (1 - difference.interval.level) / max(comparisons, 1)
    spreads = spread_range(difference.spread, difference.tasks, level=difference.interval.level)
    fewest, most = (tasks_needed(size, spread, level=1 - allowed) for spread in spreads)
    if fewest is None:
        return None
    least = _min_signs(allowed)
    return TasksNeeded(max(fewest, least), None if most is None else max(most, least))


def _min_signs(allowed: float) -> int:
    return math.ceil(1 - math.log2(allowed))


def _needed(difference: Difference, comparisons: int) -> str:
    needed = needed_tasks(difference, comparisons)
    if needed is None:
        return ""
    if needed <= difference.tasks:
        return ", but close: a few more tasks would settle it"
    return f"; about {counted(needed, 'task')} like these would be needed to show a difference"


def _range_text(needed: TasksNeeded) -> str:
    if needed.at_most is None:
        return f"at least {counted(needed.at_least, 'task')}"
    if needed.at_most == needed.at_least:
        return counted(needed.at_least, "task")
    return f"{needed.at_least:,} to {counted(needed.at_most, 'task')}"


def sample_size_text(difference: Difference, size: float, needed: TasksNeeded | None) -> str:
    """What it would take to show a difference of the size asked for."""
    told = difference_text(abs(size), catalog()[difference.metric].unit)
    if needed is None:
        return f" How many tasks would show a difference of {told} is unknown."
    return f" A true difference of {told} would take {_range_text(needed)}."


def _about_missing(difference: Difference, told: Verdict, *, a: str, b: str) -> str:
    if difference.bounds is None:
        return ""
    unit = catalog()[difference.metric].unit
    ends = bounds_text(difference.bounds.low, difference.bounds.high, unit, of_difference=True)
    sides = ", ".join(f"{name} {count:,}" for count, name in zip(difference.missing, (a, b), strict=True) if count)
    total = sum(difference.missing)
    runs, them = ("1 run has", "it") if total == 1 else (f"{total:,} runs have", "them")
    what = "verdict" if difference.metric == "pass_rate" else "value"
    text = f" {runs} no {what} ({sides}): with {them} the difference could be {ends}"
    undone = told in CLAIMS and difference.bounds.low <= 0 <= difference.bounds.high
    return f"{text}, which could reverse the answer." if undone else f"{text}."


def otherwise_text(difference: Difference, other: Difference, unscored: str) -> str:
    """Both figures with runs without a verdict counted the other way, where those are others."""
    unit = catalog()[difference.metric].unit
    sides, others = (
        ["unknown" if side is None else quantity(side, unit) for side in (each.candidate, each.baseline)]
        for each in (difference, other)
    )
    if sides == others:
        return ""
    way = "counted as failed (--unscored fail)" if unscored == "exclude" else "left out (--unscored exclude)"
    return f" With runs without a verdict {way}: {others[0]} against {others[1]}."
