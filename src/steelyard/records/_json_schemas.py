"""JSON Schemas of our records, with the sentence under each field as its description."""

from __future__ import annotations

import ast
import inspect
import sys
from itertools import pairwise
from typing import Any

import msgspec

from steelyard.records._record_types import Record
from steelyard.records._run import FORMAT_VERSION, Run
from steelyard.records._submission import Submission
from steelyard.records._task import Task

RECORDS: dict[str, type[Record]] = {"run": Run, "task": Task, "submission": Submission}


def json_schema(record: type[Record]) -> dict[str, Any]:  # Any: a JSON Schema
    """The schema of a record; keys that begin with `x_` are the user's own and allowed on a Run."""
    schema = msgspec.json.schema(record)
    definitions: dict[str, Any] = schema.get("$defs", {})
    sentences = _sentences(record.__module__) | _sentences(Run.__module__)
    if record is Submission:
        definitions[record.__name__]["required"].remove("id")  # read from a file, one without is named by its content
    for name, definition in definitions.items():
        properties: dict[str, Any] = definition.get("properties", {})
        for field, sentence in sentences.get(name, {}).items():
            if field in properties:
                properties[field]["description"] = sentence
        if properties.pop("x_", None) is not None:
            definition["patternProperties"] = {"^x_.+": {"description": "Custom field, stored unchanged."}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Steelyard {record.__name__.lower()} record, version {FORMAT_VERSION}",
        **schema,
    }


def field_meanings(record: type[Record]) -> dict[str, str]:
    """The sentence under each field of a record."""
    return _sentences(record.__module__)[record.__name__]


def _sentences(module: str) -> dict[str, dict[str, str]]:
    """The string under each field of each class in a module."""
    sentences: dict[str, dict[str, str]] = {}
    for node in ast.parse(inspect.getsource(sys.modules[module])).body:
        if not isinstance(node, ast.ClassDef):
            continue
        for field, sentence in pairwise(node.body):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(sentence, ast.Expr)
                and isinstance(sentence.value, ast.Constant)
            ):
                sentences.setdefault(node.name, {})[field.target.id] = inspect.cleandoc(str(sentence.value.value))
    return sentences
