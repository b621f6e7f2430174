"""Speedups of many tasks: with an interval for every benchmark, and without against a plain-Python twin.

python -m benchmarks.speedup [--quick]
"""

from __future__ import annotations

import argparse
import dataclasses
import gc
import math
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from operator import itemgetter
from typing import Any

import msgspec
import numpy as np

from steelyard.questions.speedup import SpeedupResult
from steelyard.questions.speedup._benchmark_table import IMPLAUSIBLE, Attempt, Side, table_of
from steelyard.questions.speedup._inputs import speedup_constants
from steelyard.questions.speedup._summary import speedups_of
from steelyard.records import BenchmarkPlace, TimingStatus, place_of

Payload = dict[str, Any]  # Any: JSON values
Seconds = tuple[float, float]
AGENTS = ("openhands:a", "openhands:b", "terminus:a", "terminus:b")
SAMPLES = 10
ROUNDS = 3
"""How often each way runs; the quickest counts, since other work on the machine only ever adds."""


@dataclasses.dataclass(frozen=True)
class PlainTask:
    """A task as a JSON reader gives it: samples by name under each side, and where each benchmark stands."""

    name: str
    sides: dict[str, dict[str, list[float]]]
    places: Mapping[str, BenchmarkPlace]


def names_of(task: int, count: int) -> list[str]:
    """Names in the usual shape: modules of classes of functions with parameters."""
    return sorted(
        f"pkg{task}.mod{i % 7}.Suite{i % 19}.time_f{i % 53}({i})" if i % 5 else f"pkg{task}.mod{i % 7}.time_g({i})"
        for i in range(count)
    )


def made(tasks: int, benchmarks: int) -> list[Attempt]:
    """Measurements as the columns that reading timing files gives."""
    random = np.random.default_rng(7)
    attempts: list[Attempt] = []
    fine: TimingStatus = "ok"
    for task in range(tasks):
        names = tuple(names_of(task, benchmarks))
        places = tuple(place_of(name) for name in names)
        base = np.exp(random.normal(-7, 2, size=(benchmarks, 1)))
        sides: dict[str, Side] = {}
        for who in ("nop", "oracle", *AGENTS):
            factor = 1.0 if who == "nop" else np.exp(-np.abs(random.normal(0, 0.3, size=(benchmarks, 1))))
            values = base * factor * np.exp(random.normal(0, 0.05, size=(benchmarks, SAMPLES)))
            sides[who] = Side(
                names=names,
                places=places,
                values=values.ravel(),
                counts=np.full(benchmarks, SAMPLES, dtype=np.int64),
                medians=np.full(benchmarks, np.nan),
                statuses=(fine,) * benchmarks,
            )
        nop, oracle = sides["nop"], sides["oracle"]
        attempts += [Attempt(task=f"t{task:04}", agent=key, nop=nop, oracle=oracle, side=sides[key]) for key in AGENTS]
    return attempts


def as_plain(attempts: Iterable[Attempt]) -> list[PlainTask]:
    """The same measurements as nested lists."""
    tasks: dict[str, PlainTask] = {}
    for attempt in attempts:
        task = tasks.setdefault(
            attempt.task, PlainTask(attempt.task, {}, dict(zip(attempt.nop.names, attempt.nop.places, strict=True)))
        )
        for who, side in (("nop", attempt.nop), ("oracle", attempt.oracle), (attempt.agent, attempt.side)):
            if who not in task.sides:
                rows = side.values.reshape(-1, SAMPLES).tolist()
                task.sides[who] = dict(zip(side.names, rows, strict=True))
    return list(tasks.values())


def unread(attempts: Iterable[Attempt]) -> list[Attempt]:
    """The attempts with sides that have not been looked at, so that nothing is kept from an earlier pass."""
    fresh: dict[int, Side] = {}

    def again(side: Side) -> Side:
        return fresh.setdefault(id(side), dataclasses.replace(side))

    return [
        dataclasses.replace(attempt, nop=again(attempt.nop), oracle=again(attempt.oracle), side=again(attempt.side))
        for attempt in attempts
    ]


def gmean(values: list[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, values)))


def plain_payload(
    nop: Mapping[str, float],
    oracle: Mapping[str, float],
    agent: Mapping[str, float],
    places: Mapping[str, BenchmarkPlace],
) -> Payload:
    """The specification's payload of one agent at one task, from usable medians, in plain Python."""
    per: dict[str, dict[str, float | None]] = {}
    groups: tuple[dict[Any, tuple[list[float], list[float]]], ...] = ({}, {}, {}, {})
    valid = 0
    for name, place in places.items():
        before, mine, theirs = nop.get(name), agent.get(name), oracle.get(name)
        a = speedup(before, mine)
        o = speedup(before, theirs)
        if a is None or o is None:
            per[name] = {"agent/nop": a, "oracle/nop": o, "advantage": None}
            continue
        per[name] = {"agent/nop": a, "oracle/nop": o, "advantage": a - o}
        valid += 1
        for level, group in zip(groups, (place[:1], place[:2], place, ()), strict=True):
            speedups = level.setdefault(group, ([], []))
            speedups[0].append(a)
            speedups[1].append(o)
    levels = [statistics.fmean(gmean(a) - gmean(o) for a, o in level.values()) if level else None for level in groups]
    return {
        "per_benchmark_speedups": per,
        "pytest_summary": None,
        "snapshot_summary": None,
        "pytest_failed": None,
        "snapshot_failed": False,
        "success": None,
        "fallback_to_baseline": False,
        "agent_advantage": levels[3],
        "agent_advantage_level1": levels[0],
        "agent_advantage_level2": levels[1],
        "agent_advantage_level3": levels[2],
        "agent_advantage_level4": levels[3],
        "num_benchmarks": len(per),
        "num_valid_benchmarks": valid,
        "task_speedup": gmean(groups[3][()][0]) if groups[3] else None,
        "task_cost_usd": None,
        "trajectory_length": None,
    }


def speedup(before: float | None, after: float | None) -> float | None:
    if before is None or after is None:
        return None
    ratio = before / after
    return ratio if 1 / IMPLAUSIBLE < ratio < IMPLAUSIBLE else None


def usable_medians(side: Mapping[str, list[float]]) -> dict[str, float]:
    """The median of each benchmark, where it is finite and above 0."""
    medians = ((name, statistics.median(values)) for name, values in side.items() if values)
    return {name: median for name, median in medians if 0 < median < math.inf}


def twin(tasks: list[PlainTask]) -> list[Payload]:
    """Agent by agent, as the specification reads: three medians for each benchmark."""
    task_payloads: list[Payload] = []
    for task in tasks:
        for key in AGENTS:
            nop, oracle, agent = (usable_medians(task.sides[who]) for who in ("nop", "oracle", key))
            task_payloads.append(plain_payload(nop, oracle, agent, task.places))
    return task_payloads


def thrifty_twin(tasks: list[PlainTask]) -> list[Payload]:
    """The same with the baselines' medians taken once for all agents of a task."""
    task_payloads: list[Payload] = []
    for task in tasks:
        medians = {who: usable_medians(side) for who, side in task.sides.items()}
        task_payloads += [plain_payload(medians["nop"], medians["oracle"], medians[key], task.places) for key in AGENTS]
    return task_payloads


def without_intervals(attempts: list[Attempt]) -> SpeedupResult:
    """What `steelyard speedup --interval none` answers: the specification's payload and every other figure."""
    return speedups_of(attempts, speedup_constants(), intervals=False).result(many=True)


def timed(work: Callable[[], Any]) -> tuple[Seconds, Any]:
    """Seconds of the clock and of the processor: ratios are of the latter, which a busy machine spoils least."""
    gc.collect()  # what an earlier way left behind is no cost of this one
    clock, processor = time.perf_counter(), time.process_time()
    result = work()
    return (time.perf_counter() - clock, time.process_time() - processor), result


def best(work: Callable[[Any], Any], given: Callable[[], Any], *, rounds: int) -> tuple[Seconds, Any]:
    """The quickest of several runs, each on input given anew, and the last result."""
    all_spent: list[Seconds] = []
    result = None
    for _ in range(rounds):
        result = None  # two results at a time would take twice the memory
        spent, result = timed(partial(work, given()))
        all_spent.append(spent)
    return min(all_spent, key=itemgetter(1)), result


def apart(ours: list[Payload], expected: list[Payload]) -> float:
    """The largest relative difference between two lists of payloads, which must have the same fields."""
    worst = 0.0
    for mine, theirs in zip(ours, expected, strict=True):
        if list(mine) != list(theirs):
            raise SystemExit(f"the payloads have different fields: {sorted(set(mine) ^ set(theirs))}")
        pairs = [(mine[name], theirs[name]) for name in mine if name != "per_benchmark_speedups"]
        entries = zip(mine["per_benchmark_speedups"].items(), theirs["per_benchmark_speedups"].items(), strict=True)
        for (name, entry), (other, known) in entries:
            pairs += [(name, other), *zip(entry.items(), known.items(), strict=True)]
        worst = max(worst, *(_distance(*pair) for pair in pairs))
    return worst


def _distance(mine: Any, theirs: Any) -> float:  # Any: JSON values
    if isinstance(mine, tuple) and isinstance(theirs, tuple) and mine[0] == theirs[0]:
        return _distance(mine[1], theirs[1])
    if isinstance(mine, float) and isinstance(theirs, float):
        return abs(mine - theirs) / max(1.0, abs(theirs))
    return 0.0 if mine == theirs else math.inf


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="20 tasks instead of 1,000")
    tasks, benchmarks = (20 if parser.parse_args().quick else 1000), 265
    attempts = made(tasks, benchmarks)
    print(f"{tasks:,} tasks x {benchmarks} benchmarks x {len(AGENTS)} agents x {SAMPLES} samples")
    # Ours runs before the nested lists exist: a garbage collector that walks the twin's input is no cost of ours.
    fresh = partial(unread, attempts)
    columns, _ = best(table_of, fresh, rounds=ROUNDS)
    records, answer = best(without_intervals, fresh, rounds=ROUNDS)
    our_payloads = [msgspec.to_builtins(attempt.payload) for attempt in answer.attempts]
    del answer
    plain = as_plain(attempts)
    slow, expected = best(twin, lambda: plain, rounds=ROUNDS)
    difference = apart(our_payloads, expected)
    del our_payloads, expected
    thrifty, _ = best(thrifty_twin, lambda: plain, rounds=ROUNDS)
    plain.clear()
    full, _ = timed(lambda: speedups_of(unread(attempts), speedup_constants()).result(many=True).to_dict())
    rows = (
        ("plain Python, agent by agent, no intervals", slow),
        ("plain Python, baselines once for all agents", thrifty),
        ("steelyard, speedups of all benchmarks as columns", columns),
        ("steelyard, all figures in records, no intervals", records),
        ("steelyard, full JSON shape, two intervals for each benchmark", full),
    )
    print(f"{'work':62} {'seconds':>9} {'CPU':>9} {'agent by agent':>15} {'once for all':>13}")
    for name, (clock, processor) in rows:
        against = f"{slow[1] / processor:14.1f}x {thrifty[1] / processor:12.1f}x"
        print(f"{name:62} {clock:9.3f} {processor:9.3f} {against}")
    print(f"largest difference between ours and the twin's payload: {difference:.1e}")


if __name__ == "__main__":
    main()
