"""Sides and attempts from plain dictionaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from steelyard.questions.speedup import result_of
from steelyard.questions.speedup._benchmark_table import Attempt, Side, side_of
from steelyard.questions.speedup._inputs import speedup_constants
from steelyard.questions.speedup._summary import Speedups, speedups_of
from steelyard.records import Timing, TimingSummary, place_of

Measured = Mapping[str, Sequence[float] | float | None]


def timing(name: str, measured: Sequence[float] | float | None, **more: Any) -> Timing:
    place = place_of(name)
    parts = {"module": place.module, "class_name": place.class_name, "function": place.function} | more
    if measured is None:
        return Timing(name=name, status="failed", **parts)
    if isinstance(measured, (int, float)):
        return Timing(name=name, summary=TimingSummary(median=float(measured)), **parts)
    return Timing(name=name, samples=tuple(measured), **parts)


def side(measured: Measured, **more: Any) -> Side:
    return side_of([timing(name, values, **more) for name, values in measured.items()])


def attempt(nop: Measured, oracle: Measured | None, changed: Measured, **more: Any) -> Attempt:
    known: dict[str, Any] = {"task": "t", "agent": "tool:model"} | more
    expert = None if oracle is None else side(oracle)
    return Attempt(nop=side(nop), oracle=expert, side=side(changed), **known)


def measured(
    *attempts: Attempt, intervals: bool = True, unscored: Literal["exclude", "fail"] = "fail", **options: Any
) -> Speedups:
    return speedups_of(attempts, speedup_constants(**options), intervals=intervals, unscored=unscored)


def shape_of(found: Speedups) -> dict[str, Any]:
    """The JSON of the answer."""
    return result_of(found, found.findings).to_dict()


def at(shape: Mapping[str, Any], task: str, number: int = 1, *, agent: str | None = None) -> dict[str, Any]:
    """An attempt in the JSON of the answer."""
    own = (each for each in shape["attempts"] if (each["task"], each["number"]) == (task, number))
    return next(each for each in own if agent in (None, each["agent"]))


def trials(shape: Mapping[str, Any]) -> list[tuple[str, int]]:
    return [(each["task"], each["number"]) for each in shape["attempts"]]


def payload_of(found: Speedups, agent: str = "tool:model") -> dict[str, Any]:
    return next(each for each in shape_of(found)["attempts"] if each["agent"] == agent)


def measures_of(found: Speedups) -> dict[str, Any]:
    """The additional metrics of the first attempt."""
    return found.attempt_records()[0].measures


UNIT_NOP = {"m.A.time_x(1)": 2.0, "m.A.time_x(2)": 2.0, "m.time_f": 2.0, "n.B.time_y": 2.0}
UNIT_ORACLE = {"m.A.time_x(1)": 0.5, "m.A.time_x(2)": 0.5, "m.time_f": 2.0, "n.B.time_y": None}
UNIT_AGENT = {"m.A.time_x(1)": 1.0, "m.A.time_x(2)": 0.25, "m.time_f": 4.0, "n.B.time_y": 2.0}
"""The specification's unit vector as times: speedups 2/4, 8/4, 0.5/1, and one that is invalid under the oracle."""
