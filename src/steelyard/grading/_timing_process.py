"""The process that times the functions of a candidate, which run in another one.

It has the clock, the inputs and the results. An input is sent when the clock runs, so nothing can be computed before.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import random
import sys
import time
from typing import Any

from steelyard.grading._candidate_process import InstalledPackages
from steelyard.grading._test_process import line_of
from steelyard.grading._wire import MAX_LINE_BYTES, Table, Wire, WireError

CALLS = 20
"""Calls per round of a benchmark that states no number."""


class TimingError(Exception):
    """A benchmark that cannot be timed."""


def refused(_value: Any) -> Any:
    raise WireError("it contains an object that is not plain data")


class Caller:
    """Calls functions of the candidate."""

    def __init__(self, source: int, drain: int) -> None:
        self.source, self.drain = open(source, "rb"), drain  # noqa: SIM115 - as long as the process
        self.wire = Wire(refused, refused)

    def call(self, function: str, given: Any) -> tuple[float, Any, float]:
        """Return the seconds from the request to the response, the result, and the seconds that data alone take."""
        module, _, name = function.rpartition(".")
        try:
            packed = self.wire.pack(list(given), Table())
        except WireError as error:
            raise TimingError(f"cannot pass the arguments: {error}") from error
        line = json.dumps({"do": ["run", [module, name], packed]}).encode() + b"\n"
        started = time.perf_counter()
        try:
            waiting = memoryview(line)
            while waiting:
                waiting = waiting[os.write(self.drain, waiting) :]
            response = self.source.readline(MAX_LINE_BYTES)
        except OSError as error:
            raise TimingError(f"the code under test ended: {error}") from error
        seconds = time.perf_counter() - started
        if not response.endswith(b"\n"):
            raise TimingError("the code under test ended")
        began = time.perf_counter()
        try:
            message = json.loads(response)
            if isinstance(message, dict) and "raise" in message:
                raise TimingError(f"{function} raised an exception: {str(message['raise'].get('text'))[:200]}")
            result = self.wire.unpack(message["answer"], Table())
            json.dumps(self.wire.pack(result, Table()))
        except TimingError:
            raise
        except Exception as error:
            raise TimingError(f"{function} did not return plain data: {line_of(error)}") from error
        self.wire.unpack(json.loads(line)["do"][2], Table())
        return seconds, result, time.perf_counter() - began


def plain(value: Any) -> Any:
    """The value as JSON whose order does not depend on the process.

    >>> plain({2: {"b", "a"}, 1: (0.5,)})
    ['dict', [[1, ['tuple', [0.5]]], [2, ['set', ['a', 'b']]]]]
    """
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind in (list, tuple):
        return [kind.__name__, [plain(item) for item in value]]
    if kind in (set, frozenset):
        return ["set", sorted(map(plain, value), key=json.dumps)]
    if kind is dict:
        return ["dict", sorted(([plain(key), plain(item)] for key, item in value.items()), key=json.dumps)]
    return [kind.__name__, repr(value)]


def timed(caller: Caller, name: str, seed: str) -> dict[str, Any]:
    """Time one benchmark: a module with the name of a function, and a function that makes the inputs of a call."""
    benchmark = importlib.import_module(name)
    function, calls = str(benchmark.function), int(getattr(benchmark, "calls", CALLS))
    rng = random.Random(f"{seed}/{name}")  # noqa: S311 - the seed is secret
    inputs = [benchmark.arguments(rng) for _ in range(calls + 1)]
    seconds, outputs, transport = [], [], []
    caller.call(function, inputs.pop())  # imports the module
    for given in inputs:
        elapsed, result, transported = caller.call(function, given)
        seconds.append(elapsed)
        outputs.append(plain(result))
        transport.append(transported)
    return {"seconds": seconds, "outputs": outputs, "transport": transport}


def main(place: str, job: dict[str, Any]) -> None:
    """Time the benchmarks and write the record."""
    sys.path.insert(0, os.getcwd())
    sys.meta_path.append(InstalledPackages())
    caller = Caller(3, 4)
    gc.disable()
    found: dict[str, Any] = {}
    problem = None
    for name in job["names"]:
        try:
            found[name] = timed(caller, name, job["seed"])
        except BaseException as error:  # noqa: BLE001 - nothing leaves the record unwritten
            problem = f"{name}: {error if isinstance(error, TimingError) else line_of(error)}"
            break
    with open(place, "w", encoding="utf-8") as file:
        json.dump({"timed": found, "problem": problem}, file)
    os._exit(0)
