"""The JSON of every answer fits its schema exactly: a changed, a missing and an added field are noticed."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from question_cases import CASES, Case, write_inputs
from steelyard.questions import answer_schemas
from steelyard.server import ROUTES, openapi_document

jsonschema_rs = pytest.importorskip("jsonschema_rs", reason="jsonschema-rs is not installed: make test-api")

DOCUMENT = openapi_document(ROUTES)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_inputs(tmp_path_factory.mktemp("schemas"))


def places(shape: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:  # Any: JSON values and their keys
    """The objects in a JSON value that are structs, one per list."""
    if isinstance(shape, dict):
        yield path
        for name, value in shape.items():
            yield from places(value, (*path, name))
    elif isinstance(shape, list) and shape:
        yield from places(shape[0], (*path, 0))


def at(shape: Any, path: tuple[Any, ...]) -> Any:  # Any: as above
    for key in path:
        shape = shape[key]
    return shape


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_schema_notices_every_change(case: Case, inputs: Path) -> None:
    answer = case.ask(*case.inputs(inputs))
    components = DOCUMENT["components"]
    if not case.declared.path or case.declared.paged:  # a route with pages has another schema
        components = {"schemas": answer_schemas(type(answer), ref_template="#/components/schemas/{name}")}
    schema = {"$ref": f"#/components/schemas/{type(answer).__name__}", "components": components}
    validator = jsonschema_rs.validator_for(schema)
    shape = answer.to_dict()
    validator.validate(shape)
    assert not validator.is_valid(shape | {"added": 1})
    for name in shape:
        assert not validator.is_valid({key: value for key, value in shape.items() if key != name}), name
        assert not validator.is_valid(shape | {name: {"changed": [[]]}}), name
    noticed = 0
    for path in places(shape):
        changed = copy.deepcopy(shape)
        at(changed, path)["added"] = {"x": []}
        noticed += not validator.is_valid(changed)
    assert noticed
