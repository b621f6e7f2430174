"""Checks of gate rules against data."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from steelyard.formatting import bounds_text, counted, difference_text, interval_name, percent, quantity
from steelyard.metrics import catalog
from steelyard.questions.analysis._differences import StatisticsOptions, difference
from steelyard.questions.analysis._gate_rules import GateStatus, Rule
from steelyard.questions.analysis._gate_status import Tested, is_infinite, status_of, tasks_to_resolve
from steelyard.questions.analysis._ranking import scores_of
from steelyard.questions.analysis._samples import Mask, Samples, half_names
from steelyard.questions.analysis._verdicts import DEPENDS_ON_UNSCORED
from steelyard.records import Missing
from steelyard.statistics import POWER, Interval, SensitivityBounds, no_interval


@dataclass(frozen=True, slots=True)
class _Moved:
    """Outcome of the metric in plain figures, without the rule's factor."""

    baseline: float | None
    candidate: float | None
    change: float | None
    bounds: SensitivityBounds | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleCheck:
    """Result of one rule."""

    rule: Rule
    status: GateStatus
    sentence: str
    interval: Interval
    """Tested quantity: the candidate's value, or its difference from `factor` times the baseline."""
    tasks: int
    baseline: float | None
    candidate: float | None
    difference: float | None
    """The candidate's value minus the baseline's."""
    tasks_needed: int | None
    """Sample size that resolves the rule at 80% power; None when it is conclusive or the sample size is unknown."""
    resolvable_rule: str | None
    """Nearest rule that `tasks_needed` tasks resolve, if no sample size resolves this one."""


def check(
    rule: Rule,
    samples: Samples,
    candidate: Mask,
    baseline: Mask,
    *,
    options: StatisticsOptions,
    otherwise: Samples | None = None,
) -> RuleCheck:
    """Check one rule: pass, fail or inconclusive.

    `otherwise` has runs without a verdict counted the other way: a rule on which the two disagree is inconclusive.
    """
    tested = _tested(rule, samples, candidate, baseline, options)
    moved = _moved(rule, samples, candidate, baseline, tested, options)
    status, why, either_way = status_of(rule, tested), "", ""
    needed, resolvable = None, None
    if status == "inconclusive":
        needed, resolvable = tasks_to_resolve(rule, tested)
        why = _required_sample(rule, tested, needed, resolvable)
    if otherwise is not None:
        other = _tested(rule, otherwise, candidate, baseline, options)
        if status_of(rule, other) != status:
            why = why or f"; {DEPENDS_ON_UNSCORED}{_worst_case(rule, moved)}."
            either_way = _either_way(rule, tested, other, samples.profile.unscored)
            status = "inconclusive"
    tried = samples.attempted(candidate) & (samples.attempted(baseline) if rule.relative else True)
    seen = _sentence(rule, moved, tested, tried=int(tried.sum()))
    sentence = f"{seen}: {status}{why or '.'}{either_way}"
    return RuleCheck(
        rule=rule,
        status=status,
        sentence=sentence,
        interval=tested.interval,
        tasks=tested.tasks,
        baseline=moved.baseline,
        candidate=moved.candidate,
        difference=moved.change,
        tasks_needed=needed,
        resolvable_rule=resolvable,
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
        std_dev=compared.std_dev,
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
        std_dev=float(np.sort(means).std(ddof=1)) if varied else None,
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
    return f" (worst-case bounds of the difference: {ends})"


def _either_way(rule: Rule, tested: Tested, other: Tested, unscored: str) -> str:
    """Return the result of both ways of counting runs without a verdict, and what to do."""
    excluded, failed = (tested, other) if unscored == "exclude" else (other, tested)
    return (
        f" Runs without a verdict excluded: {_figure(rule, excluded)}; counted as failed: {_figure(rule, failed)}."
        " Score or re-run them."
    )


def _figure(rule: Rule, tested: Tested) -> str:
    unit = catalog()[rule.metric].unit
    before, now = ("unknown" if side is None else quantity(side, unit) for side in tested.sides)
    scaled = f"{rule.factor:g} times the baseline, " if rule.factor not in (0, 1) else ""
    against = f" vs. {scaled}{before}" if rule.relative else ""
    return f"{now}{against} ({status_of(rule, tested)})"


def _required_sample(rule: Rule, tested: Tested, needed: int | None, resolvable: str | None) -> str:
    power = f"({percent(POWER, decimals=0)} power)"
    if needed is not None and resolvable is None:
        return f". About {counted(needed, 'task')} needed {power}."
    if needed is not None:
        return f". No sample size resolves this rule; {resolvable} needs about {counted(needed, 'task')} {power}."
    seen = tested.interval.estimate
    if seen is not None and math.isclose(seen, rule.offset, abs_tol=1e-12):
        return ". The estimate equals the limit, so no sample size resolves this rule."
    return ""


def _sentence(rule: Rule, moved: _Moved, tested: Tested, *, tried: int) -> str:
    """Return the estimate, its interval and the limit, without the verdict."""
    declared = catalog()[rule.metric]
    unit, title = declared.unit, declared.title
    if moved.candidate is None or (rule.relative and moved.baseline is None):
        return f"{title} is unknown ({tested.interval.reason or 'no task in common'})"
    now = quantity(moved.candidate, unit)
    noun = "task" if moved.baseline is None else "shared task"
    tasks = f"{tested.tasks:,} of {counted(tried, noun)}" if tested.tasks < tried else counted(tested.tasks, noun)
    if moved.baseline is None:
        text, details = f"{title} is {now} on {tasks}", []
    else:
        before = quantity(moved.baseline, unit)
        moves = f"changed from {before} to {now}" if moved.change != 0 else f"is unchanged at {now}"
        text = f"{title} {moves} on {tasks}"
        details = [difference_text(moved.change, unit, signed=True)] if moved.change else []
        if is_infinite(moved.baseline) != is_infinite(moved.candidate):
            return text
    details += ["equal on every task"] if tested.constant else _interval_details(rule, tested, unit)
    return f"{text} ({'; '.join(details)}){_limit(rule, moved, unit)}"


def _interval_details(rule: Rule, tested: Tested, unit: str) -> list[str]:
    interval = tested.interval
    if interval.low is None or interval.high is None:
        return [interval.reason or "no interval"]
    limits = bounds_text(interval.low, interval.high, unit, bare=rule.relative, of_difference=rule.relative)
    scaled = []
    if rule.relative and rule.factor != 1 and interval.estimate is not None:
        side = "below" if interval.estimate < 0 else "above"
        scaled = [f"{difference_text(abs(interval.estimate), unit)} {side} {rule.factor:g} times the baseline"]
    label = f", {interval.label}" if interval.label else ""
    return [*scaled, f"{interval_name(interval.confidence)} {limits}{label}"]


def _limit(rule: Rule, moved: _Moved, unit: str) -> str:
    """Return the limit in the unit of the metric."""
    word = "at least" if rule.at_least else "at most"
    if not rule.relative:
        return f"; limit: {word} {quantity(rule.offset, unit)}"
    if rule.factor == 1 and rule.offset == 0:
        return f"; limit: {word} the baseline"
    if rule.factor != 1 and moved.baseline is not None:
        limit = quantity(rule.factor * moved.baseline + rule.offset, unit)
        offset = f" {difference_text(rule.offset, unit, signed=True)}" if rule.offset else ""
        return f"; limit: {word} {limit} ({rule.factor:g} times the baseline{offset})"
    change = "a decrease" if rule.offset < 0 else "an increase"
    bound = "at most" if rule.at_least == (rule.offset < 0) else "at least"
    return f"; limit: {change} of {bound} {difference_text(abs(rule.offset), unit)}"
