"""Laws over the schemas in the OpenAPI document: references are defined, and no schema allows every value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from steelyard.server import ROUTES, openapi_document

DOCUMENT = openapi_document(ROUTES)
COMPONENTS = "#/components/schemas/"
NOTES = {"title", "description", "default", "examples"}


def parts(schema: Any, where: str) -> Iterator[tuple[str, Any]]:  # Any: JSON values
    """The schema and those inside it, each with its place; references are not followed."""
    yield where, schema
    if not isinstance(schema, dict):
        return
    for name, inner in schema.get("properties", {}).items():
        yield from parts(inner, f"{where}.{name}")
    for name in ("items", "additionalProperties"):
        if schema.get(name, False) is not False:
            yield from parts(schema[name], f"{where}.{name}")
    for name in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for inner in schema.get(name, ()):
            yield from parts(inner, where)


def problems(schema: Any, where: str, components: dict[str, Any]) -> Iterator[str]:  # Any: as above
    """Undefined references, and schemas that allow every value, object or list."""
    for place, inner in parts(schema, where):
        if inner is True or not set(inner) - NOTES:
            yield f"{place} is any value"
        elif "$ref" in inner:
            if inner["$ref"].removeprefix(COMPONENTS) not in components:
                yield f"{place} refers to {inner['$ref']}, which is not defined"
        elif inner.get("type") == "object" and not inner.get("properties") and "additionalProperties" not in inner:
            yield f"{place} is any object"
        elif inner.get("type") == "array" and not {"items", "prefixItems"} & set(inner):
            yield f"{place} is any list"


def contents() -> dict[str, Any]:  # Any: as above
    """The schema of each body and response, by operation."""
    found = {}
    for path, operations in DOCUMENT["paths"].items():
        for method, operation in operations.items():
            bodies = {"body": operation.get("requestBody", {}), **operation["responses"]}
            for name, body in bodies.items():
                for kind, content in body.get("content", {}).items():
                    found[f"{method} {path} {name} {kind}"] = content["schema"]
    return found


SCHEMAS = contents() | DOCUMENT["components"]["schemas"]


@pytest.mark.parametrize("where", SCHEMAS)
def test_no_schema_of_the_document_is_empty(where: str) -> None:
    assert list(problems(SCHEMAS[where], where, DOCUMENT["components"]["schemas"])) == []


def test_empty_schemas_are_noticed() -> None:
    planted = {"type": "object", "properties": {"a": {}, "b": {"type": "array"}, "c": {"$ref": f"{COMPONENTS}X"}}}
    assert list(problems(planted, "P", {})) == [
        "P.a is any value",
        "P.b is any list",
        f"P.c refers to {COMPONENTS}X, which is not defined",
    ]
    assert list(problems({"type": "object"}, "P", {})) == ["P is any object"]
