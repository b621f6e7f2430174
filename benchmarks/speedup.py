"""Speedups of many tasks: with an interval for every benchmark, and without against a plain-Python twin.

python -m benchmarks.speedup [--quick]
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from steelyard.records.timing import Place, place_of
from steelyard.speedups._options import Options
from steelyard.speedups._payload import payload
from steelyard.speedups._result import speedups_of
from steelyard.speedups._sides import Side
from steelyard.speedups._table import Attempt, Table, table_of

Plain = list[tuple[str, dict[str, dict[str, list[float]]]]]
AGENTS = ("openhands:a", "openhands:b", "terminus:a", "terminus:b")
SAMPLES = 10


def names_of(task: int, count: int) -> list[str]:
    """Names in the usual shape: modules of classes of functions with parameters."""
    return sorted(
        f"pkg{task}.mod{i % 7}.Suite{i % 19}.time_f{i % 53}({i})" if i % 5 else f"pkg{task}.mod{i % 7}.time_g({i})"
        for i in range(count)
    )


def side_of_values(names: list[str], values: np.ndarray) -> Side:
    rows, columns = values.shape
    nothing = np.full(rows, np.nan)
    return Side(
        names=tuple(names),
        places=tuple(place_of(name) for name in names),
        values=values.ravel(),
        counts=np.full(rows, columns, dtype=np.int64),
        medians=nothing,
        statuses=("ok",) * rows,
    )


def made(tasks: int, benchmarks: int) -> tuple[list[Attempt], Plain]:
    """The same measurements twice: as columns, and as the nested lists that a JSON reader gives."""
    random = np.random.default_rng(7)
    attempts: list[Attempt] = []
    plain: Plain = []
    for task in range(tasks):
        names = names_of(task, benchmarks)
        base = np.exp(random.normal(-7, 2, size=(benchmarks, 1)))
        sides: dict[str, Side] = {}
        lists: dict[str, dict[str, list[float]]] = {}
        for who in ("nop", "oracle", *AGENTS):
            factor = 1.0 if who == "nop" else np.exp(-np.abs(random.normal(0, 0.3, size=(benchmarks, 1))))
            values = base * factor * np.exp(random.normal(0, 0.05, size=(benchmarks, SAMPLES)))
            sides[who] = side_of_values(names, values)
            lists[who] = dict(zip(names, values.tolist(), strict=True))
        nop, oracle = sides["nop"], sides["oracle"]
        attempts += [Attempt(task=f"t{task:04}", agent=key, nop=nop, oracle=oracle, side=sides[key]) for key in AGENTS]
        plain.append((f"t{task:04}", lists))
    return attempts, plain


def gmean(values: list[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, values)))


def plain_score(
    nop: dict[str, float], oracle: dict[str, float], agent: dict[str, float], places: dict[str, Place]
) -> dict[str, Any]:
    """The specification's figures of one agent at one task, from medians, in plain Python."""
    per: dict[str, dict[str, float]] = {}
    groups: tuple[dict[Any, tuple[list[float], list[float]]], ...] = ({}, {}, {}, {})
    for name, before in nop.items():
        mine, theirs = agent.get(name), oracle.get(name)
        if mine is None or theirs is None or not (before > 0 and mine > 0 and theirs > 0):
            continue
        a, o = before / mine, before / theirs
        per[name] = {"agent/nop": a, "oracle/nop": o, "advantage": a - o}
        place = places[name]
        for level, group in zip(groups, (place[:1], place[:2], place, ()), strict=True):
            held = level.setdefault(group, ([], []))
            held[0].append(a)
            held[1].append(o)
    levels = [statistics.fmean(gmean(a) - gmean(o) for a, o in level.values()) if level else None for level in groups]
    speedup = gmean(groups[3][()][0]) if groups[3] else None
    return {"per_benchmark_speedups": per, "task_speedup": speedup, "levels": levels}


def medians_of(side: dict[str, list[float]]) -> dict[str, float]:
    return {name: statistics.median(values) for name, values in side.items()}


def twin(plain: Plain) -> dict[tuple[str, str], dict[str, Any]]:
    """Agent by agent, as the specification reads: three medians for each benchmark, the name taken apart."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for task, sides in plain:
        for key in AGENTS:
            places = {name: place_of(name) for name in sides["nop"]}
            three = [medians_of(sides[who]) for who in ("nop", "oracle", key)]
            found[task, key] = plain_score(three[0], three[1], three[2], places)
    return found


def thrifty_twin(plain: Plain) -> dict[tuple[str, str], dict[str, Any]]:
    """The same with the baselines' medians and the names done once for all agents of a task."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for task, sides in plain:
        medians = {who: medians_of(side) for who, side in sides.items()}
        places = {name: place_of(name) for name in sides["nop"]}
        for key in AGENTS:
            found[task, key] = plain_score(medians["nop"], medians["oracle"], medians[key], places)
    return found


def timed(work: Callable[[], Any]) -> tuple[tuple[float, float], Any]:
    """Seconds of the clock and of the processor: ratios are of the latter, which a busy machine does not spoil."""
    clock, processor = time.perf_counter(), time.process_time()
    result = work()
    return (time.perf_counter() - clock, time.process_time() - processor), result


def all_payloads(table: Table) -> list[dict[str, Any]]:
    return [payload(table, index)[0] for index in range(len(table.attempts))]


def same(table: Table, expected: dict[tuple[str, str], dict[str, Any]]) -> float:
    """The largest relative difference between the two ways."""
    worst = 0.0
    for index, attempt in enumerate(table.attempts):
        theirs = expected[attempt.task, attempt.agent]
        pairs = [(float(table.task_speedup[index]), theirs["task_speedup"])]
        pairs += list(zip(table.advantages[index].tolist(), theirs["levels"], strict=True))
        worst = max(worst, *(abs(a - b) / max(1.0, abs(b)) for a, b in pairs))
    return worst


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="20 tasks instead of 1,000")
    quick = parser.parse_args().quick
    tasks, benchmarks = (20, 265) if quick else (1000, 265)
    attempts, plain = made(tasks, benchmarks)
    print(f"{tasks:,} tasks x {benchmarks} benchmarks x {len(AGENTS)} agents x {SAMPLES} samples")
    # Each way runs once on fresh columns: nothing is kept from an earlier pass.
    figures, table = timed(lambda: table_of(attempts))
    slow, expected = timed(lambda: twin(plain))
    apart = same(table, expected)
    del expected
    thrifty, _ = timed(lambda: thrifty_twin(plain))
    payloads, _ = timed(lambda: all_payloads(table))
    full, _ = timed(lambda: speedups_of(attempts, Options()).as_dict(many=True))
    rows = (
        ("plain Python, agent by agent, no intervals", slow),
        ("plain Python, baselines once for all agents", thrifty),
        ("steelyard, all figures as columns, no intervals", figures),
        ("steelyard, with the payload of nested dicts", (figures[0] + payloads[0], figures[1] + payloads[1])),
        ("steelyard, full JSON shape, two intervals for each benchmark", full),
    )
    print(f"{'work':62} {'seconds':>9} {'CPU':>9} {'agent by agent':>15} {'once for all':>13}")
    for name, (clock, processor) in rows:
        against = f"{slow[1] / processor:14.1f}x {thrifty[1] / processor:12.1f}x"
        print(f"{name:62} {clock:9.3f} {processor:9.3f} {against}")
    print(f"largest difference between the two ways: {apart:.1e}")


if __name__ == "__main__":
    main()
