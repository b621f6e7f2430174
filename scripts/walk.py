"""The files whose functions run on the way from a log to a measurement, and from a submission to its receipt.

python scripts/walk.py            counts and lists both walks, and functions in a row that only forward
"""

from __future__ import annotations

import ast
import os
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from inspect import CO_OPTIMIZED
from io import StringIO
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple

import steelyard
from steelyard.cli import run

ROOT = Path(steelyard.__file__).parent
SAMPLES = Path(__file__).parent.parent / "tests" / "samples"


class Call(NamedTuple):
    """A call of one function of the project by another."""

    caller: CodeType
    callee: CodeType


def calls_of(work: Callable[[], object]) -> list[Call]:
    """Return the calls between the project's functions, each once, in the order of the first time.

    What a module calls while it is imported, such as a decorator, is no step of the walk; what its threads call is one.
    """
    calls: dict[Call, None] = {}
    imports: Counter[int] = Counter()
    """How many modules each thread is in the middle of importing."""

    def profile(frame: FrameType, event: str, _argument: object) -> None:
        code, thread = frame.f_code, threading.get_ident()
        if code.co_name == "<module>":
            imports[thread] += {"call": 1, "return": -1}.get(event, 0)
        elif event == "call" and not imports[thread] and _is_ours(code):
            caller = frame.f_back
            while caller is not None and not _is_ours(caller.f_code):  # a library may be between the two
                caller = caller.f_back
            calls.setdefault(Call(code if caller is None else caller.f_code, code))

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return list(calls)


def _is_ours(code: CodeType) -> bool:
    """Whether it is a function of the project; the body of a class is none."""
    return bool(code.co_flags & CO_OPTIMIZED) and code.co_filename.startswith(str(ROOT))


def files_run(calls: Iterable[Call]) -> list[str]:
    """Return the files of the functions, in the order of their first call. An `__init__` counts if it is a question."""
    seen = dict.fromkeys(Path(call.callee.co_filename).relative_to(ROOT).as_posix() for call in calls)
    return [name for name in seen if not name.endswith("__init__.py") or name.startswith("questions/")]


@cache
def _functions(file: str) -> dict[tuple[str, int], ast.FunctionDef | ast.AsyncFunctionDef]:
    """The functions of a file by name and first line; that of a decorated function is its first decorator's."""
    tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    found = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {(node.name, min([node.lineno, *(each.lineno for each in node.decorator_list)])): node for node in found}


def only_forwards(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether all that a function does is one call with its own parameters, as they are or their attributes."""
    body = [each for each in node.body if not isinstance(each, ast.Import | ast.ImportFrom)]
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]
    if len(body) != 1 or not isinstance(body[0], ast.Return | ast.Expr):
        return False
    value = body[0].value
    if isinstance(value, ast.Await | ast.YieldFrom):
        value = value.value
    if not isinstance(value, ast.Call):
        return False
    given = [value.func, *value.args, *(keyword.value for keyword in value.keywords)]
    return all(_is_plain(each.value if isinstance(each, ast.Starred) else each) for each in given)


def _is_plain(value: ast.expr) -> bool:
    """Whether it is a name, an attribute of one, or a constant."""
    while isinstance(value, ast.Attribute):
        value = value.value
    return isinstance(value, ast.Name | ast.Constant)


def forwarded(calls: Iterable[Call]) -> list[str]:
    """Return the calls in which a function that only forwards calls another one that does."""

    def is_forwarder(code: CodeType) -> bool:
        node = _functions(code.co_filename).get((code.co_name, code.co_firstlineno))
        return node is not None and only_forwards(node)

    return [
        f"{call.caller.co_qualname} -> {call.callee.co_qualname}"
        for call in calls
        if call.caller is not call.callee and is_forwarder(call.caller) and is_forwarder(call.callee)
    ]


def _quietly(*arguments: str) -> None:
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        status = run(list(arguments))
    assert status == 0, f"steelyard {' '.join(arguments)} ended with {status}"


def walks() -> dict[str, list[Call]]:
    """Both walks by name."""
    log = next(path for path in SAMPLES.glob("*/claude-code/session.jsonl"))
    arena = SAMPLES / "arena"
    measured = calls_of(lambda: _quietly("measure", str(log)))
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        _quietly("arena", "init")
        _quietly("arena", "task", "add", str(arena / "tasks.toml"))
        lines = (arena / "submissions.jsonl").read_text(encoding="utf-8").splitlines()
        earlier, better = Path(folder, "earlier.jsonl"), Path(folder, "better.jsonl")
        earlier.write_text(f"{lines[0]}\n", encoding="utf-8")
        better.write_text(f"{lines[2]}\n", encoding="utf-8")  # takes the lead, so that another loses it
        _quietly("arena", "submit", str(earlier))
        submitted = calls_of(lambda: _quietly("arena", "submit", str(better)))
        os.chdir(ROOT)
    return {"a Claude log to measure": measured, "an arena submission to its receipt": submitted}


if __name__ == "__main__":
    for title, calls in walks().items():
        files = files_run(calls)
        print(f"{title}: {len(files)} files")
        for name in files:
            print(f"  {name}")
        for step in forwarded(calls):
            print(f"  only forwards: {step}")
