"""The oracle: a contract run against code in the sandbox, graded outside of it."""

from __future__ import annotations

import ast
import json
import math
import os
import secrets
import sys
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from math import ceil
from pathlib import Path
from typing import Any

import msgspec

from steelyard import sandbox
from steelyard.errors import ContractError, SandboxUnavailableError
from steelyard.questions.repeatability import _harness
from steelyard.questions.repeatability._contract import Case, Contract, ValueType
from steelyard.questions.repeatability._source_code import PYTHON, language_named, node_types, parse_python
from steelyard.sandbox import Isolation, IsolationName, Limits, SandboxResult


class ForeignValue:
    """A returned value of a type that no contract can expect; it equals nothing."""

    __slots__ = ("kind",)

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __repr__(self) -> str:
        return f"<{self.kind}>"


def decode(value: Any) -> Any:  # Any: JSON as the harness wrote it; a Python value comes out
    """The value that the harness encoded. Raises ValueError or TypeError for what it would not write."""
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    kind: object = value.get("type")
    content: Any = value.get("value")  # Any: of the form of the type, or the result is malformed
    if kind == "int":
        return int(content, 16)
    if kind == "float":
        return float.fromhex(content)
    if kind == "bytes":
        return bytes.fromhex(content)
    if kind in ("tuple", "list"):
        return [decode(item) for item in content]
    if kind in ("set", "frozenset"):
        return sorted((decode(item) for item in content), key=repr)
    if kind == "dict":
        return {_key(decode(key)): decode(item) for key, item in content}
    return ForeignValue(str(kind))


def _key(key: Any) -> Any:
    # JSON has only text as keys, so numbers as keys are compared as text.
    return key if isinstance(key, str) else repr(key)


def equal(value: Any, expected: Any, case: Case) -> bool:
    """Whether the value is the expected one in the way the case compares."""
    if isinstance(value, bool) or isinstance(expected, bool) or value is None or expected is None:
        return type(value) is type(expected) and value == expected
    if isinstance(value, (int, float)) and isinstance(expected, (int, float)):
        if case.comparison == "close":
            return math.isclose(value, expected, rel_tol=case.tolerance, abs_tol=case.tolerance)
        return value == expected or (value != value and expected != expected)  # noqa: PLR0124 - NaN is what it is
    if isinstance(value, list) and isinstance(expected, list):
        if len(value) != len(expected):
            return False
        if case.comparison == "unordered":
            return _same_members(value, expected, case)
        return all(equal(mine, theirs, case) for mine, theirs in zip(value, expected, strict=True))
    if isinstance(value, dict) and isinstance(expected, dict):
        return value.keys() == expected.keys() and all(equal(value[key], expected[key], case) for key in value)
    return type(value) is type(expected) and bool(value == expected)


def _same_members(value: list[Any], expected: list[Any], case: Case) -> bool:
    left = list(expected)
    for item in value:
        match = next((index for index, other in enumerate(left) if equal(item, other, case)), None)
        if match is None:
            return False
        left.pop(match)
    return True


_TYPES: dict[ValueType, tuple[type, ...]] = {
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "string": (str,),
    "list": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def of_type(value: Any, wanted: ValueType) -> bool:
    """Whether the value is of the type; true and false are no integers."""
    return isinstance(value, _TYPES[wanted]) and (wanted == "boolean" or not isinstance(value, bool))


_WORDS: dict[str, tuple[type[ast.AST], ...]] = {
    "while": (ast.While,),
    "for": (ast.For, ast.AsyncFor),
    "if": (ast.If,),
    "try": (ast.Try, ast.TryStar),
    "with": (ast.With, ast.AsyncWith),
    "lambda": (ast.Lambda,),
    "import": (ast.Import, ast.ImportFrom),
    "class": (ast.ClassDef,),
    "def": (ast.FunctionDef, ast.AsyncFunctionDef),
    "global": (ast.Global,),
    "nonlocal": (ast.Nonlocal,),
    "return": (ast.Return,),
    "yield": (ast.Yield, ast.YieldFrom),
    "assert": (ast.Assert,),
    "raise": (ast.Raise,),
    "async": (ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith),
    "await": (ast.Await,),
    "comprehension": (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
}
_COMPLETIONS = ("", ":\n    ...", "(...)", "(...):\n    ...", " in ...:\n    ...")
# Parts of a statement that a pattern leaves out and that the code may have.
_MAY_DIFFER = frozenset(
    {"orelse", "finalbody", "decorator_list", "returns", "type_comment", "type_params", "annotation"}
)


@cache
def _patterns(text: str) -> tuple[ast.AST | tuple[type[ast.AST], ...], ...]:
    """What the text can mean: every way in which it, or its completion, is a piece of Python."""
    if text.strip() in _WORDS:
        return (_WORDS[text.strip()],)
    meanings: list[ast.AST | tuple[type[ast.AST], ...]] = []
    for completion in _COMPLETIONS:
        tree = parse_python(text.strip() + completion)
        if tree is not None and len(tree.body) == 1:
            statement = tree.body[0]
            meanings.append(statement.value if isinstance(statement, ast.Expr) else statement)
    if not meanings:
        raise ContractError(f"the pattern {text!r} is not valid Python", hint="see docs/repeatability.md")
    return tuple(meanings)


def occurs(pattern: str, tree: ast.AST) -> bool:
    """Whether the pattern occurs anywhere in the tree.

    A pattern is a piece of Python. `_` matches any expression or name, `...` anything: an expression, any number of
    arguments, a whole body. A keyword matches its statement (`while`, `try`, `lambda`), and an incomplete piece is
    completed (`for i in range` means `for i in range(...): ...`). For other languages, a pattern is the name of a node
    type of the language's tree-sitter grammar (`while_statement`).

    >>> occurs("for i in range", ast.parse("for i in range(3): print(i)"))
    True
    >>> occurs("while", ast.parse("while_loop = 'while'"))
    False
    """
    wanted = _patterns(pattern)
    return any(
        isinstance(node, meaning) if isinstance(meaning, tuple) else _matches(meaning, node)
        for node in ast.walk(tree)
        for meaning in wanted
    )


def _is_anything(node: object) -> bool:
    if isinstance(node, ast.Expr):
        node = node.value
    return isinstance(node, ast.Constant) and node.value is Ellipsis


def _matches(pattern: object, node: object) -> bool:
    if _is_anything(pattern) or (isinstance(pattern, ast.Name) and pattern.id == "_" and isinstance(node, ast.expr)):
        return True
    if isinstance(pattern, list):
        return isinstance(node, list) and _matches_lists(pattern, node)
    if not isinstance(pattern, ast.AST):
        return pattern in ("_", node)
    if type(pattern) is not type(node):
        return False
    if isinstance(pattern, ast.Call) and any(_is_anything(argument) for argument in pattern.args):
        return _matches(pattern.func, getattr(node, "func", None)) and _matches(
            pattern.args, getattr(node, "args", None)
        )
    if isinstance(pattern, ast.arguments) and any(argument.arg == "_" for argument in pattern.args):
        return True
    for name in pattern._fields:
        wanted = getattr(pattern, name, None)
        if name in ("ctx", "kind") or (name in _MAY_DIFFER and not wanted):
            continue
        if not _matches(wanted, getattr(node, name, None)):
            return False
    return True


def _matches_lists(pattern: list[object], nodes: list[object]) -> bool:
    if not pattern:
        return not nodes
    if _is_anything(pattern[0]):
        return any(_matches_lists(pattern[1:], nodes[skipped:]) for skipped in range(len(nodes) + 1))
    return bool(nodes) and _matches(pattern[0], nodes[0]) and _matches_lists(pattern[1:], nodes[1:])


def is_recursive(tree: ast.Module, entry_point: str) -> bool:
    """Whether the entry point reaches itself through calls of functions of this program, by name or as a method."""
    calls: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            called = calls.setdefault(node.name, set())
            for inner in ast.walk(node):
                match inner:
                    case ast.Call(func=ast.Name(id=name)):
                        called.add(name)
                    case ast.Call(func=ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name)):
                        called.add(name)
    starts = [entry_point, *_inner_functions(tree, entry_point)]
    return any(_reaches(start, start, calls) for start in starts)


def _inner_functions(tree: ast.Module, name: str) -> list[str]:
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    for node in tree.body:
        if isinstance(node, (*functions, ast.ClassDef)) and node.name == name:
            return [inner.name for inner in ast.walk(node) if isinstance(inner, functions) and inner is not node]
    return []


def _reaches(start: str, goal: str, calls: dict[str, set[str]]) -> bool:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        for called in calls.get(waiting.pop(), ()):
            if called == goal:
                return True
            if called not in seen:
                seen.add(called)
                waiting.append(called)
    return False


def broken_constraints(code: str, contract: Contract) -> list[str]:
    """What the code's syntax tree breaks of the contract, as sentences; empty when all holds."""
    wanted = contract.constraints
    if language_named(contract.language) != PYTHON:
        if not (wanted.required or wanted.forbidden):
            return []
        types = node_types(code, language_named(contract.language))
        missing = [f"must contain {pattern!r}" for pattern in wanted.required if pattern not in types]
        return missing + [f"must not contain {pattern!r}" for pattern in wanted.forbidden if pattern in types]
    tree = parse_python(code)
    if tree is None:
        return ["does not parse"]
    broken = [f"must contain {pattern!r}" for pattern in wanted.required if not occurs(pattern, tree)]
    broken += [f"must not contain {pattern!r}" for pattern in wanted.forbidden if occurs(pattern, tree)]
    if contract.entry_point is not None:
        broken += _entry_point_problems(tree, contract.entry_point, contract)
    return broken


def _entry_point_problems(tree: ast.Module, name: str, contract: Contract) -> list[str]:
    broken = []
    wanted = contract.constraints.recursion
    if wanted is not None and is_recursive(tree, name) != (wanted == "required"):
        broken.append(f"recursion is {wanted}")
    for method in contract.constraints.methods:
        owner = next((node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name), None)
        defined = {inner.name for inner in ast.walk(owner) if isinstance(inner, ast.FunctionDef)} if owner else set()
        if method not in defined:
            broken.append(f"must define the method {method!r}")
    return broken


ORACLE_VERSION = "oracle-1"
_HARNESS = Path(_harness.__file__).read_bytes()
_SAME_HASHES = {"PYTHONHASHSEED": "0"}
"""Python orders the texts of a set by chance otherwise, and with it what an answer that lists one gives back."""
_MAX_REASON_LENGTH = 300


class CaseResult(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one case."""

    passed: bool
    """Whether it came out as expected."""
    reason: str | None = None
    """What was wrong; None when it passed."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """Verdict of the oracle on one program."""

    passed: bool
    """Enough cases passed and every constraint holds."""
    pass_rate: float | None
    """Fraction of the cases that passed; None for a contract without cases."""
    cases: tuple[CaseResult, ...] = ()
    """Each case, in the contract's order."""
    broken: tuple[str, ...] = ()
    """Constraints that do not hold."""
    ending: str = ""
    """How the process that ran the code ended; empty when none was needed."""
    isolation: IsolationName | None = None
    """What kept the code from everything else; None when no code was run."""
    nonce: str = ""
    """What the result record had to carry to be believed."""
    version: str = ORACLE_VERSION
    """The oracle's version."""

    @property
    def reason(self) -> str:
        """Why it did not pass, in one line; empty when it did."""
        if self.passed:
            return ""
        reasons = [*self.broken, *(case.reason for case in self.cases if case.reason)]
        return "; ".join(dict.fromkeys(reasons))[:_MAX_REASON_LENGTH]


class Oracle:
    """A contract that programs are checked against. Each distinct program is run once; safe to use from threads."""

    def __init__(self, contract: Contract, *, no_sandbox: bool = False, isolation: Isolation | None = None) -> None:
        self.contract = contract
        self._no_sandbox = no_sandbox
        self._isolation = isolation
        self._known: dict[str, Verdict] = {}
        self._lock = threading.Lock()

    def check(self, code: str) -> Verdict:
        """The verdict on one program."""
        with self._lock:
            known = self._known.get(code)
        if known is not None:
            return known
        verdict = self._run(code)
        with self._lock:
            return self._known.setdefault(code, verdict)

    def check_all(self, codes: Iterable[str], *, workers: int | None = None) -> list[Verdict]:
        """The verdicts on many programs, run in parallel, in the order given."""
        programs = list(codes)
        distinct = list(dict.fromkeys(programs))
        with ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
            verdicts = dict(zip(distinct, pool.map(self.check, distinct), strict=True))
        return [verdicts[code] for code in programs]

    def _run(self, code: str) -> Verdict:
        broken = broken_constraints(code, self.contract)
        if "does not parse" in broken:
            reason = CaseResult(passed=False, reason="does not parse")
            return Verdict(
                passed=False, pass_rate=0.0 if self.contract.cases else None, broken=tuple(broken), cases=(reason,)
            )
        if not self.contract.cases:
            return Verdict(passed=not broken, pass_rate=None, broken=tuple(broken))
        nonce = secrets.token_hex(16)
        results, ended = self._call(code, nonce) if self.contract.program is None else self._execute(code)
        if self.contract.constraints.returns is not None:
            broken += [
                result.reason
                for result in results
                if result.reason and result.reason.startswith("returned a value that is no")
            ][:1]
        rate = sum(result.passed for result in results) / len(results)
        return Verdict(
            passed=rate >= self.contract.required_pass_rate and not broken,
            pass_rate=rate,
            cases=tuple(results),
            broken=tuple(broken),
            ending=ended.ending,
            isolation=ended.isolation,
            nonce=nonce,
        )

    def _limits(self) -> Limits:
        seconds = self.contract.limits.time_seconds
        memory = self.contract.limits.memory_mib << 20
        # Node, Java and Go start with a dozen threads and many open files; a function needs few.
        whole_program = self.contract.program is not None
        return Limits(
            wall_seconds=seconds,
            cpu_seconds=ceil(seconds),
            memory_bytes=memory,
            processes=128 if whole_program else 16,
            open_files=512 if whole_program else 64,
        )

    def _call(self, code: str, nonce: str) -> tuple[list[CaseResult], SandboxResult]:
        isolation = self._isolation or sandbox.active_isolation()
        if isolation.python is None:
            raise SandboxUnavailableError("no Python interpreter that another user can run was found")
        cases = self.contract.cases
        job = {
            "nonce": nonce,
            "code": code,
            "entry_point": self.contract.entry_point,
            "cases": [_inputs(case) for case in cases],
        }
        ended = sandbox.run(
            [isolation.python, "-P", "-s", "-S", "-B", "harness.py"],  # -I, save that the variable below counts
            variables=_SAME_HASHES,
            files={"harness.py": _HARNESS},
            stdin=json.dumps(job).encode(),
            limits=self._limits(),
            no_sandbox=self._no_sandbox,
            isolation=isolation,
        )
        reports = _reports(ended.stdout, nonce)
        loading = next((_printable(report["loading"]) for report in reports if "loading" in report), None)
        by_case: dict[int, list[dict[str, Any]]] = {}
        for report in reports:
            if isinstance(report.get("case"), int):
                by_case.setdefault(report["case"], []).append(report)
        missing = loading or f"no result: {ended.ending}"
        return [self._grade(case, by_case.get(number, []), missing) for number, case in enumerate(cases)], ended

    def _grade(self, case: Case, reports: list[dict[str, Any]], missing: str) -> CaseResult:
        if not reports:
            return CaseResult(passed=False, reason=missing)
        if len(reports) > 1:
            return CaseResult(passed=False, reason="the result was reported more than once")
        report = reports[0]
        if "error" in report:
            raised = report.get("raised")
            if case.raises is not None and isinstance(raised, list) and case.raises in raised:
                return CaseResult(passed=True)
            return CaseResult(passed=False, reason=f"raised {_printable(report['error'])}"[:_MAX_REASON_LENGTH])
        if case.raises is not None:
            return CaseResult(passed=False, reason=f"did not raise {case.raises}")
        try:
            return self._grade_values(case, report)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError):
            return CaseResult(passed=False, reason="the result record is malformed")

    def _grade_values(self, case: Case, report: dict[str, Any]) -> CaseResult:
        if case.calls:
            expected = [call.expected for call in case.calls]
            values = [decode(value) for value in report["values"]]
            if len(values) != len(expected):
                return CaseResult(passed=False, reason="the result record is malformed")
        else:
            expected, values = [case.expected], [decode(report["value"])]
        for value, wanted in zip(values, expected, strict=True):
            returns = self.contract.constraints.returns
            if returns is not None and not case.calls and not of_type(value, returns):
                reason = f"returned a value that is not of type {returns}: {_printable(repr(value))}"
                return CaseResult(passed=False, reason=reason[:_MAX_REASON_LENGTH])
            if wanted is not msgspec.UNSET and not equal(value, wanted, case):
                return CaseResult(
                    passed=False, reason=f"returned {_printable(repr(value))}, expected {wanted!r}"[:_MAX_REASON_LENGTH]
                )
        return CaseResult(passed=True)

    def _execute(self, code: str) -> tuple[list[CaseResult], SandboxResult]:
        program = self.contract.program
        assert program is not None  # asked by _run
        results, last = [], None
        for case in self.contract.cases:
            last = sandbox.run(
                program.command,
                variables=_SAME_HASHES,
                files={program.file: code.encode("utf-8", errors="surrogatepass")},
                stdin=(case.stdin or "").encode(),
                limits=self._limits(),
                no_sandbox=self._no_sandbox,
                isolation=self._isolation,
            )
            results.append(_grade_program(case, last))
        assert last is not None  # a contract that reaches here has cases
        return results, last


def _grade_program(case: Case, ended: SandboxResult) -> CaseResult:
    if not ended.ok:
        return CaseResult(passed=False, reason=ended.ending)
    printed = ended.stdout.decode("utf-8", errors="replace").rstrip()
    if printed != str(case.expected).rstrip():
        return CaseResult(passed=False, reason=f"printed {printed[:100]!r}, expected {str(case.expected)[:100]!r}")
    return CaseResult(passed=True)


def _printable(words: object) -> str:
    """Return text of the code under test, made printable; a forged report may contain another type."""
    return sandbox.printable(words) if isinstance(words, str) else "a value that is not text"


def _inputs(case: Case) -> dict[str, Any]:
    """Return the inputs of a case for the sandbox, without the expected result."""
    inputs: dict[str, Any] = {"keywords": case.keywords, "arguments": case.arguments}
    if case.input is not msgspec.UNSET:
        inputs["input"] = case.input
    inputs["calls"] = [{"method": call.method, "arguments": call.arguments} for call in case.calls]
    return inputs


def _reports(output: bytes, nonce: str) -> list[dict[str, Any]]:
    """The report lines that carry the nonce and are JSON objects."""
    reports = []
    for line in output.split(b"\n"):
        head, _, body = line.partition(b" ")
        if head != nonce.encode():
            continue
        try:
            report = json.loads(body)
        except (ValueError, RecursionError):
            continue
        if isinstance(report, dict):
            reports.append(report)
    return reports


def oracle_version() -> str:
    """The version that canons and logs carry: the checks, and the language they run code in."""
    return f"{ORACLE_VERSION}+cpython{sys.version_info.major}.{sys.version_info.minor}"
