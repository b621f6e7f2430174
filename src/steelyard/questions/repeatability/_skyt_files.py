"""SKYT's files: contracts in its JSON, and experiments with raw outputs, repaired outputs and canon."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from steelyard.errors import ContractError, UnreadableFileError
from steelyard.files import beginning_of, parse_json, read_text
from steelyard.questions.repeatability._contract import Contract, contract_from
from steelyard.questions.repeatability._languages import PYTHON
from steelyard.records import Finding

_VALUE_TYPES = {
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
_METADATA = frozenset(
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
_NOTES = frozenset({"environment", "output_format", "normalization_rules", "distance_metric", "domain"})
_CONSTRAINT_NOTES = frozenset(
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


class Experiment(msgspec.Struct, frozen=True, kw_only=True):
    """One SKYT experiment: one prompt, with outputs and canon as stored."""

    prompt: str
    """The experiment's id."""
    model: str | None
    """The model; None if the file does not report it."""
    raw: tuple[str, ...]
    """Outputs before repair, already extracted from their answers."""
    repaired: tuple[str, ...] | None
    """Outputs after SKYT's repair; None where the file has none."""
    canon: str | None
    """The canonical code; None where the file has none."""
    contract: dict[str, Any] | None  # Any: SKYT's own JSON, read only when the contract is needed
    """The contract as stored."""
    path: str
    """The file."""


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
    notes += [name for name in left if name in _NOTES and left[name] not in (None, {}, [], "")]
    unknown = [name for name in left if name not in _NOTES | _METADATA]
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
    if returned in _VALUE_TYPES:
        ours["returns"] = _VALUE_TYPES[returned]
    elif returned is not None:
        notes.append("constraints.output_type")
    for name in sorted(_CONSTRAINT_NOTES & given.keys()):
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


def looks_like_experiment(path: Path) -> bool:
    """Whether the file's beginning is that of a SKYT experiment or sweep."""
    if path.suffix.lower() != ".json":
        return False
    head = beginning_of(path)[:4096]
    return b'"experiment_id"' in head or b'"sweep_id"' in head


def read_experiments(path: Path) -> list[Experiment]:
    """The experiments of a file: one, or for a sweep each of its results."""
    values = parse_json(read_text(path), path)
    if not isinstance(values, dict):
        raise UnreadableFileError(str(path), "not a SKYT experiment: expected a JSON object")
    parts = values["individual_results"] if isinstance(values.get("individual_results"), list) else [values]
    return [_experiment(part, path) for part in parts]


def _experiment(values: Any, path: Path) -> Experiment:
    if not isinstance(values, dict):
        raise UnreadableFileError(str(path), "a result of the sweep is not a JSON object")
    canon = values.get("canon_data")
    code = canon.get("canonical_code") if isinstance(canon, dict) else None
    raw = values.get("raw_outputs")
    repaired = values.get("repaired_outputs")
    for name, outputs in (("raw_outputs", raw), ("repaired_outputs", repaired if repaired is not None else [])):
        if not isinstance(outputs, list) or not all(isinstance(output, str) for output in outputs):
            raise UnreadableFileError(str(path), f"{name} is not a list of strings")
    if code is not None and not isinstance(code, str):
        raise UnreadableFileError(str(path), "canonical_code is not a string")
    assert isinstance(raw, list)  # checked above
    contract = values.get("contract")
    model = values.get("model")
    return Experiment(
        prompt=str(values.get("experiment_id") or path.stem),
        model=model if isinstance(model, str) else None,
        raw=tuple(raw),
        repaired=tuple(repaired) if repaired is not None else None,
        canon=code,
        contract=contract if isinstance(contract, dict) else None,
        path=str(path),
    )
