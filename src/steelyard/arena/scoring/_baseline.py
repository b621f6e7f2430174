"""A task's baseline: the nine numbers that scores depend on, the whole of it, and medians that follow single values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from steelyard.records import Missing


class BaselineBounds(NamedTuple):
    """What scores depend on. Two baselines with equal bounds give equal scores, so they are one version."""

    min_tokens: float
    max_tokens: float
    min_tool_calls: float
    max_tool_calls: float
    min_execution_time: float
    max_execution_time: float
    min_cost: float
    max_cost: float
    median_iterations: float


def default_bounds(defaults: Mapping[str, float]) -> BaselineBounds:
    """The bounds of a task with too few submissions."""
    return BaselineBounds(*(float(defaults[name]) for name in BaselineBounds._fields))


def median_of_sorted(ordered: Sequence[float]) -> float:
    """The median of sorted values."""
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def quartile(ordered: Sequence[float], which: int) -> float:
    """A quartile of sorted values by the exclusive method, as `statistics.quantiles(values, n=4)` gives it."""
    place = which * (len(ordered) + 1)
    below = min(max(place // 4, 1), len(ordered) - 1)
    rest = place - below * 4
    return (ordered[below - 1] * (4 - rest) + ordered[below] * rest) / 4


class BaselineInputs(NamedTuple):
    """The values of a group of submissions, one list a field; unknown times, costs and iterations are None."""

    total_tokens: Sequence[int]
    tool_calls: Sequence[int]
    iterations: Sequence[int | None]
    execution_time: Sequence[float | None]
    estimated_cost: Sequence[float | None]


def baseline_of(inputs: BaselineInputs, *, defaults: Mapping[str, float], least: int) -> dict[str, float]:
    """The baseline as the specification lists it: the defaults under `least` submissions, else from the submissions.

    Times and costs that no submission reports keep their defaults. Token quartiles are included only if known.
    """
    count = len(inputs.total_tokens)
    if count < least:
        return {"submission_count": count, **defaults}
    baseline: dict[str, float] = {"submission_count": count, **defaults}
    tokens = sorted(inputs.total_tokens)
    times = sorted(time for time in inputs.execution_time if time)
    costs = sorted(cost for cost in inputs.estimated_cost if cost)
    stated: dict[str, Sequence[float]] = {
        "tokens": tokens,
        "tool_calls": sorted(inputs.tool_calls),
        "execution_time": times,
        "cost": costs,
    }
    for name, ordered in stated.items():
        if ordered:
            baseline |= {
                f"median_{name}": median_of_sorted(ordered),
                f"min_{name}": ordered[0],
                f"max_{name}": ordered[-1],
            }
    baseline["q25_tokens"] = quartile(tokens, 1) if count > 1 else tokens[0]
    baseline["q75_tokens"] = quartile(tokens, 3) if count > 1 else tokens[0]
    baseline["median_iterations"] = median_of_sorted(
        sorted(1 if turns is None else turns for turns in inputs.iterations)
    )
    return baseline


def own_baseline(inputs: BaselineInputs, *, least: int) -> dict[str, float] | Missing:
    """Return the baseline of one tool and model; Missing below `least` submissions, since defaults do not apply."""
    count = len(inputs.total_tokens)
    if count < least:
        return Missing(f"{count} of {least} submissions")
    return baseline_of(inputs, defaults={}, least=least)


class LowerMedian(NamedTuple):
    """The lower of the two middle values (None without values), and the number of values below it."""

    value: int | None
    below: int


def running_medians(earlier: Mapping[int, int], coming: Sequence[int], *, n: int) -> tuple[list[float], LowerMedian]:
    """The median after each value that comes to `n` earlier ones, and the lower middle value in the end.

    The middle moves by at most one distinct value a time. Of the earlier values, given as value to count, those above
    it that it cannot reach may be left out.

    >>> running_medians({1: 1}, [4, 2], n=1)
    ([2.5, 2], LowerMedian(value=2, below=1))
    """
    values = sorted({*earlier, *coming})
    counts = [earlier.get(value, 0) for value in values]
    place_of = {value: place for place, value in enumerate(values)}
    medians: list[float] = []
    at = below = 0  # index of the lower middle value, and the number of values below it
    for total, value in enumerate(coming, n + 1):
        place = place_of[value]
        counts[place] += 1
        below += place < at
        middle = (total - 1) // 2
        while below > middle:
            at -= 1
            below -= counts[at]
        while below + counts[at] <= middle:
            below += counts[at]
            at += 1
        if total % 2 or below + counts[at] > total // 2:
            medians.append(values[at])
            continue
        upper = at + 1
        while not counts[upper]:
            upper += 1
        medians.append((values[at] + values[upper]) / 2)
    return medians, LowerMedian(values[at], below)
