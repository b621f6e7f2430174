"""Split test runs: the tests in one sandbox, the candidate's code in another, and a pipe for data between them."""

from __future__ import annotations

import json
import marshal
import secrets
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from threading import Event
from types import ModuleType

import msgspec

from steelyard import sandbox
from steelyard.grading import _candidate_process, _test_process, _wire
from steelyard.grading._tests import HiddenTests, TestRecord, module_of, read_test_record
from steelyard.sandbox import Content, Isolation, Limits

BOOT = """
import importlib.util, marshal, sys, types
for name, text, magic, code in zip(*[iter(sys.argv[2:])] * 4):
    module = sys.modules[name] = types.ModuleType(name)
    is_ours = bytes.fromhex(magic) == importlib.util.MAGIC_NUMBER
    exec(marshal.loads(bytes.fromhex(code)) if is_ours else compile(text, '<steelyard>', 'exec'), module.__dict__)
for name in sys.argv[2::4]:
    del sys.modules[name]
"""
_RUN_TESTS = BOOT + "import json\njob = json.loads(sys.argv[1])\nmodule.main(job['place'], job)\n"
_RUN_CANDIDATE = BOOT + "module.main()\n"


class Interpreter(msgspec.Struct, frozen=True, kw_only=True):
    """Python that runs tests and candidates."""

    command: tuple[str, ...]
    readable: tuple[Path, ...] = ()
    search_path: str | None = None

    @property
    def variables(self) -> dict[str, str]:
        """PATH, where the interpreter needs one."""
        return {"PATH": self.search_path} if self.search_path else {}


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """How a test run is isolated and limited."""

    limits: Limits
    no_sandbox: bool = False
    isolation: Isolation | None = None
    stop: Event | None = None


def run_split(
    tests: HiddenTests,
    candidate: Path | None,
    *,
    files: Mapping[str, Content] | None = None,
    modules: Collection[str] = (),
    python: Interpreter,
    bounds: Bounds,
) -> TestRecord:
    """Run the tests against the candidate's code in the directory, overlaid with `files`.

    `modules` are those that the task is about: they come before modules of the same name that the tests could import.
    """
    place = f"{secrets.token_hex(8)}.json"
    job = {
        "place": place,
        "framework": tests.framework,
        "modules": tests.modules,
        "names": [module_of(name) for name in tests.places],
        "places": tests.places,
        "candidates": sorted(modules),
    }
    tests_line = [
        *python.command,
        *(["-S"] if tests.framework == "unittest" else []),
        "-c",
        _RUN_TESTS,
        json.dumps(job),
    ]
    with sandbox.start(
        candidate_line(python),
        copy=candidate,
        files=files,
        variables=python.variables,
        limits=bounds.limits,
        readable=python.readable,
        no_sandbox=bounds.no_sandbox,
        isolation=bounds.isolation,
    ) as running:
        result = sandbox.run(
            [*tests_line, *sources(_wire, _candidate_process, _test_process)],
            files=tests.files,
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
        words = result.stderr.decode(errors="replace").strip().splitlines()
        reason = f"{result.ending}{f': {sandbox.printable(words[-1])}' if words else ''}"
        return TestRecord(statuses={}, has_died=True, problem=f"the tests did not finish ({reason})")
    unreadable = TestRecord(statuses={}, has_died=True, problem="the record of the tests is malformed or too large")
    return read_test_record(content) or unreadable


def candidate_line(python: Interpreter) -> list[str]:
    """Return the command that serves the candidate's code over its standard input and output.

    It runs without `site`, which takes most of the start: packages are found when one is first imported.
    """
    return [*python.command, "-S", "-c", _RUN_CANDIDATE, "", *sources(_wire, _candidate_process)]


@cache
def sources(*modules: ModuleType) -> Sequence[str]:
    """Names, texts and bytecode of modules of ours, as arguments of a command."""
    words: list[str] = []
    for module in modules:
        assert module.__file__ is not None  # ours
        text = Path(module.__file__).read_text(encoding="utf-8")
        code = marshal.dumps(compile(text, "<steelyard>", "exec", dont_inherit=True))
        words += [module.__name__, text, MAGIC_NUMBER.hex(), code.hex()]
    return words
