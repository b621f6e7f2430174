"""Verdicts of comparisons and the sentences that report them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from steelyard.formatting import (
    bounds_text,
    confidence_interval,
    counted,
    decimal,
    decimal_bounds,
    difference_text,
    interval_name,
    p_value,
    p_value_cell,
    percent,
    quantity,
    versus,
)
from steelyard.metrics import catalog
from steelyard.questions.analysis import DEPENDS_ON_UNSCORED, NO_COMMON_TASK, Difference, std_dev_of_tasks
from steelyard.statistics import (
    POWER,
    benjamini_hochberg,
    holm,
    std_dev_range,
    tasks_needed,
)

if TYPE_CHECKING:
    from steelyard.questions.compare import Correction, Verdict

PHRASES: dict[str, tuple[str, str, str]] = {
    "pass_rate": ("passes {size} more than", "passes {size} less than", "passes exactly as often as"),
    "cost_usd": ("costs {size} more than", "costs {size} less than", "costs exactly as much as"),
    "duration_seconds": ("takes {size} longer than", "takes {size} less than", "takes exactly as long as"),
}
"""Phrases for common metrics: more, less, equal."""


CLAIMS: frozenset[Verdict] = frozenset({"better", "worse", "differs"})
"""Verdicts that claim a difference."""

INCONCLUSIVE: Verdict = "inconclusive"


@dataclass(frozen=True, slots=True)
class TasksNeeded:
    """Range of the sample size for an effect size, since the standard deviation is itself an estimate."""

    at_least: int
    at_most: int | None
    """None if no sample size is sufficient."""


@dataclass(frozen=True, slots=True)
class JudgedDifference:
    """A difference with its verdict."""

    difference: Difference
    adjusted_p: float | None
    verdict: Verdict
    sentence: str
    needed: int | None
    """Tasks needed to detect the observed difference with 80% power."""
    sample_size: TasksNeeded | None = None
    """Tasks needed to detect the requested effect size."""


def adjusted_p_values(differences: Sequence[Difference], correction: Correction) -> list[float | None]:
    """Each test's p-value, corrected for how many there are; None where a test has none."""
    known = [
        (place, difference.test.p_value)
        for place, difference in enumerate(differences)
        if difference.test.p_value is not None
    ]
    values = [p_value for _, p_value in known]
    if correction == "holm":
        values = holm(values).tolist()
    elif correction == "bh":
        values = benjamini_hochberg(values).tolist()
    adjusted: list[float | None] = [None] * len(differences)
    for (place, _), corrected in zip(known, values, strict=True):
        adjusted[place] = corrected
    return adjusted


def judge(
    difference: Difference,
    *,
    a: str,
    b: str,
    adjusted: float | None,
    comparisons: int,
    alone: str,
    otherwise: tuple[Difference, Verdict],
    unscored: str,
    effect_size: float | None = None,
) -> JudgedDifference:
    """The verdict and the sentence of one difference, and what it would take to detect one of a size asked for.

    `otherwise` is the difference and the verdict if runs without a verdict of their own were counted the other way than
    the policy `unscored` does; where the two disagree, the verdict is inconclusive.
    """
    concluded = verdict(difference, adjusted)
    rests = concluded in CLAIMS and concluded != otherwise[1]
    text = sentence(difference, a=a, b=b, adjusted=adjusted, comparisons=comparisons, alone=alone, rests=rests)
    text += otherwise_text(difference, otherwise[0], unscored)
    wanted = None if effect_size is None else sample_size_for(difference, effect_size, comparisons)
    return JudgedDifference(
        difference=difference,
        adjusted_p=adjusted,
        verdict=INCONCLUSIVE if rests else concluded,
        sentence=text if effect_size is None else text + sample_size_text(difference, effect_size, wanted),
        needed=needed_tasks(difference, comparisons),
        sample_size=wanted,
    )


def verdict(difference: Difference, adjusted: float | None) -> Verdict:
    """Return the verdict: better or worse only if the adjusted p-value and the interval both exclude no difference."""
    value = difference.value
    if value is None or adjusted is None:
        return "unknown"
    if value == 0:
        return "no difference"
    if not difference.interval.known:
        return "unknown"
    if adjusted > 1 - difference.interval.confidence or not difference.interval.excludes(0.0):
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
    """Return the sentence for one metric: estimate, interval, verdict and required sample size.

    `alone`: what to compare to make this comparison only. `rests`: the verdict depends on how runs without a verdict
    are counted.
    """
    declared = catalog()[difference.metric]
    value, interval = difference.value, difference.interval
    if value is None or difference.baseline is None or difference.candidate is None:
        reason = interval.reason or difference.test.reason or "no value"
        if reason == NO_COMMON_TASK:
            return f"Cannot compare {b} with {a}: {reason}."
        return f"{declared.title}: cannot compare {b} with {a}: {reason}."
    details = []
    if value != 0:
        mean = "" if declared.is_ratio or math.isfinite(declared.bounds[1]) else "mean "
        details.append(f"{mean}{versus(difference.candidate, difference.baseline, declared.unit)}")
    is_known = interval.low is not None and interval.high is not None
    if is_known:
        limits = confidence_interval(
            interval.confidence, interval.low, interval.high, declared.unit, of_difference=True
        )
        details.append(f"{limits}, {interval.label}" if interval.label else limits)
    head = f"{_head(difference, a, b)} on {counted(difference.tasks, 'shared task')}"
    head += f" ({'; '.join(details)})" if details else ""
    if not is_known:
        return f"{head}: {_no_range(difference)}."
    if rests:
        text = f"{head}: {INCONCLUSIVE}; {DEPENDS_ON_UNSCORED}."
    else:
        text = f"{head}: {_ending(difference, verdict(difference, adjusted), b=b, adjusted=adjusted)}."
        text += _remedy(difference, adjusted=adjusted, comparisons=comparisons, alone=alone)
    concluded = INCONCLUSIVE if rests else verdict(difference, adjusted)
    return f"{text}{_typical(difference)}{_about_missing(difference, concluded, a=a, b=b)}"


def _typical(difference: Difference) -> str:
    """The ratio of geometric means, where the interval for the difference falls short of its level."""
    ratio = difference.geometric_ratio
    if not difference.interval.label or ratio is None or ratio.low is None or ratio.high is None:
        return ""
    bounds = f"{interval_name(ratio.confidence)} {decimal_bounds(ratio.low, ratio.high)}"
    return f" Ratio of geometric means: {decimal(ratio.estimate)} ({bounds})."


def _head(difference: Difference, a: str, b: str) -> str:
    declared = catalog()[difference.metric]
    value = difference.value or 0.0
    size = difference_text(abs(value), declared.unit)
    if difference.metric in PHRASES:
        more, less, same = PHRASES[difference.metric]
        words = same if value == 0 else (more if value > 0 else less).format(size=size)
        return f"{b} {words} {a}"
    title = declared.title[0].lower() + declared.title[1:]
    if value == 0:
        return f"{b} has exactly the same {title} as {a}"
    article = "an" if title[0] in "aeiou" else "a"
    return f"{b} has {article} {title} {size} {'higher' if value > 0 else 'lower'} than {a}"


def _no_range(difference: Difference) -> str:
    if difference.value == 0:
        return "no difference"
    return f"significance unknown ({difference.interval.reason})"


def _ending(difference: Difference, concluded: Verdict, *, b: str, adjusted: float | None) -> str:
    match concluded:
        case "better":
            return f"{b} is better"
        case "worse":
            return f"{b} is worse"
        case "differs":
            return "the difference is significant"
        case "no difference":
            return "no difference"
        case _ if difference.interval.excludes(0.0) and adjusted is not None:
            test = difference.test.p_value or 0
            is_corrected = adjusted != difference.test.p_value
            values = f"{p_value(test)}, corrected {p_value_cell(adjusted)}" if is_corrected else p_value(test)
            return f"{INCONCLUSIVE} ({values})"
        case _:
            return INCONCLUSIVE


def _remedy(difference: Difference, *, adjusted: float | None, comparisons: int, alone: str) -> str:
    """The sample size that would be conclusive, or the effect that this one can detect."""
    unit = catalog()[difference.metric].unit
    concluded = verdict(difference, adjusted)
    if concluded == "no difference" and difference.minimum_detectable_effect:
        effect = difference_text(difference.minimum_detectable_effect, unit)
        return f" Minimum detectable effect: {effect} ({percent(POWER, decimals=0)} power)."
    if concluded != INCONCLUSIVE:
        return ""
    text = _needed(difference, comparisons)
    if _is_corrected_away(difference, comparisons):
        text += f" Corrected for {comparisons} comparisons; if only this one was planned, compare {alone} alone."
    return text


def _is_corrected_away(difference: Difference, comparisons: int) -> bool:
    """Whether the difference is significant before the multiple-comparison correction only."""
    p_value = difference.test.p_value
    is_shown = p_value is not None and p_value <= 1 - difference.interval.confidence
    return comparisons > 1 and is_shown and difference.interval.excludes(0.0)


def needed_tasks(difference: Difference, comparisons: int) -> int | None:
    """Return the sample size for the observed difference at 80% power, Bonferroni-corrected for the comparisons.

    Never fewer tasks than a sign-flip test needs: with n tasks its p-value is at least 2 / 2^n.
    """
    value, interval = difference.value, difference.interval
    std_dev = std_dev_of_tasks(interval, metric=difference.metric, tasks=difference.tasks, stated=difference.std_dev)
    if value is None or std_dev is None or not math.isfinite(value):
        return None
    allowed = (1 - interval.confidence) / max(comparisons, 1)
    needed = tasks_needed(value, std_dev, level=1 - allowed)
    return None if needed is None else max(needed, _min_signs(allowed))


def sample_size_for(difference: Difference, size: float, comparisons: int) -> TasksNeeded | None:
    """Return the range of sample sizes for an effect size, over the confidence interval of the standard deviation."""
    if difference.std_dev is None:
        return None
    allowed = (1 - difference.interval.confidence) / max(comparisons, 1)
    std_devs = std_dev_range(difference.std_dev, difference.tasks, level=difference.interval.confidence)
    fewest, most = (tasks_needed(size, std_dev, level=1 - allowed) for std_dev in std_devs)
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
    effect = difference_text(abs(difference.value or 0.0), catalog()[difference.metric].unit)
    tasks = f"About {counted(needed, 'task')}" if needed > difference.tasks else "Slightly more tasks"
    return f" {tasks} needed to detect {effect} ({percent(POWER, decimals=0)} power)."


def _range_text(needed: TasksNeeded) -> str:
    if needed.at_most is None:
        return f"at least {counted(needed.at_least, 'task')}"
    if needed.at_most == needed.at_least:
        return counted(needed.at_least, "task")
    return f"{needed.at_least:,} to {counted(needed.at_most, 'task')}"


def sample_size_text(difference: Difference, size: float, needed: TasksNeeded | None) -> str:
    """Return the sentence with the sample size for an effect size."""
    effect = difference_text(abs(size), catalog()[difference.metric].unit)
    if needed is None:
        return f" The sample size needed to detect {effect} is unknown."
    text = _range_text(needed)
    return f" {text[0].upper()}{text[1:]} needed to detect {effect} ({percent(POWER, decimals=0)} power)."


def _about_missing(difference: Difference, concluded: Verdict, *, a: str, b: str) -> str:
    if difference.bounds is None:
        return ""
    unit = catalog()[difference.metric].unit
    ends = bounds_text(difference.bounds.low, difference.bounds.high, unit, of_difference=True)
    sides = ", ".join(f"{name} {count:,}" for count, name in zip(difference.missing, (a, b), strict=True) if count)
    total = sum(difference.missing)
    runs = "1 run has" if total == 1 else f"{total:,} runs have"
    what = "verdict" if difference.metric == "pass_rate" else "value"
    text = f" {runs} no {what} ({sides}); worst-case bounds of the difference: {ends}"
    undone = concluded in CLAIMS and difference.bounds.low <= 0 <= difference.bounds.high
    return f"{text}, which could change the verdict." if undone else f"{text}."


def otherwise_text(difference: Difference, other: Difference, unscored: str) -> str:
    """Return both values with runs without a verdict counted the other way, if they differ."""
    unit = catalog()[difference.metric].unit
    sides, others = (
        ["unknown" if side is None else quantity(side, unit) for side in (each.candidate, each.baseline)]
        for each in (difference, other)
    )
    if sides == others:
        return ""
    way = "counted as failed" if unscored == "exclude" else "excluded"
    return f" With runs without a verdict {way}: {others[0]} vs. {others[1]}."
