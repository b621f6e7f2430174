"""Routes about all runs: usage, completeness and the task matrix."""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.questions import RunsSource
from steelyard.questions.completeness import CompletenessOptions, completeness
from steelyard.results import CompletenessSummary
from steelyard.server._question_routes import question_route
from steelyard.server._route import Query, Route, options_of, query_of

Values = Mapping[str, str]

CompletenessQuery = query_of(CompletenessOptions)


def _completeness(source: RunsSource, _values: Values, query: Query) -> CompletenessSummary:
    return completeness(source.run_paths(), options=options_of(CompletenessOptions, query, map=source.map))


FIELD_ROUTES = (
    question_route("matrix"),
    question_route("usage"),
    Route(
        path="/completeness",
        sentence="Number of runs in which each field is reported, derived, priced, a lower bound or missing.",
        command="completeness",
        result=CompletenessSummary,
        query=CompletenessQuery,
        over_runs=_completeness,
    ),
)
