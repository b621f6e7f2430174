"""Planning, repeated looks, judges with gold labels and speedups of benchmarks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

import numpy as np

from benchmarks.coverage._cells import Cell, Count, Side, Simulation, covers
from benchmarks.coverage._data import pass_chances
from steelyard.statistics import (
    DifferenceDistribution,
    Floats,
    Interval,
    SessionTimes,
    anytime_p_values,
    log_median_error,
    moments_of,
    paired_mean_rows,
    ppi_rate,
    quantum_of,
    rogan_gladen_rate,
    sample_size_from_data,
    speed_tests,
)

# ---- planning


def _gaps(random: np.random.Generator, sets: int, tasks: int, attempts: int, rate: float, effect: float) -> Floats:
    """Return differences of pass rates over tasks with an ICC of 0.3, the candidate worse by `effect`."""
    first = pass_chances(random, rate, 0.3, (sets, tasks))
    second = first * (1 - effect / rate)
    a, b = (random.binomial(attempts, side) / attempts for side in (first, second))
    return np.asarray(b - a, dtype=float)


def _plans(attempts: int, rate: float, effect: float) -> Simulation:
    """Sample sizes planned from pilots of 50 tasks."""
    quantum = quantum_of([attempts], [attempts])

    def simulate(random: np.random.Generator, sets: int) -> Iterator[Count]:
        def power(tasks: int, number: int) -> float:
            rows = paired_mean_rows(moments_of(_gaps(random, number, tasks, attempts, rate, effect)), quantum=quantum)
            return float(np.mean(rows.high < 0))

        many = _gaps(random, 1, 200_000, attempts, rate, effect)[0]
        needed = DifferenceDistribution.of_values(many, quantum=quantum).tasks_needed()
        assert needed is not None
        planned = [
            sample_size_from_data(pilot, effect, quantum=quantum)
            for pilot in _gaps(random, sets, 50, attempts, rate, effect)
        ]
        median = int(np.median([each.tasks for each in planned if each.tasks is not None]))
        reached = power(median, 4_000)
        yield Count("power with the median sample size: at least 75%", round(4_000 * reached), 4_000, "least", 0.75)
        yield Count("power with the median sample size: at most 85%", round(4_000 * reached), 4_000, "most", 0.85)
        inside = sum((each.low or 0) <= needed <= (each.high or math.inf) for each in planned)
        yield Count("range contains the tasks needed", inside, sets, "least", 0.8)

    return simulate


# ---- repeated looks


def _looks(planned: int, rate: float, attempts: int) -> Simulation:
    """Two equal sides, with a look after every task up to four times the planned number."""

    def simulate(random: np.random.Generator, sets: int) -> Iterator[Count]:
        wrong = fixed = 0
        for part in np.array_split(np.arange(sets), max(1, sets // 500)):
            gaps = _gaps(random, len(part), 4 * planned, attempts, rate, 0.0)
            wrong += int(np.count_nonzero(anytime_p_values(gaps, planned)[:, -1] <= 0.05))
            looks = range(10, planned + 1, 5)
            quantum = quantum_of([attempts], [attempts])
            seen = [paired_mean_rows(moments_of(gaps[:, :tasks]), quantum=quantum).p_value <= 0.05 for tasks in looks]
            fixed += int(np.count_nonzero(np.any(seen, axis=0)))
        yield Count("false verdict, a look after every task", wrong, sets, "most", 0.05)
        yield Count("false verdict of the fixed test, a look every 5 tasks", fixed, sets, "none", 0.0)

    return simulate


def _savings(rate: float, attempts: int, effect: float) -> Simulation:
    """A true difference: power at the planned tasks, and tasks used against a fixed design of the same power."""
    quantum = quantum_of([attempts], [attempts])

    def simulate(random: np.random.Generator, sets: int) -> Iterator[Count]:
        many = _gaps(random, 1, 200_000, attempts, rate, effect)[0]
        fixed = DifferenceDistribution.of_values(many, quantum=quantum).tasks_needed()
        assert fixed is not None
        planned, used, reached = round(1.4 * fixed), [], 0
        for part in np.array_split(np.arange(sets), max(1, sets // 250)):
            p_values = anytime_p_values(_gaps(random, len(part), planned, attempts, rate, effect), planned)
            decided = p_values <= 0.05
            reached += int(decided[:, -1].sum())
            used += np.where(decided[:, -1], decided.argmax(axis=1) + 1, planned).tolist()
        yield Count("power", reached, sets, "none", 0.0)
        saved = round(100 * (1 - float(np.median(used)) / fixed))
        yield Count(f"tasks of the fixed test that are saved in the median: {saved}%", reached, sets, "none", 0.0)

    return simulate


# ---- judges with gold labels


def _judged(
    random: np.random.Generator, tasks: int, attempts: int, rate: float, accuracy: tuple[float, float], labels: int
) -> tuple[Floats, Floats, np.ndarray]:
    gold = (random.random((tasks, attempts)) < pass_chances(random, rate, 0.3, (tasks, 1))).astype(float).ravel()
    flipped = random.random(gold.size) < np.where(gold == 1, 1 - accuracy[0], 1 - accuracy[1])
    labeled = np.zeros(gold.size, dtype=bool)
    labeled[random.choice(gold.size, min(labels, gold.size), replace=False)] = True
    return (
        np.where(flipped, 1 - gold, gold),
        np.where(labeled, gold, np.nan),
        np.repeat(np.arange(tasks), attempts),
    )


def _corrected(
    tasks: int, attempts: int, rate: float, accuracy: tuple[float, float], labels: int, *, elsewhere: bool
) -> Simulation:
    def simulate(random: np.random.Generator, sets: int) -> Iterator[Count]:
        intervals: list[Interval] = []
        for _ in range(sets):
            judge, gold, places = _judged(random, tasks, attempts, rate, accuracy, 0 if elsewhere else labels)
            if elsewhere:
                other, truth, other_tasks = _judged(random, labels // 2, 2, 0.5, accuracy, labels)
                found = rogan_gladen_rate(judge, places, gold_judge=other, gold=truth, gold_tasks=other_tasks)
            else:
                found = ppi_rate(judge, gold, places)
            intervals.append(found.interval)
        yield from covers(intervals, rate, what="corrected pass rate")

    return simulate


# ---- speedups


def session_times(logs: Floats) -> SessionTimes:
    """Return the sessions of log times (benchmark, session, sample)."""
    half = logs.shape[-1] // 2
    drift = np.abs(np.median(logs[..., :half], axis=-1) - np.median(logs[..., half:], axis=-1))
    return SessionTimes(log_median=np.median(logs, axis=-1), error=log_median_error(logs), drift=drift)


NOISE = ("per benchmark", "common", "AR(0.9)", "bimodal", "level switch")


def noise(random: np.random.Generator, kind: str, sessions: int, *, benchmarks: int = 60, samples: int = 100) -> Floats:
    """Return log times of unchanged code: 2% within processes, 1% between sessions."""
    shape = benchmarks, sessions, samples
    shift = random.normal(0, 0.01, (1 if kind == "common" else benchmarks, sessions, 1))
    within = random.normal(0, 0.02, shape)
    if kind == "AR(0.9)":
        for sample in range(1, samples):
            within[..., sample] = 0.9 * within[..., sample - 1] + math.sqrt(1 - 0.81) * within[..., sample]
    elif kind == "bimodal":
        within += 0.04 * (random.random(shape) < 0.3)
    elif kind == "level switch":  # a process is at one of two levels, 10% apart, and rarely changes
        switched = np.cumsum(random.random(shape) < 0.02, axis=-1) + random.integers(0, 2, (benchmarks, sessions, 1))
        within += 0.1 * (switched % 2)
    return np.asarray(within + shift, dtype=float)


def _speeds(kind: str, sessions: int) -> Simulation:
    def simulate(random: np.random.Generator, sets: int) -> Iterator[Count]:
        claims = overall = found = 0
        for _ in range(sets):
            before, after = (noise(random, kind, sessions) for _ in range(2))
            tested = speed_tests(session_times(before), session_times(after))
            claims += bool(tested.changed.any())
            overall += tested.overall is not None and tested.overall.p_value <= 0.05
            before[:20] += math.log(1.1)
            changed = speed_tests(session_times(before), session_times(after)).changed[:20]
            found += int(np.count_nonzero(changed == 1))
        # one session whose level may last: sessions differ by more than the 1.25% up to which a single one is valid
        errors: Side = "none" if kind == "level switch" and sessions == 1 else "most"
        yield Count("any benchmark falsely called faster or slower", claims, sets, errors, 0.05)
        yield Count("overall falsely called faster or slower", overall, sets, errors, 0.05)
        side: Side = "least" if sessions >= 5 and kind != "level switch" else "none"
        yield Count("10% changes found", found, 20 * sets, side, 0.9)

    return simulate


def cells() -> Iterator[Cell]:
    """Yield the designs of planning, repeated looks, judges and speedups."""
    for rate, attempts, effect in (
        (0.5, 1, 0.1),
        (0.5, 3, 0.1),
        (0.7, 3, 0.1),
        (0.8, 1, 0.1),
        (0.9, 3, 0.05),
        (0.9, 1, 0.1),
    ):
        name = f"pilots of 50 tasks x {attempts}, pass rate {rate:g}, difference {effect:g}"
        yield Cell("planning", name, _plans(attempts, rate, effect), sets=300)
    for planned, rate, attempts in product((20, 60, 200), (0.5, 0.8, 0.98), (1, 3)):
        name = f"{planned} planned tasks x {attempts}, pass rate {rate:g}"
        is_quick = (planned, rate, attempts) == (60, 0.5, 3)
        yield Cell("repeated looks", name, _looks(planned, rate, attempts), is_quick=is_quick)
    for rate, attempts, effect in (
        (0.6, 1, 0.05),
        (0.6, 1, 0.1),
        (0.6, 1, 0.2),
        (0.6, 3, 0.1),
        (0.6, 3, 0.2),
        (0.85, 3, 0.1),
    ):
        name = f"pass rate {rate:g}, {attempts} attempts, difference {effect:g}, 1.4 x the tasks of the fixed test"
        yield Cell("repeated looks, savings", name, _savings(rate, attempts, effect), sets=2_000)
    for tasks, attempts, rate, sensitivity, specificity, labels in product(
        (100, 300), (1, 5), (0.2, 0.5, 0.8), (0.7, 0.95), (0.7, 0.95), (50, 100, 500)
    ):
        if labels > tasks * attempts:
            continue
        name = f"{tasks} tasks x {attempts}, pass rate {rate:g}, judge {sensitivity:g}/{specificity:g}, {labels} labels"
        simulate = _corrected(tasks, attempts, rate, (sensitivity, specificity), labels, elsewhere=False)
        is_quick = (tasks, attempts, rate, sensitivity, specificity, labels) == (100, 1, 0.5, 0.7, 0.95, 50)
        yield Cell("judged pass rates, PPI++", name, simulate, sets=4_000, is_quick=is_quick)
    for rate, sensitivity, specificity, labels in product((0.2, 0.5, 0.8), (0.7, 0.95), (0.7, 0.95), (50, 100, 500)):
        name = f"100 tasks x 3, pass rate {rate:g}, judge {sensitivity:g}/{specificity:g}, {labels} labels"
        simulate = _corrected(100, 3, rate, (sensitivity, specificity), labels, elsewhere=True)
        yield Cell("judged pass rates, Rogan-Gladen", name, simulate, sets=4_000)
    for kind, sessions in product(NOISE, (1, 2, 3, 5)):
        name = f"60 benchmarks, 100 samples, {kind}, {sessions} sessions per side"
        is_quick = (kind, sessions) == ("per benchmark", 3)
        yield Cell("unchanged benchmarks", name, _speeds(kind, sessions), sets=1_000, is_quick=is_quick)
