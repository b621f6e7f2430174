"""Requests that schemathesis makes from the OpenAPI document, right and wrong ones, sent to a server on loopback.

No answer is a 500, and every answer has a declared type and fits its schema. `make test-api` installs schemathesis.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable

import steelyard as sy
from arena_makers import random_submission, random_task
from serving import SECURITY, Served, serving
from steelyard.questions import ArenaSource, RunsSource
from steelyard.records import encode_run
from steelyard.server import API, ROUTES, ServeOptions, openapi_document

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed: make test-api")

QUICK, LONG = 3, 200
ENDLESS = "/api/v1/events"
"""The answer is a stream that does not end."""
DOCUMENT = openapi_document(ROUTES)
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)
OPERATIONS = {
    operation.label: operation
    for operation in (result.ok() for result in SCHEMA.get_all_operations())
    if operation.path != ENDLESS
}

OF_RUNS = [
    label
    for route in ROUTES
    if route.over_runs is not None and (label := f"{route.method} {API}{route.path}") in OPERATIONS
]
"""What files of runs answer; the rest is told by one sentence."""


class Target(NamedTuple):
    """A server, and what to send with every request to it."""

    served: Served
    headers: dict[str, str]


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    rng = random.Random(7)
    made = sy.init_arena(f"sqlite:///{tmp_path_factory.mktemp('asked')}/arena.db")
    for name in ("0", "task"):
        made.add_task(random_task(rng, name))
    made.submit([random_submission(rng, str(number), ("0", "task")[number % 2], number) for number in range(30)])
    token = sy.create_token("fuzzer", scopes=["admin"], store=made).token
    with serving(ArenaSource(made), ServeOptions(write=True)) as served:
        yield Target(served, {"Authorization": f"Bearer {token}"})


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    path: Path = tmp_path_factory.mktemp("runs") / "demo.jsonl"
    path.write_bytes(b"".join(encode_run(run) + b"\n" for run in list(sy.demo_runs())[::10]))
    with serving(RunsSource([path])) as served:
        yield Target(served, {})


def check(label: str, target: Target, *, examples: int) -> None:
    """Send what fits the document and what does not."""
    operation = OPERATIONS[label]
    checks = [
        schemathesis.checks.CHECKS.get_one(name)
        for name in (
            "not_a_server_error",
            "status_code_conformance",
            "content_type_conformance",
            "response_headers_conformance",
            "response_schema_conformance",
        )
    ]

    for mode in schemathesis.GenerationMode:

        @given(case=operation.as_strategy(generation_mode=mode))
        @settings(
            max_examples=examples,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
            database=None,
        )
        def send(case: Any) -> None:
            response = case.call(base_url=target.served.address, headers=target.headers, timeout=30)
            case.validate_response(response, checks=checks)
            told = {name.lower() for name in response.headers}
            assert told >= SECURITY
            assert b"Traceback" not in response.content

        try:
            send()
        except Unsatisfiable:  # no query and no body: nothing can be asked wrongly
            assert mode is schemathesis.GenerationMode.NEGATIVE
            assert all(parameter["in"] == "path" for parameter in operation.definition.raw["parameters"])


@pytest.mark.parametrize("label", OPERATIONS)
def test_every_answer_of_an_arena_fits_the_document(label: str, arena: Target) -> None:
    check(label, arena, examples=QUICK)


@pytest.mark.parametrize("label", OF_RUNS)
def test_every_answer_of_runs_fits_the_document(label: str, runs: Target) -> None:
    check(label, runs, examples=QUICK)


@pytest.mark.long
@pytest.mark.parametrize("label", OPERATIONS)
def test_many_answers_of_an_arena_fit_the_document(label: str, arena: Target) -> None:
    check(label, arena, examples=LONG)


@pytest.mark.long
@pytest.mark.parametrize("label", OF_RUNS)
def test_many_answers_of_runs_fit_the_document(label: str, runs: Target) -> None:
    check(label, runs, examples=LONG)


def test_the_law_can_fail(arena: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    """A document that promises another type of answer is found out."""
    schemas = DOCUMENT["components"]["schemas"]
    monkeypatch.setitem(schemas["Health"]["properties"], "status", {"type": "integer"})
    wrong = schemathesis.openapi.from_dict(DOCUMENT)
    (operation,) = [found.ok() for found in wrong.get_all_operations() if found.ok().path.endswith("/healthz")]
    monkeypatch.setitem(OPERATIONS, "wrong", operation)
    with pytest.raises(BaseExceptionGroup) as failed:
        check("wrong", arena, examples=1)
    assert "Response violates schema" in str(failed.value.exceptions[0])
