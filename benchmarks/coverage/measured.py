"""Intervals of `measure --interval auto`: fractions, mean costs and costs of pass."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from msgspec import structs

from benchmarks.coverage._cells import Cell, Count, Side, Simulation, covers
from benchmarks.coverage._data import GIANTS, Attempts, attempts_of, costs, pass_chances
from steelyard.metrics import catalog
from steelyard.questions.analysis import group_intervals
from steelyard.statistics import Floats, Interval, Ints, TaskRatios, WeightBy, mover_ratio, ratio_limits
from steelyard.statistics._ratios import UNSEEN_FAILURE_COST, UNSEEN_FAILURES

RUNS_AT_ONCE = 2_000_000
GATES: dict[float | str, float] = {0.02: 0.03, 0.3: 0.03, 1.0: 0.06}
"""How often a gate on a cost of pass may pass at its limit, by the spread of costs."""


def _parts(sets: int, runs: int) -> Iterator[int]:
    """Yield numbers of data sets of about `RUNS_AT_ONCE` runs each."""
    part = max(1, RUNS_AT_ONCE // runs)
    for start in range(0, sets, part):
        yield min(part, sets - start)


def _auto(metric: str, values: Floats, tasks: Ints, weight_by: WeightBy) -> dict[str, list[Interval]]:
    sets, runs = values.shape
    return group_intervals(
        catalog()[metric],
        values.ravel(),
        groups=np.repeat(np.arange(sets), runs),
        tasks=np.tile(tasks, sets),
        size=sets,
        weight_by=weight_by,
    )


def _fractions(tasks: int, attempts: Attempts, rate: float, icc: float) -> Simulation:
    counts = attempts_of(attempts, tasks)
    places = np.repeat(np.arange(tasks), counts)

    def simulate(random: np.random.Generator, sets: int) -> Iterator[Count]:
        rates: list[Interval] = []
        scores: list[Interval] = []
        for part in _parts(sets, len(places)):
            chance = pass_chances(random, rate, icc, (part, tasks))[:, places]
            passed = (random.random(chance.shape) < chance).astype(float)
            # half the verdict, half the fraction of requirements met, which depends on the task's chance
            composite = (passed + random.binomial(10, chance) / 10) / 2
            rates += _auto("pass_rate", passed, places, "tasks")["mean"]
            scores += _auto("composite_score", composite, places, "runs")["mean"]
        yield from covers(rates, rate, what="pass rate, by tasks")
        yield from covers(scores, rate, what="composite score, by runs")

    return simulate


def _mean_costs(tasks: int, attempts: Attempts, sigma: float | str) -> Simulation:
    counts = attempts_of(attempts, tasks)
    places = np.repeat(np.arange(tasks), counts)

    def simulate(random: np.random.Generator, sets: int) -> Iterator[Count]:
        found: dict[str, list[Interval]] = {}
        mean = 0.0
        for part in _parts(sets, len(places)):
            values, mean = costs(random, sigma, 0.3, part, counts)
            by_tasks = _auto("cost_usd", values, places, "tasks")
            by_runs = _auto("cost_usd", values, places, "runs")
            found.setdefault("mean, by tasks", []).extend(by_tasks["mean"])
            found.setdefault("mean, by runs", []).extend(by_runs["mean"])
            if sigma != GIANTS:
                found.setdefault("geometric mean, by tasks", []).extend(by_tasks["geometric_mean"])
                found.setdefault("median", []).extend(by_runs["median"])
        for what, intervals in found.items():
            yield from covers(intervals, mean if "mean, by" in what[:8] else 1.0, what=what, is_inside=sigma != GIANTS)

    return simulate


def _cost_of_pass(tasks: int, attempts: int, rate: float, sigma: float | str, icc: float, failed: float) -> Simulation:
    """Costs of pass; a failed run costs `failed` times as much."""
    counts = np.full(tasks, attempts)

    def simulate(random: np.random.Generator, sets: int) -> Iterator[Count]:
        intervals: list[Interval] = []
        truth = 0.0
        for part in _parts(sets, tasks * attempts):
            chance = pass_chances(random, rate, icc, (part, tasks))
            passed = random.random((part, tasks, attempts)) < chance[:, :, None]
            values, mean = costs(random, sigma, 0.3, part, counts)
            cost = values.reshape(passed.shape) * np.where(passed, 1.0, failed)
            truth = mean * (rate + failed * (1 - rate)) / rate
            intervals += ratio_intervals(cost.mean(axis=2), passed.mean(axis=2))
        yield from covers(intervals, truth, what="cost of pass", is_inside=sigma != GIANTS)
        unseen = [each for each in intervals if UNSEEN_FAILURES in (each.assumes or "")]
        # where all runs rarely pass, those data sets are the exceptions that the confidence level allows
        is_usual = 2 * len(unseen) >= len(intervals) and failed <= UNSEEN_FAILURE_COST and sigma != GIANTS
        yield from covers(unseen, truth, what="cost of pass, if every run passed", is_inside=is_usual)
        passes = sum(each.high is not None and each.high < truth for each in intervals)
        allowed = GATES.get(sigma)
        side: Side = "none" if allowed is None else "most"
        yield Count("gate at the limit passes", passes, len(intervals), side, allowed or 0.0)

    return simulate


def ratio_intervals(above: Floats, below: Floats) -> list[Interval]:
    """Return `mover_ratio` of each data set (row) of task means, with its limits computed for all at once.

    The label depends on the number of tasks and on whether every run passed, so one interval of each kind has it.
    """
    sets, tasks = above.shape
    order = np.lexsort((below, above), axis=1)
    rows = TaskRatios(
        above=np.take_along_axis(above, order, axis=1).ravel(),
        below=np.take_along_axis(below, order, axis=1).ravel(),
        weights=np.ones(sets * tasks),
        groups=np.repeat(np.arange(sets), tasks),
        size=sets,
    )
    low, high = ratio_limits(rows)
    kinds = below.min(axis=1) >= 1
    labels = {kind: mover_ratio(above[place], below[place]) for kind, place in _first(kinds)}
    return [
        structs.replace(labels[bool(kind)], low=float(a), high=float(b))
        for kind, a, b in zip(kinds, low, high, strict=True)
    ]


def _first(kinds: np.ndarray) -> Iterator[tuple[bool, int]]:
    for kind in (False, True):
        places = np.flatnonzero(kinds == kind)
        if len(places):
            yield kind, int(places[0])


def cells() -> Iterator[Cell]:
    """Yield the designs of `measure`."""
    for tasks, attempts, rate, icc in product(
        (2, 5, 10, 30, 100), (1, 5, "uneven"), (0.02, 0.1, 0.5, 0.9, 0.98), (0.0, 0.3, 0.7)
    ):
        name = f"{tasks} tasks x {attempts}, pass rate {rate:g}, ICC {icc:g}"
        is_quick = (tasks, attempts, rate, icc) in ((10, 5, 0.98, 0.7), (2, 1, 0.5, 0.0))
        yield Cell("fractions", name, _fractions(tasks, attempts, rate, icc), is_quick=is_quick)
    for tasks, attempts, sigma in product(
        (2, 3, 5, 9, 12, 17, 25, 40, 70, 150, 300), (1, 5, "uneven"), (0.02, 0.3, 1.0, 1.5, GIANTS)
    ):
        name = f"{tasks} tasks x {attempts}, " + (sigma if isinstance(sigma, str) else f"sigma {sigma:g}")
        is_quick = (tasks, attempts, sigma) in ((5, 1, 1.5), (12, 5, 0.02))
        yield Cell("costs", name, _mean_costs(tasks, attempts, sigma), is_quick=is_quick)
    for tasks, attempts, rate, sigma, icc, failed in product(
        (2, 5, 10, 20, 50),
        (1, 5),
        (0.6, 0.8, 0.9, 0.95, 0.98),
        (0.02, 0.3, 1.0, 1.5, GIANTS),
        (0.0, 0.3),
        (1.0, 2.0, 3.0),
    ):
        if sigma == GIANTS and (icc or failed > 1):
            continue
        spread = sigma if isinstance(sigma, str) else f"sigma {sigma:g}"
        name = f"{tasks} tasks x {attempts}, pass rate {rate:g}, {spread}, ICC {icc:g}, a failure costs {failed:g}x"
        is_quick = (tasks, attempts, rate, sigma, icc, failed) in (
            (10, 1, 0.98, 0.02, 0.0, 1.0),
            (20, 5, 0.9, 0.3, 0.3, 3.0),
        )
        simulate = _cost_of_pass(tasks, attempts, rate, sigma, icc, failed)
        yield Cell("costs of pass", name, simulate, is_quick=is_quick)
