"""OpenAPI 3.1 document, generated from the declared routes."""

from __future__ import annotations

import re
from types import UnionType
from typing import Any, get_args

import msgspec

from steelyard.pages import SCHEMA_VERSION
from steelyard.questions import Answer, answer_schemas
from steelyard.records import RECORDS, json_schema
from steelyard.server._problems import PROBLEM_TYPE, Problem
from steelyard.server._route import API, Query, Route, query_fields

Schema = dict[str, Any]  # Any: JSON values
REF = "#/components/schemas/{name}"


def openapi_document(routes: tuple[Route, ...]) -> Schema:
    """Return all routes with their query parameters, responses and problems."""
    parts = _Parts()
    paths: Schema = {}
    for route in routes:
        paths.setdefault(f"{API}{route.path}", {})[route.method.lower()] = _operation(route, parts)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Steelyard",
            "version": "1",
            "summary": "Statistics for AI coding-agent evaluations.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": dict(sorted((parts.schemas | parts.records).items())),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


class _Parts:
    """Schemas used by operations."""

    def __init__(self) -> None:
        self.schemas: Schema = {}
        self.records: Schema = {}
        """Schemas of records that a request may state; an answer that contains a record fits its schema too."""
        self.reference(Problem)

    def reference(self, kind: Any) -> Schema:  # Any: what JSON schemas are made of
        """Return a reference to the schema of a class, or the schema itself if it has no name."""
        if isinstance(kind, UnionType):
            return {"anyOf": [self.reference(part) for part in get_args(kind)]}
        if isinstance(kind, type) and issubclass(kind, Answer):
            self.schemas |= answer_schemas(kind, ref_template=REF)
            return {"$ref": REF.format(name=kind.__name__)}
        (schema,), components = msgspec.json.schema_components([kind], ref_template=REF)
        self.schemas = components | self.schemas  # schemas of answers are exact
        return schema

    def body(self, kind: Any) -> Schema:  # Any: as above
        """Return the schema of a request body: a record as in `steelyard schema`, with optional fields."""
        if kind not in RECORDS.values():
            return self.reference(kind)
        described = msgspec.json.encode(json_schema(kind)["$defs"]).replace(b"#/$defs/", REF.format(name="").encode())
        self.records |= msgspec.json.decode(described)
        return {"$ref": REF.format(name=kind.__name__)}

    def page(self, kind: type[Answer], rows: str) -> Schema:
        """Return the schema of a page of a list: the result with the rows as `items`, and the next cursor."""
        name = f"{kind.__name__}Page"
        if name not in self.schemas:
            described = answer_schemas(kind, ref_template=REF)
            fields = described.pop(kind.__name__)["properties"]
            self.schemas |= described
            others = {field: schema for field, schema in fields.items() if field not in (rows, "schema_version")}
            cursor = {
                "type": ["string", "null"],
                "description": "Cursor of the next page (`after`); null on the last page.",
            }
            self.schemas[name] = _object(
                kind,
                {
                    "schema_version": {"const": SCHEMA_VERSION},
                    **others,
                    "items": fields[rows],
                    "total": {"type": "integer", "minimum": 0, "description": "Total number of rows."},
                    "next": cursor,
                    "version": {"type": "string", "description": "Version of the source."},
                    "as_of": {"type": "string", "format": "date-time"},
                },
            )
        return {"$ref": REF.format(name=name)}


def _object(kind: type[Answer], properties: Schema) -> Schema:
    described = {"title": kind.__name__, "description": _sentence(kind), "type": "object"}
    return described | {"properties": properties, "required": list(properties)}


def _sentence(kind: type[Any]) -> str:  # Any: a class with a docstring
    return (kind.__doc__ or "").partition("\n")[0]


def _operation(route: Route, parts: _Parts) -> Schema:
    problem = {PROBLEM_TYPE: {"schema": parts.reference(Problem)}}
    operation: Schema = {
        "operationId": route.name,
        "summary": route.sentence,
        "parameters": [*_path_parameters(route), *_query_parameters(route.query)],
        "responses": {
            **_good(route, parts),
            "default": {"description": "Problem details (RFC 9457).", "content": problem},
        },
    }
    if route.respond is None:
        operation["responses"]["304"] = {"description": "Not modified (If-None-Match)."}
    if route.body is not None:
        kinds = ("application/json", "application/x-ndjson") if route.many else ("application/json",)
        schemas = (parts.body(route.body), {"type": "string", "description": "One JSON object per line."})
        content = {kind: {"schema": schema} for kind, schema in zip(kinds, schemas, strict=False)}
        operation["requestBody"] = {"required": True, "content": content}
    if route.scope is not None:
        operation["security"] = [{"token": [route.scope]}]
    return operation


def _good(route: Route, parts: _Parts) -> Schema:
    """Return the responses to a valid request, by status."""
    content = _content(route, parts)
    if not route.makes:
        return {str(route.status): {"description": route.sentence, "content": content}}
    answers: Schema = {
        "201": {"description": "Created.", "content": content},
        "200": {"description": "Already exists.", "content": dict(content)},
    }
    if route.many:
        lines = "One receipt or problem (with its `line`) per input line, in order; the last line contains `totals`."
        answers["200"]["content"]["application/x-ndjson"] = {"schema": {"type": "string", "description": lines}}
    return answers


def _content(route: Route, parts: _Parts) -> Schema:
    if route.path == "/events":
        return {"text/event-stream": {"schema": {"type": "string"}}}
    schema = parts.page(route.result, route.rows) if route.rows is not None else parts.reference(route.result)
    content = {"application/json": {"schema": schema}}
    return content if route.respond is not None else {**content, "text/csv": {"schema": {"type": "string"}}}


def _path_parameters(route: Route) -> list[Schema]:
    described = "Percent-encoded."
    text = {"type": "string", "minLength": 1}
    return [
        {"name": name, "in": "path", "required": True, "description": described, "schema": text}
        for name in re.findall(r"\{(\w+)\}", route.path)
    ]


def _query_parameters(query: type[Query]) -> list[Schema]:
    """Return the fields of the query struct as parameters."""
    (_,), components = msgspec.json.schema_components([query], ref_template=REF)
    own = components[query.__name__]
    counts = query_fields(query)
    parameters = []
    for name, described in own.get("properties", {}).items():
        schema = {key: value for key, value in described.items() if key != "description"}
        if schema.get("default", ...) in (None, ()):
            del schema["default"]
        elif isinstance(schema.get("default"), tuple):
            schema["default"] = list(schema["default"])
        parameter = {"name": name, "in": "query", "schema": schema}
        parameter |= {"description": described["description"]} if "description" in described else {}
        parameter |= {"required": True} if name in own.get("required", ()) else {}
        parameter |= {"style": "form", "explode": False} if counts[name] == "separated" else {}
        parameters.append(parameter)
    return parameters
