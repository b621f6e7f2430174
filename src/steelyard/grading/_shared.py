"""Shared test runs: the tests in the candidate's own process, each among copies that expect another value.

The candidate can report anything there. It does not know which of the copies is the original: they differ only in the
expected value, so a forger has to guess, for each test that its code does not really pass.
"""

from __future__ import annotations

import ast
import copy
import json
import math
import random
import secrets
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from steelyard import sandbox
from steelyard.grading import _candidate_process, _test_process, _wire
from steelyard.grading._split import BOOT, Bounds, Interpreter, sources
from steelyard.grading._tests import NOT_FAILED, HiddenTests, TestRecord, module_of
from steelyard.sandbox import Content

MAX_CHANCE = 0.001
MAX_COPIES = 15
"""Copies of one test."""
_RUN = BOOT + "import json\njob = json.loads(sys.argv[1])\nmodule.run_in_process(job['place'], job)\n"
_COMPARING = frozenset(
    f"assert{word}Equal" for word in ("", "List", "Dict", "Tuple", "Set", "Sequence", "MultiLine", "Count", "Almost")
) | {"assertIs"}
_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef


class SharedRun(msgspec.Struct, frozen=True, kw_only=True):
    """Outcome of a shared run."""

    statuses: dict[str, str]
    """Status of each original test."""
    copies: dict[str, list[str]]
    """Statuses of the copies of each test."""
    problem: str | None = None
    """Why the run is not valid."""

    def accepted(self) -> dict[str, str]:
        """Statuses of the tests; a test with a copy that did not fail has failed."""
        return {
            name: "failed" if any(each in NOT_FAILED for each in self.copies.get(name, ())) else status
            for name, status in self.statuses.items()
        }


def chance_of(copies: Mapping[str, Collection[str]], names: Collection[str]) -> float:
    """The probability that a forger who passes none of the tests guesses all originals; 1.0 without copies."""
    return math.prod(1 / (1 + len(copies.get(name, ()))) for name in names)


def run_shared(
    tests: HiddenTests,
    candidate: Path | None,
    *,
    files: Mapping[str, Content] | None = None,
    places: Collection[str],
    copies: int,
    python: Interpreter,
    bounds: Bounds,
) -> SharedRun:
    """Run the tests of these files in the process of the candidate's code."""
    place = f"{secrets.token_hex(8)}.json"
    rewritten, names = _rewritten(tests, places, copies)
    job = {"place": place, "framework": tests.framework, "names": list(map(module_of, places)), "places": list(places)}
    # A package of the candidate would be imported in place of a test module of the same name.
    packages = [name.removesuffix(".py") for name in tests.files if name.endswith(".py")]
    result = sandbox.run(
        [*python.command, "-c", _RUN, json.dumps(job), *sources(_wire, _candidate_process, _test_process)],
        copy=candidate,
        files={**(files or {}), **tests.files, **rewritten},
        absent=[name for name in packages if not any(each.startswith(f"{name}/") for each in tests.files)],
        collect=[place],
        stop=bounds.stop,
        readable=python.readable,
        variables=python.variables,
        limits=bounds.limits,
        no_sandbox=bounds.no_sandbox,
        isolation=bounds.isolation,
    )
    content = result.collected.get(place)
    if content is None or result.exit_status != 0:
        return SharedRun(statuses={}, copies={}, problem=f"the tests did not finish ({result.ending})")
    try:
        record = msgspec.json.decode(content, type=TestRecord)
    except msgspec.MsgspecError:
        return SharedRun(statuses={}, copies={}, problem="the record of the tests is malformed")
    statuses: dict[str, str] = {}
    twins: dict[str, list[str]] = {}
    seen: dict[str, str] = {}
    for name, status in record.statuses.items():
        made = next((each for each in names if each in name), None)
        if made is None:
            statuses[name] = status
            continue
        original, is_copy, _ = names[made]
        seen[made] = own = name.replace(made, original)
        if is_copy:
            twins.setdefault(own, []).append(status)
        else:
            statuses[own] = status
    for made, (_, is_copy, first) in names.items():
        if is_copy and first in seen and made not in seen:  # a forger who leaves it out
            twins.setdefault(seen[first], []).append("passed")
    return SharedRun(statuses=statuses, copies=twins, problem=None if statuses else "no test ran")


def _rewritten(
    tests: HiddenTests, places: Collection[str], copies: int
) -> tuple[dict[str, bytes], dict[str, tuple[str, bool, str]]]:
    """The files with each test under a random name, among its copies.

    For each name: the test's own name, whether it is a copy, and the random name of the original.
    """
    rng = random.SystemRandom()
    files: dict[str, bytes] = {}
    names: dict[str, tuple[str, bool, str]] = {}
    for place in places:
        content = tests.files[place]
        tree = ast.parse(content if isinstance(content, bytes) else content.read_bytes())
        owners: list[ast.Module | ast.ClassDef] = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
        for owner in [tree, *owners]:
            body: list[Any] = []  # Any: statements
            for node in owner.body:
                if not isinstance(node, _FUNCTIONS) or not node.name.startswith("test"):
                    body.append(node)
                    continue
                original = node.name
                group = [node, *(made for number in range(copies) if (made := _copy(node, number)) is not None)]
                first = f"test_{rng.getrandbits(64):016x}"
                for each in group:
                    each.name = first if each is node else f"test_{rng.getrandbits(64):016x}"
                    names[each.name] = original, each is not node, first
                rng.shuffle(group)
                body += group
            owner.body = body
        files[place] = ast.unparse(ast.fix_missing_locations(tree)).encode()
    return files, names


def _copy(test: Any, number: int) -> Any:  # Any: a function's node
    """The test with other expected values; None if it compares nothing with a literal."""
    made = copy.deepcopy(test)
    changed = [_change(*where, number) for node in ast.walk(made) for where in _expected(node)]
    return made if any(changed) else None


def _expected(node: ast.AST) -> Iterator[tuple[Any, Any]]:  # Any: a list of nodes or a node, and a place in it
    """Where a comparison has its expected value."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _COMPARING:
        literals = [place for place in (1, 0) if place < len(node.args) and _literal(node.args[place]) is not None]
        if literals:
            yield node.args, literals[0]
    elif (
        isinstance(node, ast.Assert)
        and isinstance(node.test, ast.Compare)
        and len(node.test.ops) == 1
        and isinstance(node.test.ops[0], ast.Eq | ast.Is)
        and _literal(node.test.comparators[0]) is not None
    ):
        yield node.test.comparators, 0


def _literal(node: ast.expr) -> tuple[Any] | None:
    try:
        return (ast.literal_eval(node),)
    except (ValueError, TypeError, SyntaxError, RecursionError):
        return None


def _change(nodes: list[ast.expr], place: int, number: int) -> bool:
    literal = _literal(nodes[place])
    if literal is None:
        return False
    nodes[place] = ast.parse(repr(_other(literal[0], number + 1)), mode="eval").body
    return True


def _other(value: Any, number: int) -> Any:
    """Another value of the same kind.

    >>> _other([1, "a"], 1), _other((2.0,), 2), _other({}, 1)
    ([1, 'b'], (4.0,), {'b': 1})
    """
    if isinstance(value, bool) or value is None:
        return not value if number == 1 else f"{value}{number}"
    if isinstance(value, int | float | complex):
        return value + number
    if isinstance(value, str):
        return (
            value[:-1] + chr(ord(value[-1]) + number) if value and value[-1].isascii() else f"{value}{chr(97 + number)}"
        )
    if isinstance(value, bytes):
        return value + bytes([96 + number])
    if isinstance(value, list | tuple):
        items = [*value[:-1], _other(value[-1], number)] if value else [number]
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, set | frozenset):
        return {*value, f"{number}"}
    if isinstance(value, dict):
        if not value:
            return {chr(97 + number): number}
        last = list(value)[-1]
        return {**value, last: _other(value[last], number)}
    return number


def copies_for(count: int) -> int:
    """How many copies of each of so many tests make guessing hopeless.

    >>> copies_for(1), copies_for(5), copies_for(20)
    (15, 3, 1)
    """
    for copies in range(1, MAX_COPIES):
        if count and (copies + 1) ** -count <= MAX_CHANCE:
            return copies
    return MAX_COPIES


def file_of(name: str, tests: HiddenTests) -> str | None:
    """The file that a test is in, by the test's name."""
    for place in tests.places:
        module = module_of(place)
        if name in (module, place) or name.startswith((f"{module}.", f"{place}::")):
            return place
    return next((place for place in tests.places if PurePosixPath(place).stem in name), None)
