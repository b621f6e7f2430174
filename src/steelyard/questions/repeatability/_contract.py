"""Contracts: what an answer to a prompt must do. Every field is used; unknown fields are errors."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from steelyard.errors import ContractError, UnknownNameError
from steelyard.files import refused_as, toml_or_json
from steelyard.questions.repeatability._languages import PYTHON, language_named
from steelyard.questions.repeatability._normalization import Level
from steelyard.records import MAX_NAME_BYTES, is_storable, is_too_long, problem_text
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
    from steelyard.questions.repeatability._skyt_files import (  # it makes contracts, so it imports this module
        contract_from_skyt,
        is_skyt_contract,
    )

    with refused_as(ContractError):
        values = toml_or_json(path)
    if not isinstance(values, dict):
        raise ContractError("a contract must be a table of fields", where=str(path))
    if is_skyt_contract(values):
        return contract_from_skyt(values, where=str(path)).contract
    return contract_from(values, where=str(path))
