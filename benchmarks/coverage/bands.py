"""The places of agents: how often all bands together hold the true places."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.coverage._scenario import Simulation, fresh_seed, pass_chances, share_of
from steelyard.profiles import load_profile
from steelyard.standings import Samples, StatisticsOptions, bands as ranking_bands, shown_by_dealing
from steelyard.statistics import Floats, rank_bands, strengths_by_task, surely_better

DRAWS = 499

Results = Callable[[np.random.Generator], Floats]
"""Draws results: a row a task, a column an agent, higher is better."""


def places(
    results: Results, means: tuple[float, ...], *, by_task: Callable[[Floats], Floats] = np.asarray
) -> Simulation:
    """How often all bands hold; `means` order the agents, and equals may take any of the places they share."""
    truth = np.array(means)
    best = 1 + np.count_nonzero(truth[None, :] > truth[:, None], axis=1)
    worst = np.count_nonzero(truth[None, :] >= truth[:, None], axis=1)

    def run(random: np.random.Generator, trials: int) -> float:
        def once() -> bool:
            sure = surely_better(by_task(results(random)), resamples=DRAWS, seed=fresh_seed(random))
            first, last = rank_bands(sure)
            return bool(np.all(first <= best) and np.all(last >= worst))

        return share_of(trials, once)

    return run


def strengths(results: Results, means: tuple[float, ...]) -> Simulation:
    return places(results, means, by_task=strengths_by_task)


def normal(means: tuple[float, ...], tasks: int) -> Results:
    def draw(random: np.random.Generator) -> Floats:
        return random.normal(0, 1, (tasks, 1)) + means + random.normal(0, 1, (tasks, len(means)))

    return draw


def passes(agents: int, tasks: int, attempts: int, *, share: float) -> Results:
    """Shares of passes of equal agents on tasks from easy to hard."""

    def draw(random: np.random.Generator) -> Floats:
        ease = pass_chances(random, share, tasks)[:, None]
        return random.binomial(attempts, ease, (tasks, agents)) / attempts

    return draw


def costs(means: tuple[float, ...], tasks: int, *, spread: float) -> Results:
    """Log-normal costs of one attempt a task, half of the variance of their logarithms the task's; less is better."""
    deviation = spread * np.sqrt(0.5)

    def draw(random: np.random.Generator) -> Floats:
        logs = random.normal(0, deviation, (tasks, 1)) + random.normal(0, deviation, (tasks, len(means)))
        return np.asarray(-np.exp(logs - np.array(means)), dtype=float)

    return draw


def unequal(attempts: tuple[int, ...], tasks: int, *, share: float) -> Simulation:
    """How often nobody is put ahead of equal agents that tried the tasks unequally often."""
    size, options = len(attempts), StatisticsOptions(resamples=DRAWS)
    task = np.concatenate([np.repeat(np.arange(tasks), number) for number in attempts])
    agent = np.repeat(np.arange(size), np.array(attempts) * tasks)
    profile = load_profile("outcome-1")
    names = tuple(f"t{place:03}" for place in range(tasks))

    def run(random: np.random.Generator, trials: int) -> float:
        def once() -> bool:
            passed = (random.random(len(task)) < pass_chances(random, share, tasks)[task]).astype(float)
            samples = Samples(task_names=names, tasks=task, values={"pass_rate": passed}, profile=profile)
            means = np.column_stack([one.mean for one in samples.by_group("pass_rate", agent, size)])
            everything = np.ones(tasks, dtype=bool)
            _, best, worst, _ = ranking_bands(
                means,
                means.mean(axis=0),
                order="mean",
                options=options,
                dealt=lambda: shown_by_dealing(samples, agent, "pass_rate", everything, size=size, options=options),
            )
            return bool(np.all(best == 1) and np.all(worst == size))

        return share_of(trials, once)

    return run
