"""Timings that the measured code cannot forge: clock and inputs are in another sandbox, and results are compared."""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from steelyard import sandbox
from steelyard.grading import _candidate_process, _test_process, _timing_process, _wire
from steelyard.grading._split import BOOT, Bounds, Interpreter, candidate_line, sources
from steelyard.sandbox import Content

BENCHMARKS = "bench_*.py"
"""Names of the files with benchmarks."""
TOLERANCE = 1e-9
"""Relative difference of floats that counts as equal: another order of additions gives other last digits."""
_RUN = BOOT + "import json\njob = json.loads(sys.argv[1])\nmodule.main(job['place'], job)\n"


class TimedCalls(msgspec.Struct, frozen=True, kw_only=True):
    """Calls of one function, with what they returned."""

    seconds: tuple[float, ...]
    outputs: list[Any]  # Any: JSON
    transport: tuple[float, ...]
    """Seconds that passing arguments and result takes about, which `seconds` include."""


class TimedRun(msgspec.Struct, frozen=True, kw_only=True):
    """Timings by benchmark."""

    timed: dict[str, TimedCalls]
    problem: str | None = None
    """Why not all benchmarks were timed."""


def time_calls(
    benchmarks: Mapping[str, Content],
    candidate: Path | None,
    *,
    seed: str,
    python: Interpreter,
    bounds: Bounds,
    prefix: Sequence[str] = (),
) -> TimedRun:
    """Time the functions of the code in the directory. `prefix` is a command that starts the interpreter of the code.

    Equal seeds give equal inputs. The code does not get the seed.
    """
    place = f"{secrets.token_hex(8)}.json"
    names = sorted(Path(name).stem for name in benchmarks if Path(name).match(BENCHMARKS))
    job = {"place": place, "names": names, "seed": seed}
    with sandbox.start(
        [*prefix, *candidate_line(python)],
        copy=candidate,
        variables=python.variables,
        limits=bounds.limits,
        readable=python.readable,
        no_sandbox=bounds.no_sandbox,
        isolation=bounds.isolation,
    ) as running:
        result = sandbox.run(
            [
                *(*python.command, "-c", _RUN, json.dumps(job)),
                *sources(_wire, _candidate_process, _test_process, _timing_process),
            ],
            files=benchmarks,
            pipes=running.checker_pipes,
            variables=python.variables,
            limits=bounds.limits,
            readable=python.readable,
            collect=[place],
            no_sandbox=bounds.no_sandbox,
            isolation=bounds.isolation,
            stop=bounds.stop,
        )
    content = result.collected.get(place)
    if content is None:
        return TimedRun(timed={}, problem=f"the benchmarks did not finish ({result.ending})")
    try:
        return msgspec.convert(json.loads(content), TimedRun)  # JSON of Python has NaN
    except (ValueError, RecursionError):  # cut: the results are too large
        return TimedRun(timed={}, problem="the results are malformed or too large")


def first_difference(found: TimedRun, reference: TimedRun) -> str | None:
    """Return where the results differ from those of the reference solution; None if they are the same."""
    for name, expected in reference.timed.items():
        outputs = found.timed[name].outputs if name in found.timed else []
        for number, output in enumerate(expected.outputs):
            if number >= len(outputs) or not _is_same(outputs[number], output):
                return f"{name}: the result of call {number + 1} differs from that of the reference solution"
    return None


def _is_same(one: Any, other: Any) -> bool:  # Any: JSON
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_is_same, one, other))
    if isinstance(one, float) or isinstance(other, float):
        if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in (one, other)):
            return False
        return (math.isnan(one) and math.isnan(other)) or math.isclose(one, other, rel_tol=TOLERANCE)
    return type(one) is type(other) and bool(one == other)
