"""The files whose functions run on the way from a log to a measurement, and from a submission to its receipt.

python scripts/walk.py            counts and lists both walks
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from inspect import CO_OPTIMIZED
from io import StringIO
from pathlib import Path
from types import CodeType, FrameType

import steelyard
from steelyard.cli import run

ROOT = Path(steelyard.__file__).parent
SAMPLES = Path(__file__).parent.parent / "tests" / "samples"


def files_run(work: Callable[[], object]) -> list[str]:
    """Return the project's files with a function that runs, in the order of their first call.

    An `__init__` is included only if it is a question.

    What a module calls while it is imported, such as a decorator, is no step of the walk; what its threads call is one.
    """
    seen: dict[str, None] = {}
    codes: set[CodeType] = set()
    imports: Counter[int] = Counter()
    """How many modules each thread is in the middle of importing."""

    def profile(frame: FrameType, event: str, _argument: object) -> None:
        code, thread = frame.f_code, threading.get_ident()
        if code.co_name == "<module>":
            imports[thread] += {"call": 1, "return": -1}.get(event, 0)
        elif event == "call" and not imports[thread] and code not in codes:
            codes.add(code)
            is_function = code.co_flags & CO_OPTIMIZED  # the body of a class is none
            if is_function and code.co_filename.startswith(str(ROOT)):
                seen.setdefault(Path(code.co_filename).relative_to(ROOT).as_posix())

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return [name for name in seen if not name.endswith("__init__.py") or name.startswith("questions/")]


def _quietly(*arguments: str) -> None:
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        status = run(list(arguments))
    assert status == 0, f"steelyard {' '.join(arguments)} ended with {status}"


def walks() -> dict[str, list[str]]:
    """Both walks by name."""
    log = next(path for path in SAMPLES.glob("*/claude-code/session.jsonl"))
    arena = SAMPLES / "arena"
    measured = files_run(lambda: _quietly("measure", str(log)))
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        _quietly("arena", "init")
        _quietly("arena", "task", "add", str(arena / "tasks.toml"))
        lines = (arena / "submissions.jsonl").read_text(encoding="utf-8").splitlines()
        earlier, better = Path(folder, "earlier.jsonl"), Path(folder, "better.jsonl")
        earlier.write_text(f"{lines[0]}\n", encoding="utf-8")
        better.write_text(f"{lines[2]}\n", encoding="utf-8")  # takes the lead, so that another loses it
        _quietly("arena", "submit", str(earlier))
        submitted = files_run(lambda: _quietly("arena", "submit", str(better)))
        os.chdir(ROOT)
    return {"a Claude log to measure": measured, "an arena submission to its receipt": submitted}


if __name__ == "__main__":
    for title, files in walks().items():
        print(f"{title}: {len(files)} files")
        for name in files:
            print(f"  {name}")
