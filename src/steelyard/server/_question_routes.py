"""Routes derived from the declarations of questions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec

from steelyard.questions import ArenaSource, Question, RunsSource, question_named
from steelyard.server._route import Paged, Query, Route, options_of, query_of


def question_route(name: str, *, defaults: Mapping[str, Any] | None = None, **changes: Any) -> Route:
    """Return the route of a question over runs: its options are the query, its answer is the response.

    `defaults` are for required options that the route can do without, `changes` replace what is derived (Any: values of
    options, fields of a route).
    """
    question = question_named(name)

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
        base=Paged if question.paged else Query,
        filters=question.filters,
        **dict(defaults or {}),
    )
    return replace(route, query=query)


def _ask(
    question: Question, source: RunsSource | ArenaSource, values: Mapping[str, str], query: Query
) -> Any:  # Any: as above
    """Return the answer; a question without an engine gets the paths, because it needs whole records.

    It has all entries: the filters are applied to each page.
    """
    query = msgspec.structs.replace(query, **dict.fromkeys(question.filters, ()))
    if question.takes == "nothing":
        return question.ask(None, options_of(question.options, query, **values))
    if isinstance(source, ArenaSource):
        return question.ask(source.arena, options_of(question.options, query, **values))
    if "engine" in question.options.declared:
        return question.ask(source.table(), options_of(question.options, query, **values))
    return question.ask(source.run_paths(), options_of(question.options, query, map=source.map, **values))
