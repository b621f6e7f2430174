"""Status of a gate rule, and the sample size that resolves an inconclusive one."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from steelyard.metrics import catalog
from steelyard.questions.analysis._differences import FEW_DIFFER
from steelyard.questions.analysis._gate_rules import GateStatus, Rule, rule_text
from steelyard.questions.analysis._verdicts import std_dev_of_tasks
from steelyard.statistics import (
    Interval,
    bounded_mean,
    clopper_pearson,
    paired_plus_two,
    paired_proportions,
    tasks_needed,
)

MAX_SEARCHED_TASKS = 100_000
"""Largest sample size searched if all tasks are equal."""
EASED_BY = 0.02
"""Fraction of the metric's range by which a rule is relaxed if no sample size resolves it."""


@dataclass(frozen=True, slots=True)
class Tested:
    """The figure or difference that a rule limits, and what it rests on."""

    metric: str
    relative: bool
    """Whether it is a difference from the baseline."""
    sides: tuple[float | None, float | None]
    """The baseline times the rule's factor, and the candidate."""
    interval: Interval
    tasks: int
    std_dev: float | None
    """Standard deviation over tasks; None where they are all equal, and for a ratio of means."""
    binary: bool
    """Whether each task has one value a side, 0 or 1."""

    @property
    def constant(self) -> bool:
        """Whether many tasks have exactly the same value: then there is no variance to allow for."""
        same = not catalog()[self.metric].is_ratio or (self.relative and self.interval.estimate == 0)
        return same and self.std_dev is None and not self.interval.known and self.tasks >= FEW_DIFFER


def status_of(rule: Rule, tested: Tested) -> GateStatus:
    """Return pass if the whole interval satisfies the rule, fail if all of it violates it, else inconclusive."""
    low, high = tested.interval.low, tested.interval.high
    if tested.constant:
        low = high = tested.interval.estimate
    if rule.relative and is_infinite(tested.sides[0]) != is_infinite(tested.sides[1]):
        # A cost of pass without a pass is infinite: no more tasks are needed to see that it exceeds any limit.
        return "fail" if is_infinite(tested.sides[1]) != rule.at_least else "pass"
    if low is None or high is None:
        return "inconclusive"
    # a limit met to the last bit is met: 0.1 - 0.12 is a little less than -0.02
    slack = 1e-12 * max(1.0, abs(rule.offset))
    if rule.at_least:
        return "pass" if low >= rule.offset - slack else "fail" if high < rule.offset - slack else "inconclusive"
    return "pass" if high <= rule.offset + slack else "fail" if low > rule.offset + slack else "inconclusive"


def is_infinite(value: float | None) -> bool:
    """Whether there is a value and it is infinite."""
    return value is not None and math.isinf(value)


def tasks_to_resolve(rule: Rule, tested: Tested) -> tuple[int | None, str | None]:
    """Return the sample size that resolves the rule, and the nearest resolvable rule if none does.

    At 80% power for the observed difference and standard deviation; if all tasks are equal, the smallest sample size
    that is conclusive.
    """
    estimate = tested.interval.estimate
    if estimate is None or not math.isfinite(estimate):
        return None, None
    needed = _needed(rule, tested, estimate)
    if needed is not None:
        return max(needed, tested.tasks + 1), None  # these did not
    low, high = catalog()[rule.metric].bounds
    if not math.isfinite(high - low):
        return None, None
    eased = replace(rule, offset=rule.offset + EASED_BY * (high - low) * (-1 if rule.at_least else 1))
    needed = _needed(eased, tested, estimate)
    return (None, None) if needed is None else (needed, rule_text(eased))


def _needed(rule: Rule, tested: Tested, estimate: float) -> int | None:
    std_dev = std_dev_of_tasks(tested.interval, metric=tested.metric, tasks=tested.tasks, stated=tested.std_dev)
    if std_dev is None:
        return _min_equal(rule, tested, estimate)
    return tasks_needed(estimate - rule.offset, std_dev, level=tested.interval.confidence)


def _min_equal(rule: Rule, tested: Tested, estimate: float) -> int | None:
    """Return the smallest conclusive sample size if all tasks equal these; None when there is none."""
    if not all(map(math.isfinite, catalog()[rule.metric].bounds)) or catalog()[rule.metric].is_ratio:
        return FEW_DIFFER if tested.tasks < FEW_DIFFER else None
    few, many = 1, 2
    while status_of(rule, _with_equal_tasks(tested, estimate, many)) == "inconclusive":
        few, many = many, many * 2
        if few >= MAX_SEARCHED_TASKS:
            return None
    while many - few > 1:
        middle = (few + many) // 2
        if status_of(rule, _with_equal_tasks(tested, estimate, middle)) == "inconclusive":
            few = middle
        else:
            many = middle
    return many


def _with_equal_tasks(tested: Tested, value: float, tasks: int) -> Tested:
    """Return the same test with this many tasks, all with this value."""
    level, bounds = tested.interval.confidence, catalog()[tested.metric].bounds
    if tested.relative and tested.binary:
        interval = paired_proportions(tasks if value < 0 else 0, tasks if value > 0 else 0, tasks, level=level)
    elif tested.relative:
        interval = paired_plus_two(np.full(tasks, value), span=bounds[1] - bounds[0], level=level)
    elif tested.binary:
        interval = clopper_pearson(round(value * tasks), tasks, level=level)
    else:
        interval = bounded_mean(np.full(tasks, value), bounds=bounds, level=level)
    return replace(tested, interval=interval, tasks=tasks)
