"""Whether the data show that runs keep a rule."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from steelyard.formatting import bounds_text, counted, difference_text, interval_name, quantity
from steelyard.metrics import catalog
from steelyard.records import Missing
from steelyard.results import Rule, RuleCheck
from steelyard.standings._differences import StatisticsOptions, difference
from steelyard.standings._gate_status import Tested, is_infinite, status_of, tasks_to_settle
from steelyard.standings._ranking import scores_of
from steelyard.standings._samples import Mask, Samples, half_names
from steelyard.standings._verdicts import RESTS_ON_UNSCORED
from steelyard.statistics import SensitivityBounds, no_interval


@dataclass(frozen=True, slots=True)
class _Moved:
    """The outcome of the metric, as people say it: plain figures, whatever the rule multiplies."""

    baseline: float | None
    candidate: float | None
    change: float | None
    bounds: SensitivityBounds | None = None


def check(
    rule: Rule,
    samples: Samples,
    candidate: Mask,
    baseline: Mask,
    *,
    options: StatisticsOptions,
    otherwise: Samples | None = None,
) -> RuleCheck:
    """Whether the data show that the candidate keeps the rule, that it breaks it, or neither.

    `otherwise` has runs without a verdict counted the other way: what only one of the two says is inconclusive.
    """
    tested = _tested(rule, samples, candidate, baseline, options)
    moved = _moved(rule, samples, candidate, baseline, tested, options)
    status, why, either_way = status_of(rule, tested), "", ""
    needed, settles = None, None
    if status == "inconclusive":
        needed, settles = tasks_to_settle(rule, tested)
        why = _what_it_takes(rule, tested, needed, settles)
    if otherwise is not None:
        other = _tested(rule, otherwise, candidate, baseline, options)
        if status_of(rule, other) != status:
            why = why or f": it {RESTS_ON_UNSCORED}{_worst_case(rule, moved)}"
            either_way = _either_way(rule, tested, other, samples.profile.unscored)
            status = "inconclusive"
    tried = samples.attempted(candidate) & (samples.attempted(baseline) if rule.relative else True)
    seen = _sentence(rule, moved, tested, tried=int(tried.sum()))
    sentence = f"{seen}: it {'is ' if status == 'inconclusive' else ''}{status}{why}.{either_way}"
    return RuleCheck(
        rule, status, sentence, tested.interval, tested.tasks, moved.baseline, moved.candidate, needed, settles
    )


def _tested(rule: Rule, samples: Samples, candidate: Mask, baseline: Mask, options: StatisticsOptions) -> Tested:
    """What the rule's offset limits: the candidate's difference from what it makes of the baseline, or its figure."""
    if not rule.relative:
        return _level(rule, samples, candidate, options)
    scaled = samples if rule.factor == 1 else samples.scaled(rule.metric, rule.factor, baseline)
    compared = difference(scaled, baseline, candidate, rule.metric, options=options)
    single = compared.runs == (compared.tasks, compared.tasks)
    return Tested(
        metric=rule.metric,
        relative=True,
        sides=(compared.baseline, compared.candidate),
        interval=compared.interval,
        tasks=compared.tasks,
        spread=compared.spread,
        binary=single and scaled.binary(rule.metric),
    )


def _level(rule: Rule, samples: Samples, candidate: Mask, options: StatisticsOptions) -> Tested:
    """The candidate's own figure over all its tasks, with the interval that `measure` gives it."""
    declared, groups = catalog()[rule.metric], np.where(candidate, 0, -1)
    name = half_names(rule.metric)[0] if declared.is_ratio else rule.metric
    values = samples.known(name)
    if isinstance(values, Missing):
        interval = no_interval(values.reason, method=options.method, n=0, clusters=0, level=options.level)
        return Tested(rule.metric, False, (None, None), interval, 0, None, binary=False)
    figures = samples.figures(rule.metric, groups, 1)
    method = options.method
    if method == "paired-t":  # Student's, of one side
        method = "fieller" if declared.is_ratio else "clustered"
    interval = scores_of(samples, groups, rule.metric, figures, level=options.level, method=method)[0]
    by_task = samples.by_task(name, candidate)
    means = by_task.mean[by_task.usable]
    varied = not declared.is_ratio and len(means) > 1 and np.isfinite(means).all() and np.ptp(means) > 0
    return Tested(
        metric=rule.metric,
        relative=False,
        sides=(None, None if np.isnan(figures[0]) else float(figures[0])),
        interval=interval,
        tasks=len(means),
        spread=float(np.sort(means).std(ddof=1)) if varied else None,
        binary=samples.binary(rule.metric) and int(by_task.known.sum()) == len(means),
    )


def _moved(
    rule: Rule, samples: Samples, candidate: Mask, baseline: Mask, tested: Tested, options: StatisticsOptions
) -> _Moved:
    if not rule.relative:
        return _Moved(None, tested.sides[1], None)
    plain = difference(samples, baseline, candidate, rule.metric, options=options)
    return _Moved(plain.baseline, plain.candidate, plain.value, plain.bounds)


def _worst_case(rule: Rule, moved: _Moved) -> str:
    if moved.bounds is None:
        return ""
    unit = catalog()[rule.metric].unit
    ends = bounds_text(moved.bounds.low, moved.bounds.high, unit, of_difference=True)
    return f", whose verdicts could make the difference {ends}"


def _either_way(rule: Rule, tested: Tested, other: Tested, unscored: str) -> str:
    """What each way of counting runs without a verdict gives and says, and what would settle it."""
    excluded, failed = (tested, other) if unscored == "exclude" else (other, tested)
    return (
        f" Without runs that have no verdict it is {_figure(rule, excluded)}; counting them as failed, "
        f"{_figure(rule, failed)}."
        " To settle it, score those runs or run them again."
    )


def _figure(rule: Rule, tested: Tested) -> str:
    unit = catalog()[rule.metric].unit
    before, now = ("unknown" if side is None else quantity(side, unit) for side in tested.sides)
    scaled = f"{rule.factor:g} times the baseline, " if rule.factor not in (0, 1) else ""
    against = f" vs. {scaled}{before}" if rule.relative else ""
    return f"{now}{against} ({status_of(rule, tested)})"


def _what_it_takes(rule: Rule, tested: Tested, needed: int | None, settles: str | None) -> str:
    if needed is not None and settles is None:
        return f"; about {counted(needed, 'task')} like these would be needed to settle it"
    if needed is not None:
        return (
            f"; no number of tasks like these would settle it, but {settles} would take about {counted(needed, 'task')}"
        )
    seen = tested.interval.estimate
    if seen is not None and math.isclose(seen, rule.offset, abs_tol=1e-12):
        return "; the limit is exactly what is seen, so no number of tasks like these would settle it"
    return ""


def _sentence(rule: Rule, moved: _Moved, tested: Tested, *, tried: int) -> str:
    """What was seen and what the rule asks for, without the verdict."""
    declared = catalog()[rule.metric]
    unit, title = declared.unit, declared.title
    if moved.candidate is None or (rule.relative and moved.baseline is None):
        return f"{title} is unknown ({tested.interval.reason or 'no task in common'})"
    now = quantity(moved.candidate, unit)
    tasks = f"{tested.tasks:,} of {counted(tried, 'task')}" if tested.tasks < tried else counted(tested.tasks, "task")
    if moved.baseline is None:
        text = f"{title} is {now} over {tasks}"
    else:
        before = quantity(moved.baseline, unit)
        size = "" if moved.change is None else f" ({difference_text(moved.change, unit, signed=True)})"
        text = f"{title} went from {before} to {now}{size} on the same {tasks}"
        if is_infinite(moved.baseline) != is_infinite(moved.candidate):
            return text
    if tested.constant:
        return f"{text}, {'by ' if rule.relative else ''}the same on every one{_asked(rule, moved, unit)}"
    return f"{text}{_interval_text(rule, tested, unit)}{_asked(rule, moved, unit)}"


def _interval_text(rule: Rule, tested: Tested, unit: str) -> str:
    interval = tested.interval
    if interval.low is None or interval.high is None:
        return f" ({interval.reason})"
    if rule.relative:
        limits = bounds_text(interval.low, interval.high, unit, of_difference=True)
    else:
        limits = bounds_text(interval.low, interval.high, unit, bare=False)
    scaled = ""
    if rule.relative and rule.factor != 1 and interval.estimate is not None:
        side = "below" if interval.estimate < 0 else "above"
        scaled = f"; that is {difference_text(abs(interval.estimate), unit)} {side} {rule.factor:g} times the baseline"
    label = f", {interval.label}" if interval.label else ""
    return f"{scaled}, {interval_name(interval.level)} {limits}{label}"


def _asked(rule: Rule, moved: _Moved, unit: str) -> str:
    """The limit in the unit of the metric."""
    word = "at least" if rule.at_least else "at most"
    if not rule.relative:
        return f"; the rule asks for {word} {quantity(rule.offset, unit)}"
    if rule.factor == 1 and rule.offset == 0:
        return f"; the rule asks for {word} the baseline"
    if rule.factor != 1 and moved.baseline is not None:
        limit = quantity(rule.factor * moved.baseline + rule.offset, unit)
        offset = f" {difference_text(rule.offset, unit, signed=True)}" if rule.offset else ""
        return f"; the rule allows {word} {limit} ({rule.factor:g} times the baseline{offset})"
    change = f"{'a decrease' if rule.offset < 0 else 'an increase'} of"
    asked = f"allows {change} at most" if rule.at_least == (rule.offset < 0) else f"asks for {change} at least"
    return f"; the rule {asked} {difference_text(abs(rule.offset), unit)}"
