"""Warnings and notes about speedup results."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from steelyard.formatting import interval_name, percent
from steelyard.profiles import Unscored
from steelyard.questions.speedup._benchmark_table import NO_ORACLE, Attempt, BenchmarkTable, Side, snapshot_failed
from steelyard.questions.speedup._inputs import SpeedupConstants
from steelyard.questions.speedup._measures import BASES, MIN_PROCESSES, SpeedupIntervals, samples_needed
from steelyard.records import Finding, Missing
from steelyard.sources import NO_BLOCK
from steelyard.statistics import Floats, Ints, are_fine, coincidences


def identical_agents(attempts: Sequence[Attempt]) -> Iterator[Finding]:
    """Pairs of agents with the same times or stated speedups at more tasks than chance explains."""
    results = [
        (attempt.task, attempt.agent, numbers.tobytes())
        for attempt in attempts
        if are_fine(numbers := _numbers(attempt.side)).any()
    ]
    if not results:
        return
    tasks, agents, values = (_numbered(column) for column in zip(*results, strict=True))
    names = sorted({agent for _, agent, _ in results})
    for pair in coincidences(tasks, agents, values):
        message = (
            f"the results of {names[pair.first]} and {names[pair.second]} are bit-identical on "
            f"{pair.agreeing:,} of {pair.tasks:,} tasks (probability by chance: {pair.chance_text})"
        )
        yield Finding(code="duplicate_results", message=message)


def _numbered(names: Sequence[str | bytes]) -> Ints:
    """The place of each name among all, sorted."""
    return np.asarray(np.unique(np.array(names, dtype=object), return_inverse=True)[1], dtype=np.int64)


def _numbers(side: Side) -> Floats:
    """What was measured: samples, else medians, else stated speedups."""
    if side.values.size:
        return side.values
    known = side.medians[np.isfinite(side.medians)]
    if known.size or side.stated is None:
        return known
    return side.stated[np.isfinite(side.stated)]


UNCHANGED, REFERENCE = "the unchanged code", "the reference solution"
"""Names of the sides that are not an agent's."""
SHOWN = 5
"""Number of names that a message lists."""


def findings_of(
    table: BenchmarkTable,
    speedup_intervals: SpeedupIntervals | None,
    figures: Sequence[Mapping[str, float | Missing]],
    options: SpeedupConstants,
) -> list[Finding]:
    """Return all findings: per attempt, then over tasks."""
    findings: list[Finding] = []
    for index, attempt in enumerate(table.attempts):
        where = f"{attempt.trial}, {attempt.agent}"
        findings += _of_attempt(table, index, where)
        findings += _of_sides(attempt, where)
        if speedup_intervals is not None:
            findings += _noisy(table, index, speedup_intervals, options, where)
            findings += _too_few_samples(table, index, speedup_intervals, options, where)
        share = figures[index]["max_fraction"]
        rows = table.rows(index)
        findings += dominant(share, int(np.count_nonzero(table.counted[rows])), "benchmark", options, where)
    findings += _of_oracles(table.attempts)
    findings += duplicates(table.attempts)
    findings += identical_agents(table.attempts)
    findings += _unpaired(table.attempts)
    findings += _mixed_trajectories(table.attempts)
    return findings


def listed(names: Sequence[str]) -> str:
    """Return the first names and the number of others.

    >>> listed(["a", "b"])
    'a, b'
    """
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def _counted(names: Sequence[str]) -> str:
    return "1 benchmark" if len(names) == 1 else f"{len(names):,} benchmarks"


def _of_attempt(table: BenchmarkTable, index: int, where: str) -> Iterator[Finding]:
    attempt, rows = table.attempts[index], table.rows(index)
    if not table.valid[rows].any():
        message = "no benchmark is valid on every side, so no speedup can be computed"
        yield Finding(code="nothing_valid", message=message, where=where)
    failing = [table.name(row) for row in range(rows.start, rows.stop) if table.agent_only[row]]
    if failing:
        reference = "" if attempt.oracle is None else f" and {REFERENCE}"
        message = f"{_counted(failing)} valid for {UNCHANGED}{reference} but not after the change: {listed(failing)}"
        known = set(attempt.nop.names)
        if new := [name for name in attempt.side.measured_names if name not in known]:
            message += f"; only after the change: {listed(new)}. Benchmarks are matched by name (hyperfine: -n NAME)"
        yield Finding(code="agent_only_failures", message=message, where=where)
    if attempt.success is True and attempt.snapshot is None:
        ground = "tests" if attempt.tests is not None else "reported verdict"
        message = f"no snapshot: success is based on the {ground} only"
        yield Finding(code="no_snapshot", severity="info", message=message, where=where)
    if attempt.snapshot == NO_BLOCK:
        message = "the FC-Eval file has no snapshot block, which is treated as a failed snapshot"
        yield Finding(code="missing_snapshot_block", message=message, where=where)
    if attempt.cost_origin == "lower_bound":
        message = "the cost is a lower bound: some token counts, or their split into calls, are unknown"
        yield Finding(code="cost_lower_bound", message=message, where=where)
    if attempt.fallback:
        message = "the attempt failed, so its benchmarks count as unchanged (speedup 1.0)"
        yield Finding(code="fallback_to_baseline", severity="info", message=message, where=where)


def unscored_attempts(attempts: Sequence[Attempt], unscored: Unscored) -> Iterator[Finding]:
    """Report attempts without a verdict and how they are counted."""
    as_what = {"fail": "counts as failed in", "exclude": "is excluded from"}[unscored]
    for attempt in attempts:
        if isinstance(attempt.success, Missing):
            message = f"the attempt has no verdict and {as_what} success rates: {attempt.success.reason}"
            where = f"{attempt.trial}, {attempt.agent}"
            yield Finding(code="success_unknown", severity="info", message=message, where=where)


def _of_oracles(attempts: Sequence[Attempt]) -> Iterator[Finding]:
    """Report problems of each task's reference solution once, for all agents."""
    first_attempts = {attempt.task: attempt for attempt in reversed(attempts)}
    for task, attempt in sorted(first_attempts.items()):
        if attempt.oracle is None:
            message = f"{NO_ORACLE.reason}, so advantages are missing"
            yield Finding(code="no_oracle", severity="info", message=message, where=task)
        if attempt.oracle_tests is not None and attempt.oracle_tests.not_passed:
            count = attempt.oracle_tests.not_passed
            message = f"{count} tests fail with {REFERENCE}; attempts may fail the same tests"
            yield Finding(code="oracle_tests_fail", severity="info", message=message, where=task)
        if snapshot_failed(attempt.oracle_snapshot):
            message = f"the snapshot fails with {REFERENCE}, so advantages may be invalid"
            yield Finding(code="oracle_snapshot_fails", message=message, where=task)


def _of_sides(attempt: Attempt, where: str) -> Iterator[Finding]:
    sides = {f"with {REFERENCE}": attempt.oracle, "after the change": attempt.side}
    for name, side in ((name, side) for name, side in sides.items() if side is not None):
        other = _other_versions(attempt.nop, side)
        if other:
            message = f"the benchmark code {name} differs from that of {UNCHANGED}: {listed(other)}"
            yield Finding(code="code_version_differs", message=message, where=where)
        if attempt.nop.environments and side.environments and attempt.nop.environments != side.environments:
            pair = f"{_joined(attempt.nop.environments)} for {UNCHANGED}, {_joined(side.environments)} {name}"
            yield Finding(
                code="environment_differs", message=f"measured in different environments: {pair}", where=where
            )
    if attempt.nop.other_units:
        others = attempt.nop.other_units
        message = f"{_counted(others)} not compared, because the unit is not time: {listed(others)}"
        yield Finding(code="not_a_time", severity="info", message=message, where=where)


def _other_versions(nop: Side, side: Side) -> list[str]:
    versions = dict(zip(side.names, side.versions, strict=False))
    pairs = zip(nop.names, nop.versions, strict=False)
    return [name for name, mine in pairs if mine and (theirs := versions.get(name)) and mine != theirs]


def _joined(environments: frozenset[str]) -> str:
    return " and ".join(sorted(environments))


def _noisy(
    table: BenchmarkTable, index: int, speedup_intervals: SpeedupIntervals, options: SpeedupConstants, where: str
) -> Iterator[Finding]:
    rows = table.rows(index)
    limit = math.log(options.noisy_factor)
    with np.errstate(invalid="ignore"):
        noisy = (
            table.valid[rows]
            & (speedup_intervals.speedup.low[rows] < -limit)
            & (speedup_intervals.speedup.high[rows] > limit)
        )
    names = [table.name(rows.start + int(row)) for row in np.flatnonzero(noisy)]
    if names:
        message = f"{_counted(names)} too noisy to distinguish faster from slower: {listed(names)}"
        yield Finding(code="too_noisy", message=message, where=where)


def _too_few_samples(
    table: BenchmarkTable, index: int, speedup_intervals: SpeedupIntervals, options: SpeedupConstants, where: str
) -> Iterator[Finding]:
    rows = table.rows(index)
    before, after = table.nop_row[rows], table.agent_row[rows]
    needed = samples_needed(options.interval_level)
    few = np.minimum(table.pool.counts[before], table.pool.counts[after]) < needed
    few |= speedup_intervals.speedup.bases[rows] == BASES.index("processes")
    timed = np.isfinite(table.pool.medians[before])  # a file may state speedups alone
    names = [
        table.name(rows.start + int(row))
        for row in np.flatnonzero(table.valid[rows] & ~speedup_intervals.judged[rows] & few & timed)
    ]
    if names:
        enough = f"{needed} samples per side, or {MIN_PROCESSES} processes"
        message = (
            f"{_counted(names)} with too few samples to distinguish a change from noise; "
            f"a {interval_name(options.interval_level)} needs {enough}: {listed(names)}"
        )
        yield Finding(code="too_few_samples", message=message, where=where)


def dominant(
    share: float | Missing | None, size: int, what: str, options: SpeedupConstants, where: str
) -> Iterator[Finding]:
    """Report an item that dominates a mean of more than a few items."""
    limit = options.max_fraction_limit
    if share is not None and not isinstance(share, Missing) and share > limit and size * limit > 1:
        message = f"one of {size} {what}s contributes {percent(share)} of the mean advantage"
        yield Finding(code="dominant_item", message=message, where=where)


def duplicates(attempts: Sequence[Attempt]) -> Iterator[Finding]:
    """Report agents with bit-identical times on a task, to each other or to a baseline."""
    seen: dict[tuple[str, bytes], list[str]] = {}
    for attempt in attempts:
        sides = (
            (f"{attempt.agent} (attempt {attempt.number})", attempt.side),
            (UNCHANGED, attempt.nop),
            (REFERENCE, attempt.oracle),
        )
        for who, side in sides:
            vector = None if side is None else _vector(side)
            holders = seen.setdefault((attempt.task, vector), []) if vector else [who]
            if who not in holders:
                holders.append(who)
    for (task, _), holders in sorted(seen.items(), key=lambda entry: (entry[0][0], entry[1])):
        if len(holders) > 1 and set(holders) != {UNCHANGED, REFERENCE}:
            message = f"the results of {' and '.join(sorted(holders))} are bit-identical"
            yield Finding(code="duplicate_results", message=message, where=task)


def _vector(side: Side) -> bytes | None:
    """Return the side's numbers as bytes; None if identity would not be suspicious (stated speedups of 1)."""
    if side.values.size:
        return side.values.tobytes()
    known = side.medians[np.isfinite(side.medians)]
    if known.size > 1:
        return b"medians" + known.tobytes()
    if side.stated is None:
        return None
    stated = side.stated[np.isfinite(side.stated)]
    return b"stated" + stated.tobytes() if stated.size > 1 and (stated != 1.0).any() else None


def coverage(attempts: Sequence[Attempt]) -> dict[str, dict[str, int]]:
    """Count the attempts of each agent on each task."""
    agents = sorted({attempt.agent for attempt in attempts})
    table = {task: dict.fromkeys(agents, 0) for task in sorted({attempt.task for attempt in attempts})}
    for attempt in attempts:
        table[attempt.task][attempt.agent] += 1
    return table


def _unpaired(attempts: Sequence[Attempt]) -> Iterator[Finding]:
    table = coverage(attempts)
    partial = [task for task, row in table.items() if 0 in row.values()]
    if partial:
        message = (
            f"agents attempted different tasks, so their means are not comparable: {len(partial)} of "
            f"{len(table)} tasks were not attempted by every agent ({listed(partial)})"
        )
        yield Finding(code="unpaired_tasks", message=message)


def _mixed_trajectories(attempts: Sequence[Attempt]) -> Iterator[Finding]:
    origins: dict[str, set[str]] = {}
    for attempt in attempts:
        if attempt.trajectory_origin:
            origins.setdefault(attempt.agent, set()).add(attempt.trajectory_origin)
    for agent, kinds in sorted(origins.items()):
        if len(kinds) > 1:
            message = f"the mean trajectory length mixes different sources ({', '.join(sorted(kinds))})"
            yield Finding(code="mixed_trajectory_origins", message=message, where=agent)
