"""Verdicts of `compare` and `gate`: false claims, coverage, power, unscored runs and clusters of tasks."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
from scipy import stats

from benchmarks.coverage._cells import Cell, Count, Simulation, covers
from benchmarks.coverage._data import GIANTS, Attempts, attempts_of, costs, pass_chances, two_sides
from steelyard.questions.analysis import Difference, StatisticsOptions, difference, with_fills
from steelyard.questions.compare._verdicts import CLAIMS, verdict
from steelyard.questions.gate._rules import _tested, read_rule, status_of
from steelyard.statistics import Floats, Ints, TaskRatios, ratio_difference_limits, sign_flip

RESAMPLES = 199
SMALL = 12
"""Up to this many tasks, 6.5% false claims are allowed, above 5.5%."""


def allowed(tasks: int) -> float:
    """Return how often a difference may be claimed where there is none."""
    return 0.065 if tasks <= SMALL else 0.055


def _options(random: np.random.Generator) -> StatisticsOptions:
    return StatisticsOptions(resamples=RESAMPLES, seed=int(random.integers(2**32)))


def _chances(
    random: np.random.Generator, tasks: int, rate: float, icc: float, effect: float, *, is_apart: bool = False
) -> tuple[Floats, Floats]:
    """Return chances of A and B; B's are higher by about `effect`, on other tasks if `is_apart`."""
    first, other = pass_chances(random, rate, icc, (2, tasks))
    second = other if is_apart else first
    if effect > 0:
        second = second + (1 - second) * effect / (1 - rate)
    elif effect < 0:
        second = second * (1 + effect / rate)
    return first, second


def _outcomes(random: np.random.Generator, chances: Floats, counts: Ints) -> Floats:
    repeated = np.repeat(chances, counts)
    return (random.random(len(repeated)) < repeated).astype(float)


def _rates(
    tasks: int, attempts: tuple[Attempts, Attempts], rate: float, icc: float, *, is_apart: bool = False
) -> Simulation:
    counts = attempts_of(attempts[0], tasks), attempts_of(attempts[1], tasks)

    def simulate(random: np.random.Generator, sets: int) -> Iterator[Count]:
        found = []
        for _ in range(sets):
            chances = _chances(random, tasks, rate, icc, 0.0, is_apart=is_apart)
            sides = [(_outcomes(random, chance, own),) for chance, own in zip(chances, counts, strict=True)]
            samples, on_b = two_sides("pass_rate", *sides, counts)
            found.append(difference(samples, ~on_b, on_b, "pass_rate", options=_options(random)))
        yield from _null(found, tasks)

    return simulate


def _null(found: list[Difference], tasks: int) -> Iterator[Count]:
    claims = sum(verdict(each, each.test.p_value) in CLAIMS for each in found)
    yield Count("false claim", claims, len(found), "most", allowed(tasks))
    yield from covers([each.interval for each in found], 0.0, what="interval of the difference")


def _cost_rates(tasks: int, attempts: tuple[Attempts, Attempts], sigma: float | str) -> Simulation:
    counts = attempts_of(attempts[0], tasks), attempts_of(attempts[1], tasks)

    def simulate(random: np.random.Generator, sets: int) -> Iterator[Count]:
        found = []
        for _ in range(sets):
            sides = _paired_costs(random, sigma, counts)
            samples, on_b = two_sides("cost_usd", (sides[0],), (sides[1],), counts)
            found.append(difference(samples, ~on_b, on_b, "cost_usd", options=_options(random)))
        yield from _null(found, tasks)

    return simulate


def _paired_costs(random: np.random.Generator, sigma: float | str, counts: tuple[Ints, Ints]) -> list[Floats]:
    """Return costs of both sides whose tasks are expensive for both (half of the variance is between tasks)."""
    if sigma == GIANTS:
        large = np.where(random.random(len(counts[0])) < 0.1, 10.0, 1.0)
        return [np.repeat(large, own) * np.exp(0.2 * random.standard_normal(int(own.sum()))) for own in counts]
    spread, level = float(sigma) * np.sqrt(0.5), random.standard_normal(len(counts[0]))
    return [np.exp(spread * (np.repeat(level, own) + random.standard_normal(int(own.sum())))) for own in counts]


def _ratios(tasks: int, attempts: int, rate: float, sigma: float) -> Simulation:
    """Costs of pass of two equal sides; an interval that excludes 0 is a claim."""

    def simulate(random: np.random.Generator, sets: int) -> Iterator[Count]:
        chance = pass_chances(random, rate, 0.3, (sets, tasks))
        sides = []
        for _ in range(2):
            passed = (random.random((sets, tasks, attempts)) < chance[:, :, None]).mean(axis=2)
            values, _mean = costs(random, sigma, 0.5, sets, np.full(tasks, attempts))
            cost = values.reshape(sets, tasks, attempts).mean(axis=2)
            sides.append((cost, passed))
        usable = (sides[0][1].sum(axis=1) > 0) & (sides[1][1].sum(axis=1) > 0)
        groups = np.repeat(np.arange(int(usable.sum())), tasks)
        rows = [
            TaskRatios(
                above=cost[usable].ravel(),
                below=passed[usable].ravel(),
                weights=np.ones(len(groups)),
                groups=groups,
                size=int(usable.sum()),
            )
            for cost, passed in sides
        ]
        low, high = ratio_difference_limits(rows[0], rows[1])
        claims = int(np.count_nonzero((low > 0) | (high < 0)))
        yield Count("false claim", claims, len(low), "most", allowed(tasks))

    return simulate


def _power(tasks: int, attempts: int, rate: float, icc: float, effect: float) -> Simulation:
    """Power of the verdict next to a paired t test and a sign-flip permutation test of the same data."""
    counts = np.full(tasks, attempts), np.full(tasks, attempts)

    def simulate(random: np.random.Generator, sets: int) -> Iterator[Count]:
        ours = students = permuted = covered = 0
        for _ in range(sets):
            chances = _chances(random, tasks, rate, icc, effect)
            sides = [(_outcomes(random, chance, own),) for chance, own in zip(chances, counts, strict=True)]
            samples, on_b = two_sides("pass_rate", *sides, counts)
            found = difference(samples, ~on_b, on_b, "pass_rate", options=_options(random))
            ours += verdict(found, found.test.p_value) == ("better" if effect > 0 else "worse")
            gaps = sides[1][0].reshape(tasks, attempts).mean(axis=1) - sides[0][0].reshape(tasks, attempts).mean(axis=1)
            error, mean = gaps.std(ddof=1) / np.sqrt(tasks), float(gaps.mean())
            half = stats.t.ppf(0.975, tasks - 1) * error
            covered += mean - half <= effect <= mean + half
            students += error > 0 and abs(mean) > half and mean * effect > 0
            test = sign_flip(gaps, resamples=RESAMPLES, seed=int(random.integers(2**32)))
            permuted += (test.p_value or 1.0) <= 0.05 and mean * effect > 0
        side = "least" if tasks >= 9 and covered >= 0.93 * sets else "none"
        yield Count("power", ours, sets, side, max(float(students / sets) - 0.05, 0.0))
        yield Count("power of paired t", students, sets, "none", 0.0)
        yield Count("coverage of paired t", covered, sets, "none", 0.0)
        yield Count("power of sign-flip permutation", permuted, sets, "none", 0.0)

    return simulate


def _mixed(tasks: int, attempts: int, effect: float) -> Simulation:
    """Power next to a linear mixed model with random intercepts per task (pass rate 0.6, ICC 0.3)."""
    counts = np.full(tasks, attempts), np.full(tasks, attempts)

    def simulate(random: np.random.Generator, sets: int) -> Iterator[Count]:
        from statsmodels.regression.mixed_linear_model import MixedLM  # slow to import

        groups = np.tile(np.repeat(np.arange(tasks), attempts), 2)
        design = np.column_stack([np.ones(len(groups)), np.repeat([0.0, 1.0], tasks * attempts)])
        ours = mixed = 0
        for _ in range(sets):
            chances = _chances(random, tasks, 0.6, 0.3, effect)
            sides = [_outcomes(random, chance, own) for chance, own in zip(chances, counts, strict=True)]
            samples, on_b = two_sides("pass_rate", (sides[0],), (sides[1],), counts)
            found = difference(samples, ~on_b, on_b, "pass_rate", options=_options(random))
            ours += verdict(found, found.test.p_value) in CLAIMS
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a variance of 0 between tasks is on the boundary
                fitted = MixedLM(np.concatenate(sides), design, groups=groups).fit(reml=True)
            mixed += fitted.pvalues[1] <= 0.05
        limit, side = (allowed(tasks), "most") if effect == 0 else (0.0, "none")
        yield Count("claim" if effect else "false claim", ours, sets, side, limit)
        yield Count("claim of a linear mixed model", mixed, sets, "none", 0.0)

    return simulate


UNSCORED = ("passes of B", "failures of B", "any run")


def _with_unscored(
    random: np.random.Generator, tasks: int, attempts: int, kind: str, fraction: float, effect: float
) -> bool:
    """Whether `compare` without a typed policy claims a difference; some runs have no verdict."""
    counts = np.full(tasks, attempts), np.full(tasks, attempts)
    chances = _chances(random, tasks, 0.6, 0.3, effect)
    a, b = (_outcomes(random, chance, own) for chance, own in zip(chances, counts, strict=True))
    hidden = []
    for place, side in enumerate((a, b)):
        of_kind = {"any run": np.ones(len(side)), "passes of B": side, "failures of B": 1 - side}[kind]
        candidates = of_kind * (place == 1 or kind == "any run")
        chance = fraction * len(side) / max(float(candidates.sum()), 1.0)
        hidden.append((random.random(len(side)) < chance) & (candidates > 0))
    options = _options(random)
    found = []
    for missing in (np.nan, 0.0):  # excluded, counted as failed
        sides = [(np.where(gone, missing, side),) for gone, side in zip(hidden, (a, b), strict=True)]
        samples, on_b = two_sides("pass_rate", *sides, counts)
        found.append(difference(samples, ~on_b, on_b, "pass_rate", options=options))
    excluded, failed = found
    if any(gone.any() for gone in hidden):
        excluded = with_fills(excluded, options)
    claim = verdict(excluded, excluded.test.p_value)
    # as `judge` decides: a claim under both policies, and in the direction of the effect
    return claim in CLAIMS and claim == verdict(failed, failed.test.p_value) and (effect == 0 or claim == "better")


def _unscored(tasks: int, attempts: int, kind: str, fraction: float) -> Simulation:
    def simulate(random: np.random.Generator, sets: int) -> Iterator[Count]:
        claims = sum(_with_unscored(random, tasks, attempts, kind, fraction, 0.0) for _ in range(sets))
        yield Count("false claim", claims, sets, "most", allowed(tasks))

    return simulate


def _unscored_power(tasks: int, attempts: int, effect: float) -> Simulation:
    def simulate(random: np.random.Generator, sets: int) -> Iterator[Count]:
        full, part = (
            sum(_with_unscored(random, tasks, attempts, "any run", fraction, effect) for _ in range(sets))
            for fraction in (0.0, 0.05)
        )
        yield Count("power, 5% of runs unscored", part, sets, "none", 0.0)
        yield Count("power, all runs scored", full, sets, "none", 0.0)

    return simulate


def _clustered(clusters: int, effect: float, *, is_unit: bool) -> Simulation:
    """100 tasks from repositories of which one has many; equal sides whose difference varies by repository."""
    share = np.full(clusters, (0.54 if clusters < 30 else 0.78) / (clusters - 1))
    share[0] = 1 - share[1:].sum()
    labels = np.repeat(np.arange(clusters), np.maximum(1, np.rint(share * 100).astype(int)))
    tasks = len(labels)
    counts = np.ones(tasks, dtype=int), np.ones(tasks, dtype=int)

    def simulate(random: np.random.Generator, sets: int) -> Iterator[Count]:
        found = []
        for _ in range(sets):
            task, own = random.standard_normal(tasks), effect * random.standard_normal(clusters)[labels]
            sides = [
                ((task + sign * own / 2 + random.standard_normal(tasks) > 0).astype(float),) for sign in (-1.0, 1.0)
            ]
            samples, on_b = two_sides("pass_rate", *sides, counts, clusters=labels)
            samples = replace(samples, are_clusters_units=is_unit)
            found.append(difference(samples, ~on_b, on_b, "pass_rate", options=_options(random)))
        yield from _null(found, tasks)

    return simulate


def _gate(rule: str, tasks: int, attempts: tuple[int, int], level: float, icc: float) -> Simulation:
    """A candidate exactly at the limit of a rule; `level` is the baseline's pass rate or the sigma of costs."""
    read = read_rule(rule)
    counts = attempts_of(attempts[0], tasks), attempts_of(attempts[1], tasks)

    def simulate(random: np.random.Generator, sets: int) -> Iterator[Count]:
        seen = {"pass": 0, "fail": 0, "inconclusive": 0}
        for _ in range(sets):
            if read.metric == "pass_rate":
                chances = _chances(random, tasks, level, icc, read.offset)
                sides = [_outcomes(random, chance, own) for chance, own in zip(chances, counts, strict=True)]
            else:
                sides = _paired_costs(random, level, counts)
                sides[1] = sides[1] * read.factor
            samples, on_b = two_sides(read.metric, (sides[0],), (sides[1],), counts)
            seen[status_of(read, _tested(read, samples, on_b, ~on_b, _options(random)))] += 1
        limit = 0.03 if read.metric == "pass_rate" else 0.06
        for status in ("pass", "fail"):
            yield Count(f"gate at the limit: {status}", seen[status], sets, "most", limit)

    return simulate


def cells() -> Iterator[Cell]:
    """Yield the designs of `compare` and `gate`."""
    for tasks, attempts, rate, icc in product((5, 9, 12, 30, 100), (1, 2, 3, 5, 10), (0.5, 0.8, 0.95), (0.0, 0.3, 0.7)):
        name = f"{tasks} tasks x {attempts}, pass rate {rate:g}, ICC {icc:g}"
        is_quick = (tasks, attempts, rate, icc) == (9, 2, 0.5, 0.0)
        yield Cell("pass rates, no difference", name, _rates(tasks, (attempts, attempts), rate, icc), is_quick=is_quick)
    uneven: tuple[tuple[Attempts, Attempts], ...] = ((1, 5), (3, 5), (1, 20), ("uneven", 1))
    for tasks, tried, rate, icc in product((5, 10, 30), uneven, (0.5, 0.9, 0.98), (0.0, 0.3)):
        name = f"{tasks} tasks, {tried[0]} vs. {tried[1]} attempts, pass rate {rate:g}, ICC {icc:g}"
        yield Cell("pass rates, no difference", name, _rates(tasks, tried, rate, icc), sets=2_000)
    for attempts in ((1, 1), (5, 5), (1, 5)):
        name = f"30 tasks, {attempts[0]} vs. {attempts[1]} attempts, pass rate 0.5, each side finds other tasks hard"
        simulate = _rates(30, attempts, 0.5, 0.5, is_apart=True)
        yield Cell("pass rates, no difference", name, simulate, sets=2_000)
    even: tuple[tuple[Attempts, Attempts], ...] = ((1, 1), (5, 5))
    for tasks, tried, sigma in product((5, 10, 30, 100), (*even, *uneven), (0.3, 1.0, 1.5, GIANTS)):
        if sigma == GIANTS and tried not in even:
            continue
        spread = sigma if isinstance(sigma, str) else f"sigma {sigma:g}"
        name = f"{tasks} tasks, {tried[0]} vs. {tried[1]} attempts, {spread}"
        yield Cell("costs, no difference", name, _cost_rates(tasks, tried, sigma), sets=2_000)
    for tasks, attempts_, rate, sigma in product((5, 10, 20, 50), (1, 5), (0.6, 0.9, 0.98), (0.02, 0.3, 1.0)):
        name = f"{tasks} tasks x {attempts_}, pass rate {rate:g}, sigma {sigma:g}"
        is_quick = (tasks, attempts_, rate, sigma) == (10, 5, 0.9, 0.3)
        yield Cell("costs of pass, no difference", name, _ratios(tasks, attempts_, rate, sigma), is_quick=is_quick)
    for tasks, attempts_, rate, effect in product((6, 9, 12, 20, 30, 60), (1, 3, 5), (0.5, 0.8), (-0.1, -0.3)):
        name = f"{tasks} tasks x {attempts_}, pass rate {rate:g}, ICC 0.3, difference {effect:g}"
        is_quick = (tasks, attempts_, rate, effect) == (20, 3, 0.5, -0.3)
        simulate = _power(tasks, attempts_, rate, 0.3, effect)
        yield Cell("power", name, simulate, sets=4_000, is_quick=is_quick)
    for tasks, attempts_, effect in (
        (10, 3, 0.0),
        (10, 3, 0.3),
        (30, 3, 0.0),
        (30, 3, 0.2),
        (60, 1, 0.0),
        (60, 1, 0.2),
    ):
        name = f"{tasks} tasks x {attempts_}, difference {effect:g}"
        yield Cell("mixed model", name, _mixed(tasks, attempts_, effect), sets=500)
    for (tasks, attempts_), kind, fraction in product(
        ((10, 3), (30, 3), (100, 3), (300, 1)), UNSCORED, (0.02, 0.05, 0.1)
    ):
        name = f"{tasks} tasks x {attempts_}, {fraction:.0%} of runs unscored, {kind}"
        is_quick = (tasks, kind, fraction) == (30, "passes of B", 0.1)
        yield Cell("unscored runs", name, _unscored(tasks, attempts_, kind, fraction), sets=4_000, is_quick=is_quick)
    for tasks, attempts_, effect in ((30, 3, 0.1), (30, 3, 0.2), (100, 3, 0.1), (300, 1, 0.1), (300, 1, 0.2)):
        name = f"{tasks} tasks x {attempts_}, difference {effect:g}"
        yield Cell("unscored runs, power", name, _unscored_power(tasks, attempts_, effect), sets=4_000)
    for clusters, effect, is_unit in product((8, 12, 30), (0.0, 0.3, 0.8), (True, False)):
        name = f"100 tasks of {clusters} repositories, effect {effect:g}, {'--cluster' if is_unit else 'by default'}"
        is_quick = (clusters, effect, is_unit) == (12, 0.8, True)
        yield Cell("clusters", name, _clustered(clusters, effect, is_unit=is_unit), sets=2_000, is_quick=is_quick)
    for tasks, tries, rate, icc in product((10, 30), ((1, 1), (5, 5), (5, 1)), (0.5, 0.9, 0.98), (0.0, 0.3)):
        name = f"pass_rate >= -0.05, {tasks} tasks, {tries[0]} vs. {tries[1]} attempts, pass rate {rate:g}, ICC {icc:g}"
        simulate = _gate("pass_rate >= -0.05", tasks, tries, rate, icc)
        yield Cell("gates at the limit", name, simulate, sets=10_000 if tries[0] == tries[1] else 2_000)
    for tasks, tries, sigma_ in product((10, 30), ((1, 1), (5, 5), (5, 1)), (0.3, 1.0)):
        name = f"cost_usd <= +10%, {tasks} tasks, {tries[0]} vs. {tries[1]} attempts, sigma {sigma_:g}"
        yield Cell("gates at the limit", name, _gate("cost_usd <= +10%", tasks, tries, sigma_, 0.0), sets=2_000)
