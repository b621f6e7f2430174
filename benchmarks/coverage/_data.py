"""Simulated runs: pass rates, costs and their tasks, and samples of two sides."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from steelyard.profiles import load_profile
from steelyard.questions.analysis import Samples, ratio_part_names
from steelyard.statistics import Floats, Ints

PROFILE = load_profile("outcome-1")
UNEVEN = (1, 1, 2, 5, 20)
GIANTS = "giants"
"""One task in ten costs ten times as much."""

Attempts = int | str


def attempts_of(attempts: Attempts, tasks: int) -> Ints:
    """Return the attempts at each task: the same number, or 1, 1, 2, 5, 20 repeated."""
    return np.resize(UNEVEN, tasks) if attempts == "uneven" else np.full(tasks, int(attempts))


def pass_chances(random: np.random.Generator, mean: float, icc: float, shape: tuple[int, ...]) -> Floats:
    """Return beta-distributed chances of passing; attempts at a task correlate by `icc`."""
    if icc == 0:
        return np.full(shape, mean)
    size = (1 - icc) / icc
    return np.asarray(random.beta(mean * size, (1 - mean) * size, shape), dtype=float)


def costs(random: np.random.Generator, sigma: float | str, icc: float, sets: int, counts: Ints) -> tuple[Floats, float]:
    """Return costs (data set, run) of median 1 with the runs of a task next to each other, and the true mean."""
    tasks = np.repeat(np.arange(len(counts)), counts)
    if sigma == GIANTS:
        large = np.where(random.random((sets, len(counts))) < 0.1, 10.0, 1.0)
        noise = np.exp(0.2 * random.standard_normal((sets, len(tasks))) - 0.02)
        return large[:, tasks] * noise, 1.9
    spread = float(sigma)
    of_task = random.standard_normal((sets, len(counts)))[:, tasks]
    logs = spread * (np.sqrt(icc) * of_task + np.sqrt(1 - icc) * random.standard_normal((sets, len(tasks))))
    return np.exp(logs), float(np.exp(spread**2 / 2))


def two_sides(
    metric: str, a: tuple[Floats, ...], b: tuple[Floats, ...], counts: tuple[Ints, Ints], clusters: Ints | None = None
) -> tuple[Samples, np.ndarray]:
    """Return the runs of A and B as samples, and which are of B. A ratio of means has two columns per side."""
    tasks = len(counts[0])
    names = tuple(f"task-{task:04}" for task in range(tasks))
    places = np.concatenate([np.repeat(np.arange(tasks), side) for side in counts])
    on_b = np.repeat([False, True], [int(side.sum()) for side in counts])
    columns = [np.concatenate(parts) for parts in zip(a, b, strict=True)]
    keys = [metric] if len(columns) == 1 else [*ratio_part_names(metric), f"{metric} cost_usd", f"{metric} pass_rate"]
    values = dict(zip(keys, columns if len(columns) == 1 else columns * 2, strict=True))
    samples = Samples(names, places, values, PROFILE)
    if clusters is not None:
        samples = replace(samples, clusters={name: f"c{clusters[task]:03}" for task, name in enumerate(names)})
    return samples, on_b
