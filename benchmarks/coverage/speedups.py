"""Intervals of benchmarks whose samples hang together, and of the advantage over tasks of which a few win by far."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.coverage._scenario import Simulation, share_of
from steelyard.questions.speedup._benchmark_table import Attempt, Side, table_of
from steelyard.questions.speedup._inputs import speedup_constants
from steelyard.questions.speedup._measures import speedup_intervals_of
from steelyard.questions.speedup._summary import _over_tasks
from steelyard.records import BenchmarkPlace
from steelyard.statistics import Floats

Logs = Callable[[np.random.Generator, int], Floats]
"""Draws logarithms of times with median 0: a row a benchmark, in the order of measurement."""


def independent(samples: int) -> Logs:
    return lambda random, rows: random.normal(0, 0.1, (rows, samples))


def neighbors(samples: int, correlation: float) -> Logs:
    """An autoregressive series of order one."""

    def draw(random: np.random.Generator, rows: int) -> Floats:
        logs = random.normal(0, 0.1, (rows, samples))
        for place in range(1, samples):
            fresh = np.sqrt(1 - correlation**2) * logs[:, place]
            logs[:, place] = correlation * logs[:, place - 1] + fresh
        return logs

    return draw


def processes(samples: int, number: int, share: float) -> Logs:
    """Processes one after another that nobody tells apart; `share` of the variance is between them."""

    def draw(random: np.random.Generator, rows: int) -> Floats:
        between = np.repeat(random.normal(0, np.sqrt(share), (rows, number)), samples // number, axis=1)
        return 0.1 * (between + random.normal(0, np.sqrt(1 - share), (rows, samples)))

    return draw


def benchmarks(logs: Logs) -> Simulation:
    """The interval of a log speedup of 0, one benchmark a trial."""

    def run(random: np.random.Generator, trials: int) -> float:
        before, after = (_side(np.exp(logs(random, trials))) for _ in range(2))
        table = table_of([Attempt(task="t", agent="a:m", nop=before, oracle=before, side=after)])
        found = speedup_intervals_of(table, speedup_constants()).speedup
        return float(np.mean((found.low <= 0) & (found.high >= 0)))

    return run


def _side(times: Floats) -> Side:
    rows, samples = times.shape
    return Side(
        names=tuple(f"m.time_{row:05}" for row in range(rows)),
        places=(BenchmarkPlace("m", None, "f"),) * rows,
        values=times.ravel(),
        counts=np.full(rows, samples, dtype=np.int64),
        medians=np.full(rows, np.nan),
        statuses=("ok",) * rows,
    )


def advantage(tasks: int, *, factor: float) -> Simulation:
    """The mean log advantage of an agent that wins one task in twenty by this factor."""
    truth = 0.05 * np.log(factor)

    def run(random: np.random.Generator, trials: int) -> float:
        def once() -> bool:
            logs = random.normal(0, 0.1, tasks) + np.log(factor) * (random.random(tasks) < 0.05)
            interval = _over_tasks(float(logs.mean()), logs.tolist(), speedup_constants())
            return interval.low is not None and interval.high is not None and interval.low <= truth <= interval.high

        return share_of(trials, once)

    return run
