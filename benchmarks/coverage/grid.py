"""The whole rule of `--interval auto` over hard cases: few tasks, near the bounds, uneven attempts, heavy tails.

Each data set is one group of `group_intervals`, so a cell costs one call.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from steelyard.metrics import catalog
from steelyard.questions.analysis import group_intervals, ratio_interval
from steelyard.statistics import Floats, Interval, Ints, WeightBy

MIN_COVERAGE = 0.93
"""What an interval without a label is to reach."""
TASKS = (2, 5, 10, 30, 100)
ATTEMPTS = ("1", "5", "uneven")
SHARES = (0.02, 0.1, 0.5, 0.9, 0.98)
ICCS = (0.0, 0.3, 0.7)
SIGMAS = (0.5, 1.0, 1.5)
UNEVEN = (1, 1, 2, 5, 20)


def tries(attempts: str, tasks: int) -> Ints:
    """How often each task is tried."""
    return np.resize(UNEVEN, tasks) if attempts == "uneven" else np.full(tasks, int(attempts))


@dataclass(frozen=True)
class Cell:
    """One setting."""

    tasks: int
    attempts: str
    icc: float
    share: float | None = None
    sigma: float | None = None

    def __str__(self) -> str:
        told = [f"{self.tasks} tasks x {self.attempts}"]
        told += [] if self.share is None else [f"pass rate {self.share:g}"]
        told += [] if self.sigma is None else [f"sigma {self.sigma:g}"]
        return ", ".join([*told, f"ICC {self.icc:g}"])

    @property
    def counts(self) -> Ints:
        """Attempts at each task."""
        return tries(self.attempts, self.tasks)


@dataclass(frozen=True)
class Coverage:
    """How often intervals held what is true."""

    share: float
    promised: float
    """93%, or what the labels of the intervals say on average."""
    trials: int
    """Intervals that were given: none claims nothing."""
    points: int = 0
    """Intervals without width."""

    @property
    def room(self) -> float:
        """How far it lies above what it promises."""
        return self.share - self.promised

    @property
    def holds(self) -> bool:
        """Whether the promise is kept, allowing for three standard errors of the simulation."""
        return self.room >= -3 * np.sqrt(self.promised * (1 - self.promised) / self.trials) and not self.points


@dataclass(frozen=True)
class Seen:
    """What a cell gave."""

    cell: Cell
    coverage: Coverage


Makes = Callable[[np.random.Generator, Cell, int], dict[str, tuple[list[Interval], float]]]
"""By figure, the intervals of so many data sets of a cell, and the truth."""


@dataclass(frozen=True)
class Sweep:
    """Figures of the same data, and the cells they are tried in."""

    figures: tuple[str, ...]
    cells: tuple[Cell, ...]
    makes: Makes
    trials: int


def chances(random: np.random.Generator, mean: float, icc: float, shape: tuple[int, ...]) -> Floats:
    """Pass chances of tasks with this mean; attempts at a task correlate by `icc`."""
    if icc == 0:
        return np.full(shape, mean)
    strength = (1 - icc) / icc
    return random.beta(mean * strength, (1 - mean) * strength, shape)


def levels(random: np.random.Generator, cell: Cell, trials: int) -> tuple[Floats, Ints, Ints]:
    """Log-normal costs with mean exp(sigma² / 2), and the data set and the task of each."""
    assert cell.sigma is not None
    groups, tasks = _places(cell, trials)
    of_task = random.normal(0, 1, (trials, cell.tasks))[groups, tasks]
    own = random.normal(0, 1, len(groups))
    logs = cell.sigma * (np.sqrt(cell.icc) * of_task + np.sqrt(1 - cell.icc) * own)
    return np.exp(logs), groups, tasks


def _places(cell: Cell, trials: int) -> tuple[Ints, Ints]:
    tasks = np.repeat(np.arange(cell.tasks), cell.counts)
    return np.repeat(np.arange(trials), len(tasks)), np.tile(tasks, trials)


def _passes(random: np.random.Generator, cell: Cell, trials: int) -> tuple[Floats, Floats, Ints, Ints]:
    assert cell.share is not None
    groups, tasks = _places(cell, trials)
    chance = chances(random, cell.share, cell.icc, (trials, cell.tasks))[groups, tasks]
    return (random.random(len(groups)) < chance).astype(float), chance, groups, tasks


def _share(random: np.random.Generator, cell: Cell, trials: int) -> dict[str, tuple[list[Interval], float]]:
    passed, chance, groups, tasks = _passes(random, cell, trials)
    # half passing, half how much of the requirements is met, which follows the task's chance
    composite = (passed + random.binomial(10, chance) / 10) / 2
    assert cell.share is not None
    return {
        "pass rate over runs": (_auto("pass_rate", passed, groups, tasks, trials, "runs")["mean"], cell.share),
        "pass rate over tasks": (_auto("pass_rate", passed, groups, tasks, trials, "tasks")["mean"], cell.share),
        "composite score": (_auto("composite_score", composite, groups, tasks, trials, "runs")["mean"], cell.share),
    }


def _cost(random: np.random.Generator, cell: Cell, trials: int) -> dict[str, tuple[list[Interval], float]]:
    values, groups, tasks = levels(random, cell, trials)
    assert cell.sigma is not None
    mean = float(np.exp(cell.sigma**2 / 2))
    over_runs = _auto("cost_usd", values, groups, tasks, trials, "runs")
    over_tasks = _auto("cost_usd", values, groups, tasks, trials, "tasks")
    return {
        "mean cost over runs": (over_runs["mean"], mean),
        "mean cost over tasks": (over_tasks["mean"], mean),
        "geometric mean of cost over runs": (over_runs["geometric_mean"], 1.0),
        "geometric mean of cost over tasks": (over_tasks["geometric_mean"], 1.0),
        "median cost": (over_runs["median"], 1.0),
    }


def _cost_of_pass(random: np.random.Generator, cell: Cell, trials: int) -> dict[str, tuple[list[Interval], float]]:
    passed, _, groups, tasks = _passes(random, cell, trials)
    values, _, _ = levels(random, cell, trials)
    declared, width = catalog()["cost_of_pass"], len(groups) // trials
    intervals = []
    for start in range(0, len(groups), width):
        own = slice(start, start + width)
        above, below = values[own], passed[own]
        figure = float(above.mean() / below.mean()) if below.any() else np.inf
        interval = ratio_interval(declared, (above, below), tasks[own], figure, weight_by="runs")
        assert interval is not None
        intervals.append(interval)
    assert cell.sigma is not None
    assert cell.share is not None
    return {"cost of pass": (intervals, float(np.exp(cell.sigma**2 / 2) / cell.share))}


def _auto(
    metric: str, values: Floats, groups: Ints, tasks: Ints, trials: int, weight_by: WeightBy
) -> dict[str, list[Interval]]:
    return group_intervals(catalog()[metric], values, groups=groups, tasks=tasks, size=trials, weight_by=weight_by)


SWEEPS: tuple[Sweep, ...] = (
    Sweep(
        ("pass rate over runs", "pass rate over tasks", "composite score"),
        tuple(
            Cell(tasks, tried, icc, share=share)
            for tasks, tried, icc, share in itertools.product(TASKS, ATTEMPTS, ICCS, SHARES)
        ),
        _share,
        1_000,
    ),
    Sweep(
        (
            "mean cost over runs",
            "mean cost over tasks",
            "geometric mean of cost over runs",
            "geometric mean of cost over tasks",
            "median cost",
        ),
        tuple(
            Cell(tasks, tried, icc, sigma=sigma)
            for tasks, tried, icc, sigma in itertools.product((*TASKS, 500), ATTEMPTS, (0.3, 0.7), SIGMAS)
        ),
        _cost,
        1_000,
    ),
    Sweep(
        ("cost of pass",),
        tuple(
            Cell(tasks, tried, 0.3, share=share, sigma=sigma)
            for tasks, tried, share, sigma in itertools.product((5, 10, 30, 100), ATTEMPTS, SHARES[1:], SIGMAS[1:])
        ),
        _cost_of_pass,
        400,
    ),
)

RUNS_AT_ONCE = 400_000
"""Data sets are made in parts of about so many runs."""


def tried(sweep: Sweep, cell: Cell, *, share: float = 1.0, seed: int = 11) -> dict[str, Seen]:
    """What each figure gives in one cell; its chance comes from the seed and the cell alone."""
    random = np.random.default_rng([seed, SWEEPS.index(sweep), sweep.cells.index(cell)])
    trials = max(20, int(sweep.trials * share))
    part = max(1, min(trials, RUNS_AT_ONCE // int(cell.counts.sum())))
    made: dict[str, tuple[list[Interval], float]] = {}
    for start in range(0, trials, part):
        for figure, (intervals, truth) in sweep.makes(random, cell, min(part, trials - start)).items():
            made.setdefault(figure, ([], truth))[0].extend(intervals)
    return {figure: Seen(cell, coverage_of(*intervals)) for figure, intervals in made.items()}


def coverage_of(intervals: Iterable[Interval], truth: float) -> Coverage:
    """How these did on data of which this is true."""
    room = 1e-12 * max(abs(truth), 1.0)
    given = [
        (x.low, x.high, MIN_COVERAGE if x.approx_coverage is None else x.approx_coverage)
        for x in intervals
        if x.low is not None
    ]
    count = max(len(given), 1)
    return Coverage(
        share=sum(low - room <= truth <= high + room for low, high, _ in given) / count,
        promised=sum(promised for _, _, promised in given) / count,
        trials=len(given),
        points=sum(low == high for low, high, _ in given),
    )


def swept(sweep: Sweep, *, share: float = 1.0) -> dict[str, list[Seen]]:
    """Every cell, by figure."""
    found: dict[str, list[Seen]] = {figure: [] for figure in sweep.figures}
    for cell in sweep.cells:
        for figure, seen in tried(sweep, cell, share=share).items():
            if seen.coverage.trials:
                found[figure].append(seen)
    return found


def worst(sweep: Sweep, figure: str, cells: Iterable[Seen], *, share: float = 1.0) -> Seen:
    """The setting that lies least above its promise.

    The lowest of many simulated shares is low by chance as well, so the lowest three are tried again with four times
    as many fresh data sets.
    """
    lowest = sorted(cells, key=lambda seen: seen.coverage.room)[:3]
    again = [tried(sweep, seen.cell, share=4 * share, seed=12)[figure] for seen in lowest]
    return min(again, key=lambda seen: seen.coverage.room)
