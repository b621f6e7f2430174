"""How often `compare` and `gate` claim what is not so, and how often they see what is, over a grid of hard cases.

The whole rule is tried: interval, test and verdict of `difference`, on samples made directly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np

from benchmarks.coverage.grid import ICCS, SHARES, Coverage, chances, coverage_of, tries
from steelyard.metrics import catalog
from steelyard.profiles import load_profile
from steelyard.questions.analysis import Difference, Samples, StatisticsOptions, difference, ratio_part_names
from steelyard.questions.compare._verdicts import verdict
from steelyard.questions.gate._rules import check, read_rule
from steelyard.statistics import Floats, Interval, Ints

DRAWS = 199
PROFILE = load_profile("outcome-1")

Sides = tuple[Floats, Floats]


@dataclass(frozen=True)
class Setting:
    """Two sides on the same tasks: what is compared, how often each tried, and what is true."""

    metric: str
    tasks: int
    attempts: tuple[str, str]
    level: float
    """The fraction of passes, or the sigma of log-normal costs."""
    icc: float = 0.5
    """How attempts at the same task correlate."""
    effect: float = 0.0
    """What B's share is above A's, or by which factor B's costs are larger, as a logarithm."""
    apart: bool = False
    """Whether each side finds other tasks hard, so that differences by task even out."""
    rule: str | None = None
    """The gate's rule; None for `compare`."""

    @property
    def truth(self) -> float:
        """The true difference, B - A."""
        if self.metric == "pass_rate" or self.effect == 0:
            return self.effect
        return float(np.exp(self.level**2 / 2) * (np.exp(self.effect) - 1))

    @property
    def right(self) -> str:
        """What to say of its effect."""
        if self.rule is not None:
            return "pass"
        return "better" if self.metric == "pass_rate" else "worse"

    def __str__(self) -> str:
        kind = f"pass rate {self.level:g}" if self.metric == "pass_rate" else f"sigma {self.level:g}"
        told = f"{self.tasks} tasks, {self.attempts[0]} vs. {self.attempts[1]} attempts, {kind}"
        told += f", ICC {self.icc:g}"
        return f"{told}, tasks differ" if self.apart else told


@dataclass(frozen=True)
class Claims:
    """How often each verdict was given."""

    setting: Setting
    shares: dict[str, float]
    trials: int
    coverage: Coverage
    """Of the intervals of the difference; of none for a gate."""

    def share(self, *verdicts: str) -> float:
        """How often one of these was given."""
        return sum(self.shares.get(told, 0.0) for told in verdicts)


def _passes(random: np.random.Generator, setting: Setting) -> Sides:
    first, other = chances(random, setting.level, setting.icc, (2, setting.tasks))
    second = other if setting.apart else first
    if setting.effect > 0:
        second = second + (1 - second) * setting.effect / (1 - setting.level)
    elif setting.effect < 0:
        second = second * (1 + setting.effect / setting.level)
    repeated = [
        np.repeat(side, tries(tried, setting.tasks))
        for side, tried in zip((first, second), setting.attempts, strict=True)
    ]
    passed = [(random.random(len(side)) < side).astype(float) for side in repeated]
    return passed[0], passed[1]


def _costs(random: np.random.Generator, setting: Setting) -> Sides:
    of_task = random.normal(0, 1, (2, setting.tasks))
    sides = []
    for place, tried in enumerate(setting.attempts):
        level = np.repeat(of_task[place if setting.apart else 0], tries(tried, setting.tasks))
        own = random.normal(0, 1, len(level))
        logs = setting.level * (np.sqrt(setting.icc) * level + np.sqrt(1 - setting.icc) * own)
        sides.append(np.exp(logs + (setting.effect if place else 0.0)))
    return sides[0], sides[1]


def _samples(random: np.random.Generator, setting: Setting) -> tuple[Samples, np.ndarray]:
    names = tuple(f"task-{task:03}" for task in range(setting.tasks))
    places: list[Ints] = [
        np.repeat(np.arange(setting.tasks), tries(tried, setting.tasks)) for tried in setting.attempts
    ]
    on_b = np.repeat([False, True], [len(side) for side in places])
    if setting.metric == "cost_of_pass":
        above, below = ratio_part_names("cost_of_pass")
        costs = _costs(random, setting)
        passed = _passes(random, Setting("pass_rate", setting.tasks, setting.attempts, 0.6, setting.icc))
        values = {above: np.concatenate(costs), below: np.concatenate(passed)}
        inputs = [f"cost_of_pass {name}" for name in catalog()["cost_of_pass"].inputs]
        values |= dict(zip(inputs, values.copy().values(), strict=True))
    else:
        makes = _passes if setting.metric == "pass_rate" else _costs
        values = {setting.metric: np.concatenate(makes(random, setting))}
    return Samples(names, np.concatenate(places), values, PROFILE), on_b


def difference_of(random: np.random.Generator, setting: Setting) -> Difference:
    """The difference in one data set."""
    samples, on_b = _samples(random, setting)
    options = StatisticsOptions(resamples=DRAWS, seed=int(random.integers(2**32)))
    return difference(samples, ~on_b, on_b, setting.metric, options=options)


@cache
def claims(setting: Setting, *, trials: int, seed: int = 13) -> Claims:
    """The verdicts on so many data sets, and how the intervals of `compare` did."""
    random = np.random.default_rng([seed, SETTINGS.index(setting) if setting in SETTINGS else 0])
    told: Counter[str] = Counter()
    intervals: list[Interval] = []
    for _ in range(trials):
        if setting.rule is None:
            seen = difference_of(random, setting)
            told[verdict(seen, seen.test.p_value)] += 1
            intervals.append(seen.interval)
        else:
            samples, on_b = _samples(random, setting)
            options = StatisticsOptions(resamples=DRAWS, seed=int(random.integers(2**32)))
            told[check(read_rule(setting.rule), samples, on_b, ~on_b, options=options).status] += 1
    coverage = coverage_of(intervals, setting.truth)
    return Claims(setting, {answer: count / trials for answer, count in told.items()}, trials, coverage)


ATTEMPTS = (("1", "1"), ("5", "5"), ("1", "5"), ("1", "20"), ("uneven", "1"))
LIMIT_ATTEMPTS = (("1", "1"), ("5", "5"), ("5", "1"), ("1", "20"))
SIGMAS = (1.0, 1.5)
TEN_PERCENT = float(np.log(1.1))


def _nulls() -> Iterator[Setting]:
    for tasks, attempts, icc in product((5, 10, 30), ATTEMPTS, ICCS):
        yield from (Setting("pass_rate", tasks, attempts, share, icc) for share in SHARES)
        yield from (Setting("cost_usd", tasks, attempts, sigma, icc) for sigma in SIGMAS)
    for attempts, sigma in product(ATTEMPTS, SIGMAS):
        yield Setting("cost_of_pass", 10, attempts, sigma)
        yield Setting("cost_of_pass", 30, attempts, sigma)
        yield Setting("cost_usd", 30, attempts, sigma, apart=True)
    yield from (Setting("pass_rate", 30, attempts, 0.5, apart=True) for attempts in ATTEMPTS)


def _limits() -> Iterator[Setting]:
    for tasks, attempts, icc in product((10, 30), LIMIT_ATTEMPTS, ICCS):
        for sigma in SIGMAS:
            yield Setting("cost_usd", tasks, attempts, sigma, icc, TEN_PERCENT, rule="cost_usd <= +10%")
        for share in SHARES[1:]:  # none lies 0.05 under 0.02
            yield Setting("pass_rate", tasks, attempts, share, icc, -0.05, rule="pass_rate >= -0.05")
    yield Setting("cost_usd", 100, ("5", "1"), 1.0, effect=TEN_PERCENT, rule="cost_usd <= +10%")
    yield Setting("pass_rate", 100, ("5", "1"), 0.9, effect=-0.05, rule="pass_rate >= -0.05")


def _effects() -> Iterator[Setting]:
    for attempts in (("1", "1"), ("5", "5"), ("3", "5")):
        yield Setting("pass_rate", 30, attempts, 0.5, effect=0.2)
        yield Setting("cost_usd", 30, attempts, 0.5, effect=float(np.log(1.3)))
        yield Setting("pass_rate", 100, attempts, 0.5, rule="pass_rate >= -0.1")
        yield Setting("cost_usd", 100, attempts, 0.5, rule="cost_usd <= +25%")


NULLS, LIMITS, EFFECTS = tuple(_nulls()), tuple(_limits()), tuple(_effects())
SETTINGS = (*NULLS, *LIMITS, *EFFECTS)
