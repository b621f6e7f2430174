"""Contracts: what an answer to a prompt must do. Every field is used; unknown fields are errors."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from steelyard.errors import ContractError, UnknownNameError
from steelyard.files import errors_as, toml_or_json
from steelyard.questions.repeatability._normalization import Level
from steelyard.questions.repeatability._source_code import PYTHON, language_named
from steelyard.records import MAX_NAME_BYTES, Finding, is_storable, is_too_long, problem_text
from steelyard.suggestions import nearest

Comparison = Literal["equal", "close", "unordered"]
ValueType = Literal["integer", "number", "boolean", "string", "list", "object", "null"]
Fraction = Annotated[float, msgspec.Meta(ge=0, le=1)]
Positive = Annotated[float, msgspec.Meta(gt=0)]
Json = Any  # Any: a JSON value, compared with what the code returns


class _Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    pass


class MethodCall(_Part, frozen=True, kw_only=True):
    """One call of a method in a case about an object."""

    method: str
    """The method's name."""
    arguments: list[Json] = []
    """Its arguments."""
    expected: Json = msgspec.UNSET
    """What it must return; anything when left out."""


class Case(_Part, frozen=True, kw_only=True):
    """One thing to try and what must come of it."""

    name: str | None = None
    """A line for people."""
    arguments: list[Json] | None = None
    """Arguments of the entry point, in order."""
    keywords: dict[str, Json] = {}
    """Arguments by name."""
    input: Json = msgspec.UNSET
    """Instead of `arguments`: one value; a list is spread over the parameters if it cannot be the only argument."""
    calls: tuple[MethodCall, ...] = ()
    """For a class: methods called in this order on the object that the arguments make."""
    stdin: str | None = None
    """For a program: what it reads."""
    expected: Json = msgspec.UNSET
    """The value that must be returned, or the text that must be printed."""
    raises: str | None = None
    """The exception that must be raised instead, by the name of its class or of one it derives from.

    The name of a builtin, such as TypeError, means the builtin and no class of the answer's that is called so.
    """
    comparison: Comparison = "equal"
    """How the value is compared: `close` within `tolerance`, `unordered` for lists in any order."""
    tolerance: Positive = 1e-9
    """Largest difference, relative or absolute, that counts as close."""

    def __post_init__(self) -> None:
        if self.arguments is not None and self.input is not msgspec.UNSET:
            raise ValueError("a case must have arguments or input, not both")
        checks_calls = any(call.expected is not msgspec.UNSET for call in self.calls)
        if (self.expected is msgspec.UNSET) == (self.raises is None) and not checks_calls:
            raise ValueError("a case needs exactly one of expected and raises (or calls that expect something)")


class Constraints(_Part, frozen=True, kw_only=True):
    """What the syntax tree of the code must look like."""

    recursion: Literal["required", "forbidden"] | None = None
    """Whether the entry point must, or must not, call itself (directly or through other functions of the answer)."""
    required: tuple[str, ...] = ()
    """Patterns that must occur; see docs/repeatability.md for how a pattern is written."""
    forbidden: tuple[str, ...] = ()
    """Patterns that must not occur."""
    returns: ValueType | None = None
    """The type of every value that the cases return."""
    methods: tuple[str, ...] = ()
    """Methods that the entry point, a class, must define."""
    fixed_names: tuple[str, ...] = ()
    """Local names that repair must leave as they are."""


class ContractLimits(_Part, frozen=True, kw_only=True):
    """What the code may use while it is checked."""

    time_seconds: Positive = 5.0
    """Time on the clock and on the processor for all cases together (a program: for each case)."""
    memory_mib: Annotated[int, msgspec.Meta(gt=0)] = 256
    """Memory."""


class RepairBounds(_Part, frozen=True, kw_only=True):
    """How far repair may go."""

    max_steps: Annotated[int, msgspec.Meta(ge=0)] = 50
    """Most steps that are applied to one output."""
    never: tuple[str, ...] = ()
    """Names of repair steps that must not be used."""


class Program(_Part, frozen=True, kw_only=True):
    """How an answer that is a whole program is run."""

    file: str
    """The file the code is written to."""
    command: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    """What is run; it finds the file in its folder."""


class Contract(_Part, frozen=True, kw_only=True):
    """What an answer to a prompt must do, and how answers are compared."""

    id: Annotated[str, msgspec.Meta(min_length=1, max_length=1024)]
    """The prompt's name; its canon is kept under it."""
    prompt: str = ""
    """What the model was asked; part of the canon's snapshot."""
    language: str = PYTHON
    """The language that code is extracted and normalized in."""
    entry_point: str | None = None
    """The function or class that the cases call; none for a program."""
    program: Program | None = None
    """How to run the answer when it is a program that reads and prints."""
    cases: tuple[Case, ...] = ()
    """What is tried."""
    required_pass_rate: Fraction = 1.0
    """Fraction of the cases that must pass."""
    constraints: Constraints = Constraints()
    """What the code must look like."""
    limits: ContractLimits = ContractLimits()
    """What it may use."""
    level: Level | None = None
    """The normalization level; the language's own when left out."""
    repair: RepairBounds = RepairBounds()
    """How far repair may go."""

    def __post_init__(self) -> None:
        if not is_storable(self.id):
            raise ValueError("the id contains a NUL byte or a lone surrogate")
        if is_too_long(self.id):
            raise ValueError(f"the id is longer than {MAX_NAME_BYTES} bytes in UTF-8")
        language_named(self.language)
        if (self.entry_point is None) == (self.program is None):
            raise ValueError("a contract needs exactly one of entry_point and program")
        if self.entry_point is not None and language_named(self.language) != PYTHON:
            raise ValueError(f"entry_point is for Python only; use program for {self.language}")
        if self.program is not None:
            for case in self.cases:
                if not isinstance(case.expected, str) or case.arguments or case.calls or case.keywords:
                    raise ValueError("cases of a program must have stdin and expected, both strings")
        elif any(case.stdin is not None for case in self.cases):
            raise ValueError("stdin is only for cases of a program")
        if not self.cases and self.constraints == Constraints():
            raise ValueError("a contract needs cases or constraints")

    def snapshot(self) -> str:
        """The contract as JSON with its keys in order, as a canon keeps it."""
        return json.dumps(msgspec.to_builtins(self), sort_keys=True, ensure_ascii=False)

    def digest(self) -> str:
        """SHA-256 of the snapshot."""
        return hashlib.sha256(self.snapshot().encode("utf-8", errors="surrogatepass")).hexdigest()


def contract_from(values: dict[str, Any], *, where: str | None = None) -> Contract:  # Any: parsed TOML or JSON
    """Return the contract that the values describe; raise ContractError if they are invalid."""
    try:
        contract = msgspec.convert(values, Contract)
        contract.snapshot()
    except TypeError as error:  # TOML has dates, which no answer returns
        raise ContractError("a value of a case is not a JSON value", where=where, hint=str(error)) from error
    except UnknownNameError as error:
        raise ContractError(error.message, where=where, hint=error.hint) from error
    except msgspec.ValidationError as error:
        problem = problem_text(error)
        raise ContractError(problem, where=where, hint=_advice(problem)) from error
    return contract


def _advice(problem: str) -> str | None:
    if "unknown field" not in problem:
        return None
    name = problem.split("'")[1]
    parts = (Contract, Case, Constraints, ContractLimits, RepairBounds, Program, MethodCall)
    close = nearest(name, {field for part in parts for field in part.__struct_fields__})
    return f"did you mean {close!r}?" if close else "remove the field"


def read_contract(path: Path) -> Contract:
    """The contract in a TOML or JSON file: our own form, or SKYT's."""
    with errors_as(ContractError):
        values = toml_or_json(path)
    if not isinstance(values, dict):
        raise ContractError("a contract must be a table of fields", where=str(path))
    if is_skyt_contract(values):
        return contract_from_skyt(values, where=str(path)).contract
    return contract_from(values, where=str(path))


_SKYT_TYPES = {
    "integer": "integer",
    "int": "integer",
    "number": "number",
    "float": "number",
    "boolean": "boolean",
    "bool": "boolean",
    "string": "string",
    "str": "string",
    "list": "list",
    "array": "list",
    "dict": "object",
}
# What SKYT writes down about itself.
_SKYT_METADATA = frozenset(
    {
        "anchor_signature",
        "compliance_flag",
        "contract_version",
        "oracle_version",
        "normalization_version",
        "created_timestamp",
        "run_id",
        "prompt_id",
        "sample_id",
        "model_specification",
        "algorithm_family",
        "task_intent",
        "description",
    }
)
# What could be taken for a demand on the code and is none that can be checked.
_SKYT_NOTES = frozenset({"environment", "output_format", "normalization_rules", "distance_metric", "domain"})
_SKYT_CONSTRAINT_NOTES = frozenset(
    {
        "implementation_style",
        "algorithm",
        "algorithm_variant",
        "misra_c_rules",
        "nasa_power_of_10",
        "required_classes",
        "required_attributes",
    }
)


class ReadContract(msgspec.Struct, frozen=True, kw_only=True):
    """A contract of ours made from SKYT's, with what of it asks nothing of the code."""

    contract: Contract
    """The contract."""
    notes: tuple[str, ...]
    """Fields that were there and have no effect."""

    def finding(self, where: str) -> Finding | None:
        """What a reader should know about fields without effect."""
        if not self.notes:
            return None
        message = f"the contract's {', '.join(self.notes)} cannot be checked and are ignored"
        return Finding(code="contract_notes", severity="info", message=message, where=where)


def is_skyt_contract(values: dict[str, Any]) -> bool:
    """Whether the table is a contract in SKYT's form."""
    return "oracle_requirements" in values or "algorithm_family" in values


def contract_from_skyt(values: dict[str, Any], *, where: str) -> ReadContract:
    """Convert a SKYT contract. Unknown fields are errors; notes are listed."""
    notes: list[str] = []
    left = dict(values)
    constraints = dict(left.pop("constraints", None) or {})
    oracle = dict(left.pop("oracle_requirements", None) or {})
    bounds = dict(left.pop("rescue_bounds", None) or {})
    entry = constraints.pop("function_name", None) or constraints.pop("class_name", None)
    ours: dict[str, Any] = {
        "id": left.pop("id", None) or left.get("contract_id"),
        "prompt": left.pop("prompt", ""),
        "language": left.pop("language", PYTHON),
        "entry_point": entry,
        "constraints": _constraints(constraints, notes),
        "repair": _bounds(bounds, where),
        "cases": [*_cases(oracle.pop("test_cases", [])), *_out_of_domain(left, where)],
        "required_pass_rate": oracle.pop("required_pass_rate", 1.0),
    }
    left.pop("contract_id", None)
    if oracle.pop("correctness_threshold", None) is not None:
        notes.append("oracle_requirements.correctness_threshold")
    notes += [name for name in left if name in _SKYT_NOTES and left[name] not in (None, {}, [], "")]
    unknown = [name for name in left if name not in _SKYT_NOTES | _SKYT_METADATA]
    unknown += [f"constraints.{name}" for name in constraints] + [f"oracle_requirements.{name}" for name in oracle]
    if unknown:
        raise ContractError(f"unknown fields: {', '.join(sorted(unknown))}", where=where)
    return ReadContract(contract=contract_from(ours, where=where), notes=tuple(notes))


def _constraints(given: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    naming = given.pop("variable_naming", None) or {}
    needs_recursion = given.pop("requires_recursion", None)
    ours: dict[str, Any] = {
        "required": given.pop("required_patterns", []),
        "forbidden": given.pop("forbidden_patterns", []),
        "methods": given.pop("methods", []),
        "fixed_names": naming.get("fixed_variables", []),
    }
    if needs_recursion is not None:
        ours["recursion"] = "required" if needs_recursion else "forbidden"
    returned = given.pop("output_type", None)
    if returned in _SKYT_TYPES:
        ours["returns"] = _SKYT_TYPES[returned]
    elif returned is not None:
        notes.append("constraints.output_type")
    for name in sorted(_SKYT_CONSTRAINT_NOTES & given.keys()):
        given.pop(name)
        notes.append(f"constraints.{name}")
    return ours


def _bounds(given: dict[str, Any], where: str) -> dict[str, Any]:
    steps = {"allow_function_rename": "rename_entry_point", "allow_class_rename": "rename_entry_point"}
    steps["allow_print_removal"] = "remove_demo_code"
    ours: dict[str, Any] = {"never": sorted({step for name, step in steps.items() if given.pop(name, True) is False})}
    if "max_transformations" in given:
        ours["max_steps"] = given.pop("max_transformations")
    if given:
        raise ContractError(f"unknown fields:  rescue_bounds.{', '.join(sorted(given))}", where=where)
    return ours


def _cases(given: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for case in given:
        left = dict(case)
        ours: dict[str, Any] = {"name": left.pop("description", None)}
        operations = left.pop("operations", None)
        if operations is None:
            yield {**ours, **left}
            continue
        calls = []
        for operation in operations:
            step = dict(operation)
            method, arguments = step.pop("op", None), step.pop("args", [])
            if method == "init":
                ours["arguments"] = arguments
            else:
                calls.append({"method": method, "arguments": arguments, **step})
        yield {**ours, "calls": calls, **left}


def _out_of_domain(left: dict[str, Any], where: str) -> Iterator[dict[str, Any]]:
    for key in ("out_of_domain", "ood_spec"):
        spec = left.pop(key, None) or {}
        policy = spec.get("policy", "allow")
        examples = (spec.get("examples") or [])[: spec.get("max_checks", 3)]
        for example in examples if policy != "allow" else ():
            case: dict[str, Any] = {"name": f"outside the domain: {example}"}
            case |= {"keywords": example} if isinstance(example, dict) else {"input": example}
            if policy == "must_return":
                yield {**case, "expected": spec.get("return_value")}
            elif policy == "must_raise":
                yield {**case, "raises": spec.get("exception") or "Exception"}
            else:
                raise ContractError(f"unknown out-of-domain policy {policy!r}", where=where)
