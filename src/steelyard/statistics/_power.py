"""Power analysis: sample size and minimum detectable effect."""

from __future__ import annotations

import math

from scipy import optimize, special

from steelyard.statistics._estimates import LEVEL
from steelyard.statistics._means import student_quantile

POWER = 0.8
MAX_TASKS = 10_000_000


def paired_power(difference: float, std_dev: float, tasks: float, *, level: float = LEVEL) -> float:
    """Return the power of a paired t test over `tasks` tasks for a true difference of this size.

    `std_dev` is the standard deviation of the differences over tasks.
    """
    degrees = tasks - 1
    critical = float(student_quantile(level, degrees))
    shift = abs(difference) / std_dev * math.sqrt(tasks)
    missed = special.nctdtr(degrees, shift, [critical, -critical])
    # far out in a tail the noncentral t has no digits left: there the chance is 0 or 1
    upper = float(missed[0]) if not math.isnan(missed[0]) else float(shift < critical)
    lower = float(missed[1]) if not math.isnan(missed[1]) else 0.0
    return 1 - upper + lower


def tasks_needed(difference: float, std_dev: float, *, level: float = LEVEL, power: float = POWER) -> int | None:
    """Tasks with which a true difference of this size is shown with the given chance; None when none would do.

    >>> tasks_needed(0.05, 0.2)  # 127.5 rounded up
    128
    """
    if difference == 0 or std_dev <= 0:
        return None
    few, many = 2, 2
    while paired_power(difference, std_dev, many, level=level) < power:
        few, many = many, many * 2
        if many > MAX_TASKS:
            return None
    while many - few > 1:
        middle = (few + many) // 2
        if paired_power(difference, std_dev, middle, level=level) < power:
            few = middle
        else:
            many = middle
    return many


def std_dev_range(std_dev: float, tasks: int, *, level: float = LEVEL) -> tuple[float, float]:
    """Return the confidence interval of the standard deviation of normal differences (chi-square)."""
    degrees = tasks - 1
    tails = special.chdtri(degrees, [(1 - level) / 2, 0.5 + level / 2])
    return std_dev * math.sqrt(degrees / float(tails[0])), std_dev * math.sqrt(degrees / float(tails[1]))


def minimum_detectable_effect(
    tasks: int, std_dev: float, *, level: float = LEVEL, power: float = POWER
) -> float | None:
    """Return the smallest true difference detected with the given power; None below two tasks.

    >>> round(minimum_detectable_effect(128, 0.2), 3)
    0.05
    """
    if tasks < 2 or std_dev <= 0:
        return None
    unit = std_dev / math.sqrt(tasks)
    far = 4.0
    while paired_power(far * unit, std_dev, tasks, level=level) < power:
        far *= 2
    smallest = optimize.brentq(
        lambda size: paired_power(size * unit, std_dev, tasks, level=level) - power, 1e-9, far, xtol=1e-12
    )
    return float(smallest) * unit
