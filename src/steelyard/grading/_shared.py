"""Shared test runs: the tests in the candidate's own process, each among copies that expect another value.

The candidate can report anything there. It does not know which of the copies is the original: they differ only in the
expected value, so a forger has to guess, for each test that its code does not really pass.
"""

from __future__ import annotations

import ast
import copy
import itertools
import json
import math
import random
import secrets
import string
from collections.abc import Collection, Iterator, Mapping
from decimal import Decimal
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from steelyard import sandbox
from steelyard.grading import _candidate_process, _test_process, _wire
from steelyard.grading._split import BOOT, Bounds, Interpreter, sources
from steelyard.grading._tests import NOT_FAILED, HiddenTests, module_of, read_test_record
from steelyard.sandbox import Content

MAX_CHANCE = 0.001
MAX_VARIANTS = 16
"""Variants of one test: the original and its copies. A power of two."""
_RUN = BOOT + "import json\njob = json.loads(sys.argv[1])\nmodule.run_in_process(job['place'], job)\n"
_COMPARING = frozenset(
    f"assert{word}Equal" for word in ("", "List", "Dict", "Tuple", "Set", "Sequence", "MultiLine", "Count", "Almost")
) | {"assertIs"}
_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
_FEW_TESTS, _FEWER_VARIANTS = 10, 4
"""Number of tests up to which each may have the largest number of variants, and the variants of each of more tests."""
_LETTERS = [
    (string.ascii_lowercase, string.ascii_uppercase[:6]),
    (string.ascii_uppercase, string.ascii_lowercase[:6]),
    (string.digits, string.ascii_lowercase[:6]),
]
"""Letters and digits, and others that are only there so that a family has 16."""


class SharedRun(msgspec.Struct, frozen=True, kw_only=True):
    """Outcome of a shared run."""

    statuses: dict[str, str]
    """Status of each original test."""
    copies: dict[str, list[str]]
    """Statuses of the copies of each test, in the order of their numbers."""
    problem: str | None = None
    """Why the run is not valid."""

    def accepted(self, alike: Mapping[str, Collection[int]] | None = None) -> dict[str, str]:
        """Statuses of the tests; a test has failed if a copy passed, other than those in `alike`."""
        known = alike or {}
        return {
            name: "failed" if self.passing(name) != set(known.get(name, ())) else status
            for name, status in self.statuses.items()
        }

    def passing(self, name: str) -> set[int]:
        """The copies of the test that did not fail."""
        return {number for number, status in enumerate(self.copies.get(name, ())) if status in NOT_FAILED}


def run_shared(
    tests: HiddenTests,
    candidate: Path | None,
    *,
    files: Mapping[str, Content] | None = None,
    names: Collection[str],
    has_reference: bool,
    python: Interpreter,
    bounds: Bounds,
) -> SharedRun:
    """Run the files with these tests in the process of the candidate's code.

    Without a reference solution, all expected values of a copy differ: nothing shows which of them make a difference.
    """
    place = f"{secrets.token_hex(8)}.json"
    rewritten, made = _rewritten(tests, names, has_reference=has_reference)
    places = sorted(rewritten)
    job = {"place": place, "framework": tests.framework, "names": list(map(module_of, places)), "places": places}
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
    record = read_test_record(content)
    if record is None:
        return SharedRun(statuses={}, copies={}, problem="the record of the tests is malformed or too large")
    if record.problem is not None:
        return SharedRun(statuses={}, copies={}, problem=record.problem)
    statuses: dict[str, str] = {}
    found: dict[str, dict[int, str]] = {}
    seen: dict[str, set[str]] = {}
    for name, status in record.statuses.items():
        random_name = next((each for each in made if each in name), None)
        if random_name is None:
            statuses[name] = status
            continue
        original, number, first = made[random_name]
        own = name.replace(random_name, original)
        seen.setdefault(first, set()).add(own)
        if number:
            found.setdefault(own, {})[number] = status
        else:
            statuses[own] = status
    for _, number, first in made.values():
        for own in seen.get(first, ()) if number else ():
            found.setdefault(own, {}).setdefault(number, "passed")  # a forger left it out
    copies = {own: [status for _, status in sorted(numbered.items())] for own, numbered in found.items()}
    return SharedRun(statuses=statuses, copies=copies, problem=None if statuses else "no test ran")


def _rewritten(
    tests: HiddenTests, names: Collection[str], *, has_reference: bool
) -> tuple[dict[str, bytes], dict[str, tuple[str, int, str]]]:
    """The files with each of the tests under a random name, among its copies.

    For each name: the test's own name, the number of the copy (0 for the original), and the original's random name.
    """
    rng = random.SystemRandom()
    files: dict[str, bytes] = {}
    made: dict[str, tuple[str, int, str]] = {}
    most = MAX_VARIANTS if len(names) <= _FEW_TESTS else _FEWER_VARIANTS
    for place in _places(names, tests):
        content = tests.files[place]
        tree = ast.parse(content if isinstance(content, bytes) else content.read_bytes())
        owners: list[ast.Module | ast.ClassDef] = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
        wanted = [name for name in names if file_of(name, tests) == place]
        is_whole = any(name in (place, module_of(place)) for name in wanted)  # the module could not be loaded
        for owner in [tree, *owners]:
            body: list[Any] = []  # Any: statements
            for node in owner.body:
                if not isinstance(node, _FUNCTIONS) or not node.name.startswith("test"):
                    body.append(node)
                    continue
                if not is_whole and not any(node.name in name for name in wanted):
                    body.append(node)
                    continue
                original = node.name
                group = _variants(node, most, most.bit_length() - 1 if has_reference else 1)
                first = f"test_{rng.getrandbits(64):016x}"
                for number, each in enumerate(group):
                    each.name = f"test_{rng.getrandbits(64):016x}" if number else first
                    made[each.name] = original, number, first
                rng.shuffle(group)
                body += group
            owner.body = body
        files[place] = ast.unparse(ast.fix_missing_locations(tree)).encode()
    return files, made


def _places(names: Collection[str], tests: HiddenTests) -> list[str]:
    """The files with these tests."""
    return sorted({place for name in names if (place := file_of(name, tests)) is not None})


def _variants(test: Any, most: int, max_blocks: int) -> list[Any]:  # Any: functions' nodes
    """The test, and copies of it that expect other values; it is alone if it compares nothing with a literal.

    Its literals are divided into blocks, and there is a variant for each combination of values of the blocks. So each
    variant could be the original, and some differ from it in one block only: code whose results are equal to
    everything passes those, even if it gets the other comparisons right.
    """
    literals = [
        ((nodes, place), family)
        for nodes, place, has_tolerance in [where for node in ast.walk(test) for where in _expected(node)]
        if (family := _family(ast.literal_eval(nodes[place]), most, has_tolerance=has_tolerance)) is not None
    ]
    blocks = [block for number in range(max_blocks) if (block := literals[number::max_blocks])]
    size = 2
    while blocks and (size * 2) ** len(blocks) <= most:
        size *= 2
    sizes = [min(size, max(len(choices) for _, (choices, _) in block)) for block in blocks]
    made = []
    for steps in itertools.product(*map(range, sizes)):
        for block, step in zip(blocks, steps, strict=True):
            for (nodes, place), (choices, own) in block:
                # A family has 2, 4, 8 or 16 values, so that steps in a smaller one go around without a rest.
                values = choices[own // size * size :][:size]
                value = values[(own % size + step) % len(values)]
                nodes[place] = ast.parse(repr(value), mode="eval").body
        made.append(copy.deepcopy(test))
    return made


def _expected(node: ast.AST) -> Iterator[tuple[list[ast.expr], int, bool]]:
    """Where a comparison has its expected value, and whether it has a tolerance."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _COMPARING:
        literals = [place for place in (1, 0) if place < len(node.args) and _literal(node.args[place]) is not None]
        if literals:
            yield node.args, literals[0], "Almost" in node.func.attr
    elif (
        isinstance(node, ast.Assert)
        and isinstance(node.test, ast.Compare)
        and len(node.test.ops) == 1
        and isinstance(node.test.ops[0], ast.Eq | ast.Is)
        and _literal(node.test.comparators[0]) is not None
    ):
        yield node.test.comparators, 0, False


def _literal(node: ast.expr) -> tuple[Any] | None:
    try:
        return (ast.literal_eval(node),)
    except (ValueError, TypeError, SyntaxError, RecursionError):
        return None


def _family(value: Any, most: int, *, has_tolerance: bool = False) -> tuple[list[Any], int] | None:
    """Values of which any could be the expected one, and the place of this one; None if there are no others.

    Every value of a family has the same family, so the family does not show which of its values is the original.

    >>> _family(42, 4), _family(True, 4), _family(None, 4)
    (([40, 41, 42, 43], 2), ([False, True], 1), None)
    >>> _family([1, "ab"], 2), _family({"a": 0.5}, 2)
    (([[1, 'aa'], [1, 'ab']], 1), ([{'a': 0.4}, {'a': 0.5}], 1))
    """
    if isinstance(value, bool):
        return [False, True], int(value)
    if isinstance(value, int):
        start = value // most * most
        return list(range(start, start + most)), value - start
    if isinstance(value, float):
        return _family_of_float(value, most, digits=1 if has_tolerance else 4)
    if isinstance(value, str):
        return _family_of_text(value, most)
    if isinstance(value, bytes):
        texts = _family_of_text(value.decode("latin-1"), most)
        return None if texts is None else ([each.encode("latin-1") for each in texts[0]], texts[1])
    if isinstance(value, list | tuple | dict):
        keys = list(value) if isinstance(value, dict) else range(len(value))
        for key in reversed(keys):
            if (found := _family(value[key], most)) is not None:
                return [_with_item(value, key, each) for each in found[0]], found[1]
    if isinstance(value, set) and value:
        *rest, last = sorted(value, key=repr)
        others = _family(last, most)
        if others is not None and all(repr(each) > max(map(repr, rest), default="") for each in others[0]):
            return [{*rest, each} for each in others[0]], others[1]
    return None


def _family_of_float(value: float, most: int, *, digits: int) -> tuple[list[float], int] | None:
    """Values that differ in the last of the first digits."""
    if not math.isfinite(value):
        return None
    number = Decimal(repr(value)).normalize()
    unit = max(int(number.as_tuple().exponent), number.adjusted() - digits + 1)
    count = math.floor(number.scaleb(-unit))
    rest = number - Decimal(count).scaleb(unit)
    start = count // most * most
    return [float(Decimal(each).scaleb(unit) + rest) for each in range(start, start + most)], count - start


def _family_of_text(value: str, most: int) -> tuple[list[str], int] | None:
    """Texts that differ in one character: the last letter or digit, else the last punctuation mark."""
    for alphabets in (_LETTERS, [(string.punctuation, "")]):
        for place in range(len(value) - 1, -1, -1):
            for own, others in alphabets:
                if value[place] in own:
                    signs, number = own + others, own.index(value[place])
                    start = number // most * most
                    texts = [value[:place] + each + value[place + 1 :] for each in signs[start : start + most]]
                    return texts, number - start
    if value and not value[-1].isascii():
        start = ord(value[-1]) // most * most
        return [value[:-1] + chr(each) for each in range(start, start + most)], ord(value[-1]) - start
    return None


def _with_item(value: Any, key: Any, item: Any) -> Any:  # Any: a list, tuple or dict, with a key and a value of it
    if isinstance(value, dict):
        return {**value, key: item}
    items = [*value[:key], item, *value[key + 1 :]]
    return items if isinstance(value, list) else tuple(items)


def file_of(name: str, tests: HiddenTests) -> str | None:
    """The file that a test is in, by the test's name."""
    for place in tests.places:
        module = module_of(place)
        if name in (module, place) or name.startswith((f"{module}.", f"{place}::")):
            return place
    return next((place for place in tests.places if PurePosixPath(place).stem in name), None)
