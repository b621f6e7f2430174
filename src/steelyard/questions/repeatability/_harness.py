"""Calls an answer's entry point and reports what came back. Runs inside the sandbox and imports nothing of ours.

It knows the inputs and never the expected values: what it reports is compared outside, by a process that the answer
cannot reach. Each report carries a nonce, so that what the answer prints is never taken for one.
"""

from __future__ import annotations

import builtins
import inspect
import json
import os
import sys
import types
from typing import Any

_DEEPEST = 60
EXCEPTIONS = {
    name: kind for name, kind in vars(builtins).items() if isinstance(kind, type) and issubclass(kind, BaseException)
}
"""As they were before the answer could replace them."""
NAME, MRO = (type.__dict__[name].__get__ for name in ("__name__", "__mro__"))
"""Name and bases of a class, bypassing its metaclass."""


def encode(value: Any, depth: int = 0) -> Any:  # Any: whatever the answer returns; JSON comes out
    """The value in JSON, its type kept. Only exact built-in types: an object that claims to equal everything is not."""
    kind = type(value)
    if depth > _DEEPEST:
        return {"type": "too deep"}
    if value is None or kind in (bool, str):
        return value
    if kind is int:
        return value if abs(value) < 1 << 60 else {"type": "int", "value": hex(value)}
    if kind is float:
        return {"type": "float", "value": value.hex()}
    if kind is list:
        return [encode(item, depth + 1) for item in value]
    if kind in (tuple, set, frozenset):
        return {"type": kind.__name__, "value": [encode(item, depth + 1) for item in value]}
    if kind is dict:
        return {"type": "dict", "value": [[encode(k, depth + 1), encode(v, depth + 1)] for k, v in value.items()]}
    if kind is bytes:
        return {"type": "bytes", "value": value.hex()}
    return {"type": f"object of {kind.__module__}.{kind.__qualname__}"[:200]}


def arguments_of(case: dict[str, Any], entry: Any) -> tuple[list[Any], dict[str, Any]]:
    """Positional and keyword arguments for the entry point. A list is spread when it cannot be the only argument."""
    if "input" not in case:
        return case.get("arguments") or [], case.get("keywords") or {}
    value = case["input"]
    if not isinstance(value, list):
        return [value], case.get("keywords") or {}
    try:
        signature = inspect.signature(entry)
    except (TypeError, ValueError):
        return [value], {}
    for attempt in ([value], value):
        try:
            signature.bind(*attempt)
        except TypeError:
            continue
        return attempt, {}
    return value, {}


def perform(case: dict[str, Any], entry: Any) -> dict[str, Any]:
    """What the entry point did with one case."""
    positional, named = arguments_of(case, entry)
    made = entry(*positional, **named)
    if not case.get("calls"):
        return {"value": encode(made)}
    return {"values": [encode(getattr(made, call["method"])(*call["arguments"])) for call in case["calls"]]}


def raised_names(error: BaseException) -> list[str]:
    """The exception's class and those it derives from; one that only took a builtin's name is named with its module."""
    named = [(NAME(kind), kind) for kind in MRO(type(error))]
    return [name if EXCEPTIONS.get(name, kind) is kind else f"answer.{name}" for name, kind in named]


def error_text(error: BaseException) -> str:
    """Return the exception's type and message; its `__str__` may fail."""
    kind = type(error).__name__
    try:
        return f"{kind}: {error}"[:500]
    except BaseException:  # noqa: BLE001 - whatever the answer raises is reported
        return kind[:500]


def main() -> None:
    """Load the answer, perform the cases, report each."""
    write, dumps = os.write, json.dumps
    job = json.loads(sys.stdin.buffer.read())
    channel = os.dup(1)
    os.set_inheritable(channel, False)
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)

    def report(**facts: Any) -> None:
        # A report line of its own: the answer may have written half a line to the channel.
        write(channel, f"\n{job['nonce']} {dumps(facts)}\n".encode())

    module = types.ModuleType("answer")
    sys.modules["answer"] = module
    try:
        exec(compile(job["code"], "answer.py", "exec"), module.__dict__)  # noqa: S102 - this is the sandbox
    except BaseException as error:  # noqa: BLE001 - whatever the answer raises is reported
        report(loading=error_text(error))
        return
    if job["entry_point"] not in module.__dict__:
        report(loading=f"{job['entry_point']}, which the contract calls, is not defined")
        return
    entry = module.__dict__[job["entry_point"]]
    for number, case in enumerate(job["cases"]):
        try:
            outcome = perform(case, entry)
        except BaseException as error:  # noqa: BLE001 - as above
            report(case=number, error=error_text(error), raised=raised_names(error))
        else:
            report(case=number, **outcome)
    report(finished=len(job["cases"]))


if __name__ == "__main__":
    main()
