"""Routes derived from the declarations of questions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio.to_thread
import msgspec
from starlette.responses import Response

from steelyard.errors import PermissionDeniedError, RequestError, UnknownNameError, UsageError
from steelyard.option_names import option
from steelyard.pages import json_bytes
from steelyard.questions import Answer, ArenaSource, Options, Question, RunsSource, question_named
from steelyard.records import JSON_ERRORS, json_problem
from steelyard.server._guard import JSON
from steelyard.server._route import API, PageQuery, Query, Route, filled, options_of, query_of

if TYPE_CHECKING:
    from steelyard.server._site import Call


def question_route(name: str, *, defaults: Mapping[str, Any] | None = None, **changes: Any) -> Route:
    """Return the route of a question over runs: its options are the query, its answer is the response.

    `defaults` are for required options that the route can do without, `changes` replace what is derived (Any: values of
    options, fields of a route).
    """
    question = question_named(name)
    if question.scope is not None:
        return _action_route(question)

    def ask(source: RunsSource | ArenaSource, values: Mapping[str, str], query: Query) -> Any:  # Any: its own answer
        return _ask(question, source, values, query)

    derived: dict[str, Any] = {
        "path": question.path,
        "sentence": question.help.partition("\n")[0],
        "command": question.command,
        "result": question.answer,
        "question": question,
        "rows": question.paged or None,
    }
    derived |= {"over_runs": ask} if question.takes != "store" else {}
    derived |= {"over_arena": ask} if question.takes in ("nothing", "store") else {}
    route = Route(**derived | changes)
    if "query" in changes:
        return route
    query = query_of(
        question.options,
        without=route.parameters,
        base=PageQuery if question.paged else Query,
        filters=question.filters,
        **dict(defaults or {}),
    )
    return replace(route, query=query)


def _ask(
    question: Question, source: RunsSource | ArenaSource, values: Mapping[str, str], query: Query
) -> Any:  # Any: as above
    """Return the answer; a question without an engine gets the paths, because it needs whole records.

    It has all entries: the filters and `top` are applied to each page.
    """
    defaults: dict[str, Any] = dict.fromkeys(question.filters, ())
    defaults |= {"top": None} if question.paged and "top" in question.options.declared else {}
    query = msgspec.structs.replace(query, **defaults)
    if question.takes == "nothing":
        return question.ask(None, options_of(question.options, query, **values))
    if isinstance(source, ArenaSource):
        return question.ask(source.arena, options_of(question.options, query, **values))
    if "engine" in question.options.declared:
        return question.ask(source.table(), options_of(question.options, query, **values))
    return question.ask(source.run_paths(), options_of(question.options, query, map=source.map, **values))


def _action_route(question: Question) -> Route:
    """Return the route of an action: a POST whose body is the options that are not in the path."""

    async def respond(call: Call) -> Response:
        arena, text = arena_of(call).arena, await json_text(call)

        def act() -> tuple[Options, Answer]:
            options = _stated(question, call, _object(text))
            if question.check_holder is not None:
                question.check_holder(arena, options)
            return options, question.ask(arena, options)

        options, answer = await anyio.to_thread.run_sync(act)
        at = filled(f"{API}{question.creates}", vars(options)) if question.creates else None
        return written(call, answer.to_dict(), status=call.route.status, at=at)

    route = Route(
        path=question.path,
        method="POST",
        sentence=question.help.partition("\n")[0],
        command=question.command,
        result=question.answer,
        question=question,
        scope=question.scope,
        status=201 if question.creates else 200,
        respond=respond,
    )
    command = " ".join([question.command, *(f"{{{name}}}" for name in route.parameters)])
    return replace(route, command=command, body=question.body(without=route.parameters))


def _stated(question: Question, call: Call, values: dict[str, Any]) -> Options:  # Any: JSON values
    """Return the options of a request: those in its path and its body, and the owner of its token."""
    allowed = question.body(without=call.route.parameters).__struct_fields__
    for name in values:
        if name not in allowed:
            error = UnknownNameError(f"option of {question.name}", name[:200], allowed)
            error.http_status = 400
            raise error
    if question.holder:
        named = values.get(question.holder)
        if named not in (None, call.holder):
            hint = f"remove {option(question.holder)}, or use a token of that person"
            raise PermissionDeniedError(f"the token belongs to {call.holder!r}, not to {str(named)[:200]!r}", hint=hint)
        values[question.holder] = call.holder
    return question.options_of((), values | dict(call.values))


def _object(text: bytes) -> dict[str, Any]:  # Any: JSON values
    try:
        values = msgspec.json.decode(text)
    except JSON_ERRORS as error:
        raise UsageError(json_problem(error), hint="send one JSON object") from error
    if not isinstance(values, dict):
        raise UsageError("the body is not a JSON object", hint="send the options as one JSON object")
    return values


def arena_of(call: Call) -> ArenaSource:
    """Return the arena to write to; run files are read-only."""
    source = call.site.source
    if not isinstance(source, ArenaSource):
        hint = "serve an arena: steelyard serve --store URL --write"
        raise RequestError(403, "read_only", "this server serves run files, which are read-only", hint=hint)
    return source


async def json_text(call: Call) -> bytes:
    """Return the body of a request with one JSON object."""
    if content_type(call) != JSON:
        raise RequestError(415, "content_type", "expected one JSON object", hint=f"send Content-Type: {JSON}")
    return await call.request.body()


def content_type(call: Call) -> str:
    """Return the type of the body, without its parameters."""
    return call.request.headers.get("content-type", "").partition(";")[0].strip().lower()


def written(call: Call, value: Any, *, status: int = 200, at: str | None = None) -> Response:  # Any: a JSON value
    """Return the response to a write, with the address of what it created."""
    headers = {"Content-Type": JSON, "Cache-Control": "no-store"}
    if at is not None:
        headers["Location"] = call.site.root_path + at
    return Response(json_bytes(value), status_code=status, headers=headers)
