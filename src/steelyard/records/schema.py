"""JSON Schemas of our records, with the sentence under each field as its description."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable
from typing import Any

import msgspec

from steelyard.records.run import FORMAT_VERSION, Record, Run
from steelyard.records.task import Task

RECORDS: dict[str, type[Record]] = {"run": Run, "task": Task}


def json_schema(record: type[Record]) -> dict[str, Any]:  # Any: a JSON Schema
    """The schema of a record; keys that begin with `x_` are the user's own and allowed on a Run."""
    schema = msgspec.json.schema(record)
    definitions: dict[str, Any] = schema.get("$defs", {})
    descriptions = _descriptions(_modules(record))
    for name, definition in definitions.items():
        properties: dict[str, Any] = definition.get("properties", {})
        for field, sentence in descriptions.get(name, {}).items():
            if field in properties:
                properties[field]["description"] = sentence
        if properties.pop("x_", None) is not None:
            definition["patternProperties"] = {"^x_.+": {"description": "A key of your own, kept as it is."}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Steelyard {record.__name__.lower()} record, version {FORMAT_VERSION}",
        **schema,
    }


def _modules(record: type[Record]) -> list[str]:
    modules = {record.__module__, Run.__module__}
    return [inspect.getsource(inspect.getmodule(kind)) for kind in (record, Run) if kind.__module__ in modules]  # type: ignore[arg-type]  # a class always has its module


def _descriptions(sources: Iterable[str]) -> dict[str, dict[str, str]]:
    """The string under each field of each class."""
    found: dict[str, dict[str, str]] = {}
    for source in sources:
        for node in ast.parse(source).body:
            if not isinstance(node, ast.ClassDef):
                continue
            for field, sentence in zip(node.body, node.body[1:], strict=False):
                if (
                    isinstance(field, ast.AnnAssign)
                    and isinstance(field.target, ast.Name)
                    and isinstance(sentence, ast.Expr)
                    and isinstance(sentence.value, ast.Constant)
                ):
                    found.setdefault(node.name, {})[field.target.id] = inspect.cleandoc(str(sentence.value.value))
    return found
