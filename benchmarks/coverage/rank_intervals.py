"""Ranks of agents: joint coverage of all rank intervals.

    python -m benchmarks.coverage.rank_intervals

prints how often a place is wrong and how many true differences are shown, beside Holm's correction of tests of signs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.coverage._scenario import Simulation, fresh_seed, pass_chances, share_of
from steelyard.profiles import load_profile
from steelyard.questions.analysis import Samples, StatisticsOptions
from steelyard.questions.rank._ranks import estimate_ranks, significant_by_permutation
from steelyard.statistics import Floats, holm, rank_intervals, sign_flip_many, significantly_better, strengths_by_task

DRAWS = 499

Results = Callable[[np.random.Generator], Floats]
"""Draws results: a row a task, a column an agent, higher is better."""


def places(
    results: Results, means: tuple[float, ...], *, by_task: Callable[[Floats], Floats] = np.asarray
) -> Simulation:
    """Joint coverage of the rank intervals; `means` order the agents, and ties may take any of the ranks they share."""
    truth = np.array(means)
    best = 1 + np.count_nonzero(truth[None, :] > truth[:, None], axis=1)
    worst = np.count_nonzero(truth[None, :] >= truth[:, None], axis=1)

    def run(random: np.random.Generator, trials: int) -> float:
        def once() -> bool:
            sure = significantly_better(by_task(results(random)), resamples=DRAWS, seed=fresh_seed(random))
            first, last = rank_intervals(sure)
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
    """Fractions of passes of equal agents on tasks from easy to hard."""

    def draw(random: np.random.Generator) -> Floats:
        ease = pass_chances(random, share, tasks)[:, None]
        return random.binomial(attempts, ease, (tasks, agents)) / attempts

    return draw


def costs(means: tuple[float, ...], tasks: int, *, sigma: float) -> Results:
    """Log-normal costs of one attempt a task, half of the variance of their logarithms the task's; less is better."""
    deviation = sigma * np.sqrt(0.5)

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
            _, best, worst, _ = estimate_ranks(
                means,
                means.mean(axis=0),
                order="mean",
                options=options,
                permuted=lambda: significant_by_permutation(
                    samples, agent, "pass_rate", everything, size=size, options=options
                ),
            )
            return bool(np.all(best == 1) and np.all(worst == size))

        return share_of(trials, once)

    return run


def _holm_of_signs(columns: Floats, seed: int) -> np.ndarray:
    """Who is better than whom by a test of signs for each pair, corrected by Holm: the named alternative."""
    first, other = np.triu_indices(columns.shape[1], 1)
    gaps = columns[:, first] - columns[:, other]
    shown = holm(sign_flip_many(gaps, resamples=max(4_999, 50 * len(first)), seed=seed)[0]) <= 0.05
    sure = np.zeros((columns.shape[1], columns.shape[1]), dtype=bool)
    ahead = gaps.sum(axis=0) > 0
    sure[first[shown & ahead], other[shown & ahead]] = True
    sure[other[shown & ~ahead], first[shown & ~ahead]] = True
    return sure


def power(results: Results, means: tuple[float, ...], *, trials: int = 500) -> list[float]:
    """Fractions of data sets with a false claim and of differences detected: step-down test, then Holm's."""
    random, truth = np.random.default_rng(7), np.array(means)
    better = truth[:, None] > truth[None, :]
    wrong, right = np.zeros(2), np.zeros(2)
    for _ in range(trials):
        columns, seed = results(random), fresh_seed(random)
        both = significantly_better(columns, resamples=DRAWS, seed=seed), _holm_of_signs(columns, seed)
        wrong += [bool((sure & ~better).any()) for sure in both]
        right += [np.count_nonzero(sure & better) / max(np.count_nonzero(better), 1) for sure in both]
    return [*(wrong / trials), *(right / trials)]


def main() -> None:
    halves, steps = (0.0,) * 5 + (1.0,) * 5, (0.0, 0.3, 0.6, 0.9, 1.2, 1.5)
    clear = tuple(2 * mean for mean in halves)
    for told, results, means in (
        ("10 equal agents, 10 tasks", normal((0.0,) * 10, 10), (0.0,) * 10),
        ("10 agents of two kinds, 2 deviations apart, 10 tasks", normal(clear, 10), clear),
        ("10 agents of two kinds, 1 deviation apart, 30 tasks", normal(halves, 30), halves),
        ("6 agents in steps of 0.3 deviations, 60 tasks", normal(steps, 60), steps),
        ("10 agents of two kinds, 60 tasks, log-normal costs, sigma 1.5", costs(clear, 60, sigma=1.5), clear),
    ):
        cells = power(results, means)
        print(f"| {told} | " + " | ".join(f"{share * 100:.1f}%" for share in cells) + " |", flush=True)


if __name__ == "__main__":
    main()
